"""The real clients with our plugin instead of settings: it loads, tells, answers, and is silent where both are there."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.e2e.clients import Client
from tests.e2e.model_server import Mcp, ModelServer, Shell, Step, serving
from tests.e2e.world import World, told
from tests.patience import PATIENCE_S

from holdfast.agents.registry import PLUGINS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]
NEXT = "wire the refund endpoint in refunds.py"


def plugged(world: World, agent: str, server: ModelServer) -> Client:
    """The client after what `holdfast plugin` says was typed into a shell, which keeps PWD right."""
    client = world.client(agent)
    theirs = client.variables
    client.variables = lambda server: {**theirs(server), "PWD": str(world.repo)}  # type: ignore[method-assign]
    world.holdfast("init", "--no-wire")
    world.holdfast("handoff", NEXT)
    for command in world.holdfast("plugin", agent, "--json").json()["commands"]:
        name, _, words = command.partition(" ")
        done = subprocess.run(
            f"{client.program} {words}",
            shell=True,
            cwd=world.repo,
            env=client.env(server),
            input="y\ny\n",
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{name} {words}\n{done.stdout}{done.stderr}"
    return client


# A plugin's tools are named after it, and a run without a terminal asks nobody.
MORE = {"claude-code": ("--allowedTools", "mcp__plugin_holdfast_holdfast")}
# Codex does not wait for a plugin's tools: on a slow machine they are there at a later request.
MEANWHILE: dict[str, list[Step]] = {"codex": [Shell("sleep 15")]}


@pytest.mark.promise("H6", "H2")
@pytest.mark.parametrize("agent", PLUGINS)
def test_a_plugin_tells_at_the_start_answers_its_tools_and_leaves_a_row(agent: str, world: World) -> None:
    recall = Mcp("recall", {"task": "refund endpoint"})
    with serving([*MEANWHILE.get(agent, []), recall, "All done."]) as server:
        client = plugged(world, agent, server)
        client.run(server, "Look at the shop", more=MORE.get(agent, ()))
        first, last = server.turns()[0], server.turns()[-1]
        assert [line for line in told(first) if NEXT in line], first.text[-2000:]
        assert any(NEXT in result for result in last.results), last.results
    world.captured(1)


@pytest.mark.promise("H6", "H7")
@pytest.mark.parametrize("agent", PLUGINS)
def test_with_plugin_and_settings_nothing_is_said_or_kept_twice(agent: str, world: World) -> None:
    with serving(["All done."]) as server:
        client = plugged(world, agent, server)
        world.holdfast("install", agent, "--yes")
        client.run(server, "Look at the shop")
        lines = [line for line in told(server.turns()[0]) if NEXT in line]
        assert len(lines) == 1, lines
    world.captured(1)
    starts = [entry for entry in world.why() if entry["event"] == "SessionStart"]
    assert len(starts) == 1


@pytest.mark.promise("H5")
def test_a_slash_command_of_the_plugin_runs_in_claude_code(world: World) -> None:
    with serving(["It stands like this."]) as server:
        client = plugged(world, "claude-code", server)
        client.run(server, "/holdfast:resume")
        request = server.turns()[0]
        assert "Say in a few sentences where the work on this branch stands" in request.text
        assert len([line for line in told(request) if NEXT in line]) == 2, "at the start, and by the command"
    world.captured(1)
    told_next = world.holdfast("resume").stdout
    assert "Say in a few sentences" not in told_next, "what we asked for is nobody's goal"
