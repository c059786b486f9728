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
from holdfast.core.patterns import lazy_regex
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.model.line import Line
from holdfast.model.search import Hit
from holdfast.model.statement import SessionText, Statement, decoded

# --- sessions ------------------------------------------------------------------------------------------

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
_SENTENCE = lazy_regex(r"(?<=[.!?。！？])\s+|;\s+")
_COMMIT = lazy_regex(r"^[0-9a-f]{7,40} (?=\S)")
_MERGED = "Merge "
_ADDRESS = lazy_regex(r"https?://\S+")
_SHORT_ADDRESS = 40  # signs
_FOLDERS = lazy_regex(r"(?:[\w.@-]+/){2,}(?=[\w.@-])")


class FoundSession(Struct, frozen=True):
    """Of a long session only the beginning and what stands in the passage that was found."""

    goal: str
    outcome: str
    summary: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]

    @classmethod
    def of(cls, hit: Hit) -> FoundSession:
        said = decoded(hit.data)
        if not isinstance(said, SessionText):
            return cls(_flat(hit.text), "", (), (), ())
        found = _flat(hit.text)
        files = tuple(file for file in said.files if file in found)
        commits = tuple(flat for commit in said.commits if (flat := _flat(commit)) and flat in found)
        parts = (part for part in _SENTENCE.split(_flat(said.summary)) if part in found)
        return cls(_flat(said.goal), said.outcome, tuple(parts), files, commits)

    @property
    def label(self) -> str:
        return _ENDED.get("nothing" if self.did_nothing else self.outcome.partition(" ")[0], "Done before: ")

    @property
    def did_nothing(self) -> bool:
        return any(sign in self.outcome for sign in _NOTHING_DONE)

    def parts(self) -> Iterator[str]:
        """What it did, in a few words each; a commit says it best."""
        for part in (*self.commits, *self.summary):
            said = _COMMIT.sub("", part.strip())
            if said and not said.startswith(_MERGED):
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
_WHY = lazy_regex(r" \(.*\)(?= → |$)")
_NUMBER = lazy_regex(r"\b\d+\b")

Nearness = Callable[[str, str], float]


def sort_of(hit: Hit | Line) -> str:
    """The letter of a statement's id, or `session` and the like."""
    return hit.id[0] if hit.id[1:2] == "-" else hit.id.partition(":")[0]


class LineChooser:
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
            said = _statement(hit)
            line = _line(hit, _LABELS.get(sort, "") + said, said, _tried(hit))
        return None if line is None or self._is_known(line) else line

    def keep(self, line: Line) -> None:
        """It was told: whatever says no more than that is not told after it."""
        self._told.append(line)

    def decided(self, hit: Hit) -> Hit:
        """The decision in place of the session that only carried it out: it says the same, and why."""
        if sort_of(hit) != "session":
            return hit
        goal = FoundSession.of(hit).goal.removeprefix(_IMPLEMENT)
        decisions = (one for one in self._decisions if self._says_no_more(goal, _statement(one)))
        return next(decisions, hit)

    def _session(self, hit: Hit) -> Line | None:
        told = FoundSession.of(hit)
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
        return _line(hit, text, said, told.goal)

    def _part(self, told: FoundSession, session: str) -> str:
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
        if "F" in (sort_of(new), sort_of(old)):  # facts that are alike were made one when they were kept
            return False
        goal, before = _goal(new), _goal(old)
        if goal and before and _is_formula(goal, before):
            return True
        if goal and sort_of(old) == "D" and self._says_no_more(goal.removeprefix(_IMPLEMENT), old.said):
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


def _statement(hit: Hit) -> str:
    text, said = _flat(hit.text), decoded(hit.data)
    if not isinstance(said, Statement):
        return cut_to(text, LONGEST)
    if said.kind == "fact" and any(f"`{one.command}`" in said.text for one in said.evidence):
        text = _flat(said.text)  # the evidence is only that the command, which stands in the fact, has run
    if said.kind == "decision" and said.text.startswith(_PLAN):
        title, reason = _flat(said.text).removeprefix(_PLAN), _flat(said.reason)
        text = f"{title}: {reason}" if reason else title
    if said.kind == "dead_end" and count_tokens(text) > LONGEST:
        return _failure(_flat(said.not_), _flat(said.text))
    return cut_to(text, LONGEST)


def _tried(hit: Hit) -> str:
    """The command that a dead end or a lesson says fails; '' of any other hit."""
    said = decoded(hit.data)
    return said.not_ if isinstance(said, Statement) else ""


def _line(hit: Hit, text: str, said: str, subject: str) -> Line:
    """A line as it is told, with where it stands; `subject` is a session's goal, or the command that fails."""
    where = f"{hit.path}:{hit.line}" if hit.line else hit.path
    session = f"session {hit.session[:8]}, " if hit.session else ""
    source = f"{where} ({session}{hit.date[:10]})"
    return Line(text, hit.why, hit.kind, hit.id, source, said, subject, session=hit.session)


def _goal(line: Line) -> str:
    return line.subject if sort_of(line) == "session" else ""


def _failure(tried: str, instead: str) -> str:
    """A long command that failed: what worked instead is worth more than why, and than the folders of a file."""
    tried, instead = without_folders(tried), without_folders(instead)
    said = f"`{cut_to(tried, _LONGEST_TRIED if instead else LONGEST)}` fails here"
    room = _LONGEST_FAILURE - count_tokens(f"{said} → `` worked")
    return f"{said} → `{cut_to(instead, room)}` worked" if instead else said


def _failing(line: Line) -> str:
    return line.subject if sort_of(line) in ("lesson", "X") else ""


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


def _flat(text: str) -> str:
    return " ".join(text.split())


def _content(text: str) -> frozenset[str]:
    said: Signature = signature(text)
    return said.words | said.hard


def _share(words: frozenset[str], of: frozenset[str]) -> float:
    return len(words & of) / len(words) if words else 1.0


def _shorter_first(one: str, other: str) -> tuple[str, str]:
    return (one, other) if len(_content(one)) <= len(_content(other)) else (other, one)
