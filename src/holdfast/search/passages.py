"""Cuts a long text into passages at paragraphs, lines and sentences: a vector of ten pages says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SHORT = 900  # a text up to this is one passage: it was cut by meaning already
_AIM = 600
CLOSELY = 1_000_000  # characters; what comes after them is a dump, and is cut into fewer and longer pieces
_COARSE_AIM = 5000
_BREAK = re.compile(r"\n+|(?<=[.!?。！？])\s+")


def spans(text: str) -> list[tuple[int, int]]:
    """Where the passages begin and end; they cover the text without gaps."""
    if len(text) <= _SHORT:
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    start = last = 0
    for place in _pieces(text):
        if place - start > _aim(start) and last > start:
            found.append((start, last))
            start = last
        last = place
    found.append((start, len(text)))
    return found


def _pieces(text: str) -> Iterator[int]:
    """Where a sentence ends, and every so many characters where none does."""
    at = 0
    for match in _BREAK.finditer(text):
        while match.end() - at > _aim(at):
            at += _aim(at)
            yield at
        at = match.end()
        yield at
    while len(text) - at > _aim(at):
        at += _aim(at)
        yield at
    yield len(text)


def _aim(at: int) -> int:
    return _AIM if at < CLOSELY else _COARSE_AIM
