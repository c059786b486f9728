"""What install does to the files of each client, uninstall takes back, with the client at work in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS
from tests.e2e.world import World, snapshot, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]


@pytest.mark.promise("H1", "U6")
def test_uninstall_restores_every_file_to_the_byte(agent: str, world: World) -> None:
    world.client(agent)
    before = snapshot(world.home, world.repo)
    folders = {path for path in world.home.rglob("*") if path.is_dir()}
    world.holdfast("install", agent, "--yes")
    assert snapshot(world.home, world.repo) != before
    world.holdfast("uninstall", agent, "--yes")
    assert snapshot(world.home, world.repo) == before
    left = {path for path in world.home.rglob("*") if path.is_dir()} - folders
    assert {path for path in left if ".holdfast" not in path.parts} == set()


@pytest.mark.promise("H1", "U6")
def test_uninstall_takes_out_just_our_entries_where_a_client_changed_its_files(
    agent: str, world: World
) -> None:
    client = world.install(agent)
    with serving(["Hello."]) as server:
        client.run(server, "Say hello")
        world.captured(1)
        changed = [name for name in client.settings if mentions_us(world.home / name)]
        assert changed, "where it is installed"
        for name in changed:
            client.edit(name)
        world.holdfast("uninstall", agent, "--yes")
        assert [name for name in client.settings if mentions_us(world.home / name)] == []
        assert all(client.edited(name) for name in changed)
        client.run(server, "Say hello again")
        assert told(server.turns()[-1]) == []
        assert not any("recall" in name for name in server.turns()[-1].offered)
    assert len(world.rows()) == 1, "the second session was none of our business"


def mentions_us(path: Path) -> bool:
    return "holdfast" in path.read_text(encoding="utf-8")
