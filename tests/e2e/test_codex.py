"""Codex and a holdfast that is slow to come or gone: it starts, and does what it is asked."""

from __future__ import annotations

import os
import re
import time

import pytest
from tests.e2e.clients.codex import Codex
from tests.e2e.model_server import Shell, serving
from tests.e2e.world import World
from tests.patience import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]


@pytest.fixture
def codex(world: World) -> Codex:
    client = world.install("codex")
    assert isinstance(client, Codex)
    client.waits = False  # as install leaves it
    return client


@pytest.mark.promise("H3")
@pytest.mark.parametrize("way", ["run", "talk"])
def test_codex_starts_though_our_python_is_gone(world: World, codex: Codex, way: str) -> None:
    for name in codex.settings:
        path = world.home / ".codex" / name.rpartition("/")[2]
        text = re.sub(r"(?<=\")[^\" ]*/python[0-9.]*", "/gone/python", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    assert "/gone/python" in (world.home / ".codex" / "config.toml").read_text(encoding="utf-8")
    with serving([Shell("ls"), "Done."]) as server:
        getattr(codex, way)(server, "Say hello")
        assert len(server.turns()) == 2


@pytest.mark.promise("H4")
def test_a_prompt_that_a_person_types_finds_our_tools(codex: Codex) -> None:
    with serving(["Hello."]) as server, codex.terminal(server, "") as shown:
        assert wait_until(lambda: "codex" in shown.shown.lower())
        time.sleep(10)  # a person reads and types, and on a slow machine once more

        def is_offered() -> bool:
            return any("recall" in name for turn in server.turns() for name in turn.offered)

        assert shown.say("Say hello", is_offered), shown.shown[-3000:]
        assert codex.leave(shown)
