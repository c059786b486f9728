"""Sessions that cost or take more than their like, and budgets that are used up, with what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from holdfast.advise.rates import quantile
from holdfast.model.ledger import LedgerEntry

FEWEST = 8  # sessions of the same kind (or of any), below which there is no like to be compared with

What = Literal["cost", "time", "budget"]


class Usual(Struct, frozen=True, kw_only=True):
    """What sessions of one sort usually take: half of them less than `p50`, nine of ten less than `p90`."""

    of: str
    n: int
    p50: float
    p90: float


class Alert(Struct, frozen=True, kw_only=True):
    what: What
    session: str
    value: float
    limit: float
    text: str
    live: bool = False
    at: datetime | None = None


class Running(Struct, frozen=True, kw_only=True):
    """A session as far as it has come."""

    session: str
    kind: str | None
    cost_usd: float | None
    minutes: float | None


def usual(entries: Iterable[LedgerEntry], kind: str | None, what: Literal["cost", "time"]) -> Usual | None:
    """Of its own kind where there are enough, else of all; None while there are too few of either."""
    rows = [entry for entry in entries if _value(entry, what) is not None]
    own = [entry for entry in rows if kind and entry.kind == kind]
    like = own if len(own) >= FEWEST else rows
    values = [value for entry in like if (value := _value(entry, what)) is not None]
    p50, p90 = quantile(values, 0.5), quantile(values, 0.9)
    if len(values) < FEWEST or p50 is None or p90 is None or p90 <= 0:
        return None
    return Usual(of=f"{kind} sessions" if like is own else "sessions", n=len(values), p50=p50, p90=p90)


def beyond_usual(one: Running, others: Sequence[LedgerEntry], *, live: bool) -> list[Alert]:
    """An alert each for cost and for time that exceed nine of ten of its like. The session itself is not its like."""
    rest = [entry for entry in others if entry.session != one.session]
    found = []
    for what, value in (("cost", one.cost_usd), ("time", one.minutes)):
        like = usual(rest, one.kind, what) if value is not None else None  # type: ignore[arg-type]
        if like is None or value is None or value <= like.p90:
            continue
        text = (
            f"{_amount(what, value)} {'so far' if live else 'in all'}; 9 of 10 {like.of} stay under "
            f"{_amount(what, like.p90)}, half under {_amount(what, like.p50)} (n={like.n})"
        )
        found.append(
            Alert(what=what, session=one.session, value=value, limit=like.p90, text=text, live=live)  # type: ignore[arg-type]
        )
    return found


def over_budget(
    entries: Iterable[LedgerEntry], limit: float, period: Literal["day", "month"], now: datetime
) -> Alert | None:
    """What was spent in this day or month of the reader's own calendar, against what was to be spent."""
    form = "%Y-%m-%d" if period == "day" else "%Y-%m"
    current = now.astimezone().strftime(form)
    spent = sum(
        (
            entry.cost_usd
            for entry in entries
            if entry.cost_usd is not None
            and entry.timestamp
            and entry.timestamp.astimezone().strftime(form) == current
        ),
        Decimal(0),
    )
    if float(spent) <= limit:
        return None
    text = f"${float(spent):,.2f} spent in {current}; the budget of a {period} is ${limit:,.2f}"
    return Alert(what="budget", session="", value=float(spent), limit=limit, text=text, at=now)


def _value(entry: LedgerEntry, what: Literal["cost", "time"]) -> float | None:
    if what == "cost":
        return float(entry.cost_usd) if entry.cost_usd is not None else None
    return entry.duration_s / 60 if entry.duration_s is not None else None


def _amount(what: str, value: float) -> str:
    return f"${value:,.2f}" if what == "cost" else f"{value:,.0f}min"
