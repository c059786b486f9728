"""Real clients read a file about which something was decided: the next request has it, once per file and session."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from tests.e2e.model_server import Read, Step, serving
from tests.e2e.story import AGENTS
from tests.e2e.world import World, told
from tests.patience import wait_until

RULE = "In shop/refunds.py amounts are whole cents, never floats"
# Codex reads files with its shell; there is no hook for it that knows the file.
READERS = [agent for agent in AGENTS if agent != "codex"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", READERS),
]


def about(lines: list[str]) -> list[str]:
    return [line for line in lines if "whole cents" in line]


def of_files(world: World, session: str) -> list[dict[str, Any]]:
    return [entry for entry in world.why() if entry.get("tool") == "Read" and entry["session"] == session]


@pytest.mark.promise("M10", "U7", "W4")
def test_reading_a_file_brings_what_was_decided_about_it_once_per_session(agent: str, world: World) -> None:
    refunds, other = world.repo / "shop" / "refunds.py", world.repo / "shop" / "stock.py"
    refunds.parent.mkdir()
    for path in (refunds, other):
        path.write_text("TOTAL = 1\n", encoding="utf-8")
    subprocess.run(["git", "add", "-A"], cwd=world.repo, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "shop"], cwd=world.repo, check=True)
    client = world.install(agent)
    world.holdfast("decide", RULE, "--because", "audits compare integers", "--by", "user")
    steps: list[Step] = [Read(str(other)), Read(str(refunds)), Read(str(refunds)), "Looked."]
    with serving(steps) as server:
        session = client.run(server, "Look around").session
        turns = server.turns()
        before = [turn for turn in turns if len(turn.results) < 2]
        assert len(before) == 2 and not any(about(told(turn)) for turn in before), "the file was not read yet"
        (line,) = about(told(turns[2]))
        assert line.startswith(RULE) and "(you, " in line
        assert about(told(turns[-1])) == [line], "once per file and session"
        assert wait_until(lambda: not world.processes())
        client.run(server, "Look again", resume=session)
        # Gemini CLI repeats its own history, so the request may have the line twice; Copilot does not keep it.
        assert set(about(told(server.turns()[-1]))) == (set() if agent == "copilot" else {line})
        assert len(of_files(world, session)) == 1, "nor in a session that goes on"
        assert wait_until(lambda: not world.processes())
        server.requests.clear()
        client.run(server, "Look around")
        assert about(told(server.turns()[-1])) == [line], "another session sees it too"
        assert wait_until(lambda: not world.processes())
    assert world.confessed() == ""
    shown = world.holdfast("why", session).stdout
    assert line in shown and "because: it names shop/refunds.py" in shown, shown
