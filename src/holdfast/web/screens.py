"""The screens, in the order in which the page shows them. A new screen is a line here.

A screen's module is loaded when one of its pages is wanted, so that the first page need not wait for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from msgspec import Struct

from holdfast.web.contract import Place, Screen


class Listed(Struct, frozen=True):
    """What the frame knows of a screen before its module is loaded: the same as its `SCREEN` and its first route."""

    name: str  # also of its module
    title: str
    letter: str
    place: Place
    path: str
    under: str = ""

    def load(self) -> Screen:
        screen: Screen = import_module(f"holdfast.web.{self.name}").SCREEN
        return screen


SCREENS: tuple[Listed, ...] = (
    Listed("now", "Now", "n", "tab", "/"),
    Listed("sessions", "Sessions", "s", "tab", "/sessions"),
    Listed("session", "Session", "", "hidden", "/session/{id:path}", under="sessions"),
    Listed("memory", "Memory", "m", "tab", "/memory"),
    Listed("cost", "Cost", "c", "tab", "/cost"),
    Listed("repository", "Repository", "r", "link", "/repository"),
    Listed("proof", "Proof", "p", "link", "/proof"),
    Listed("team", "Team", "t", "link", "/team"),
    Listed("find", "Search", "f", "hidden", "/search"),
    Listed("changes", "Undo", "", "hidden", "/undo"),
)


def begins(listed: Listed) -> str:
    """The first word of a screen's addresses."""
    return listed.path.strip("/").partition("/")[0]


def loaded(screens: Iterable[Listed] = SCREENS) -> list[Screen]:
    return [screen.load() for screen in screens]
