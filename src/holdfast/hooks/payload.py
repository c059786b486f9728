"""Reads a host's payload: a bounded number of bytes, and of a longer one the fields that its beginning holds.

JSON takes up to 34 times its size in memory, and the parser does not let the thread that ends a hook in time run. So
the size is limited before anything is parsed.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any, BinaryIO

MOST = 1 << 20  # bytes that are parsed
MOST_DRAINED = (
    64 << 20
)  # bytes that are read and thrown away after the answer: a host may not expect a closed pipe
_PIECE = 1 << 16
_BLANK = " \t\n\r"


def read(stdin: BinaryIO) -> bytes:
    """The payload, or one byte more than may be parsed."""
    return stdin.read(MOST + 1)


def drain(stdin: BinaryIO, raw: bytes) -> None:
    """Reads the rest of a long payload, in small pieces."""
    if len(raw) > MOST:
        left = MOST_DRAINED
        while left > 0 and (piece := stdin.read(_PIECE)):
            left -= len(piece)


def parse(raw: bytes) -> tuple[dict[str, object], str]:
    """The fields, and what is wrong with the payload. Of one that is too long, the fields that come first."""
    if len(raw) > MOST:
        fields = leading_fields(raw[:MOST].decode("utf-8", "replace"))
        return fields, "" if fields else f"payload: longer than {MOST} bytes"
    from holdfast.core.bare_json import loads

    try:
        payload = loads(raw)
    except (ValueError, RecursionError) as error:
        return {}, f"payload: {str(error)[:200]}"
    return (payload, "") if isinstance(payload, dict) else ({}, "payload: not an object")


def leading_fields(text: str) -> dict[str, object]:
    """The fields of an object whose text is cut off, up to the first that is not whole."""
    from holdfast.core.bare_json import value_at

    fields: dict[str, Any] = {}
    at = _after(text, 0, "{")
    try:
        while at:
            name, at = value_at(text, _over_blanks(text, at))
            at = _after(text, at, ":")
            if not at or not isinstance(name, str):
                break
            value, at = value_at(text, _over_blanks(text, at))
            at = _after(text, at, ",")
            if at:  # else a number may be cut off, or this was the last
                fields[name] = value
    except (ValueError, RecursionError, StopIteration):
        pass
    return fields


def _after(text: str, at: int, sign: str) -> int:
    """The place after a sign, which only blanks may precede; 0 if it is not there."""
    at = _over_blanks(text, at)
    return at + 1 if text[at : at + 1] == sign else 0


def _over_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in _BLANK and at < len(text):
        at += 1
    return at
