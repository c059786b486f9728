"""The screen Cost: what sessions cost at API prices, by day."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

from holdfast.core.wording import dollars
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.ledger import LedgerEntry
from holdfast.web.charts import Stack, columns
from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
    days = _by_day(entries)
    chart = columns(
        "cost-by-day",
        "Cost by day",
        [Stack(label=f"{day.day} {day:%b}", values=[float(cost)]) for day, cost in days],
        unit="US dollars",
        write=dollars,
    )
    return Page("cost.html", title="Cost", chart=chart, total=sum((cost for _, cost in days), Decimal(0)))


def _by_day(entries: list[LedgerEntry]) -> list[tuple[date, Decimal]]:
    days: Counter[date] = Counter()
    for entry in entries:
        if entry.timestamp is not None and entry.cost_usd is not None:
            days[entry.timestamp.astimezone().date()] += entry.cost_usd  # type: ignore[assignment]
    return [(day, Decimal(days[day])) for day in sorted(days)]


SCREEN = Screen("cost", "Cost", "c", "tab", (Route("/cost", show),))
