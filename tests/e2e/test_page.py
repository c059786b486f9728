"""The page of `holdfast ui` while a real agent works: its session appears, gets its lines and ends, without a reload."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.clients import CLIENTS
from tests.e2e.model_server import Shell, serving
from tests.e2e.story import FINAL, RIGHT
from tests.e2e.world import World
from tests.patience import PATIENCE_S, wait_until
from tests.web.conftest import browser_folder, chromium, open_page  # noqa: F401 (fixtures)
from tests.web.served import Served

AGENTS = ["claude-code", "codex", "gemini"]
PROMPT = "Implement the refund endpoint: refunds go through the ledger service"
# A command that takes as long as the page needs to show that it runs.
LONG = Shell("while [ ! -e looked ]; do sleep 0.1; done; make test")
IN_TIME = {"timeout": PATIENCE_S * 1_000}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.fixture
def now(world: World, chromium: Any) -> Iterator[tuple[Any, Served]]:  # noqa: F811 (a fixture)
    """A browser at the screen Now of this world."""
    world.holdfast("decide", "Refunds go through the ledger service", "--because", "audits need one place")
    serving_page = Served(world.repo, {"HOME": str(world.home), "CI": "", "HOLDFAST": ""})
    serving_page.sign_in()
    for page in open_page(chromium, serving_page):
        page.goto(f"/{serving_page.slug}/")
        yield page, serving_page
    assert serving_page.stop() == ""


@pytest.mark.promise("U1")
@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent in CLIENTS])
def test_a_session_of_a_real_agent_appears_moves_and_ends_on_an_open_page(
    agent: str, world: World, now: tuple[Any, Served]
) -> None:
    page, _ = now
    client = world.install(agent)
    page.reload()  # from here on only the page itself
    page.evaluate("window.loadedOnce = true")
    running, recent = page.locator("#now-running"), page.locator("#now-sessions")
    assert running.get_by_text("Running").count() == 0
    with serving([LONG, RIGHT, FINAL]) as server:
        session = client.start(server, PROMPT)
        try:
            row = running.locator(".now-row")
            row.get_by_text("refund endpoint").first.wait_for(**IN_TIME)
            row.get_by_text(agent, exact=False).first.wait_for(**IN_TIME)
            # What memory showed it stands beside it while the agent is at work.
            row.get_by_text("1 line,").first.wait_for(**IN_TIME)
            assert session.poll() is None, session.communicate()
            (world.repo / "looked").touch()
            printed, errors = session.communicate(timeout=PATIENCE_S)
        finally:
            session.kill()
    assert session.returncode == 0, (printed, errors)
    assert wait_until(lambda: len(world.rows()) == 1), world.state()
    ended = recent.locator(".now-row")
    ended.get_by_text("refund endpoint").first.wait_for(**IN_TIME)
    ended.get_by_text("done").first.wait_for(**IN_TIME)
    assert running.locator(".now-row").count() == 0
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"
