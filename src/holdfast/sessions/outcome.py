"""How a session ended as a whole: the state it was left in, not the best moment it had."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from holdfast.core.patterns import late
from holdfast.model.events import TaskResult
from holdfast.model.ledger import Complexity, FailureReason, Outcome
from holdfast.sessions.digest import Turn
from holdfast.sessions.tasks import ANSWERED, Verdict, judge_all

# How long and how hard: active time without idle gaps, and complexity from what was really done.

MOST_SPANS = 10_000  # years of work; more are a clock gone mad
IDLE_SECONDS = 300.0  # a longer silence is nobody working; it counts as this much


def extend(spans: list[tuple[float, float]], at: float) -> None:
    """Adds a moment to the activity spans of one transcript, kept in order and as few as possible."""
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


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans of several transcripts as one: parallel work is not counted twice."""
    result: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1] + IDLE_SECONDS:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def active_seconds(spans: Iterable[tuple[float, float]]) -> int:
    """Time within spans, and the capped length of each gap between them."""
    joined = merged(spans)
    return round(sum(end - start for start, end in joined) + IDLE_SECONDS * max(len(joined) - 1, 0))


def complexity_of(*, tool_calls: int, edited_files: int, tasks: int) -> Complexity:
    """The largest class that any of the three measures reaches: each alone makes work hard."""
    if tool_calls > 120 or edited_files > 12 or tasks > 12:
        return Complexity.COMPLEX
    if tool_calls > 35 or edited_files > 4 or tasks > 5:
        return Complexity.MODERATE
    if tool_calls > 8 or edited_files > 1 or tasks > 1:
        return Complexity.SIMPLE
    return Complexity.TRIVIAL


_QUESTION = late(
    r"\?|^\W*(?:what|who|when|where|which|why|how|is|are|do|does|did|can|could|would|should|explain|tell me|show me"
    r"|was|wie|warum|qu[eé]|cómo|pourquoi|comment)\b",
    re.IGNORECASE,
)
_GIVEN_UP = (FailureReason.INTERRUPTED, FailureReason.USER_REJECTED)


def outcome_of(
    turns: Sequence[Turn], tasks: Sequence[TaskResult], verdicts: Sequence[Verdict] | None = None
) -> tuple[Outcome, str]:
    """The outcome and the evidence for it."""
    worked = [turn for turn in turns if turn.calls or turn.api_error]
    if not worked:
        if tasks:
            return Outcome.FAILED, f"{tasks[-1].reason}: {tasks[-1].evidence}"
        asked = [turn for turn in turns if turn.answered and turn.text]
        if any(_QUESTION.search(turn.text) for turn in asked):
            return Outcome.DONE, "answered without tools"
        if asked:
            return Outcome.UNKNOWN, "talked about, and nothing was done"
        return Outcome.UNKNOWN, "nothing was asked or done"
    last = worked[-1]
    verdicts = judge_all(turns) if verdicts is None else verdicts
    verdict = next(given for turn, given in zip(turns, verdicts, strict=True) if turn is last)
    if verdict.evidence == ANSWERED:
        # A question at the end says nothing of the changes before it.
        verdict = next(
            (given for turn, given in zip(reversed(turns), reversed(verdicts), strict=True) if turn.edits),
            verdict,
        )
    achieved = any(task.status == "done" for task in tasks)
    left = [task for task in tasks if task.status == "skipped"]
    if verdict.status == "failed":
        if achieved:
            return Outcome.PARTIAL, f"ended in {verdict.reason}: {verdict.evidence}"
        if verdict.reason in _GIVEN_UP:
            return Outcome.ABANDONED, verdict.evidence
        return Outcome.FAILED, f"{verdict.reason}: {verdict.evidence}"
    if not last.answered and not last.commits and not last.published:
        return (Outcome.PARTIAL if achieved else Outcome.ABANDONED), "stops in the middle of work"
    if left:
        return Outcome.PARTIAL, f"{len(left)} of {len(tasks)} tasks left open"
    if verdict.status == "done":
        return Outcome.DONE, verdict.evidence
    return Outcome.UNKNOWN, verdict.evidence
