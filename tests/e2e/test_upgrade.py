"""Clients that 0.1.0 was wired into, after its package was replaced in its place: nobody installs anything again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from scripts.old_home import Installation, missing_history, old_package
from tests.e2e.model_server import Shell, serving
from tests.e2e.story import AGENTS, CODING, DECISION, NEXT
from tests.e2e.world import ROOT, World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]


@pytest.fixture
def installation(world: World, tmp_path: Path) -> Installation:
    """An environment with 0.1.0 in it."""
    if problem := missing_history():
        pytest.skip(problem)
    return Installation.make(tmp_path / "python", old_package())


@pytest.mark.promise("H1", "H2", "U9")
def test_a_0_1_installation_is_upgraded_and_its_hooks_still_speak(
    agent: str, world: World, installation: Installation
) -> None:
    def holdfast(*words: str) -> None:
        command = [str(installation.python), "-E", "-P", "-m", "holdfast", *words]
        subprocess.run(command, cwd=world.repo, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    client = world.client(agent)
    holdfast("install", agent, "--yes")
    holdfast("handoff", NEXT, "--by", "user")
    holdfast("decide", DECISION, "--because", "audits need one place", "--by", "user")
    installation.put(ROOT / "src" / "holdfast")
    with serving([Shell("make test"), "Done."]) as server:
        session = client.run(server, CODING).session
        first = told(server.turns()[0])
        world.captured(1)
    assert any(NEXT in line for line in first), first
    assert any(DECISION in line for line in first), first
    assert session in world.rows()[0]
    assert world.confessed() == ""
