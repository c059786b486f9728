"""The screen Sessions: every session of the project, the newest first."""

from __future__ import annotations

from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
    part = request.page(entries[::-1])
    return Page("sessions.html", title="Sessions", part=part, titles=titles_of(request.project, part.items))


SCREEN = Screen("sessions", "Sessions", "s", "tab", (Route("/sessions", show),))
