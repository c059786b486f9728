"""How numbers of the ledger read: dollars, minutes, shares, the names of models; `?` for what nobody knows."""

from __future__ import annotations

from decimal import Decimal

from holdfast.cli.output import cut

NONE_CHOSEN = "No session is as the filters say. holdfast ledger shows all."
EMPTY = "No sessions yet. holdfast import reads what your agents recorded; holdfast demo shows how it looks."


def short_model(model: str | None) -> str:
    """A model without the date of its release, which tells a reader nothing."""
    name, dash, released = (model or "?").rpartition("-")
    dated = (
        dash and len(released) == 8 and released.isdecimal() and released.isascii() and released[:2] == "20"
    )
    return cut(name if dated else model or "?", 28)


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def decimal(value: float | None, places: int = 1) -> str:
    return "?" if value is None else f"{value:.{places}f}"


def minutes(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}min"


def percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def dollars(value: Decimal | float | None, *, exact: bool = False) -> str:
    """Cents for reading, every digit when asked; small amounts never read as nothing."""
    if value is None:
        return "unknown" if exact else "?"
    if exact:
        return f"${Decimal(str(value)).normalize():f}" if value else "$0.00"
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
