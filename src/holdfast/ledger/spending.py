"""What the sessions of a ledger cost, by period or by what a row says; unknown costs are counted, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from holdfast.core.model_names import undated
from holdfast.ledger.usage_periods import period_name
from holdfast.model.ledger import LedgerEntry

UNKNOWN = "unknown"


class Spending(Struct):
    """The cost of some sessions. It is a lower bound if the cost of one is unknown, or its usage incomplete."""

    cost_usd: Decimal = Decimal(0)
    sessions: int = 0
    unknown: int = 0
    incomplete: int = 0
    tokens: int = 0

    @property
    def is_lower_bound(self) -> bool:
        return bool(self.unknown or self.incomplete)

    def add(self, entry: LedgerEntry) -> None:
        self.sessions += 1
        if entry.cost_usd is None:
            self.unknown += 1
        else:
            self.cost_usd += entry.cost_usd
        self.incomplete += bool(entry.usage)
        self.tokens += entry.tokens.total if entry.tokens else 0


def period_of(entry: LedgerEntry, by: str) -> str:
    """The local day, week (its Monday) or month in which a session began; '' if that is unknown."""
    return "" if entry.timestamp is None else period_name(int(entry.timestamp.timestamp()) // 900 * 900, by)


PARTS: Mapping[str, Callable[[LedgerEntry], str]] = {
    "model": lambda entry: undated(entry.model) if entry.model else UNKNOWN,
    "kind": lambda entry: str(entry.kind or UNKNOWN),
    "agent": lambda entry: entry.agent or UNKNOWN,
    "outcome": lambda entry: str(entry.outcome or UNKNOWN),
    "complexity": lambda entry: str(entry.complexity or UNKNOWN),
}


def spending_by(entries: Iterable[LedgerEntry], key: Callable[[LedgerEntry], str]) -> dict[str, Spending]:
    groups: dict[str, Spending] = {}
    for entry in entries:
        name = key(entry)
        if name not in groups:
            groups[name] = Spending()
        groups[name].add(entry)
    return groups


def periods_between(first: str, last: str, by: str) -> list[str]:
    """The names of all periods from one to another, so that a time without sessions shows as such."""
    names: list[str] = []
    day = date.fromisoformat(f"{first}-01" if by == "month" else first)
    stop = date.fromisoformat(f"{last}-01" if by == "month" else last)
    while day <= stop:
        names.append(f"{day:%Y-%m}" if by == "month" else day.isoformat())
        if by == "month":
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            day += timedelta(days=7 if by == "week" else 1)
    return names


def period_start(now: datetime, by: str) -> str:
    """The name of the running period."""
    return period_name(int(now.timestamp()) // 900 * 900, by)
