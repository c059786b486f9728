"""How numbers of the ledger read: dollars, minutes, shares, the names of models; `?` for what nobody knows."""

from __future__ import annotations

from decimal import Decimal

from holdfast.cli.output import cut
from holdfast.text.late import late

NONE_CHOSEN = "No session is as the filters say. holdfast ledger shows all."
EMPTY = "No sessions yet. holdfast import reads what your agents recorded; holdfast demo shows how it looks."

TELLING = 25  # percent; a smaller chance is said in words
_CHANCE = late(r"\b(\d+)% likely\b")


def short_model(model: str | None) -> str:
    """A model without the date of its release, which tells a reader nothing."""
    name, dash, released = (model or "?").rpartition("-")
    dated = (
        dash and len(released) == 8 and released.isdecimal() and released.isascii() and released[:2] == "20"
    )
    return cut(name if dated else model or "?", 28)


def counted(count: int, word: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def decimal(value: float | None, places: int = 1) -> str:
    return "?" if value is None else f"{value:.{places}f}"


def minutes(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}min"


def percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def in_words(reason: str) -> str:
    """A reason for a person: `9% likely` reads as noise, though one such file in eleven is worth a line to an agent."""
    return _CHANCE.sub(lambda said: said[0] if int(said[1]) >= TELLING else "worth a look", reason)


def dollars(value: Decimal | float | None) -> str:
    """Cents, which is what a person reads (JSON has every digit); small amounts never read as nothing."""
    if value is None:
        return "?"
    if 0 < value < Decimal("0.0001"):
        return "<$0.0001"
    if 0 < value < Decimal("0.01"):
        return f"${value:.4f}"
    return f"${value:,.2f}"


def short_duration(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds}s"
    minutes = round(seconds / 60)
    return f"{minutes}min" if minutes < 60 else f"{minutes // 60}h {minutes % 60}min"
