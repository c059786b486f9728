"""A run without a terminal is captured, and what it left open is not what the next session goes on with."""

from __future__ import annotations

import os

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, FIRST, LEARNT, NEXT
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]


@pytest.mark.promise("M7", "H2")
def test_what_a_headless_run_left_is_not_next(agent: str, world: World) -> None:
    client = world.install(agent)
    with serving(LEARNT) as server:
        client.run(server, FIRST)
        world.captured(1)
    with serving(["Done."]) as server:
        client.run(server, "Go on")
        assert not any(line.startswith("Next:") for line in told(server.turns()[0]))
        world.captured(2)
    assert NEXT not in (world.memory / "current.md").read_text(encoding="utf-8")
    assert world.confessed() == ""
