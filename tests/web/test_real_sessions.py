"""Memory, Search, Cost and Repository over real sessions, where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import open_page, served
from tests.web.seeded import machine_at
from tests.web.served import Served

from holdfast.flows.import_sessions import import_into

SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
HISTORIES = ("claude-code/EntityProcess-agentv", "codex/EntityProcess-agentv")
PATHS = ("/memory", "/memory/facts?kind=finding", "/memory/rules", "/memory/questions", "/memory/next",
         "/memory/timeline?about=eval", "/memory/history", "/search?q=plugin", "/search?q=why+did+the+tests+fail",
         "/cost", "/cost?by=month&split=kind&goal=fix+the+loader", "/repository", "/repository/files")  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not all((SESSIONS / name).is_dir() for name in HISTORIES):
        pytest.skip("needs ../shared, which is not part of the project")
    folder = tmp_path_factory.mktemp("real")
    machine = machine_at(folder)
    machine.cwd.mkdir()
    import_into(machine, machine.project(), [SESSIONS / name for name in HISTORIES])
    yield from served(folder)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_a_screen_shows_real_sessions_without_a_message(path: str, chromium: Any, real: Served) -> None:
    for page in open_page(chromium, real):
        page.goto(f"/{real.slug}{path}")
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if path in ("/memory", "/search?q=plugin"):
            assert page.locator("[data-row]").count() > 5
        if path == "/cost":
            assert "$" in page.locator("#cost-over-time").inner_text()
