"""The frame around all screens: the link, keys, theme, messages, and what every template must keep to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.web.served import Served

from holdfast.web.render import TEMPLATES
from holdfast.web.screens import SCREENS
from holdfast.web.static_files import FOLDER

PARTS = sorted(TEMPLATES.glob("*.html"))


@pytest.mark.slow
@pytest.mark.promise("U1")
def test_the_printed_link_opens_the_page_in_a_browser(chromium: Any, demo: Path) -> None:
    from tests.web.conftest import QUIET

    serving = Served(demo / "tidepool", {"HOLDFAST_HOME": str(demo / "home"), "HOME": str(demo), **QUIET})
    context = chromium.new_context()
    page = context.new_page()
    page.goto(serving.link)
    page.wait_for_url(f"{serving.address}/tidepool/")
    assert page.locator("h1").inner_text() == "Now"
    (cookie,) = context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (
        f"holdfast-{serving.port}",
        True,
        "Strict",
    )
    page.goto(serving.link)  # the same browser again: it is signed in already
    page.wait_for_url(f"{serving.address}/tidepool/")
    context.close()
    assert serving.stop() == ""


@pytest.mark.slow
def test_keys_lead_everywhere(demo_page: Any, demo_server: Served) -> None:
    demo_page.goto(f"/{demo_server.slug}/")
    for screen in SCREENS:
        if screen.letter and screen.place != "hidden":
            demo_page.keyboard.press("g")
            with demo_page.expect_navigation():
                demo_page.keyboard.press(screen.letter)
            assert demo_page.locator(".tabs [aria-current]").inner_text() == screen.title
    demo_page.goto(f"/{demo_server.slug}/sessions")
    demo_page.keyboard.press("j")
    demo_page.keyboard.press("j")
    demo_page.keyboard.press("k")
    rows = demo_page.locator("[data-row]")
    assert rows.nth(0).get_attribute("aria-current") == "true"
    title = rows.nth(0).locator("[data-open]").inner_text()
    with demo_page.expect_navigation():
        demo_page.keyboard.press("Enter")
    assert title.rstrip("…") in demo_page.locator("h1").inner_text()
    demo_page.keyboard.press("Control+k")
    demo_page.keyboard.type("retry")
    with demo_page.expect_navigation():
        demo_page.keyboard.press("Enter")
    assert "/search?q=retry" in demo_page.url
    demo_page.keyboard.press("Escape")
    demo_page.locator("h1").click()
    demo_page.keyboard.press("?")
    assert demo_page.locator("#keys").is_visible()
    demo_page.keyboard.press("Escape")
    assert not demo_page.locator("#keys").is_visible()


@pytest.mark.slow
def test_the_theme_can_be_switched_and_is_kept(demo_page: Any, demo_server: Served) -> None:
    demo_page.goto(f"/{demo_server.slug}/")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = demo_page.evaluate(paper)
    demo_page.click("#theme")
    dark = demo_page.evaluate(paper)
    assert light != dark
    demo_page.reload()
    assert demo_page.evaluate(paper) == dark


@pytest.mark.parametrize("template", PARTS, ids=lambda path: path.name)
def test_a_template_holds_nothing_that_the_policy_forbids_and_nothing_unescaped(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*(?:safe|e|escape|forceescape)\b|autoescape", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"(?:src|href)=\"https?:|//cdn", text)


def test_our_own_script_makes_no_markup_and_runs_no_text() -> None:
    for script in FOLDER.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(
            r"\beval\(|new Function|innerHTML\s*=[^=]|insertAdjacentHTML|document\.write", text
        )
