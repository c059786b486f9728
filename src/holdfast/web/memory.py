"""The screen Memory: what is known, with where it comes from."""

from __future__ import annotations

from holdfast.memory.read import ProjectMemory
from holdfast.model.statement import Statement
from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    decisions = request.kept("decisions", lambda: _decisions(request), "memory")
    return Page("memory.html", title="Memory", part=request.page(decisions))


def _decisions(request: Request) -> list[Statement]:
    found = ProjectMemory(request.project).statements("decision")
    return sorted(found, key=lambda statement: statement.order, reverse=True)


SCREEN = Screen("memory", "Memory", "m", "tab", (Route("/memory", show),))
