"""The screen Now: where work stands, what is running, and what waits for a decision."""

from __future__ import annotations

from holdfast.flows.status import status_of
from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.web.contract import Page, Request, Route, Screen

RECENT = 8


def show(request: Request) -> Page:
    entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
    recent = entries[::-1][:RECENT]
    return Page(
        "now.html",
        title="Now",
        status_of_project=request.kept("status", lambda: status_of(request.machine, request.project)),
        running=[] if request.opened is None else request.running(request.opened, entries),
        sessions=recent,
        titles=titles_of(request.project, recent),
    )


SCREEN = Screen("now", "Now", "n", "tab", (Route("/", show, name="now"),))
