"""Every screen in a real browser, by day and by night: usable with a screen reader, silent, complete at any width."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import open_page
from tests.web.served import Served

from holdfast.web.contract import Screen
from holdfast.web.screens import SCREENS, Listed, loaded

THEMES = ("light", "dark")
WIDTHS = (700, 1280, 2000)
LOOKED_AT = [screen for screen in loaded() if any(route.method == "GET" for route in screen.routes)]


def address(screen: Screen, server: Served) -> str:
    if screen.name == "session":
        return server.first_session()
    if screen.name == "find":
        return f"/{server.slug}/search?q=retry"
    route = next(route for route in screen.routes if route.method == "GET")
    assert "{" not in route.path, f"say here at which address {screen.name} can be looked at"
    return f"/{server.slug}{route.path}"


@pytest.fixture(params=THEMES)
def themed(request: pytest.FixtureRequest, chromium: Any, demo_server: Served) -> Iterator[Any]:
    yield from open_page(chromium, demo_server, color_scheme=request.param)


@pytest.fixture(scope="session")
def axe(browser_folder: Path) -> str:
    return (browser_folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("screen", LOOKED_AT, ids=lambda screen: screen.name)
def test_a_screen_has_no_barrier_that_axe_finds(
    screen: Screen, themed: Any, demo_server: Served, axe: str
) -> None:
    themed.goto(address(screen, demo_server))
    for fold in themed.query_selector_all("main details:not([open]) > summary")[:4]:
        fold.click()  # what is folded is part of the screen
    themed.evaluate(axe)
    looked = themed.evaluate("async () => await axe.run()")
    found = [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in looked["violations"]
        for node in violation["nodes"][:3]
    ]
    assert found == []
    assert "color-contrast" in {rule["id"] for rule in looked["passes"]}


@pytest.mark.slow
@pytest.mark.parametrize("screen", LOOKED_AT, ids=lambda screen: screen.name)
def test_a_screen_fits_any_width(screen: Screen, demo_page: Any, demo_server: Served) -> None:
    for width in WIDTHS:
        demo_page.set_viewport_size({"width": width, "height": 900})
        demo_page.goto(address(screen, demo_server))
        beside = demo_page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert beside <= 0, f"{screen.name} is {beside} pixels too wide at {width}"
        assert demo_page.locator("h1").count() == 1


@pytest.mark.parametrize("listed", SCREENS, ids=lambda listed: listed.name)
def test_the_list_of_screens_says_what_their_modules_say(listed: Listed) -> None:
    """The frame is drawn from the list, before a module is loaded."""
    screen = listed.load()
    assert (screen.name, screen.title, screen.letter, screen.place, screen.under) == (
        listed.name,
        listed.title,
        listed.letter,
        listed.place,
        listed.under,
    )
    assert [route.path for route in screen.routes if screen.name_of(route) == screen.name] == [listed.path]


def test_names_letters_and_addresses_are_given_once() -> None:
    screens = loaded()
    names = [screen.name_of(route) for screen in screens for route in screen.routes]
    ways = [(route.method, route.path) for screen in screens for route in screen.routes]
    letters = [screen.letter for screen in screens if screen.letter]
    for given in (names, ways, letters):
        assert len(given) == len(set(given))
