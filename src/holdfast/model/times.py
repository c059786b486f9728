"""Clamps times: what came in cannot have been said later than there is evidence for."""

from __future__ import annotations

from math import inf
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.stamp import LEEWAY_MS

T = TypeVar("T")
_A_TIME = 1e8  # seconds since 1970: no other number that is stored is so large


def no_later_than(value: T, bound: float) -> T:
    """The value without a time later than `bound` (seconds since 1970), in it or in anything that it holds.

    Clocks that are kept right differ by less than a minute, so a time that is later by no more is left as it is.
    """
    return _bounded(value, bound) if bound > _A_TIME else value


def _bounded(value: Any, bound: float) -> Any:
    if isinstance(value, float):
        return bound if value > bound + LEEWAY_MS / 1000 and value < inf else value
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: after for name, old in fields.items() if (after := _bounded(old, bound)) is not old}
        return replace(value, **changed) if changed else value
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        items = [_bounded(item, bound) for item in value]
        return type(value)(items) if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value
