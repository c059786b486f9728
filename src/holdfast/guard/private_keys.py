"""Finds private-key blocks (PEM, OpenSSH, PGP, PuTTY), whole or cut off, in files, listings and JSON strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.core.patterns import lazy_regex
from holdfast.guard.not_secret import SecretSpan, is_placeholder

_LONGEST_BLOCK = 100_000
_BEGIN = lazy_regex(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:")
_END = lazy_regex(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]{0,64}")
# One line of a block without an end: line numbers, quotes and escapes around it are part of it.
_BODY_LINE = lazy_regex(
    r"""(?:\\{1,4}[nrt]|[\s"'+,|>\#*;]|\d{1,6}[→:|\t]){0,60}+
        (?:[A-Za-z0-9+/=]{24,20000}+|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Encryption):[^\n\\]{0,100}+)""",
    re.VERBOSE,
)
_LAST_LINE = lazy_regex(
    r"""(?:\\{1,4}[nrt]|[\s"'+,|>\#*;]|\d{1,6}[→:|\t]){1,60}+(?=[A-Za-z+/]*[A-Z0-9+/=])[A-Za-z0-9+/=]{5,23}+(?=$|[\s"'\\])"""
)


def find_private_keys(text: str) -> Iterator[SecretSpan]:
    """Every block from its first line to its last, or as far as it looks like one."""
    if "PRIVATE KEY" not in text and "PuTTY-User-Key" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    for i, begin in enumerate(begins):
        limit = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        limit = min(limit, begin.start() + _LONGEST_BLOCK)
        end = _END.search(text, begin.end(), limit)
        stop = end.end() if end else _end_of_body(text, begin.end(), limit)
        body = text[begin.end() : end.start() if end else stop]
        if sum(char.isalnum() for char in body[:200]) >= 12 and not is_placeholder(body[:300]):
            yield SecretSpan("private-key", begin.start(), stop)


def _end_of_body(text: str, position: int, limit: int) -> int:
    lines = 0
    while line := _BODY_LINE.match(text, position, limit):
        position = line.end()
        lines += 1
    last = _LAST_LINE.match(text, position, limit) if lines else None
    return last.end() if last else position
