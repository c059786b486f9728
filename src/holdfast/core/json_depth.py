"""How deeply JSON nests: what nests deeper than any transcript never reaches a recursive function."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from typing import Any

DEEPEST = 400  # no transcript nests JSON deeper than this, and deeper nesting would exhaust the stack
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


@cache
def _string() -> re.Pattern[bytes]:
    """Match a string with its quotes; an unclosed one extends to the end."""
    return re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def too_deep(raw: bytes) -> bool:
    """Whether brackets outside of strings nest too deeply, so that hostile input never reaches a recursive parser.

    Only what is left without strings is counted one by one: a document has hundreds of bytes for each bracket.
    """
    if raw.count(b"[") + raw.count(b"{") < DEEPEST:
        return False
    brackets = _string().sub(b"", raw).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEEPEST


def nested_too_deeply(value: Any) -> bool:
    """`too_deep` of what was parsed, level by level: a fraction of what its bytes cost, and no copy of them."""
    level = [value] if type(value) is dict or type(value) is list else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True
