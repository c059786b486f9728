"""What a lesson is called, and the evidence that it carries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.model.lesson import LessonEvidence

LONGEST_NAME = 48
_SLUG = re.compile(r"[a-z0-9]+")


def evidence_of(items: Iterable[tuple[str, float | None, str]]) -> tuple[LessonEvidence, ...]:
    """One line for each session, the newest of them."""
    by_session: dict[str, LessonEvidence] = {}
    for session, at, line in items:
        by_session[session] = LessonEvidence(session=session, at=at, line=line)
    return tuple(by_session.values())


def slug(*texts: str) -> str:
    """A name for a file: lower case, words joined by hyphens."""
    words = _SLUG.findall(" ".join(texts).casefold())
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or "lesson"


def is_registration(rule: str) -> bool:
    """A rule of this kind: git's history is not asked each time, so it is not unlearned by silence."""
    return rule.startswith("a new `") and "` is registered in `" in rule
