"""The screens, in the order in which the page shows them. A new screen is a line here."""

from __future__ import annotations

from holdfast.web import changes, cost, find, memory, now, proof, repository, session, sessions, team
from holdfast.web.contract import Screen

SCREENS: tuple[Screen, ...] = (
    now.SCREEN,
    sessions.SCREEN,
    session.SCREEN,
    memory.SCREEN,
    cost.SCREEN,
    repository.SCREEN,
    proof.SCREEN,
    team.SCREEN,
    find.SCREEN,
    Screen("undo", "Undo", "", "hidden", changes.ROUTES),
)
