"""Real clients respect the holdout: the first request of a session in it holds nothing of ours, that of another does."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, CODING, LESSON
from tests.e2e.terminal import terminal
from tests.e2e.world import World, told
from tests.patience import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.promise("P2"),
]
MOST_SESSIONS = 12


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_in_the_holdout_is_told_nothing_and_another_is(agent: str, world: World) -> None:
    client = world.install(agent)
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    world.holdfast("holdout", "50%", "--yes")
    sessions: dict[str, str] = {}
    for number in range(MOST_SESSIONS):
        with serving(["Done."]) as server:
            answer = client.run(server, CODING)
            drawn = arms(world)
            assert len(drawn) == number + 1, "each session is drawn once"
            assert bool(told(server.turns()[0])) is (drawn[-1] == "told"), told(server.turns()[0])
        sessions.setdefault(drawn[-1], answer.session)
        if len(sessions) == 2:
            break
    assert set(sessions) == {"held", "told"}, "of many sessions some are in each arm"
    before = arms(world)
    for arm, session in sessions.items():
        with serving(["Done."]) as server:
            client.run(server, f"{CODING}, once more", resume=session)
            assert any(told(request) for request in server.turns()) is (arm == "told")
    assert arms(world) == before, "a resumed session keeps its arm"
    world.settled()
    captured = " ".join(world.rows())
    assert all(session in captured for session in sessions.values()), "both are captured"


def test_a_fork_of_codex_has_the_arm_of_its_parent(world: World) -> None:
    client = world.install("codex")
    world.holdfast("holdout", "50%", "--yes")
    with serving(["Done."]) as server:
        parent = client.run(server, CODING).session
        env = {**client.env(server), "TERM": "xterm-256color"}
        words = [client.program, "fork", parent, *client.spoken(server, f"{CODING}, another way")]
        asked = len(server.turns())
        with terminal(words, world.repo, env) as shown:
            assert wait_until(lambda: len(server.turns()) > asked), shown.shown[-2000:]
            assert client.leave(shown), shown.shown[-2000:]
    first, fork = entries(world)
    assert (first["session"], first["basis"], fork["basis"]) == (parent, "drawn", "forked")
    assert fork["arm"] == first["arm"] and fork["session"] != parent


def test_a_fork_of_claude_code_which_does_not_name_its_parent_is_not_compared(world: World) -> None:
    client = world.install("claude-code")
    world.holdfast("holdout", "50%", "--yes")
    with serving(["Done."]) as server:
        parent = client.run(server, CODING).session
        fork = client.run(server, CODING, resume=parent, more=["--fork-session"]).session
    assert {entry["session"]: entry["basis"] for entry in entries(world)} == {parent: "drawn", fork: "forked"}


def test_two_agents_at_once_are_drawn_each_for_itself(world: World) -> None:
    clients = [world.install(agent) for agent in ("claude-code", "codex")]
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    world.holdfast("holdout", "50%", "--yes")
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(["Done."])) for _ in clients]
        running = [client.start(server, CODING) for client, server in zip(clients, servers, strict=True)]
        printed = [process.communicate(timeout=PATIENCE_S)[0] for process in running]
    drawn = {entry["session"]: entry["arm"] for entry in entries(world)}
    assert len(drawn) == 2
    for client, server, text in zip(clients, servers, printed, strict=True):
        arm = drawn[client.session_in(text)]
        assert any(told(request) for request in server.turns()) is (arm == "told")


def entries(world: World) -> list[dict[str, Any]]:
    lines = (world.memory / "holdout.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def arms(world: World) -> list[str]:
    return [entry["arm"] for entry in entries(world)]
