"""The screen of one session."""

from __future__ import annotations

from holdfast.ledger.rows import find_row, read_ledger, record_of, rows
from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
    entry = find_row(entries, request.path["id"])
    record = record_of(request.project, entry.session)
    return Page("session.html", title=record.goal if record else "Session", entry=entry, record=record)


SCREEN = Screen(
    "session", "Session", "", "hidden", (Route("/session/{id:path}", show, name="session"),), under="sessions"
)
