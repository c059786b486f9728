"""Turns a hit into one self-contained line, and drops lines that repeat an earlier one.

A session is shown by its goal and by the part that the task asks for: what a prompt asked is seldom what was done.
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
from holdfast.core.session_id import short_session
from holdfast.core.tokens import count_tokens, cut_to
from holdfast.model.line import Line
from holdfast.model.search import Hit
from holdfast.model.statement import SessionText, Statement, decoded
from holdfast.store.line_grammar import render_minute

# --- sessions ------------------------------------------------------------------------------------------

# "All tests pass, pushed to main" fits every session, and distinguishes none.
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
_SHORT_ADDRESS = 40  # characters
_FOLDERS = lazy_regex(r"(?:[\w.@-]+/){2,}(?=[\w.@-])")


class FoundSession(Struct, frozen=True):
    """A session as found: of a long one only the beginning and the matching passage."""

    goal: str
    outcome: str
    summary: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]

    @classmethod
    def of(cls, hit: Hit) -> FoundSession:
        parsed = decoded(hit.data)
        if not isinstance(parsed, SessionText):
            return cls(_flat(hit.text), "", (), (), ())
        passage = _flat(hit.text)
        files = tuple(file for file in parsed.files if file in passage)
        commits = tuple(flat for commit in parsed.commits if (flat := _flat(commit)) and flat in passage)
        parts = (part for part in _SENTENCE.split(_flat(parsed.summary)) if part in passage)
        return cls(_flat(parsed.goal), parsed.outcome, tuple(parts), files, commits)

    @property
    def label(self) -> str:
        return _ENDED.get("nothing" if self.did_nothing else self.outcome.partition(" ")[0], "Done before: ")

    @property
    def did_nothing(self) -> bool:
        return any(sign in self.outcome for sign in _NOTHING_DONE)

    def parts(self) -> Iterator[str]:
        """What the session did, in a few words each; commits first, because they say it best."""
        for part in (*self.commits, *self.summary):
            description = _COMMIT.sub("", part.strip())
            if description and not description.startswith(_MERGED):
                yield description


def shortened(text: str, most: int) -> str:
    """Shortens a text with more than `most` tokens: removes the middles of URLs, then folders."""
    if count_tokens(text) > most:
        text = _ADDRESS.sub(_short_address, text)
    return without_folders(text) if count_tokens(text) > most else text


def without_folders(text: str) -> str:
    """Replaces long paths by the file name."""
    return _FOLDERS.sub("…/", text)


def _short_address(found: re.Match[str]) -> str:
    address = found[0]
    if len(address) <= _SHORT_ADDRESS:
        return address
    host, *path = address.partition("://")[2].split("/")
    return f"{host}/…/{'/'.join(path[-2:])}" if len(path) > 2 else address


LONGEST = 45  # tokens of one line, without its label
_LONGEST_GOAL = 22  # if a more relevant part of the session follows
_LEAST_PART = 18
_FEWEST_WORDS = 3
_LONGEST_FAILURE = 60  # a command that failed, and the one that worked
_LONGEST_TRIED = 26
_RESTATED = 0.75  # share of a line's words that another line already has
_NEAR = 0.5  # similarity of meaning: shared words alone would merge lines that only share a subject
_REWORDED = (0.6, 0.75)  # the same two thresholds for lines of one session
_FORMULA = 0.85  # share of words at which two goals about two files are the same order
_WORDS_OF_FORMULA = 5
_MOST_FAILURES = 2  # of one command: a linter has a lesson for each of its rules

_LABELS = {"D": "Decided: ", "N": "Found: ", "Q": "Asked: "}
_HERE = ("", "user", "agent", "you")  # who decided here; anybody else is named
_DECISIONS = ("decision", "rule", "preference")  # among passages; others found something
_PLAN, _IMPLEMENT = "Plan approved: ", "Implement the plan: "
_WHY = lazy_regex(r" \(.*\)(?= → |$)")
_NUMBER = lazy_regex(r"\b\d+\b")

Nearness = Callable[[str, str], float]


def sort_of(hit: Hit | Line) -> str:
    """The letter of a statement's id, or a kind such as `session`."""
    return hit.id[0] if hit.id[1:2] == "-" else hit.id.partition(":")[0]


class LineChooser:
    """Builds one briefing line by line: each line must be self-contained and say something new."""

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
        """The line for a hit; None when it says nothing new."""
        sort = sort_of(hit)
        if sort == "session":
            line = self._session(hit)
        else:
            statement_text = _statement(hit)
            line = _line(hit, _label(hit) + statement_text, statement_text, _tried(hit))
        return None if line is None or self._is_known(line) else line

    def keep(self, line: Line) -> None:
        """Marks a line as used: later lines that say no more are dropped."""
        self._told.append(line)

    def decided(self, hit: Hit) -> Hit:
        """Replaces a session that only carried out a decision by the decision, which also gives the reason."""
        if sort_of(hit) != "session":
            return hit
        goal = FoundSession.of(hit).goal.removeprefix(_IMPLEMENT)
        decisions = (
            decision for decision in self._decisions if self._says_no_more(goal, _statement(decision))
        )
        return next(decisions, hit)

    def _session(self, hit: Hit) -> Line | None:
        session = FoundSession.of(hit)
        part = self._part(session, hit.session)
        goal_words = _content(session.goal)
        if not part and (len(goal_words) < 2 or (session.did_nothing and len(goal_words & self._asked) < 2)):
            return None
        summary = cut_to(shortened(session.goal or part, LONGEST), LONGEST)
        if part and session.goal:
            answers = (_content(part) - _content(session.goal)) & self._asked
            most = _LONGEST_GOAL if answers else LONGEST - min(_LEAST_PART, count_tokens(part)) - 1
            goal = cut_to(shortened(session.goal, most), most)
            summary = f"{goal} → {cut_to(part, LONGEST - 1 - count_tokens(goal))}"
        text = session.label + _with_files(summary, session.files)
        return _line(hit, text, summary, session.goal)

    def _part(self, told: FoundSession, session: str) -> str:
        """The part of a session that fits the task best, and that neither its goal nor another line has."""
        known_texts = [told.goal, *self._statements.get(session, ()), *(line.said for line in self._told)]
        known_words = [_content(known_text) for known_text in known_texts]
        best, most = "", -1
        for part in told.parts():
            words = _content(part)
            shared = len(words & self._asked)
            says = len(words - ROUTINE) >= _FEWEST_WORDS + (not shared)
            if (
                says
                and shared > most
                and not any(_share(words, known_set) >= _RESTATED for known_set in known_words)
            ):
                best, most = part, shared
        return best

    # --- repetitions -------------------------------------------------------------------------------------

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
        if "F" in (sort_of(new), sort_of(old)):  # similar facts were merged when they were stored
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
        new_signature, old_signature = signature(new), signature(old)
        words = new_signature.words | new_signature.hard
        if len(words & (old_signature.words | old_signature.hard)) < min(_FEWEST_WORDS, max(len(words), 2)):
            return False
        if (
            turned(new_signature, old_signature)
            or exchanged(new_signature, old_signature)
            or (new_signature.hard - old_signature.hard and old_signature.hard - new_signature.hard)
        ):
            return False
        return (
            _share(words, old_signature.words | old_signature.hard) >= share
            and self._nearness(new, old) >= near
        )


# --- statements ----------------------------------------------------------------------------------------


def _statement(hit: Hit) -> str:
    text, statement = _flat(hit.text), decoded(hit.data)
    if not isinstance(statement, Statement):
        return cut_to(text, LONGEST)
    if statement.kind == "fact" and any(
        f"`{evidence.command}`" in statement.text for evidence in statement.evidence
    ):
        text = _flat(
            statement.text
        )  # the evidence is only that the command, which stands in the fact, has run
    if statement.kind == "decision" and statement.text.startswith(_PLAN):
        title, reason = _flat(statement.text).removeprefix(_PLAN), _flat(statement.reason)
        text = f"{title}: {reason}" if reason else title
    if statement.kind == "dead_end" and statement.not_ and count_tokens(text) > LONGEST:
        return _failure(_flat(statement.not_), _flat(statement.text))
    return cut_to(text, LONGEST)


def _label(hit: Hit) -> str:
    statement = decoded(hit.data)
    is_decision = not isinstance(statement, Statement) or statement.kind in _DECISIONS
    label = _LABELS.get(sort_of(hit) if sort_of(hit) != "D" or is_decision else "N", "")
    if label and isinstance(statement, Statement) and statement.who not in _HERE:
        day = f", {render_minute(statement.at)[5:10]}" if statement.at is not None else ""
        return f"{label.removesuffix(': ')} ({statement.who}{day}): "
    return label


def _tried(hit: Hit) -> str:
    """The command that fails according to a dead end or a lesson; '' for any other hit."""
    statement = decoded(hit.data)
    return statement.not_ if isinstance(statement, Statement) else ""


def _line(hit: Hit, text: str, said: str, subject: str) -> Line:
    """A line with its source; `subject` is a session's goal, or the failing command."""
    where = f"{hit.path}:{hit.line}" if hit.line else hit.path
    session = f"session {short_session(hit.session)}, " if hit.session else ""
    source = f"{where} ({session}{hit.date[:10]})"
    return Line(text, hit.why, hit.kind, hit.id, source, said, subject, session=hit.session)


def _goal(line: Line) -> str:
    return line.subject if sort_of(line) == "session" else ""


def _failure(tried: str, instead: str) -> str:
    """A long command that failed: what worked instead matters more than the error and the folders."""
    tried, instead = without_folders(tried), without_folders(instead)
    failing = f"`{cut_to(tried, _LONGEST_TRIED if instead else LONGEST)}` fails here"
    room = _LONGEST_FAILURE - count_tokens(f"{failing} → `` worked")
    return f"{failing} → `{cut_to(instead, room)}` worked" if instead else failing


def _failing(line: Line) -> str:
    return line.subject if sort_of(line) in ("lesson", "X") else ""


def _remedy(said: str) -> list[str]:
    """What fails and what works instead, without the error, so that a failure matches its repetition and its lesson."""
    return _NUMBER.sub("", _WHY.sub("", said).removesuffix(" worked")).split()


def _question_of(said: str) -> str:
    """The question at the start of a line; '' if there is none."""
    question, sign, _ = said.partition("?")
    return question.casefold() if sign else ""


# --- words -------------------------------------------------------------------------------------------


def _with_files(said: str, files: Sequence[str]) -> str:
    """Appends the first files, as many as fit: a truncated path is useless."""
    line, sign = said, " · files: "
    for file in files:
        longer = f"{line}{sign}{file}"
        if count_tokens(longer) > LONGEST:
            break
        line, sign = longer, " "
    return line


def _is_formula(one: str, other: str) -> bool:
    """Whether two goals are the same order, repeated or for another file."""
    first, second = signature(one), signature(other)
    shared, total = len(first.words & second.words), len(first.words) + len(second.words)
    return shared >= _WORDS_OF_FORMULA and 2 * shared >= _FORMULA * total and not turned(first, second)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _content(text: str) -> frozenset[str]:
    parsed: Signature = signature(text)
    return parsed.words | parsed.hard


def _share(words: frozenset[str], of: frozenset[str]) -> float:
    return len(words & of) / len(words) if words else 1.0


def _shorter_first(one: str, other: str) -> tuple[str, str]:
    return (one, other) if len(_content(one)) <= len(_content(other)) else (other, one)
