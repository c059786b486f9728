"""The screen Proof: whether memory helps, measured on this project."""

from __future__ import annotations

from holdfast.web.contract import Page, Request, Route, Screen


def show(request: Request) -> Page:
    return Page("proof.html", title="Proof")


SCREEN = Screen("proof", "Proof", "p", "link", (Route("/proof", show, everywhere=True),))
