"""How long and how hard: active time without idle gaps, and complexity from what was really done."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from holdfast.model.ledger import Complexity

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
