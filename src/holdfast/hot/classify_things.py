"""The thing that an order is about, where it makes the order a chore or a look: a pull request, a branch, a plan."""

from __future__ import annotations

from holdfast.hot import classify_words as w
from holdfast.hot.classify_reading import CODE


def thing_of(words: list[str], at: int, stem: str) -> tuple[str, str]:
    """The thing that is made, where that tells a chore or a look: a pull request, a branch, a plan."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if (
        stem in ("get", "take", "bring")
        and after == "back"
        and any(word in w.BRANCHES for word in words[at:])
    ):
        return "other", "back"
    if stem in ("update", "switch", "sync", "move") and after in ("from", "to", "with"):
        place = next((word for word in words[at + 2 : at + 7] if word in w.BRANCHES), "")
        return ("other", place) if place else ("", "")
    if stem == "add" and after in ("all", "everything") and "commit" in words:
        return "other", "commit"
    if stem in ("put", "split", "group", "divide") and "commits" in words[at : at + 7]:
        return "other", "commits"
    if (
        stem == "ensure"
        and CODE not in words
        and any(word in w.CHORE_OBJECTS or word in w.BRANCHES for word in words[at:])
    ):
        return "other", "ensure"
    if stem not in w.MAKERS:
        return _of_git(words, at, stem)
    told = " ".join(words[at + 1 : at + 8])
    phrase = next((phrase for phrase in w.ABOUT_A_COMMIT if phrase in told), "")
    if phrase:
        return "other", phrase
    end = at + 1
    while end < len(words) and end < at + 9 and words[end] not in w.NAMED:
        end += 1
    thing = words[end - 1] if end > at + 1 else ""
    if thing in ("up", "out", "open", "ready") and end > at + 2:
        thing = words[end - 2]  # "get a pr up"
    if thing in ("message", "description", "title") and ("commit" in words[at:end] or "pr" in words[at:end]):
        return "other", thing
    if stem == "do":
        thing = next(
            (word for word in words[at + 1 : end] if word in w.LOOK_OBJECTS or word in w.GIT_THINGS), thing
        )
    if thing in ("pr", "branch", "request") and _serves(words, end):
        return "", ""  # "make a pr to fix it", "a pr that fixes it"
    if stem == "do" and (after == "git" or thing in w.CHORE or thing == "rollback"):
        return "other", thing
    if thing in w.CHORE_OBJECTS or (stem == "do" and thing in w.GIT_THINGS):
        return "other", thing
    written = words[end : end + 1] in (["to"], ["in"], ["into"]) and CODE in words[end : end + 5]
    if thing in w.LOOK_OBJECTS and not written and "implementation" not in words[end : end + 3]:
        return "exploration", thing
    return "", ""


def _serves(words: list[str], at: int) -> bool:
    """Whether what is made is for a change: "to fix it", "that fixes it", "for this"."""
    if words[at : at + 1] not in (["to"], ["that"], ["which"]) or at + 1 >= len(words):
        return False
    verb = words[at + 1]
    return verb == "do" or verb in w.CHANGE or verb[:-1] in w.CHANGE or verb[:-2] in w.CHANGE


def _of_git(words: list[str], at: int, stem: str) -> tuple[str, str]:
    """ "split this commit", "bring this branch up to date": a chore, whatever the verb; but "fix the pr" is work."""
    if stem in w.MENDS:
        return "", ""
    for place in range(at + 1, min(at + 6, len(words))):
        word = words[place]
        if word in w.NAMED:
            break
        if word in w.GIT_THINGS and (place + 1 == len(words) or words[place + 1] in w.ENDS_A_THING):
            return "other", word
    return "", ""
