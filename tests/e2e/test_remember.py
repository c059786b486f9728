"""What a person asks a real client to remember is kept as theirs, and the next session is told of it."""

from __future__ import annotations

import os

import pytest
from tests.e2e.model_server import serving
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]

RULE = "The label export may make at most five attempts against the gateway"


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_remember_in_a_prompt_of_a_real_client_is_kept_and_told_to_the_next_session(
    agent: str, world: World
) -> None:
    client = world.install(agent)
    with serving(["Noted."]) as server:
        client.run(server, f"Have a look at the label export.\n\nremember: {RULE}")
        world.settled()
    decisions = world.holdfast("note", "decision", "--list", "--json").json()
    assert [(one["text"], one["by"]) for one in decisions] == [(RULE, "user")], world.state()
    with serving(["I will look at it."]) as server:
        client.run(server, "How many attempts may the label export make against the gateway?")
        assert "at most five attempts" in "\n".join(told(server.turns()[0])), world.state()
        world.settled()
    assert world.confessed() == ""


def test_a_line_with_a_number_sign_reaches_the_hook_of_claude_code(world: World) -> None:
    client = world.install("claude-code")
    with serving(["Noted."]) as server:
        client.run(server, f"# {RULE}")
        world.settled()
    decisions = world.holdfast("note", "decision", "--list", "--json").json()
    assert [(one["text"], one["by"]) for one in decisions] == [(RULE, "user")], world.state()
