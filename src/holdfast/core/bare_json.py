"""Reads and writes JSON like the `json` package, without loading it.

`json` imports `re`, which imports `enum`, `functools` and `collections`: a fifth of the run time of a prompt hook. The
C functions that do its work need none of them. Where they are missing or reject the input, the package itself is used,
and raises its usual error.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any


class _AsUsual:
    """The default options of `json`'s scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__


def _scanner() -> Any:
    try:
        from _json import make_scanner

        bare: Any = make_scanner
        return bare(_AsUsual)
    except (ImportError, TypeError, AttributeError):
        return None


_scan = _scanner()


def loads(text: bytes | str) -> Any:
    """As `json.loads`."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
        if decoded[:1] in ("{", "[") and decoded[1:2] != "\0":  # a NUL or a byte order mark: another encoding
            value, end = _scan(decoded, 0)
            if not decoded[end:].strip(" \t\n\r"):
                return value
    except RecursionError:
        raise
    except Exception:
        pass  # `json.loads` raises the proper error
    import json

    return json.loads(text)


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place in a text, and where it ends. A ValueError or StopIteration if none is whole."""
    if _scan is not None:
        value, end = _scan(text, at)
        return value, end
    import json

    return json.JSONDecoder().raw_decode(text, at)


def dumps(value: object, ensure_ascii: bool = True) -> str:
    """As `json.dumps`."""
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder

        quoted = encode_basestring_ascii if ensure_ascii else encode_basestring
        encode = make_encoder({}, _refuse, quoted, None, ": ", ", ", False, False, True)
        return "".join(encode(value, 0))
    except Exception:  # `json.dumps` raises the proper error
        import json

        return json.dumps(value, ensure_ascii=ensure_ascii)


def _refuse(value: object) -> object:
    raise TypeError(type(value).__name__)
