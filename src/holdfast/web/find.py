"""The screen Search: everything that is remembered, by words and by meaning."""

from __future__ import annotations

from holdfast.briefing.search import search
from holdfast.ledger.rows import session_titles
from holdfast.web.contract import Page, Request, Route, Screen

MOST_HITS = 30


def show(request: Request) -> Page:
    query = request.query.get("q", "").strip()
    hits = search(request.machine, request.project, query, MOST_HITS, None, waiting=True) if query else []
    titles = session_titles(request.project, [hit.session for hit in hits])
    return Page("find.html", title="Search", query=query, hits=hits, titles=titles)


SCREEN = Screen("find", "Search", "f", "hidden", (Route("/search", show, name="find"),))
