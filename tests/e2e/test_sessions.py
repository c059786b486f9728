"""Two sessions in a row, in each client that people use: what the first one learned reaches the second one's model."""

from __future__ import annotations

import os

import pytest
from tests.e2e.clients import kill
from tests.e2e.model_server import Shell, serving
from tests.e2e.story import (
    AGENTS,
    CODING,
    DECISION,
    FIRST,
    LEARNT,
    LESSON,
    LOOKING,
    NEXT,
    RECALL,
    REMEMBER,
    WRONG,
)
from tests.e2e.world import World, told
from tests.patience import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.parametrize("agent", AGENTS),
]


@pytest.mark.promise("H2", "H3", "H7", "U7", "F5", "M10", "S12")
def test_what_a_session_in_a_terminal_left_is_told_to_the_next_one(agent: str, world: World) -> None:
    client = world.install(agent)
    with serving(LEARNT) as server:
        client.talk(server, FIRST)
        assert all(told(turn) == [] for turn in server.turns()), "nothing was known yet"
        world.captured(1)
    with serving([WRONG, "Done."]) as server:
        second = client.run(server, "Go on").session
        start, call, *_ = [told(turn) for turn in server.turns()]
        world.captured(2)
    assert f"Next: {NEXT}" in start
    assert "Test passed with: make test" in start
    assert any(line.startswith("Done last (") and FIRST in line for line in start)
    (remedy,) = [line for line in call if "failed here before" in line]
    assert "`make tests`" in remedy and "→ `make test` worked" in remedy
    assert len(call) == len(start) + 1, "nothing is said twice"
    assert [agent in row for row in world.rows()] == [True, True]
    assert second in world.rows()[1]
    assert world.confessed() == ""


@pytest.mark.promise("H2", "H4")
def test_a_decision_kept_with_our_tools_is_told_and_recalled_in_the_next_session(
    agent: str, world: World
) -> None:
    client = world.install(agent)
    with serving([REMEMBER, "Noted."]) as server:
        client.run(server, "Decide where refunds go")
        (kept,) = server.turns()[-1].results
        assert "recorded as a decision" in kept
        world.captured(1)
    (decision,) = world.holdfast("decide", "--list", "--json").json()
    assert (decision["text"], decision["by"]) == (DECISION, "agent")
    with serving([RECALL, "Done."]) as server:
        client.run(server, CODING)
        assert any(line.startswith(f"Decided: {DECISION}") for line in told(server.turns()[0]))
        (recalled,) = server.turns()[-1].results
        assert DECISION in recalled
        world.captured(2)
    assert world.confessed() == ""


@pytest.mark.promise("S5", "L1")
def test_a_prompt_for_code_gets_its_lesson_and_a_look_around_gets_none(agent: str, world: World) -> None:
    client = world.install(agent)
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    with serving([Shell("ls"), "Done."]) as server:
        client.run(server, CODING)
        lessons = [[line for line in told(turn) if LESSON in line] for turn in server.turns()]
        assert [len(lines) for lines in lessons] == [1, 1], "once, and still there in the next request"
        server.requests.clear()
        client.run(server, LOOKING)
        assert server.turns() and all(LESSON not in turn.text for turn in server.turns())
    world.captured(2)
    assert world.confessed() == ""


@pytest.mark.promise("M7", "F5")
def test_a_session_that_was_killed_is_caught_up_by_the_next_start(agent: str, world: World) -> None:
    client = world.install(agent)
    with serving([Shell("echo the carts are here"), None]) as server:
        process = client.start(server, "Rename the cart module")
        try:
            assert server.stuck.wait(PATIENCE_S), "the model was never asked a second time"
            assert wait_until(lambda: client.recorded("the carts are here"))
        finally:
            kill(process)
    assert world.rows() == []
    with serving(["Hello."]) as server:
        client.run(server, "Say hello")
    assert wait_until(lambda: any("cart" in row for row in world.rows())), world.state()
    world.captured(2)
