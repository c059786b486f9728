"""The screen Team: who shares this memory, what is shared, and where two members disagree."""

from __future__ import annotations

from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    return Page("team.html", title="Team")


SCREEN = Screen("team", "Team", "t", "link", (Route("/team", show, everywhere=True),))
