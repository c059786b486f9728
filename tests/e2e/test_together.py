"""Several clients on one repository: they have the same memory, and however many sessions there were, nothing runs on."""

from __future__ import annotations

import os
from itertools import cycle, islice

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, FIRST, LEARNT, NEXT
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]

SESSIONS = 20


@pytest.mark.promise("H2", "H3")
@pytest.mark.skipif("codex" not in AGENTS, reason="Codex is no host yet")
def test_a_session_started_in_claude_code_is_continued_in_codex(world: World) -> None:
    claude, codex = world.install("claude-code"), world.install("codex")
    with serving(LEARNT) as server:
        claude.talk(server, FIRST)
        world.captured(1)
    with serving(["Going on."]) as server:
        codex.run(server, "Go on")
        assert f"Next: {NEXT}" in told(server.turns()[0])
        assert any("claude-code" in line and FIRST in line for line in told(server.turns()[0]))
        world.captured(2)
    assert "claude-code" in world.rows()[0] and "codex" in world.rows()[1]
    assert world.confessed() == ""


@pytest.mark.promise("F5", "H7")
def test_after_twenty_sessions_no_process_of_ours_is_alive(world: World) -> None:
    clients = [world.install(agent) for agent in AGENTS]
    with serving(["Done."]) as server:
        for number, client in enumerate(islice(cycle(clients), SESSIONS), 1):
            client.run(server, f"Look at shelf {number}")
    world.captured(SESSIONS)
    assert world.processes() == []
    assert world.confessed() == ""
