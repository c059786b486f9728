"""What a hit says in one line that can be read by itself, and whether a line says no more than one told before.

A session is told by its goal and by the part of it that the task asks for: what a prompt asked is seldom what was done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from holdfast.core.likeness import (
    Likeness,
    Signature,
    compare_signatures,
    exchanged,
    signature,
    stem,
    turned,
    word_set,
)
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.model.search import COMMITS, CUT_OFF, FILES, OUTCOME, Hit

# A session's text, as `chunking` writes it, taken apart into what can be told of it in a line.

# "All tests pass, pushed to main" is said of every session, and tells none of them apart.
ROUTINE = frozenset(
    stem(word)
    for word in word_set(
        "all tests test pass passes passing lint linter linting clean green fix fixed fixes error errors warning "
        "warnings issue issues complete completed success successful successfully push pushed commit committed branch "
        "main file files update updated change changes implement implementation implemented done rebase rebased merge "
        "merged build builds check checks finish finished ready pr create created draft new request previous thank "
        "style format formatted formatting"
    )
)
_ENDED = {
    "failed": "Tried before: ",
    "abandoned": "Tried before: ",
    "partial": "Begun before: ",
    "nothing": "Asked before: ",
}
_NOTHING_DONE = ("nothing was asked or done", "talked about, and nothing was done")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|;\s+")
_COMMIT = re.compile(r"^[0-9a-f]{7,40} (?=\S)")
_MERGED = "Merge "
_ADDRESS = re.compile(r"https?://\S+")
_SHORT_ADDRESS = 40  # signs
_FOLDERS = re.compile(r"(?:[\w.@-]+/){2,}(?=[\w.@-])")


class ToldSession(Struct, frozen=True):
    """Of a long session only the beginning and the passage that was found are there."""

    goal: str
    outcome: str
    summary: str
    files: tuple[str, ...]
    commits: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> ToldSession:
        lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
        named = {OUTCOME: "", FILES: "", COMMITS: ""}
        rest = []
        for line in lines:
            name = next((name for name in named if line.startswith(name)), "")
            if name:
                named[name] = line.removeprefix(name)
            else:
                rest.append(line)
        has_goal = bool(rest) and lines[0] == rest[0]
        return cls(
            goal=rest[0] if has_goal else "",
            outcome=named[OUTCOME],
            summary=" ".join(rest[1:] if has_goal else rest),
            files=tuple(named[FILES].split()),
            commits=tuple(filter(None, named[COMMITS].split("; "))),
        )

    @property
    def label(self) -> str:
        return _ENDED.get("nothing" if self.did_nothing else self.outcome.partition(" ")[0], "Done before: ")

    @property
    def did_nothing(self) -> bool:
        return any(sign in self.outcome for sign in _NOTHING_DONE)

    def parts(self) -> Iterator[str]:
        """What it did, in a few words each; a commit says it best. What begins in the middle is left out."""
        for part in (*self.commits, *_SENTENCE.split(self.summary)):
            said = _COMMIT.sub("", part.strip())
            if said and not said.startswith((_MERGED, CUT_OFF)):
                yield said


def shortened(text: str, most: int) -> str:
    """A text that has more tokens than that, without what can be spared: middles of addresses, then folders."""
    if count_tokens(text) > most:
        text = _ADDRESS.sub(_short_address, text)
    return without_folders(text) if count_tokens(text) > most else text


def without_folders(text: str) -> str:
    """A file of a long path by its name alone."""
    return _FOLDERS.sub("…/", text)


def _short_address(found: re.Match[str]) -> str:
    address = found[0]
    if len(address) <= _SHORT_ADDRESS:
        return address
    host, *path = address.partition("://")[2].split("/")
    return f"{host}/…/{'/'.join(path[-2:])}" if len(path) > 2 else address


LONGEST = 45  # tokens of one line, without its label
_LONGEST_GOAL = 22  # where a part of the session follows that has more of what is asked for
_LEAST_PART = 18
_FEWEST_WORDS = 3
_LONGEST_FAILURE = 60  # a command that failed, and the one that worked
_LONGEST_TRIED = 26
_RESTATED = 0.75  # of what a line says stands in another one already
_NEAR = 0.5  # of meaning: words alone make one of what merely has its subject in common
_REWORDED = (0.6, 0.75)  # the same two of what one session says twice, in other words
_FORMULA = 0.85  # two goals in the same words, about two files; so many of them that it is no chance
_WORDS_OF_FORMULA = 5
_MOST_FAILURES = 2  # of one command: a linter has a lesson for each of its rules

_LABELS = {"D": "Decided: ", "N": "Found: ", "Q": "Asked: "}
_PLAN, _IMPLEMENT = "Plan approved: ", "Implement the plan: "
_BECAUSE = " (because "
_QUOTED = re.compile(r"`([^`]+)`")
_FAILS = re.compile(r"`(?P<tried>.*?)` fails here \(.*\)(?: → `(?P<instead>.*)` worked)?", re.DOTALL)
_COMMAND_FIRST = re.compile(r"`([^`]+)` (?:fails|does not)\b")
_WHY = re.compile(r" \(.*\)(?= → |$)")
_NUMBER = re.compile(r"\b\d+\b")

Nearness = Callable[[str, str], float]


def sort_of(hit: Hit) -> str:
    """The letter of a statement's id, or `session` and the like."""
    return hit.id[0] if hit.id[1:2] == "-" else hit.id.partition(":")[0]


class Line(Struct, frozen=True):
    """A line as it is told; `said` is it without its label and files, `goal` that of a session."""

    text: str
    said: str
    sort: str
    session: str
    goal: str = ""


class Telling:
    """One briefing, line by line: each is told only if it is understood alone and says something new."""

    def __init__(self, task: str, hits: Sequence[Hit], nearness: Nearness) -> None:
        self._asked = _content(task)
        self._nearness = nearness
        self._told: list[Line] = []
        self._decisions = [hit for hit in hits if sort_of(hit) == "D"]
        self._statements: dict[str, list[str]] = {}
        for hit in hits:
            if sort_of(hit) in _LABELS:
                self._statements.setdefault(hit.session, []).append(hit.text)

    def line(self, hit: Hit) -> Line | None:
        """What is to be told of a hit; None when that is nothing, or nothing new."""
        sort = sort_of(hit)
        if sort == "session":
            line = self._session(hit)
        else:
            said = _statement(hit, sort)
            line = Line(_LABELS.get(sort, "") + said, said, sort, hit.session)
        return None if line is None or self._is_known(line) else line

    def keep(self, line: Line) -> None:
        """It was told: whatever says no more than that is not told after it."""
        self._told.append(line)

    def decided(self, hit: Hit) -> Hit:
        """The decision in place of the session that only carried it out: it says the same, and why."""
        if sort_of(hit) != "session":
            return hit
        goal = ToldSession.read(hit.text).goal.removeprefix(_IMPLEMENT)
        decisions = (one for one in self._decisions if self._says_no_more(goal, _statement(one, "D")))
        return next(decisions, hit)

    def _session(self, hit: Hit) -> Line | None:
        told = ToldSession.read(hit.text)
        part = self._part(told, hit.session)
        wish = _content(told.goal)
        if not part and (len(wish) < 2 or (told.did_nothing and len(wish & self._asked) < 2)):
            return None
        said = cut_to(shortened(told.goal or part, LONGEST), LONGEST)
        if part and told.goal:
            answers = (_content(part) - _content(told.goal)) & self._asked
            most = _LONGEST_GOAL if answers else LONGEST - min(_LEAST_PART, count_tokens(part)) - 1
            goal = cut_to(shortened(told.goal, most), most)
            said = f"{goal} → {cut_to(part, LONGEST - 1 - count_tokens(goal))}"
        text = told.label + _with_files(said, told.files)
        return Line(text, said, "session", hit.session, told.goal)

    def _part(self, told: ToldSession, session: str) -> str:
        """What of a session answers the task best, and is said neither by its goal nor by a line of its own."""
        others = [told.goal, *self._statements.get(session, ()), *(line.said for line in self._told)]
        known = [_content(other) for other in others]
        best, most = "", -1
        for part in told.parts():
            words = _content(part)
            shared = len(words & self._asked)
            says = len(words - ROUTINE) >= _FEWEST_WORDS + (not shared)
            if says and shared > most and not any(_share(words, of) >= _RESTATED for of in known):
                best, most = part, shared
        return best

    # --- what was said already ---------------------------------------------------------------------------

    def _is_known(self, new: Line) -> bool:
        question = _question_of(new.said)
        if question and any(_question_of(old.said) == question for old in self._told):
            return True
        if any(self._restates(new, old) for old in self._told):
            return True
        command = _failing(new)
        return bool(command) and sum(_failing(old) == command for old in self._told) >= _MOST_FAILURES

    def _restates(self, new: Line, old: Line) -> bool:
        verdict = compare_signatures(signature(old.said), signature(new.said)).likeness
        if verdict is Likeness.SAME or new.said == old.said:
            return True
        if "F" in (new.sort, old.sort):  # facts that are alike were made one when they were kept
            return False
        if new.goal and old.goal and _is_formula(new.goal, old.goal):
            return True
        if new.goal and old.sort == "D" and self._says_no_more(new.goal.removeprefix(_IMPLEMENT), old.said):
            return True
        if _failing(new) and _failing(old):
            return _remedy(new.said) == _remedy(old.said)
        if verdict is Likeness.CLASH:
            return False
        if new.session != old.session:
            return self._says_no_more(new.said, old.said)
        both = _shorter_first(new.said, old.said)
        return self._says_no_more(*both) or self._says_no_more(*both, *_REWORDED)

    def _says_no_more(self, new: str, old: str, share: float = _RESTATED, near: float = _NEAR) -> bool:
        one, other = signature(new), signature(old)
        words = one.words | one.hard
        if len(words & (other.words | other.hard)) < min(_FEWEST_WORDS, max(len(words), 2)):
            return False
        if turned(one, other) or exchanged(one, other) or (one.hard - other.hard and other.hard - one.hard):
            return False
        return _share(words, other.words | other.hard) >= share and self._nearness(new, old) >= near


# --- statements ----------------------------------------------------------------------------------------


def _statement(hit: Hit, sort: str) -> str:
    text = " ".join(hit.text.split())
    if hit.kind == "fact":
        text = _fact(text)
    if sort == "D" and text.startswith(_PLAN):
        title, because, rest = text.removeprefix(_PLAN).partition(_BECAUSE)
        text = f"{title}: {rest.removesuffix(')')}" if because else title
    if count_tokens(text) > LONGEST and (failure := _FAILS.fullmatch(text)):
        return _failure(failure["tried"], failure["instead"] or "")
    return cut_to(text, LONGEST)


def _fact(text: str) -> str:
    """Without its evidence where that is only that the command, which stands in the fact, has run."""
    quoted = _QUOTED.search(text)
    return text.partition(f" ({quoted[1]} → ")[0] if quoted else text


def _failure(tried: str, instead: str) -> str:
    """A long command that failed: what worked instead is worth more than why, and than the folders of a file."""
    tried, instead = without_folders(tried), without_folders(instead)
    said = f"`{cut_to(tried, _LONGEST_TRIED if instead else LONGEST)}` fails here"
    room = _LONGEST_FAILURE - count_tokens(f"{said} → `` worked")
    return f"{said} → `{cut_to(instead, room)}` worked" if instead else said


def _failing(line: Line) -> str:
    """The command that a lesson or a dead end says fails; '' of any other line."""
    found = _COMMAND_FIRST.match(line.said) if line.sort in ("lesson", "X") else None
    return found[1] if found else ""


def _remedy(said: str) -> list[str]:
    """What fails and what works instead, without why: `gh pr diff 88` fails as 89 does, and as the lesson says."""
    return _NUMBER.sub("", _WHY.sub("", said).removesuffix(" worked")).split()


def _question_of(said: str) -> str:
    """What was asked, of a line that begins with a question; '' of any other."""
    question, sign, _ = said.partition("?")
    return question.casefold() if sign else ""


# --- words -------------------------------------------------------------------------------------------


def _with_files(said: str, files: Sequence[str]) -> str:
    """With the first of its files, as many as there is room for: half a name opens nothing."""
    line, sign = said, " · files: "
    for file in files:
        longer = f"{line}{sign}{file}"
        if count_tokens(longer) > LONGEST:
            break
        line, sign = longer, " "
    return line


def _is_formula(one: str, other: str) -> bool:
    """Whether two goals are one order given twice: for another file, or again."""
    first, second = signature(one), signature(other)
    shared, total = len(first.words & second.words), len(first.words) + len(second.words)
    return shared >= _WORDS_OF_FORMULA and 2 * shared >= _FORMULA * total and not turned(first, second)


def _content(text: str) -> frozenset[str]:
    said: Signature = signature(text)
    return said.words | said.hard


def _share(words: frozenset[str], of: frozenset[str]) -> float:
    return len(words & of) / len(words) if words else 1.0


def _shorter_first(one: str, other: str) -> tuple[str, str]:
    return (one, other) if len(_content(one)) <= len(_content(other)) else (other, one)
