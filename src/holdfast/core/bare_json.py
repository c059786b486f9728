"""JSON as the standard library reads and writes it, without loading the package of that name.

`json` brings regular expressions with it, and those bring `enum`, `functools` and `collections`: a fifth of what a
prompt's hook took. The C functions that it hands the work to need none of them. Where they are not there, or do not
take what they are given, the package itself does it, and says what is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import Any


class _AsUsual:
    """What `json` asks of its scanner where nothing else is wanted."""

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
        known = text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
        if known[:1] in ("{", "[") and known[1:2] != "\0":  # a zero, or a mark before it: in another encoding
            value, end = _scan(known, 0)
            if not known[end:].strip(" \t\n\r"):
                return value
    except RecursionError:
        raise
    except Exception:
        pass  # what is wrong is said below
    import json

    return json.loads(text)


def dumps(value: object, ensure_ascii: bool = True) -> str:
    """As `json.dumps`."""
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder

        quoted = encode_basestring_ascii if ensure_ascii else encode_basestring
        encode = make_encoder({}, _refuse, quoted, None, ": ", ", ", False, False, True)
        return "".join(encode(value, 0))
    except Exception:  # what is wrong is said below
        import json

        return json.dumps(value, ensure_ascii=ensure_ascii)


def _refuse(value: object) -> object:
    raise TypeError(type(value).__name__)
