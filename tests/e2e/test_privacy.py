"""What must not happen, in each client: memory fed with itself, private words kept, strange projects touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, CODING, FIRST, LEARNT, LESSON
from tests.e2e.world import World, snapshot, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]

# Where our own words belong: the lesson itself and what it was before, what was prepared, what was told, the index.
TOLD = ("lessons", "history", "hot.db", "why.jsonl", "index")


@pytest.mark.promise("C5", "G6")
def test_neither_our_own_words_nor_private_ones_come_into_memory(agent: str, world: World) -> None:
    client = world.install(agent)
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    with serving(LEARNT) as server:
        client.run(server, f"{CODING} <private>for Mrs Quillfeather</private>")
        assert any(LESSON in line for line in told(server.turns()[-1]))
        world.captured(1)
        client.run(server, f"{FIRST}, again")
        world.captured(2)
    kept = {path: path.read_bytes() for path in world.files()}
    private = [path for path, data in kept.items() if b"Quillfeather" in data]
    fed = [path for path, data in kept.items() if LESSON.encode() in data or b"[/holdfast " in data]
    assert private == []
    assert [path for path in fed if not any(part.startswith(TOLD) for part in path.parts)] == []


@pytest.mark.promise("G9", "U6")
def test_a_project_that_is_not_enabled_sees_nothing_of_us(
    agent: str, world: World, make_repo: Callable[[str], Path]
) -> None:
    client = world.install(agent)
    elsewhere = make_repo("elsewhere")
    (elsewhere / "README.md").write_text("Not a shop.\n", encoding="utf-8")
    before = snapshot(elsewhere)
    ours = {path: path.read_bytes() for path in world.files()}
    client.repo = elsewhere
    with serving(["Hello."]) as server:
        client.run(server, CODING)
        assert told(server.turns()[-1]) == []
    assert not (elsewhere / ".holdfast").exists()
    assert snapshot(elsewhere) == before
    assert {path: path.read_bytes() for path in world.files()} == ours
