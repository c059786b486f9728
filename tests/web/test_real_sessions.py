"""Now, Sessions and every session's page over real sessions of several agents, as people's machines have them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.web.conftest import QUIET, ROOT, open_page, served
from tests.web.served import Served
from tests.web.traces import PROMPT, project_of, tell

from holdfast.ledger.rows import read_ledger, rows

FOLDERS = (
    "claude-code/entireio-skills",
    "claude-code/gmeligio-flutter-docker-image",
    "copilot-cli",
    "gemini-cli",
)


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Real transcripts in a scratch home; each session was told a file and a decision."""
    shared = ROOT.parent / "shared"
    if not shared.is_dir():
        pytest.skip("needs ../shared, which is not part of the project")
    folder = tmp_path_factory.mktemp("real")
    (folder / "tidepool").mkdir()
    env = {**os.environ, "HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder), **QUIET}
    subprocess.run(["git", "init", "-q"], cwd=folder / "tidepool", check=True)
    transcripts = [str(shared / "data" / "transcripts" / name) for name in FOLDERS]
    command = [sys.executable, "-m", "holdfast", "import", "-q", *transcripts]
    subprocess.run(command, cwd=folder / "tidepool", env=env, check=True, capture_output=True)
    _, project = project_of(folder)
    for entry in rows(read_ledger(project)):
        at = entry.timestamp.timestamp() if entry.timestamp else 0.0
        tell(
            project.memory,
            entry.session,
            at,
            PROMPT,
            [("README.md", "touched often"), ("Keep it small", "fits")],
        )
    yield from served(folder)


@pytest.fixture
def real_page(chromium: Any, real_server: Served) -> Iterator[Any]:
    yield from open_page(chromium, real_server)


def sessions(serving: Served) -> list[str]:
    found: list[str] = []
    for number in range(1, 20):
        text = serving.get(f"/{serving.slug}/sessions?page={number}")
        found += re.findall(r'<tr id="session-([^"]+)"', text)
        if 'rel="next"' not in text:
            break
    return found


@pytest.mark.slow
def test_every_real_session_has_a_page_a_markdown_and_a_file_without_a_fault(real_server: Served) -> None:
    every = sessions(real_server)
    assert len(every) > 20
    slug = real_server.slug
    for session in every:
        text = real_server.get(f"/{slug}/session/{session}")
        assert '<article class="turn"' in text, session
        assert re.search(r"2 lines, 20 tokens: \d used, \d not used, \d unknown", text), session
        assert real_server.get(f"/{slug}/session-markdown?id={session}&save=1").strip(), session
        assert "</html>" in real_server.get(f"/{slug}/session-html?id={session}"), session
        assert "Fragment" not in real_server.get(f"/{slug}/now/told?id={session}")


@pytest.mark.slow
def test_pages_of_real_sessions_fit_every_width_and_say_nothing_on_the_console(
    real_page: Any, real_server: Served
) -> None:
    slug = real_server.slug
    paths = [f"/{slug}/", f"/{slug}/sessions"]
    paths += [f"/{slug}/session/{session}" for session in sessions(real_server)[::4]]
    for path in paths:
        for width in (700, 1280, 1900):
            real_page.set_viewport_size({"width": width, "height": 900})
            real_page.goto(path)
            beside = real_page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beside <= 0, f"{path} is {beside} pixels too wide at {width}"
