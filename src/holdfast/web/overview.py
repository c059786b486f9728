"""The whole machine at a glance: every project with its sessions, the last of them, its cost, and what runs there.

It stands at the addresses of screens that show one project, and leads to the same screen of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.flows.running_sessions import RunningSession
from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.model.ledger import LedgerEntry
from holdfast.web.contract import Opened, Page, Request

PERIOD = timedelta(days=30)


class _Summary(Struct, frozen=True):
    sessions: int
    last: LedgerEntry | None
    title: str
    costs: tuple[tuple[datetime, Decimal], ...]  # of the last year, so that a month can be summed on any day
    recorded: tuple[LedgerEntry, ...]  # the latest rows: which of the sessions that seem to run have ended


class _Line(Struct, frozen=True):
    """A project in the list. `problem` says why it cannot be read."""

    opened: Opened
    sessions: int = 0
    last: LedgerEntry | None = None
    title: str = ""
    cost: Decimal = Decimal(0)
    running: Sequence[RunningSession] = ()
    problem: str = ""

    @property
    def active(self) -> float:
        written = max((session.written for session in self.running), default=0.0)
        return max(written, self.last.timestamp.timestamp() if self.last and self.last.timestamp else 0.0)


def overview(request: Request) -> Page:
    lines = sorted((_line(request, opened) for opened in request.projects), key=lambda line: -line.active)
    return Page(
        "overview.html",
        title="All projects",
        lines=lines,
        sessions=sum(line.sessions for line in lines),
        cost=sum((line.cost for line in lines), Decimal(0)),
        running=[(line.opened, session) for line in lines for session in line.running],
        days=PERIOD.days,
    )


def _line(request: Request, opened: Opened) -> _Line:
    try:
        known = request.kept_of(opened, "overview", lambda: _summary(opened, request.now), "sessions")
        since = request.now - PERIOD
        return _Line(
            opened=opened,
            sessions=known.sessions,
            last=known.last,
            title=known.title,
            cost=sum((cost for at, cost in known.costs if at >= since), Decimal(0)),
            running=request.running(opened, known.recorded),
        )
    except HoldfastError as error:
        return _Line(opened=opened, problem=error.line())


def _summary(opened: Opened, now: datetime) -> _Summary:
    entries = rows(read_ledger(opened.project))
    last = entries[-1] if entries else None
    since = now - timedelta(days=366)
    return _Summary(
        sessions=len(entries),
        last=last,
        title=next(iter(titles_of(opened.project, entries[-1:]).values()), ""),
        costs=tuple(
            (entry.timestamp, entry.cost_usd)
            for entry in entries
            if entry.timestamp and entry.cost_usd and entry.timestamp >= since
        ),
        recorded=tuple(
            entry for entry in entries if entry.recorded and entry.recorded >= now - timedelta(days=2)
        ),
    )
