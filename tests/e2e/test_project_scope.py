"""Wired for one repository alone: its sessions are captured and told, and the rest of the machine knows nothing of us."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, FIRST, LEARNT, NEXT, RECALL
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]


@pytest.mark.promise("H1", "H2", "H4", "L1")
def test_a_repository_that_is_wired_by_itself_is_captured_and_told(agent: str, world: World) -> None:
    client = world.client(agent)
    # Claude Code keeps a repository's own servers there, beside the repository's name.
    own = [world.home / name for name in client.settings if name != ".claude.json"]
    before = [path.read_bytes() for path in own]
    world.holdfast("install", agent, "--scope", "project", "--yes")
    assert [path.read_bytes() for path in own] == before
    with serving(LEARNT) as server:
        client.talk(server, FIRST)
        assert all(told(turn) == [] for turn in server.turns()), "nothing was known yet"
        world.captured(1)
    with serving([RECALL, "Done."]) as server:
        client.run(server, "Go on")
        start = told(server.turns()[0])
        assert f"Next: {NEXT}" in start, world.state()
        (recalled,) = server.turns()[-1].results
        assert "refund" in recalled, "our tools are there too"
        world.captured(2)
    assert [agent in row for row in world.rows()] == [True, True]
    assert world.confessed() == ""


@pytest.mark.promise("H1", "G9")
def test_another_repository_sees_nothing_of_one_that_is_wired_by_itself(agent: str, world: World) -> None:
    client = world.client(agent)
    world.holdfast("install", agent, "--scope", "project", "--yes")
    other = world.repo.parent / "elsewhere"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    client.repo = other
    client.settle()  # somebody who works there
    with serving(["Hello."]) as server:
        client.run(server, "Say hello")
        assert told(server.turns()[-1]) == []
        assert not any("recall" in name for name in server.turns()[-1].offered)
    assert world.rows() == [] and not (other / ".holdfast").exists()
