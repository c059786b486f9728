"""The page as a person has it: a real process, a real browser, and a demonstration to look at.

`demo` is a project with five sessions, made once; `demo_server` serves it to all tests that only read. `server` serves
one of its own, which a test may change. `page` is a browser at `server`, `demo_page` one at `demo_server`: both fail on anything
that the console says and on any request that leaves the loopback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.served import Served

ROOT = Path(__file__).parents[2]
REQUIRED = "HOLDFAST_BROWSER_REQUIRED"
QUIET = {"HOLDFAST": "", "CI": ""}


def no_browser(reason: str) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"no browser: {reason}")
    pytest.skip(f"no browser: {reason}")


@pytest.fixture(scope="session")
def browser_folder() -> Path:
    """The folder of the pinned Chromium and axe-core, from the cache or the npm registry."""
    if not (shutil.which("npm") and shutil.which("bash")):
        no_browser("npm and bash are needed to install one")
    script = ["bash", str(ROOT / "scripts" / "install_browser.sh")]
    try:
        done = subprocess.run(script, capture_output=True, encoding="utf-8", timeout=300, check=False)
    except subprocess.TimeoutExpired:
        no_browser("the npm registry does not answer")
    if done.returncode:
        no_browser(" ".join(done.stderr.split())[-300:])
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")  # not longer: while it runs, no other test can run an event loop
def chromium(browser_folder: Path) -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=browser_folder / "chromium" / "chromium", args=["--no-sandbox"]
            )
        except sync_api.Error as error:
            no_browser(f"it does not start here: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the project `tidepool` and its memory in `home`."""
    return make_demo(tmp_path_factory.mktemp("demo"))


def make_demo(folder: Path) -> Path:
    command = [sys.executable, "-m", "holdfast", "demo", "--keep", str(folder)]
    env = {**os.environ, "HOME": str(folder), **QUIET}
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=env)
    return folder


def served(folder: Path, *options: str) -> Iterator[Served]:
    env = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder), **QUIET}
    serving = Served(folder / "tidepool", env, *options)
    serving.sign_in()
    yield serving
    if serving.process.poll() is None:
        assert serving.stop() == ""


@pytest.fixture(scope="module")
def demo_server(demo: Path) -> Iterator[Served]:
    yield from served(demo)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A page over a demonstration that this test may change."""
    yield from served(make_demo(tmp_path))


def open_page(chromium: Any, serving: Served, **settings: Any) -> Iterator[Any]:
    """A page of a browser that is signed in; fails at its end on messages and on requests that leave."""
    size = {"width": 1280, "height": 860}
    context = chromium.new_context(
        viewport=size, reduced_motion="reduce", base_url=serving.address, **settings
    )
    name, _, value = serving.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": serving.address, "sameSite": "Strict"}])
    page = context.new_page()
    page.set_default_timeout(15_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(f"console: {message.text} at {page.url}"))
    page.on("pageerror", lambda error: said.append(f"error: {error} at {page.url}"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((f"{serving.address}/", "data:"))] == []


@pytest.fixture
def page(chromium: Any, server: Served) -> Iterator[Any]:
    yield from open_page(chromium, server)


@pytest.fixture
def demo_page(chromium: Any, demo_server: Served) -> Iterator[Any]:
    yield from open_page(chromium, demo_server)
