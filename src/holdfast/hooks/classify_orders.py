"""Finds the orders of a sentence for the classifier: the verb at the head of a clause, and its object.

Where several rules could apply they are in a table, and the first that applies decides.
"""

from __future__ import annotations

from holdfast.hooks import classify_words as w
from holdfast.hooks.classify_words import CODE

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Finding: TypeAlias = tuple[str, float, str]  # class, weight, and the words that show it
    Findings: TypeAlias = list[Finding]

MOST_ORDERS = 20  # in one sentence; a longer list tells nothing new
CLAUSES = frozenset((",", "and", "then", "but", "so", "&", "+"))
NOTHING = ("", 0.0, "")
AFTER = "\0"  # in a rule: the word after the verb is the reason


def find_frames(words: list[str], asked_from: int) -> dict[int, str]:
    """The positions of verbs after "can you", "let's", "we need to" and the like, with those words."""
    frames: dict[int, str] = {}
    for at in range(len(words)):
        after = _frame(words, at)
        inside = at > asked_from and words[at - 1] not in CLAUSES  # "which one would you recommend?"
        if after and not inside:
            # "can we not just …"
            polite = word_at(words, after) == "not" and words[at] in ("can", "could")
            frames[skip(words, after + polite)] = " ".join(words[at:after])
    return frames


def _frame(words: list[str], at: int) -> int:
    """The position of the verb if a request or a wish begins here, else 0."""
    word = words[at]
    if word not in w.FRAME_HEADS:
        return 0
    after, before, rest = word_at(words, at + 1), words[at - 1] if at else "", words[at + 2 : at + 5]
    if (
        before in w.BEFORE_A_CLAUSE
        # "what is the option that we need to set": asked about
        or (word in w.WISHING and has(words[max(0, at - 6) : at], w.WH))
        # "we might not need to redeploy", "users may want to see it"
        or (word in ("need", "want", "needs") and (before in w.NOT or before in w.OF_OTHERS))
        # "you can see that it is off": an observation, not a request
        or ((word, after) == ("you", "can") and rest[:1] in (["see"], ["tell"], ["notice"], ["find"]))
    ):
        return 0
    if word in ("can", "could", "would", "will", "can't", "couldn't"):
        addressed = after in ("you", "u") or (after == "we" and word not in ("would", "will"))
        more = 3 if rest == ["be", "able", "to"] else 1 if rest[:1] == ["mind"] else 0
        return at + 2 + more if addressed else 0
    now = (before, word) == ("now", "we") and after in w.CHANGE and after not in w.NOUNISH
    if now or word in ("let's", "lets", "please", "pls", "plz"):
        return at + 1  # "now we add one more box"
    if (word == "you" and after in ("could", "can", "should", "must")) or (
        word in ("need", "want", "remember", "needs") and after == "to"
    ):
        return at + 2
    return _wish(words, at) if word not in ("you", "need", "want", "remember", "needs") else 0


def _wish(words: list[str], at: int) -> int:
    """The position of the verb of a wish: "we really should add", "i'd like you to add"; else 0."""
    would = words[at].endswith("'d")
    while (after := word_at(words, at + 1)) in w.BETWEEN:
        would = would or after == "would"
        at += 1
    if would and after in w.CHANGE:
        return at + 1
    if after in ("should", "must", "wanna", "gotta"):
        return at + 2
    rest = words[at + 2 : at + 4] if after in w.WISH_HEADS else []
    return at + 4 if rest == ["you", "to"] else at + 3 if rest[:1] == ["to"] else 0


def find_orders(
    words: list[str], start: int, questioned: bool, frames: dict[int, str], findings: Findings
) -> bool:
    """Verbs at the head of the sentence or of a clause; in a question only after "can you" and the like."""
    places = dict(frames)
    if not questioned or (start < len(words) and _is_plain(words[start])):
        places.setdefault(start, "")  # "add a test for that?" is an order too
    if places:
        first = min(places) if questioned else 0
        for at, word in enumerate(words):
            if (word in CLAUSES and at >= first) or (word == "it" and words[at - 1] == "at"):
                places.setdefault(skip(words, at + 1), "and")  # "while you're at it rename"
            elif questioned:
                continue
            elif _stands_after_a_place(words, at):
                places.setdefault(at, "and")
            elif word == CODE and at + 1 < len(words) and words[at + 1] not in w.NOUNISH:
                places.setdefault(skip(words, at + 1), "and")  # "new component a.tsx update the docs"
    heads = [at for at in sorted(places)[:MOST_ORDERS] if at < len(words)]
    return sum(_order(words, at, places[at], findings) for at in heads) > 0


def _is_plain(word: str) -> bool:
    """A verb that is hardly ever a noun: an order even with a question mark."""
    is_verb = word in w.CHANGE or word in w.LOOK or word in w.TELL or word in w.CHORE
    return is_verb and word not in w.NOUNISH and word not in w.NO_PLAIN_VERBS


def _stands_after_a_place(words: list[str], at: int) -> bool:
    """ "for the mobile view stack the columns": an order after its place or time, without a comma."""
    if at < 2 or words[at] not in w.CHANGE or words[at] in w.NOUNISH:
        return False
    before, earlier = words[at - 1], words[:at]
    conditional = words[0] in ("if", "when", "once") and has(earlier, w.AUXILIARIES)
    return (
        (conditional or words[0] in ("for", "in", "on", "inside", "under"))
        and word_at(words, at + 1) in ("the", "a", "an", "all", "it")
        and not has(earlier, w.WH)
        and not (before in w.SUBJECTS or before in w.AUXILIARIES or before == "to")
    )


def _order(words: list[str], at: int, frame: str, findings: Findings) -> bool:
    verb, after = words[at].partition("/")[0], word_at(words, at + 1)
    if verb in ("don't", "not", "never", "dont") or (verb == "do" and after == "not"):
        return _forbids(words, at, findings)
    bare = frame in ("", "and")
    quoted = f'"{verb}"' if bare else f'"{frame} {verb}"'
    stem = verb if bare else base_form(verb)
    if bare and _is_noun(stem, after) and (stem, after) != ("comment", "on"):
        return False
    if bare and at + 2 == len(words) and after.endswith("ed") and verb not in w.CHANGE:
        return False  # "scope confirmed", "review finished": already done
    if stem in w.DELEGATES and "to" in words[at + 2 : at + 8]:
        at = words.index("to", at + 2) + 1  # "ask it to add a test": the second verb counts
        stem = word_at(words, at)
    kind, weight, reason = _meaning(Head(words, at, stem, frame))
    if kind:
        findings.append((kind, weight, f'{quoted} … "{reason}"' if reason else quoted))
    return bool(kind)


def _forbids(words: list[str], at: int, findings: Findings) -> bool:
    """ "don't log the token" orders a change as well; "don't push" is about a chore."""
    verb = word_at(words, at + 1)
    if verb == "not":
        verb = word_at(words, at + 2)
    if "yet" in words[at : at + 9]:
        return False  # "don't update it yet"
    kind, thing = _thing(Head(words, words.index(verb, at) if verb in words[at:] else at, verb))
    if kind == "other":
        findings.append((kind, 2.0, f'"{words[at]} {verb}" … "{thing}"'))
    elif base_form(verb) in w.CHANGE or verb in ("need", "want"):
        findings.append(("code-gen", 2.0, f'"{words[at]} {verb}"'))
    else:
        return False
    return True


def _is_noun(word: str, after: str) -> bool:
    """A noun after all: "build fails", "type is", "default off"."""
    if word in w.NOUNISH:
        return after not in w.DETERMINERS
    return after in w.FINITE or (word in w.NOUNS_TOO and after in w.BROKEN)


class Head:
    """The verb of an order and the words around it. `frame` is what introduces it: "can you", "we should"."""

    __slots__ = ("after", "at", "frame", "rest", "second", "stem", "subject", "wished", "words")

    def __init__(self, words: list[str], at: int, stem: str, frame: str = "") -> None:
        self.words = words
        self.at = at
        self.stem = stem
        self.frame = frame
        self.subject = frame.partition(" ")[0]
        self.wished = self.subject in w.WISHING
        self.rest = words[at:]
        self.after = word_at(words, at + 1)
        self.second = word_at(words, at + 2)

    @property
    def changes(self) -> bool:
        return (
            self.stem in w.CHANGE or self.stem in ("do", "take", "have", "get", "give") or _is_misspelt(self)
        )


# Meanings of verbs of change, after their object has been checked.
_CHANGES: tuple[tuple[Callable[[Head], bool], str, float, str], ...] = (
    (lambda head: (head.stem, head.after) in w.PHRASAL, "code-gen", 4.0, AFTER),
    (lambda head: head.stem == "take" and "out" in head.rest[2:9], "code-gen", 4.0, AFTER),
    (lambda head: head.stem == "give" and head.after in ("me", "us"), "qa", 1.6, AFTER),
    (lambda head: head.stem == "give", "code-gen", 2.0, ""),
    (lambda head: head.stem in w.HAVING and head.frame not in ("", "and"), "code-gen", 2.0, ""),
    (lambda head: head.stem in w.HAVING, *NOTHING),
    (lambda head: head.stem == "validate" and head.after in w.WHETHER, "exploration", 2.5, AFTER),
    # To try it out: tests are added or written.
    (lambda head: head.stem == "test", "exploration", 2.0, AFTER),
    (lambda head: (head.stem, head.after) in w.TO_PEOPLE, "other", 2.5, AFTER),
    (lambda head: head.stem == "make" and (head.after, head.second) == ("it", "so"), "code-gen", 3.0, AFTER),
    # "make the agent rerun it"
    (lambda head: head.stem == "make" and has(head.rest[2:5], w.CHORES), "other", 2.5, "somebody"),
    (lambda head: (head.stem, head.after) in w.IDIOMS, *NOTHING),
    # In a text; or in a pull request.
    (lambda head: head.stem == "mention", "code-gen", 2.0, ""),
    (lambda head: head.subject in ("it", "they"), "code-gen", 2.0, ""),
    (lambda head: head.wished, "code-gen", 3.0, ""),
    (lambda head: head.stem == "do" or head.stem in w.NOUNISH, "code-gen", 2.5, ""),
    (lambda head: True, "code-gen", 4.0, ""),
)
# Meanings of all other verbs.
_OTHER_VERBS: tuple[tuple[Callable[[Head], bool], str, float, str], ...] = (
    # "tell the user which file": what the program is to do
    (
        lambda head: head.stem in w.SPEAKS and head.after == "the" and head.second in w.USERS,
        *("code-gen", 2.5, "the user"),
    ),
    (lambda head: head.stem == "leave" and head.after in ("a", "an"), "code-gen", 2.5, AFTER),
    (lambda head: head.stem == "go" and head.after in ("through", "over"), "exploration", 2.5, AFTER),
    # "start phase 3"
    (
        lambda head: head.stem in w.BEGINNING and (head.after in w.PIECES or head.after.isdigit()),
        *("code-gen", 2.5, AFTER),
    ),
    (lambda head: head.stem in w.GOING_ON and base_form(head.after) in w.CHANGE, "code-gen", 3.0, AFTER),
    (lambda head: head.stem == "work" and head.after in ("on", "through"), "code-gen", 3.0, AFTER),
    (lambda head: head.stem in ("start", "begin") and head.after in ("with", "on"), "code-gen", 2.0, AFTER),
    # A program speaks to a model.
    (lambda head: head.stem in ("respond", "reply") and head.after == "with", "other", 5.0, AFTER),
    # "it should send", "we want to show": what the program is to do
    (lambda head: head.subject in ("it", "they"), "code-gen", 2.0, ""),
    (
        lambda head: head.wished and (head.stem in w.PRODUCT or head.stem not in w.OTHER_WORK),
        *("code-gen", 2.0, ""),
    ),
    # As reviewers put it.
    (lambda head: head.stem == "consider" and head.after.endswith("ing"), "code-gen", 1.5, AFTER),
    # "see the screenshot": a reference, not a request
    (
        lambda head: head.stem == "see" and head.frame in ("", "and") and head.after not in w.AFTER_SEE,
        *NOTHING,
    ),
    (lambda head: head.stem in ("look", "check") and _is_soft(head), "exploration", 1.5, ""),
    (lambda head: head.stem in w.LOOK, "exploration", 2.5, ""),
    (lambda head: head.wished and head.stem in w.TALK, "qa", 1.6, ""),
    (lambda head: head.stem in w.TELL and head.frame == "and", "exploration", 1.2, ""),
    (lambda head: head.stem in w.TELL and has(head.words, w.IN_CODE), "exploration", 2.3, ""),
    (lambda head: head.stem in w.TELL, "qa", 2.3, ""),
    (lambda head: head.stem in w.CHORE, "other", 2.5, ""),
    (lambda head: head.subject in ("let's", "lets") and head.stem not in w.TALK, "code-gen", 1.6, ""),
    # Any other verb: the default for an agent that works on code.
    (
        lambda head: (
            head.subject in ("can", "could", "would")
            and head.stem.isalpha()
            and head.stem not in w.NOT_WORK
            and not _is_near(head.stem, w.LOOK)
        ),
        *("code-gen", 1.6, ""),
    ),
)


def _meaning(head: Head) -> Finding:
    """What an order asks for: class, weight, and the object if it decides."""
    changes = head.changes
    if changes and (thing := _thing(head))[0]:
        return thing[0], 1.5 if thing[1] == "look" else 3.0, thing[1]
    aim = _use(head) if changes else _aim(head)
    if aim[0]:
        return aim
    for applies, kind, weight, reason in _CHANGES if changes else _OTHER_VERBS:
        if applies(head):
            return kind, weight, head.after if reason == AFTER else reason
    return NOTHING


def _is_soft(head: Head) -> bool:
    """ "check it", "look into this": hardly a task by itself."""
    pointed = head.after in ("at", "into") and head.second in ("it", "this", "that")
    return head.after in w.SOFTLY or pointed


def _aim(head: Head) -> Finding:
    """The change that "find a way to fix it" and "help me fix it" lead to."""
    words, at = head.words, head.at + 1
    if head.stem in ("find", "figure") and "to" in words[at : at + 5]:
        weight, verb = 2.5, word_at(words, words.index("to", at) + 1)
        reason = f"to {verb}"
    elif head.stem == "help":
        while word_at(words, at) in ("me", "us", "to") or word_at(words, at) in w.FILLERS:
            at += 1
        weight, reason = 3.0, word_at(words, at)
        verb = reason
    else:
        return NOTHING
    return ("code-gen", weight, reason) if verb in w.CHANGE and verb not in w.NOUNISH else NOTHING


def _use(head: Head) -> Finding:
    """ "use gh to make a pr", "use the reviewer on it": the purpose, where it is not a plain change."""
    if head.stem != "use":
        return NOTHING
    words = head.words
    for at in range(head.at + 2, min(head.at + 9, len(words) - 1)):
        verb = words[at + 1]
        if words[at] == "to" and (verb in w.LOOK or verb in w.CHORE or verb in w.MAKERS):
            kind, weight, _ = _meaning(Head(words, at + 1, verb))
            if kind in ("exploration", "other"):
                return kind, weight, f"to {verb}"
            break
    rest = head.rest[1:12]
    if not has(rest[:6], w.HELPERS):
        return NOTHING
    for at, verb in enumerate(rest[1:]):
        if rest[at] == "to" and verb in w.CHANGE:
            return "code-gen", 3.0, verb
    if has(rest, w.LOOK) or has(rest, w.LOOK_OBJECTS):
        return "exploration", 1.5, "a helper"
    return "code-gen", 1.6 if "on" in rest else 0.5, "a helper"


# Orders that are git chores, whatever the verb; None stands for the branch that is named.
_GIT_CHORES: tuple[tuple[Callable[[Head], bool], str], ...] = (
    (lambda head: head.stem in w.FETCHING and head.after == "back" and has(head.rest, w.BRANCHES), "back"),
    (
        lambda head: head.stem == "add" and head.after in ("all", "everything") and "commit" in head.words,
        "commit",
    ),
    (lambda head: head.stem in w.DIVIDING and "commits" in head.rest[:7], "commits"),
    (
        lambda head: (
            head.stem == "ensure"
            and CODE not in head.words
            and (has(head.rest, w.CHORE_OBJECTS) or has(head.rest, w.BRANCHES))
        ),
        "ensure",
    ),
)


def _thing(head: Head) -> tuple[str, str]:
    """The object that makes an order a chore or a look: a pull request, a branch, a plan."""
    words, at, stem = head.words, head.at, head.stem
    if stem in ("update", "switch", "sync", "move") and head.after in ("from", "to", "with"):
        branch = next((word for word in head.rest[2:7] if word in w.BRANCHES), "")
        return ("other", branch) if branch else ("", "")
    for applies, thing in _GIT_CHORES:
        if applies(head):
            return "other", thing
    if stem not in w.MAKERS:
        return _git_thing(head)
    following = " ".join(head.rest[1:8])
    if phrase := next((phrase for phrase in w.ABOUT_A_COMMIT if phrase in following), ""):
        return "other", phrase
    end = next((place for place, word in enumerate(head.rest[1:9], at + 1) if word in w.NAMED), 0)
    end = end or max(at + 1, min(at + 9, len(words)))
    thing = words[end - 1] if end > at + 1 else ""
    if thing in ("up", "out", "open", "ready") and end > at + 2:
        thing = words[end - 2]  # "get a pr up"
    if thing in ("message", "description", "title") and ("commit" in words[at:end] or "pr" in words[at:end]):
        return "other", thing
    if stem == "do":
        candidates = (word for word in words[at + 1 : end] if word in w.LOOK_OBJECTS or word in w.GIT_THINGS)
        thing = next(candidates, thing)
    if thing in ("pr", "branch", "request") and _serves(words, end):
        return "", ""  # "make a pr to fix it", "a pr that fixes it"
    done = head.after == "git" or thing in w.CHORE or thing == "rollback" or thing in w.GIT_THINGS
    if thing in w.CHORE_OBJECTS or (stem == "do" and done):
        return "other", thing
    written = word_at(words, end) in ("to", "in", "into") and CODE in words[end : end + 5]
    if thing in w.LOOK_OBJECTS and not written and "implementation" not in words[end : end + 3]:
        return "exploration", thing
    return "", ""


def _serves(words: list[str], at: int) -> bool:
    """Whether the object serves a change: "to fix it", "that fixes it", "for this"."""
    verb = word_at(words, at + 1)
    changes = verb == "do" or any(form in w.CHANGE for form in (verb, verb[:-1], verb[:-2]))
    return word_at(words, at) in ("to", "that", "which") and changes


def _git_thing(head: Head) -> tuple[str, str]:
    """ "split this commit", "bring this branch up to date": a chore, whatever the verb; but "fix the pr" is work."""
    if head.stem in w.MENDS:
        return "", ""
    for word, following in zip(head.rest[1:6], [*head.rest[2:7], ""], strict=False):
        if word in w.NAMED:
            break
        if word in w.GIT_THINGS and (not following or following in w.ENDS_A_THING):
            return "other", word
    return "", ""


def base_form(verb: str) -> str:
    """ "splitting" → "split", "adding" → "add": as after "would you mind" and "start"."""
    if len(verb) > 5 and verb.endswith("ing"):
        base = verb[:-3]
        for candidate in (base, base + "e", base[:-1]):
            if candidate in w.CHANGE or candidate in w.LOOK:
                return candidate
    return verb


def _is_misspelt(head: Head) -> bool:
    """A verb of change with one typo, where an order would be."""
    verb = head.stem
    if len(verb) < 6 or verb in w.FILLERS or not verb.isalpha() or not (head.frame or head.at == 0):
        return False
    if verb in w.LOOK or verb in w.CHORE or verb in w.TELL or verb.endswith(("s", "ed", "ing", "er")):
        return False
    return _is_near(verb, w.CHANGE)


def _is_near(verb: str, known: frozenset[str]) -> bool:
    return any(word[0] == verb[0] and len(word) > 5 and _one_slip(word, verb) for word in known)


def _one_slip(word: str, other: str) -> bool:
    start, shorter = 0, min(len(word), len(other))
    while start < shorter and word[start] == other[start]:
        start += 1
    word, other = word[start:], other[start:]
    swapped = len(word) > 1 and word[:2] == other[1::-1] and word[2:] == other[2:]
    return swapped or word[1:] == other or word == other[1:] or word[1:] == other[1:]


def skip(words: list[str], at: int) -> int:
    """Skips "please", "also", "now", and adverbs: "let's completely remove"."""
    for _ in range(8):
        word = word_at(words, at)
        adverb = word.endswith("ly") and word not in w.CHANGE
        going = word == "go" and word_at(words, at + 1) in ("through", "over")
        if going or not (adverb or word == "," or word in w.FILLERS):
            break
        at += 1
    return at


def word_at(words: list[str], at: int) -> str:
    return words[at] if at < len(words) else ""


def has(words: list[str], known: frozenset[str]) -> bool:
    return not known.isdisjoint(words)
