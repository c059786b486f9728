"""Sessions that cost or take more than comparable ones, and budgets that are used up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime
from math import fsum
from typing import Literal

from msgspec import Struct

from holdfast.ledger.stats import quantile
from holdfast.model.ledger import LedgerEntry

FEWEST = 8  # sessions of the same kind (or of any), below which there is no like to be compared with

What = Literal["cost", "time", "budget"]
Amount = Literal["cost", "time"]
Period = Literal["day", "month"]
AMOUNTS: tuple[Amount, ...] = ("cost", "time")


class Usual(Struct, frozen=True, kw_only=True):
    """What comparable sessions usually take: half of them less than `p50`, nine of ten less than `p90`."""

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
    """A session with its cost and time so far."""

    session: str
    kind: str | None
    cost_usd: float | None
    minutes: float | None
    at: datetime | None = None


class Likes:
    """Costs and durations of sessions, sorted, by kind and in all."""

    def __init__(self, entries: Iterable[LedgerEntry]) -> None:
        self._sorted: dict[tuple[Amount, str | None], list[float]] = {}
        self._own: dict[tuple[Amount, str], tuple[str | None, float]] = {}
        for entry in entries:
            for what in AMOUNTS:
                if (value := amount_of(entry, what)) is not None:
                    self._own[what, entry.session] = entry.kind, value
        for (what, _), (kind, value) in self._own.items():
            self._sorted.setdefault((what, None), []).append(value)
            if kind:
                self._sorted.setdefault((what, kind), []).append(value)
        for values in self._sorted.values():
            values.sort()

    def usual(self, session: str, kind: str | None, what: Amount) -> Usual | None:
        """Of sessions of the same kind if there are enough, else of all; None if there are too few."""
        same_kind = self._others(session, kind, what) if kind else []
        values = same_kind if len(same_kind) >= FEWEST else self._others(session, None, what)
        p50, p90 = quantile(values, 0.5), quantile(values, 0.9)
        if len(values) < FEWEST or p50 is None or p90 is None or p90 <= 0:
            return None
        return Usual(
            of=f"{kind} sessions" if values is same_kind else "sessions", n=len(values), p50=p50, p90=p90
        )

    def _others(self, session: str, kind: str | None, what: Amount) -> list[float]:
        """The values of the other sessions: a session is not compared with itself."""
        values = self._sorted.get((what, kind), [])
        own_amount = self._own.get((what, session))
        if own_amount is None or (kind is not None and own_amount[0] != kind):
            return values
        place = bisect_left(values, own_amount[1])
        return values[:place] + values[place + 1 :]


def beyond_usual(one: Running, likes: Likes, *, live: bool) -> list[Alert]:
    """An alert for cost and one for time, where these exceed those of nine in ten comparable sessions."""
    alerts = []
    for what, value in zip(AMOUNTS, (one.cost_usd, one.minutes), strict=True):
        like = likes.usual(one.session, one.kind, what) if value is not None else None
        if like is None or value is None or value <= like.p90:
            continue
        text = (
            f"{_amount(what, value)} {'so far' if live else 'in all'}; 9 of 10 {like.of} stay under "
            f"{_amount(what, like.p90)}, half under {_amount(what, like.p50)} (n={like.n})"
        )
        alert = Alert(
            what=what, session=one.session, value=value, limit=like.p90, text=text, live=live, at=one.at
        )
        alerts.append(alert)
    return alerts


def over_budget(
    spent: Iterable[tuple[datetime | None, float | None]], limit: float, period: Period, now: datetime
) -> Alert | None:
    """An alert if the spending of this day or month, in local time, exceeds the budget."""
    form = "%Y-%m-%d" if period == "day" else "%Y-%m"
    current = now.astimezone().strftime(form)
    costs = [cost for at, cost in spent if at is not None and _local(at, form) == current]
    total = fsum(cost for cost in costs if cost is not None)
    if total <= limit:
        return None
    unknown = sum(cost is None for cost in costs)
    text = f"${total:,.2f} spent in {current}; the budget of a {period} is ${limit:,.2f}"
    if unknown:
        text += f" ({unknown} session{'s' if unknown != 1 else ''} of unknown cost not counted)"
    return Alert(what="budget", session="", value=total, limit=limit, text=text, at=now)


def _local(at: datetime, form: str) -> str:
    try:
        return at.astimezone().strftime(form)
    except (OverflowError, ValueError, OSError):  # the first and the last year have no other zone
        return ""


def amount_of(entry: LedgerEntry, what: Amount) -> float | None:
    """Cost in dollars or time in minutes; a negative value is an error and counts as unknown."""
    value = entry.cost_usd if what == "cost" else entry.duration_s
    if value is None or value < 0:
        return None
    return float(value) if what == "cost" else float(value) / 60


def _amount(what: str, value: float) -> str:
    if what == "cost":
        return f"${value:,.4f}" if 0 < value < 0.01 else f"${value:,.2f}"
    return f"{value:,.0f}min" if value >= 1 else f"{60 * value:.0f}s"
