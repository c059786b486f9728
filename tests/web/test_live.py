"""What happens on the machine appears on an open page by itself: without loading it again, and without asking often."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile
from tests.web.served import Served

STILL = "window.loadedOnce"  # gone if the page was loaded again


def command(server: Served, *words: str) -> None:
    """The command line, in the project that the page shows."""
    subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        cwd=server.project,
        env=server.env,
        check=True,
        capture_output=True,
    )


@pytest.mark.slow
@pytest.mark.promise("U1")
def test_a_session_that_an_agent_begins_appears_and_moves_without_a_reload(page: Any, server: Served) -> None:
    page.goto(f"/{server.slug}/")
    page.evaluate(f"{STILL} = true")
    folder = Path(server.env["HOME"]) / ".claude" / "projects" / "-tidepool"
    folder.mkdir(parents=True)
    session = "5c0ffee5-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(server.project), session=session)
    file.user(0, "Add a retry to the export client")
    (folder / f"{session}.jsonl").write_bytes(file.data())
    running = page.locator("#now-running")
    running.get_by_text("retry to the export client").wait_for(timeout=60_000)
    assert page.evaluate(STILL)


@pytest.mark.slow
def test_what_the_command_line_changes_appears_on_the_page(page: Any, server: Served) -> None:
    page.goto(f"/{server.slug}/memory")
    page.evaluate(f"{STILL} = true")
    page.wait_for_timeout(600)  # the first look has been
    command(
        server, "decide", "Exports are retried three times", "--because", "the gateway drops one in fifty"
    )
    page.get_by_text("Exports are retried three times").wait_for(timeout=60_000)
    assert page.evaluate(STILL)


@pytest.mark.slow
def test_pages_that_are_open_cost_next_to_nothing_while_nothing_happens(page: Any, server: Served) -> None:
    asked: list[str] = []
    page.goto(f"/{server.slug}/")
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4_000)
    assert [url for url in asked if "/events" not in url] == []


@pytest.mark.slow
def test_the_page_says_when_it_has_ended(page: Any, server: Served) -> None:
    page.goto(f"/{server.slug}/")
    page.wait_for_timeout(300)
    server.stop()
    page.get_by_text("This page has ended").wait_for(timeout=20_000)


def test_a_stream_of_changes_names_the_topics(server: Served) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", f"/events?project={server.slug}", headers={"Cookie": server.cookie})
    response = connection.getresponse()
    assert response.getheader("Content-Type", "").startswith("text/event-stream")
    assert response.readline() == b": open\n"
    time.sleep(1)
    command(server, "todo", "add", "look at the export")
    lines = iter(response.readline, b"")
    data = next(line for line in lines if line.startswith(b"data:"))
    assert "memory" in data.decode().split()
    connection.close()
