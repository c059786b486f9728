"""Judges how a session and each of its turns ended; measures its duration and complexity.

The state in which the session ended decides, not its best moment. What stopped it, red checks of this repository and
what the person said count; work that was reported and that nothing contradicts is done, and the evidence says so."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from holdfast.core.patterns import PrefilteredRegex
from holdfast.language.replies import (
    approves,
    is_chore_request,
    is_complaint,
    is_pasted,
    only_praises,
    repeats_complaint,
    steers,
)
from holdfast.model.ledger import Complexity, FailureReason, Outcome
from holdfast.sessions.digest import TITLE_LENGTH, TodoItem, Turn
from holdfast.sessions.left_failing import OLDER, blames_the_code

_REFUSAL = PrefilteredRegex(
    r"\bI(?: can(?:['’]|no)?t| cannot| won['’]t| will not|(?: am|['’]m) (?:not able|unable) to) "
    r"(?:help|assist|comply|do (?:that|this)|support|participate)\b"
    r"|\b(?:violat\w+|against) (?:[\w'’]+ ){0,4}(?:usage )?polic|\bI must decline\b|\bI(?:['’]m"
    r"| am) going to decline\b",
    re.IGNORECASE,
    words="i can|i won|i will not|not able to|unable to|polic|decline",
)
ANSWERED = "answered"
UNDO = "/undo"  # the command under which a reader gives the person's taking back of a commit
ON_THE_LIST = "left on the agent's list"
TICKED = "ticked off"  # as records of older versions say of an item that the agent marked as done

# Checks that prove work, the strongest first. Well-formed code need not work, so lint is the weakest.
_PROOFS = ("test", "types", "build", "lint")
_FORM = ("types: ", "lint: ")  # work that was reported may do what was asked, whatever a checker of form says
_ABOUT_LINT = PrefilteredRegex(
    r"\blint|\bformat|\bfmt\b|\bstyle|\bwarnings?\b|\bruff\b|\beslint\b|\bclippy\b", re.IGNORECASE
)

Status = Literal["done", "failed", "skipped", "unknown"]

MOST_SPANS = 10_000  # years of work; more means a broken clock
IDLE_SECONDS = 300.0  # a longer pause is a break, and counts as this much

_GIVEN_UP = (FailureReason.INTERRUPTED, FailureReason.USER_REJECTED)
NO_ANSWER = "the request got no answer"
ONLY_ASKED = "only the request is recorded"
UNSETTLED = "a complaint was answered, and nothing shows that it is settled"
_ADMITS = PrefilteredRegex(
    r"\bI (?:was )?(?:unable to|could(?: not|n['’]?t)|can(?:not|['’]t))\b|\bnot possible\b|\bI(?: am|['’]m) blocked\b",
    re.IGNORECASE,
)
# The last words announce a step that is not there: only where a host records no tools do they end a session.
_BREAKS_OFF = PrefilteredRegex(
    r"(?:[:：]|```[\w-]*\n(?:[^`]{0,300}\n)?```|\b(?:let me|i['’]ll(?! be)|i will(?! be)|now i need to"
    r"|next,? i)\b[^.!?\n]{0,160}[.:]?)"
    r"(?:\s|-{3,})*\Z",
    re.IGNORECASE,
)
_ASKS_BACK = PrefilteredRegex(
    r"\b(?:please (?:clarify|provide|specify|share|confirm|check out|tell me|let me know (?:which|what|how))"
    r"|could you (?:please )?"
    r"(?:clarify|provide|specify|share)|tell me when|need more (?:information|details|context)|waiting for your)\b",
    re.IGNORECASE,
)
_TAIL = 400  # characters of a last message that show whether it breaks off or asks back
_FEW_CALLS = 6  # with no more calls than this and no edit nothing was begun


class TurnVerdict(Struct, frozen=True):
    status: Status
    reason: str = ""
    evidence: str = ""

    @property
    def proves(self) -> bool:
        """Whether the evidence proves work; an answer proves only that something was said."""
        return self.status == "done" and self.evidence != ANSWERED


def judge(turn: Turn, after: Turn | None) -> TurnVerdict:
    """Return how a turn ended. What stopped it counts first, then the checks, then the person's next message."""
    if turn.api_error:
        return TurnVerdict("failed", FailureReason.API_ERROR, turn.api_error)
    if turn.handed_over:
        return TurnVerdict("done", evidence="the plan was written and handed over")
    if turn.rejected:
        return TurnVerdict("failed", FailureReason.USER_REJECTED, "the user declined the next step")
    if turn.interrupted:
        return TurnVerdict("failed", FailureReason.INTERRUPTED, "interrupted by the user")
    if not turn.answered and not turn.calls and not turn.final:
        return TurnVerdict("skipped", evidence=NO_ANSWER)
    if turn.answered and not turn.edits and _REFUSAL.search(turn.final[:600]):
        return TurnVerdict("failed", FailureReason.LLM_REFUSAL, first_line(turn.final))
    if red := failing_check(turn):
        return red
    reply = after.text if after is not None else ""
    if is_complaint(reply):
        reason = turn.failure.reason if turn.failure else FailureReason.UNKNOWN
        return TurnVerdict("failed", reason, f"the user then said: {first_line(reply)}")
    if turn.failure is not None and blames_the_code(turn.failure) and _admits(turn):
        return TurnVerdict("failed", turn.failure.reason, turn.failure.evidence)
    return _proof(turn, reply)


def _admits(turn: Turn) -> bool:
    """Whether a turn ended with its last call, which failed, or with words that admit it."""
    return not turn.answered or bool(_ADMITS.search(turn.final))


def failing_check(turn: Turn) -> TurnVerdict | None:
    """Return the check of this repository's code that was red at the end of a turn."""
    if OLDER.search(turn.final):
        return None
    for kind, check in turn.checks.items():
        if not check.passed and (check.reason == FailureReason.TIMEOUT or blames_the_code(check)):
            return TurnVerdict("failed", check.reason, f"{kind}: {check.evidence}")
    return None


def _proof(turn: Turn, said: str) -> TurnVerdict:
    """Return the evidence that something was achieved; `unknown` without any."""
    if turn.commits:
        return TurnVerdict("done", evidence=f"{turn.commits} commit{'s' if turn.commits > 1 else ''}")
    if turn.published:
        return TurnVerdict("done", evidence="pushed")
    for kind in _PROOFS:
        if (
            kind in turn.checks
            and turn.checks[kind].passed
            and (kind != "lint" or _ABOUT_LINT.search(turn.text))
        ):
            return TurnVerdict("done", evidence=f"{kind} passed: {turn.checks[kind].evidence}")
    if approves(said):
        return TurnVerdict("done", evidence=f"the user then said: {first_line(said)}")
    if turn.answered and not turn.edits:
        if is_complaint(turn.text):
            return TurnVerdict("unknown", evidence=UNSETTLED)
        return TurnVerdict("done", evidence=ANSWERED)
    if "lint" in turn.checks:
        return TurnVerdict("unknown", evidence="only a linter passed")
    return TurnVerdict("unknown", evidence="no test, commit or word of the user tells")


def judge_all(turns: Sequence[Turn]) -> list[TurnVerdict]:
    return [judge(turn, after) for turn, after in zip_longest(turns, turns[1:]) if turn is not None]


def first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:TITLE_LENGTH]
    return ""


# Duration and complexity: active time without idle gaps, and complexity from the work done.


def add_to_spans(spans: list[tuple[float, float]], at: float) -> None:
    """Add a moment to the activity spans of one transcript, which stay sorted and merged."""
    if spans and spans[-1][0] <= at <= spans[-1][1] + IDLE_SECONDS:  # time runs forward, mostly
        if at > spans[-1][1]:
            spans[-1] = (spans[-1][0], at)
        return
    place = bisect_left(spans, (at, at))
    start = end = at
    if place and at <= spans[place - 1][1] + IDLE_SECONDS:
        place -= 1
        start, end = spans[place][0], max(spans[place][1], at)
        del spans[place]
    if place < len(spans) and spans[place][0] <= end + IDLE_SECONDS:
        end = max(end, spans[place][1])
        del spans[place]
    if len(spans) < MOST_SPANS:
        spans.insert(place, (start, end))


def merge_spans(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge the spans of several transcripts: parallel work is not counted twice."""
    result: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1] + IDLE_SECONDS:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def active_seconds(spans: Iterable[tuple[float, float]]) -> int:
    """Return the time within spans, plus the capped length of each gap between them."""
    joined = merge_spans(spans)
    return round(sum(end - start for start, end in joined) + IDLE_SECONDS * max(len(joined) - 1, 0))


def complexity_of(*, tool_calls: int, edited_files: int, tasks: int) -> Complexity:
    """Return the highest class that any of the three measures reaches: each alone makes work complex."""
    if tool_calls > 120 or edited_files > 12 or tasks > 12:
        return Complexity.COMPLEX
    if tool_calls > 35 or edited_files > 4 or tasks > 5:
        return Complexity.MODERATE
    if tool_calls > 8 or edited_files > 1 or tasks > 1:
        return Complexity.SIMPLE
    return Complexity.TRIVIAL


def outcome_of(
    turns: Sequence[Turn], todos: Iterable[TodoItem], verdicts: Sequence[TurnVerdict]
) -> tuple[Outcome, str]:
    """Return how a session ended, and why. Work that was reported and that nothing contradicts is done."""
    pairs = [
        (turn, verdict)
        for turn, verdict in zip(turns, verdicts, strict=True)
        if (turn.text or turn.calls or turn.api_error) and not only_praises(turn.text)
    ]
    if not pairs:
        return Outcome.UNKNOWN, "nothing was asked or done"
    while len(pairs) > 1 and _adds_nothing(*pairs[-1]):
        pairs.pop()
    last, verdict = pairs[-1]
    reached = _reached(pairs[:-1])
    if last.command == UNDO:
        return _taken_back([turn for turn, _ in pairs])
    gave_up = _gave_up(pairs)
    stopped = Outcome.PARTIAL if reached or verdict.proves else Outcome.ABANDONED
    if gave_up:
        return Outcome.FAILED, f"the user {gave_up}, and it ended so: {verdict.evidence}"
    if verdict.reason == FailureReason.API_ERROR:
        return (
            Outcome.PARTIAL if reached or last.edits else Outcome.FAILED
        ), f"api_error: {verdict.evidence}"
    if verdict.status == "skipped":
        return _unanswered(last, pairs, reached)
    if verdict.reason in _GIVEN_UP:
        return (Outcome.PARTIAL if reached else Outcome.ABANDONED), verdict.evidence
    if verdict.status == "failed":
        word = f"{verdict.reason}: {verdict.evidence}"
        only_form = last.answered and last.edits and verdict.evidence.startswith(_FORM)
        return (Outcome.PARTIAL, f"ended in {word}") if reached or only_form else (Outcome.FAILED, word)
    if not verdict.proves and _breaks_off(last, turns):
        return stopped, "stops in the middle of work"
    if _only_asks_back(last, turns):
        return Outcome.ABANDONED, "the agent asked back and got no reply"
    if (red := _still_red(pairs)) is not None:
        return (Outcome.PARTIAL if reached else Outcome.FAILED), f"{red.reason}: {red.evidence}"
    if verdict.evidence == UNSETTLED:
        return Outcome.UNKNOWN, verdict.evidence
    if complaints := _unsettled(pairs):
        return (
            Outcome.PARTIAL,
            f"{complaints} complaints in a row, and nothing shows that the last was settled",
        )
    items = list(todos)
    left = sum(item.status in ("pending", "in_progress") for item in items)
    if items and left * 2 >= len(items):
        return Outcome.PARTIAL, f"{left} of {len(items)} steps on the agent's list left open"
    return Outcome.DONE, _evidence(pairs)


def outcome_of_parts(parts: Sequence[tuple[Outcome, str]]) -> tuple[Outcome, str]:
    """Return the outcome of a session that is not there, by those of its subagents."""
    if len(parts) == 1:
        return parts[0]
    done = sum(outcome == Outcome.DONE for outcome, _ in parts)
    if done == len(parts):
        return Outcome.DONE, f"all {done} subagents finished"
    if done * 2 >= len(parts):
        return (Outcome.DONE if parts[-1][0] == Outcome.DONE else Outcome.PARTIAL), (
            f"{done} of {len(parts)} subagents finished; the last: {parts[-1][1]}"
        )
    outcome, why = parts[-1]
    if done and outcome in (Outcome.FAILED, Outcome.ABANDONED):
        outcome = Outcome.PARTIAL
    return outcome, f"{done} of {len(parts)} subagents finished; the last: {why}"


def _taken_back(turns: Sequence[Turn]) -> tuple[Outcome, str]:
    """Whether anything is left after the person took commits back, one by one, until the end."""
    undone = next((number for number, turn in enumerate(reversed(turns)) if turn.command != UNDO), len(turns))
    commits = sum(turn.commits for turn in turns)
    earlier = sum(turn.command == UNDO for turn in turns) - undone
    if undone + earlier >= commits:
        return Outcome.FAILED, "the user took the work back"
    return Outcome.PARTIAL, f"the user took back {undone + earlier} of {commits} commits"


def _adds_nothing(turn: Turn, verdict: TurnVerdict) -> bool:
    """Whether the end of a session says nothing about its work: a commit under way, a pasted line without an answer."""
    stopped = turn.interrupted or not (turn.answered or turn.edits or turn.failure or turn.rejected)
    if is_chore_request(turn.text):
        return stopped
    return verdict.status == "skipped" and not is_complaint(turn.text) and steers(turn.text, turn.command)


def _gave_up(pairs: Sequence[tuple[Turn, TurnVerdict]]) -> str:
    """What the person did about the work before it was stopped for good: complained, undid it, asked again."""
    if pairs[-1][1].reason not in (*_GIVEN_UP, FailureReason.API_ERROR):
        return ""
    (before, _), (last, _) = pairs[-2:] if len(pairs) > 1 else (pairs[0], pairs[0])
    if any(turn.command == UNDO for turn in (before, last)):
        return "took the work back"
    if repeats_complaint(last.text):
        return "complained"
    if len(pairs) > 1 and (before.text[:40] == last.text[:40] or is_pasted(before.text)) and before.calls:
        return "asked again"
    return ""


def _reached(pairs: Sequence[tuple[Turn, TurnVerdict]]) -> int:
    """Count the earlier requests that led to something."""
    return sum(
        verdict.status == "done" or (verdict.status == "unknown" and (turn.edits > 0 or turn.answered))
        for turn, verdict in pairs
    )


def _unanswered(last: Turn, pairs: Sequence[tuple[Turn, TurnVerdict]], reached: int) -> tuple[Outcome, str]:
    if is_complaint(last.text) and reached <= 1:
        return Outcome.FAILED, f"the user said last, without an answer: {first_line(last.text)}"
    if not reached and not any(turn.calls or turn.interrupted for turn, _ in pairs):
        return Outcome.UNKNOWN, ONLY_ASKED  # many transcripts lack answers that were given
    return (Outcome.PARTIAL if reached else Outcome.ABANDONED), NO_ANSWER


def _breaks_off(last: Turn, turns: Sequence[Turn]) -> bool:
    """Whether the record stops before the agent reported."""
    if last.commits or last.published:
        return False
    if any(turn.calls for turn in turns):
        return not last.answered and not last.final_edit
    return bool(_BREAKS_OFF.search(last.final[-_TAIL:]))


def _only_asks_back(last: Turn, turns: Sequence[Turn]) -> bool:
    """Whether nothing was done but to ask the person, who never replied."""
    if any(turn.edits or turn.commits for turn in turns) or sum(turn.calls for turn in turns) > _FEW_CALLS:
        return False
    return bool(_ASKS_BACK.search(last.final[-_TAIL:]))


def _still_red(pairs: Sequence[tuple[Turn, TurnVerdict]]) -> TurnVerdict | None:
    """The check that failed in an earlier turn, if the later ones neither changed, checked nor committed anything."""
    for turn, _ in reversed(pairs):
        if red := failing_check(turn):
            return red
        if turn.edits or turn.commits or turn.published or turn.checks:
            return None
    return None


def _unsettled(pairs: Sequence[tuple[Turn, TurnVerdict]]) -> int:
    """How many complaints end the session, if they are several and nothing proves the last repair."""
    if pairs[-1][1].proves:
        return 0
    complaints = 0
    for turn, _ in reversed(pairs):
        if not is_complaint(turn.text):
            break
        complaints += 1
    return complaints if complaints > 1 else 0


def _evidence(pairs: Sequence[tuple[Turn, TurnVerdict]]) -> str:
    """The strongest evidence: of the last turn that changed something, else of the last one."""
    for turn, verdict in reversed(pairs):
        if verdict.proves:
            return verdict.evidence
        if turn.edits:
            return "changed files and reported; no check or word of the user contradicts it"
    return "answered without tools" if not any(turn.calls for turn, _ in pairs) else ANSWERED
