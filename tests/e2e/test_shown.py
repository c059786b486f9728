"""What a person sees of us in Claude Code's own terminal: the status line, and each message once."""

from __future__ import annotations

import os
import time

import pytest
from tests.e2e.model_server import serving
from tests.e2e.world import World
from tests.patience import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.mark.promise("U5", "L12", "X4")
def test_claude_code_shows_the_status_line_an_alert_and_what_changed(world: World) -> None:
    client = world.client("claude-code")
    world.holdfast("install", "claude-code", "--status-line", "--no-mcp", "--yes")
    world.holdfast("todo", "add", "check the rounding")
    for number in range(10):
        row = f"--session past-{number} --agent claude-code --goal x --tasks 1 --cost 0.0001 --duration 1s"
        world.holdfast("ledger", "add", *row.split())
    guide = world.repo / "CLAUDE.md"
    guide.write_text("Use tabs.\n", encoding="utf-8")
    with serving(["One done."]) as server, client.terminal(server, "Look at the shop") as terminal:

        def shows(text: str) -> bool:
            return wait_until(lambda: text in terminal.shown)

        def says(words: str) -> bool:
            return terminal.say(words, lambda: words in server.turns()[-1].text)

        assert shows("holdfast: 1 open"), terminal.shown
        # The child of the stop reads what the session cost.
        assert wait_until(lambda: any(world.prepared("SELECT value FROM meta WHERE key = 'alerts'")))
        assert says("And again")
        assert shows("9 of 10 sessions stay under"), terminal.shown
        # Before it is time to look: the stop of the last answer may come only now, and would see no change.
        guide.write_text("Use spaces.\n", encoding="utf-8")
        then = time.time() - 400
        for note in (world.memory / "seen").iterdir():
            os.utime(note, (then, then))
        assert says("And a third")
        assert shows("changed since this session began: CLAUDE.md"), terminal.shown
    shown = [line["text"] for entry in world.why() for line in entry.get("shown", ())]
    assert len(shown) == 2, shown
