"""Judges the orders of a sentence for the classifier: the verb at the head of a clause, and the thing it is about."""

from __future__ import annotations

from holdfast.hooks import classify_words as w
from holdfast.hooks.classify_reading import CODE

TYPE_CHECKING = False


# The thing that an order is about, where it makes the order a chore or a look: a pull request, a branch, a
# plan.


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


MOST_ORDERS = 20  # in one sentence; a longer list tells nothing new
CLAUSES = frozenset((",", "and", "then", "but", "so", "&", "+"))
if TYPE_CHECKING:
    from typing import TypeAlias

    Findings: TypeAlias = list[tuple[str, float, str]]


def skip(words: list[str], at: int) -> int:
    """Past "please", "also", "now", and adverbs: "let's completely remove"."""
    for _ in range(8):
        word = words[at] if at < len(words) else ""
        adverb = word.endswith("ly") and word not in w.CHANGE
        going = word == "go" and at + 1 < len(words) and words[at + 1] in ("through", "over")
        if going or not (adverb or word == "," or word in w.FILLERS):
            break
        at += 1
    return at


def orders(
    words: list[str], start: int, questioned: bool, frames: dict[int, str], findings: Findings
) -> bool:
    """Verbs at the head of the sentence or of a clause; in a question only after "can you" and the like."""
    places = dict(frames)
    if not questioned or (start < len(words) and _is_plain(words[start])):
        places.setdefault(start, "")  # "add a test for that?" is an order too
    if places:
        first = min(places) if questioned else 0
        for at, word in enumerate(words):
            if word in CLAUSES and at >= first:
                places.setdefault(skip(words, at + 1), "and")
            elif word == "it" and words[at - 1] == "at":
                places.setdefault(skip(words, at + 1), "and")  # "while you're at it rename"
            elif _stands_after_a_place(words, at) and not questioned:
                places.setdefault(at, "and")
            elif word == CODE and not questioned and at + 1 < len(words) and words[at + 1] not in w.NOUNISH:
                places.setdefault(skip(words, at + 1), "and")  # "new component a.tsx update the docs"
    found = False
    for at in sorted(places)[:MOST_ORDERS]:
        if at < len(words):
            found = _order(words, at, places[at], findings) or found
    return found


def _is_plain(word: str) -> bool:
    """A verb that is hardly ever a noun: an order even with a question mark behind it."""
    known = word in w.CHANGE or word in w.LOOK or word in w.TELL or word in w.CHORE
    return known and word not in w.NOUNISH and word not in w.NO_PLAIN_VERBS


def _stands_after_a_place(words: list[str], at: int) -> bool:
    """ "for the mobile view stack the columns": an order after where or when it holds, without a comma."""
    conditional = words[0] in ("if", "when", "once") and any(word in w.AUXILIARIES for word in words[:at])
    placed = words[0] in ("for", "in", "on", "inside", "under")
    if (
        not (conditional or placed)
        or at < 2
        or at + 1 >= len(words)
        or any(word in w.WH for word in words[:at])
    ):
        return False
    placed = (
        words[at] in w.CHANGE
        and words[at] not in w.NOUNISH
        and words[at + 1] in ("the", "a", "an", "all", "it")
    )
    return (
        placed
        and words[at - 1] not in w.SUBJECTS
        and words[at - 1] not in w.AUXILIARIES
        and words[at - 1] != "to"
    )


def _order(words: list[str], at: int, frame: str, findings: Findings) -> bool:
    verb, after = words[at].partition("/")[0], words[at + 1] if at + 1 < len(words) else ""
    bare = frame in ("", "and")
    said = f'"{verb}"' if bare else f'"{frame} {verb}"'
    if verb in ("don't", "not", "never", "dont") or (verb == "do" and after == "not"):
        verb, after = after, words[at + 2] if at + 2 < len(words) else ""
        if verb == "not":
            verb = after
        kind, thing = thing_of(words, words.index(verb, at) if verb in words[at:] else at, verb)
        if "yet" in words[at : at + 9]:
            return False  # "don't update it yet"
        if kind == "other":
            findings.append((kind, 2.0, f'"{words[at]} {verb}" … "{thing}"'))
            return True
        if base_form(verb) in w.CHANGE or verb in ("need", "want"):
            findings.append(("code-gen", 2.0, f'"{words[at]} {verb}"'))
            return True
        return False
    stem = verb if bare else base_form(verb)
    if bare and _is_noun(stem, after) and (stem, after) != ("comment", "on"):
        return False
    if bare and at + 2 == len(words) and after.endswith("ed") and verb not in w.CHANGE:
        return False  # "scope confirmed", "review finished": what is done already
    if stem in w.DELEGATES and "to" in words[at + 2 : at + 8]:
        at = words.index("to", at + 2) + 1  # whoever does it, this is what is wanted
        stem = words[at] if at < len(words) else ""
    kind, weight, what = _meaning(words, at, stem, frame)
    if not kind:
        return False
    findings.append((kind, weight, f'{said} … "{what}"' if what else said))
    return True


def _is_noun(word: str, after: str) -> bool:
    """A noun after all: "build fails", "type is", "default off"."""
    if word in w.NOUNISH:
        return after not in w.DETERMINERS
    return after in w.FINITE or (word in w.NOUNS_TOO and after in w.BROKEN)


def _meaning(words: list[str], at: int, stem: str, frame: str) -> tuple[str, float, str]:
    """What an order asks for: class, weight, and the object where that decides."""
    subject = frame.partition(" ")[0]
    wished = subject in w.WISHING
    after = words[at + 1] if at + 1 < len(words) else ""
    if stem in w.CHANGE or stem in ("do", "take", "have", "get", "give") or _nearly(stem, frame, at):
        kind, thing = thing_of(words, at, stem)
        if kind:
            return kind, 3.0 if thing != "look" else 1.5, thing
        if (stem, after) in w.PHRASAL or (stem == "take" and "out" in words[at + 2 : at + 9]):
            return "code-gen", 4.0, after
        if stem in ("take", "have", "get", "give"):
            if stem == "give":
                return ("code-gen", 2.0, "") if after not in ("me", "us") else ("qa", 1.6, after)
            return ("code-gen", 2.0, "") if frame not in ("", "and") else ("", 0.0, "")
        if stem == "use":
            purpose = _purpose(words, at)
            if purpose[0]:
                return purpose
        if stem == "use" and any(word in w.HELPERS for word in words[at + 1 : at + 7]):
            return _with_help(words, at)
        if stem == "validate" and (after in w.WH or after in ("whether", "if")):
            return "exploration", 2.5, after
        if stem == "test":
            return "exploration", 2.0, after  # to try it: tests are added or written
        if (stem, after) in (("comment", "on"), ("ignore", "that"), ("ignore", "this"), ("ignore", "it")):
            return "other", 2.5, after
        if stem in ("make", "have", "get", "let") and words[at + 1 : at + 3] == ["it", "so"]:
            return "code-gen", 3.0, after
        if stem in ("make", "have", "get", "let") and any(
            word in w.CHORE or word in w.CHORES_DONE for word in words[at + 2 : at + 5]
        ):
            return "other", 2.5, "somebody"  # "make the agent rerun it"
        if (stem, after) in w.IDIOMS:
            return "", 0.0, ""
        if stem == "mention":
            return "code-gen", 2.0, ""  # in a text; or in a pull request
        if wished:
            return "code-gen", 2.0 if subject in ("it", "they") else 3.0, ""
        return "code-gen", 2.5 if stem == "do" or stem in w.NOUNISH else 4.0, ""
    if (
        stem in w.SPEAKS
        and after == "the"
        and words[at + 2 : at + 3] in (["user"], ["users"], ["caller"], ["customer"])
    ):
        return "code-gen", 2.5, "the user"  # "tell the user which file": what the program is to do
    if stem in ("find", "figure") and "to" in words[at + 1 : at + 6]:
        place = words.index("to", at + 1) + 1
        if place < len(words) and words[place] in w.CHANGE and words[place] not in w.NOUNISH:
            return "code-gen", 2.5, f"to {words[place]}"  # "find a way to fix it"
    if stem == "leave" and after in ("a", "an"):
        return "code-gen", 2.5, after
    if stem == "go" and after in ("through", "over"):
        return "exploration", 2.5, after
    if stem in w.BEGINNING and (after in w.PIECES or after.isdigit()):
        return "code-gen", 2.5, after  # "start phase 3"
    if stem == "help":
        place = at + 1
        while place < len(words) and (words[place] in ("me", "us", "to") or words[place] in w.FILLERS):
            place += 1
        if place < len(words) and words[place] in w.CHANGE and words[place] not in w.NOUNISH:
            return "code-gen", 3.0, words[place]
    begun = stem in ("start", "begin", "try", "continue", "keep") and base_form(after) in w.CHANGE
    if begun or (stem == "work" and after in ("on", "through")):
        return "code-gen", 3.0, after
    if stem in ("start", "begin") and after in ("with", "on"):
        return "code-gen", 2.0, after
    if stem in ("respond", "reply") and after == "with":
        return "other", 5.0, after  # a program speaks to a model
    if subject in ("it", "they") or (wished and (stem in w.PRODUCT or not _is_other_work(stem))):
        return "code-gen", 2.0, ""  # "it should send", "we want to show": what the program is to do
    if stem == "consider" and after.endswith("ing"):
        return "code-gen", 1.5, after  # as reviewers put it
    if (
        stem == "see"
        and frame in ("", "and")
        and after not in w.WH
        and after not in ("if", "whether", "that")
    ):
        return "", 0.0, ""  # "see the screenshot": shown, not asked for
    if stem in w.LOOK:
        soft = stem in ("look", "check") and (
            after in w.SOFTLY or (after in ("at", "into") and words[at + 2 : at + 3] in w.POINTED)
        )
        return "exploration", 1.5 if soft else 2.5, ""
    if wished and stem in w.TALK:
        return "qa", 1.6, ""
    if stem in w.TELL:
        explores = frame == "and" or any(word in w.IN_CODE for word in words)
        return ("exploration", 1.2 if frame == "and" else 2.3, "") if explores else ("qa", 2.3, "")
    if stem in w.CHORE:
        return "other", 2.5, ""
    if subject in ("let's", "lets") and stem not in w.TALK:
        return "code-gen", 1.6, ""
    if (
        subject in ("can", "could", "would")
        and stem.isalpha()
        and stem not in w.NOT_WORK
        and not _is_near(stem, w.LOOK)
    ):
        return "code-gen", 1.6, ""  # whatever verb it is: what is asked of one who works on code
    return "", 0.0, ""


def _is_other_work(stem: str) -> bool:
    return stem in w.LOOK or stem in w.TELL or stem in w.CHORE or stem in w.TALK


def _purpose(words: list[str], at: int) -> tuple[str, float, str]:
    """ "use the browser to check it", "use gh to make a pr": what it is used for, where that is no change."""
    for place in range(at + 2, min(at + 9, len(words) - 1)):
        verb = words[place + 1]
        if words[place] == "to" and (verb in w.LOOK or verb in w.CHORE or verb in w.MAKERS):
            kind, weight, _ = _meaning(words, place + 1, verb, "")
            return (kind, weight, f"to {verb}") if kind in ("exploration", "other") else ("", 0.0, "")
    return "", 0.0, ""


def _with_help(words: list[str], at: int) -> tuple[str, float, str]:
    """ "use the skill to improve it", "use the reviewer on it": what the helper is for, or is called, tells."""
    rest = words[at + 1 : at + 12]
    for place, word in enumerate(rest[:-1]):
        if word == "to" and rest[place + 1] in w.CHANGE:
            return "code-gen", 3.0, rest[place + 1]
    looks = any(word in w.LOOK or word in w.LOOK_OBJECTS for word in rest)
    return (
        ("exploration", 1.5, "a helper") if looks else ("code-gen", 1.6 if "on" in rest else 0.5, "a helper")
    )


def base_form(verb: str) -> str:
    """ "splitting" → "split", "adding" → "add": as after "would you mind" and "start"."""
    if len(verb) > 5 and verb.endswith("ing"):
        base = verb[:-3]
        for known in (base, base + "e", base[:-1]):
            if known in w.CHANGE or known in w.LOOK:
                return known
    return verb


def _nearly(verb: str, frame: str, at: int) -> bool:
    """A verb of change with one slip of the keyboard, where an order would stand."""
    if len(verb) < 6 or verb in w.FILLERS or not verb.isalpha() or not (frame or at == 0):
        return False
    if verb in w.LOOK or verb in w.CHORE or verb in w.TELL or verb.endswith(("s", "ed", "ing", "er")):
        return False
    return _is_near(verb, w.CHANGE)


def _is_near(verb: str, known: frozenset[str]) -> bool:
    return any(one[0] == verb[0] and len(one) > 5 and _one_slip(one, verb) for one in known)


def _one_slip(one: str, two: str) -> bool:
    start, shorter = 0, min(len(one), len(two))
    while start < shorter and one[start] == two[start]:
        start += 1
    one, two = one[start:], two[start:]
    swapped = len(one) > 1 and one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two or one == two[1:] or one[1:] == two[1:]


# Judges what a sentence states for the classifier: something is wrong, or wished for, without an order.

if TYPE_CHECKING:
    from typing import TypeAlias

    StatementFindings: TypeAlias = list[tuple[str, float, str]]


def judge_statement(words: list[str], ordered: bool, findings: StatementFindings) -> None:
    """What is wished or wrong, said without an order: the strongest such word counts."""
    best, why = 0.0, ""
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        named = after in w.NAMES_OF_ERRORS  # "error handling" is nothing wrong
        referred = (
            word in w.NAMES_OF_FAULTS
            and at
            and (words[at - 1] in w.REFERRED or (words[at - 1] == "the" and not after))
        )
        mine = word in w.OWN_FAULTS and any(me in w.ONESELF for me in words[max(0, at - 3) : at])
        if (word in w.MUST and not ordered) or (word in w.BROKEN and not (named or referred or mine)):
            best, why = 2.0, f'"{word}"'
            break
        if at and words[at - 1] in w.WH:
            continue  # "why we need the lock"
        weight = _wrong_or_wished(word, after, words[at + 2 :], at, ordered)
        if weight > best:
            best, why = weight, f'"{word} {after}"'
    if best and w.HEDGES & set(words[:3]):
        best = 1.2  # "maybe it's better to …": an opinion
    if best:
        git = CODE not in words and any(word in w.GIT for word in words) and why.strip('"') not in w.BROKEN
        findings.append(("other" if git else "code-gen", best, why))
        return
    if any(word in w.REMARKS for word in words[1:]) and any(word in w.REMARKED for word in words):
        findings.append(("code-gen", 1.6, '"comments"'))  # what reviewers left is to be dealt with
        return
    opens = words[0] in w.OPENERS and not any(word in w.SUBJECTS for word in words[1:3])
    if opens or (words[0] in w.MORE_OR_LESS and len(words) < 7):
        findings.append(("code-gen", 1.6, f'"{words[0]}"'))
    elif (
        words[0] == "now"
        and len(words) < 6
        and not any(word in w.AUXILIARIES or word in w.SUBJECTS for word in words)
    ):
        findings.append(("code-gen", 1.6, '"now …"'))
    elif "still" in words:
        findings.append(("code-gen", 1.6, '"still"'))
    elif words[0] == "no" and len(words) > 3 and words[1] not in w.SUBJECTS and words[1] not in w.AFTER_NO:
        findings.append(("code-gen", 1.6, f'"{words[0]} {words[1]}"'))


def _wrong_or_wished(word: str, after: str, rest: list[str], at: int, ordered: bool) -> float:
    if word in ("i", "we", "i'd", "we'd") and after in w.BETWEEN and rest:
        after = rest[0]
    if (word in ("i", "we") and after in ("get", "got", "receive", "keep")) or (
        word in ("i'm", "am", "we're", "keeps") and after in ("getting", "seeing") and rest
    ):
        return 1.7
    if word in w.UNABLE and after and after not in w.OF_THE_MIND:
        return 1.7
    if word in ("not", "isn't", "aren't", "wasn't") and after.endswith("ed") and after not in w.STATES:
        return 1.7  # "it is not updated"
    if word in ("nothing", "neither") and at < 2 and after:
        return 1.7  # "nothing happens", "neither worked"
    if word in ("need", "want") or (after in ("need", "want") and rest[:1] in (["to"], ["you"])):
        return 0.0
    if (word in w.NOT and after in w.WORKS and "sense" not in rest) or (
        word in ("you", "u") and after in w.SLIPS
    ):
        return 2.0
    if word in ("i", "we", "i'd", "we'd", "users") and after in w.WISH_HEADS and after != "have":
        return 0.0 if ordered else 2.0
    if word == "no" and after == "need":
        return 0.0
    if word == "does" and after == "not" and at:
        return 1.7
    if word == "not" and after in ("needed", "necessary") and at:
        return 1.6
    if (
        word in w.FALLS_SHORT
        and at
        and after not in ("matter", "need", "mean")
        and (word, after) != ("never", "be")
    ):
        return 1.7
    if word == "too" and after not in ("", ",") and after not in CLAUSES:
        return 1.7
    if (word in ("no", "any") and after in ("longer", "more")) or (word == "not" and "but" in rest):
        return 1.6
    happening = word in ("when", "if") and after in ("i", "you", "we", "users") and at < 3
    return 1.6 if happening and rest else 0.0
