"""The tasks of a session as a person would count them: requests, each with what was said to steer it.

A short answer, praise, a complaint about the work, a pasted error and the steps of an agent's own list belong to the
request before them; of the others a small model says which ask for something new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from holdfast.language.harvest_sentences import PLAN_TO_DO
from holdfast.language.replies import is_chore_request, only_praises
from holdfast.model.events import TaskResult
from holdfast.sessions.digest import TITLE_LENGTH, Turn
from holdfast.sessions.outcome import ANSWERED, TurnVerdict, first_line
from holdfast.sessions.task_model import first_requests


def tasks_of(turns: Sequence[Turn], verdicts: Sequence[TurnVerdict]) -> list[TaskResult]:
    """Return each request with how it ended."""
    groups = list(_groups(turns, verdicts))
    return [_task(group, following) for group, following in zip_longest(groups, groups[1:]) if group]


Group = list[tuple[Turn, TurnVerdict]]


def _groups(turns: Sequence[Turn], verdicts: Sequence[TurnVerdict]) -> Iterator[Group]:
    pairs = [pair for pair in zip(turns, verdicts, strict=True) if is_request(pair[0])]
    group: Group = []
    for pair, begins in zip(pairs, first_requests([turn for turn, _ in pairs]), strict=True):
        if begins and group:
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def is_request(turn: Turn) -> bool:
    """Whether a turn asks for something or did something. Praise that nothing follows does neither."""
    if only_praises(turn.text) and not (turn.edits or turn.commits or turn.published or turn.command):
        return False
    return bool(turn.text or turn.command or turn.calls or turn.api_error or turn.interrupted)


def _task(group: Group, following: Group | None) -> TaskResult:
    first = group[0][0]
    verdict = _last_word(group)
    if verdict.status == "unknown" and following:
        chore, proof = following[0]
        if proof.proves and is_chore_request(chore.text):  # “now run the tests”
            verdict = proof
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
