"""Names of models: the same model with and without the date of its release, without regular expressions."""

from __future__ import annotations


def undated(model: str) -> str:
    """`claude-haiku-4-5-20251001`, `claude-haiku-4-5@20251001` and `claude-haiku-4-5` are one model."""
    for mark in "-@":
        name, found, released = model.rpartition(mark)
        if found and name and _is_date(released, 8):
            return name
    name, day = model[:-11], model[-11:]
    dated = (
        len(day) == 11 and day[0] + day[5] + day[8] == "---" and _is_date(day[1:5] + day[6:8] + day[9:], 8)
    )
    return name if dated and name else model


def _is_date(text: str, digits: int) -> bool:
    """Whether these are year, month and day."""
    return (
        len(text) == digits
        and text.isascii()
        and text.isdecimal()
        and text[:2] == "20"
        and "01" <= text[4:6] <= "12"
        and "01" <= text[6:] <= "31"
    )
