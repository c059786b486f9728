"""What was settled for the moment only: the title of a plan, an answer about how to go on, a deed.

It stays in the record, where it says what happened. A later session is not told it as something that holds.
"""

from __future__ import annotations

import re

from holdfast.distill.harvest_decisions import PLAN_APPROVED, asks_about_workflow
from holdfast.model.memory import Decision
from holdfast.text.late import late

_WHOLE = r"(?! (?:repo|repository|project|product|code ?base|package|library|app|application|service|team)\b)"
# Points at something that only whoever was there could see.
_POINTS = rf"\b(?:this{_WHOLE}|these|those|above|below)\b|\(\d+\)(?!\w)|(?<![\w/])#\d+\b"
_POINTS_AT = late(_POINTS, re.IGNORECASE)
_OF_THE_MOMENT = late(
    rf"{_POINTS}|\b(?:now|today|again|(?:the|your) plan|error message|log lines?|paste|screenshot)\b"
    r"|\b(?:want me|would you like|do you (?:have|see)|can you|could you|are you|shall (?:i|we)|should i)\b",
    re.IGNORECASE,
)
_DEED = late(
    r"(?:feat|fix|test|docs?|chore|style|refactor|perf|ci|build|revert|wip)(?:\([^)]*\))?!?: ", re.IGNORECASE
)
# Commits say what was done to the code, which shows it; a choice reads "Use …", "Keep …", "Prefer …".
_DONE_TO_CODE = late(
    r"(?:add(?:s|ed)?|fix(?:es|ed)?|implement(?:s|ed)?|updated?|created?|improved?|bump|release|merge|revert|reach)\s",
    re.IGNORECASE,
)
_FRAGMENT = late(r"[a-z]+ ")  # of a list below a heading that named what it is about
_QUESTION = late(r"(?P<question>.{8,}?\?) \S")


def is_passing_question(text: str) -> bool:
    """Whether an answer was right for that moment alone: asked again, it may well be another."""
    return asks_about_workflow(text) or bool(_OF_THE_MOMENT.search(text))


def is_passing(decision: Decision) -> bool:
    """Whether a decision says what was done or chosen then, and nothing that holds from then on.

    What somebody wrote down by hand, and no session said, is meant to hold.
    """
    text = decision.text
    if not decision.session:
        return False
    if text.startswith(PLAN_APPROVED) or _DEED.match(text):
        return True
    if asked := _QUESTION.match(text):
        return is_passing_question(asked["question"])
    if decision.by == "agent" and (_DONE_TO_CODE.match(text) or _FRAGMENT.match(text)):
        return True
    return bool(_POINTS_AT.search(text))
