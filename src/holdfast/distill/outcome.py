"""How a session ended as a whole: the state it was left in, not the best moment it had."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.distill.digest import Turn
from holdfast.distill.tasks import judge
from holdfast.model.ledger import FailureReason, Outcome
from holdfast.model.session import TaskResult

_GIVEN_UP = (FailureReason.INTERRUPTED, FailureReason.USER_REJECTED)


def outcome_of(turns: Sequence[Turn], tasks: Sequence[TaskResult]) -> tuple[Outcome, str]:
    """The outcome and the evidence for it."""
    worked = [turn for turn in turns if turn.calls or turn.api_error]
    if not worked:
        if any(turn.answered and turn.text for turn in turns):
            return Outcome.DONE, "answered without tools"
        return Outcome.UNKNOWN, "nothing was asked or done"
    last = worked[-1]
    position = next(number for number, turn in enumerate(turns) if turn is last)
    verdict = judge(last, turns[position + 1] if position + 1 < len(turns) else None)
    achieved = any(task.status == "done" for task in tasks)
    left = [task for task in tasks if task.status == "skipped"]
    if verdict.status == "failed":
        if achieved:
            return Outcome.PARTIAL, f"ended in {verdict.reason}: {verdict.evidence}"
        if verdict.reason in _GIVEN_UP:
            return Outcome.ABANDONED, verdict.evidence
        return Outcome.FAILED, f"{verdict.reason}: {verdict.evidence}"
    if not last.answered and not last.commits:
        return (Outcome.PARTIAL if achieved else Outcome.ABANDONED), "stops in the middle of work"
    if left:
        return Outcome.PARTIAL, f"{len(left)} of {len(tasks)} tasks left open"
    if verdict.status == "done":
        return Outcome.DONE, verdict.evidence
    return Outcome.UNKNOWN, verdict.evidence
