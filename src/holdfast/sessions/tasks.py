"""The tasks of a session as a person would count them: requests, each with what was said to steer it.

A short answer, praise, a complaint about the work, a pasted error, “commit” and the steps of an agent's own list
belong to the request before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.language.harvest_sentences import PLAN_TO_DO
from holdfast.language.replies import only_praises, steers
from holdfast.model.events import TaskResult
from holdfast.sessions.digest import TITLE_LENGTH, Turn
from holdfast.sessions.outcome import ANSWERED, TurnVerdict, first_line

_SAME = 300  # characters by which a repeated request is recognised


def tasks_of(turns: Sequence[Turn], verdicts: Sequence[TurnVerdict]) -> list[TaskResult]:
    """Return each request with how it ended."""
    return [_task(group) for group in _groups(turns, verdicts)]


Group = list[tuple[Turn, TurnVerdict]]


def _groups(turns: Sequence[Turn], verdicts: Sequence[TurnVerdict]) -> Iterator[Group]:
    group: Group = []
    seen: set[str] = set()
    for turn, verdict in zip(turns, verdicts, strict=True):
        words = f"{turn.command} {turn.text}".strip()
        if not words and not turn.calls:
            continue
        if only_praises(turn.text) and not (turn.edits or turn.commits or turn.published or turn.command):
            continue
        begins = words[:_SAME]
        if group and (begins in seen or steers(turn.text, turn.command)):
            group.append((turn, verdict))
            continue
        seen.add(begins)
        if group:
            yield group
        group = [(turn, verdict)]
    if group:
        yield group


def _task(group: Group) -> TaskResult:
    first = group[0][0]
    verdict = _last_word(group)
    return TaskResult(
        title=title_of(first),
        status=verdict.status,
        reason=verdict.reason,
        evidence=verdict.evidence,
        at=first.at,
    )


def _last_word(group: Group) -> TurnVerdict:
    """The verdict of the last turn. A mere answer, or none, says nothing about the work before it."""
    for turn, verdict in reversed(group):
        if (verdict.evidence != ANSWERED and verdict.status != "skipped") or turn is group[0][0]:
            return verdict
    return group[-1][1]


def title_of(turn: Turn) -> str:
    words = f"{turn.command} {turn.text}".strip()
    if PLAN_TO_DO.match(words):  # the title is on the next line
        words = " ".join(words[: 2 * TITLE_LENGTH].splitlines()[:3])
    return first_line(words)[:TITLE_LENGTH]
