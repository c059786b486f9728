"""How a session ended as a whole: the state it was left in, not the best moment it had."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.distill.digest import Turn
from holdfast.distill.tasks import ANSWERED, Verdict, judge_all
from holdfast.model.ledger import FailureReason, Outcome
from holdfast.model.session import TaskResult
from holdfast.text.late import late

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
