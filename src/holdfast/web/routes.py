"""Addresses: from a path to the route of a screen, and from a route's name to its address."""

from __future__ import annotations

from collections.abc import Mapping
from re import Pattern
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct
from starlette.routing import compile_path

from holdfast.core.errors import NotFound
from holdfast.web.contract import Route, Screen
from holdfast.web.screens import SCREENS, begins

_PROJECT = "/{project}"


class _Path(Struct, frozen=True):
    pattern: Pattern[str]
    template: str
    convertors: Mapping[str, Any]


class _Bound(Struct, frozen=True):
    screen: Screen
    route: Route
    path: _Path


class Routes:
    """The routes of all screens. A screen is loaded when an address of it is asked for, or made."""

    def __init__(self) -> None:
        self._paths = {listed.name: _Path(*compile_path(_PROJECT + listed.path)) for listed in SCREENS}
        self._waiting = {listed.name: listed for listed in SCREENS}
        self._bound: dict[str, _Bound] = {}
        self._lock = Lock()

    def url(self, slug: str, name: str, values: Mapping[str, Any]) -> str:
        path = self._paths.get(name)
        if path is None:
            self.load(name.partition(".")[0])
            if name not in self._bound:
                self.load_all()
            path = self._bound[name].path
        given = {key: str(value) for key, value in values.items() if value not in (None, "")}
        parts = {key: quote(given.pop(key, ""), safe="") for key in path.convertors if key != "project"}
        query = f"?{urlencode(given)}" if given else ""
        return path.template.format(project=slug, **parts) + query

    def match(self, method: str, path: str) -> tuple[Screen, Route, dict[str, str]]:
        """The route for an address, and what stands for its parameters.

        Only if none fits are the screens loaded whose addresses begin with another word.
        """
        word = path.strip("/").partition("/")[2].partition("/")[0]
        for name in [listed.name for listed in SCREENS if word in (begins(listed), listed.name)]:
            self.load(name)
        for _ in range(2):
            for bound in list(self._bound.values()):
                if bound.route.method == method and (found := bound.path.pattern.fullmatch(path)):
                    return bound.screen, bound.route, found.groupdict()
            self.load_all()
        raise NotFound("there is no such page", fix="Choose one of the tabs")

    def load_all(self) -> None:
        for name in list(self._waiting):
            self.load(name)

    def load(self, name: str) -> None:
        listed = self._waiting.get(name)
        if listed is None:
            return
        screen = listed.load()
        with self._lock:
            if self._waiting.pop(name, None) is None:
                return  # another thread was faster
            for route in screen.routes:
                own = screen.name_of(route)
                assert own not in self._bound, f"two routes are called {own}"
                self._bound[own] = _Bound(screen, route, _Path(*compile_path(_PROJECT + route.path)))
