"""One place in a text that must not be stored, and the mark that stands there instead."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Finding(NamedTuple):
    """A secret of some kind at `text[start:end]`."""

    kind: str
    start: int
    end: int


def mark_of(kind: str) -> str:
    """What is written in place of a secret."""
    return f"[redacted:{kind}]"


@cache
def mark_pattern() -> re.Pattern[str]:
    """Recognises our own marks, so that redacting twice changes nothing."""
    return re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
