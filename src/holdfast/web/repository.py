"""The screen Repository: how things are done here, and which session is behind the lines of a file."""

from __future__ import annotations

from holdfast.knowledge.store import load
from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    known = request.kept("knowledge", lambda: load(request.project), "knowledge")
    return Page("repository.html", title="Repository", conventions=known.now.conventions)


SCREEN = Screen("repository", "Repository", "r", "link", (Route("/repository", show),))
