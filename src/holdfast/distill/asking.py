"""What a question wants to know. Standard library only: a hook asks this too (`hot/moment.py`)."""

from __future__ import annotations

import re

OPEN = re.compile(r"\W*(?:\w+\s+){0,2}?(what|which|where|when|who|whom|whose|how|why)\b", re.IGNORECASE)
AMOUNT = re.compile(r"\bhow\s+(?:many|much|long|often|old|big|large|far|fast)\b", re.IGNORECASE)


def asks_for(question: str) -> str:
    """What a question wants to know: a reason, a person, a time, an amount … '' for a thing, a yes or a no.

    Two questions with the same words and another of these have different answers.
    """
    if AMOUNT.search(question):
        return "amount"
    word = match[1].casefold() if (match := OPEN.match(question)) else ""
    if word.startswith("who"):
        return "who"
    return "" if word in ("what", "which") else word
