"""What `lessons export` prints is obeyed by the real client that reads it: the command that fails is refused."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.e2e.clients.contract import write
from tests.e2e.model_server import Shell, serving
from tests.e2e.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]

RULE = "`npm test` fails here (no such script) → `make test`"
PLACES = {"claude": ".claude/settings.local.json", "gemini": ".gemini/policies/holdfast.toml"}


def exported(world: World, target: str) -> str:
    world.holdfast("lessons", "add", "testing", "--rule", RULE)
    return str(world.holdfast("lessons", "export", "testing", "--as", target, "--json").json()["rule"])


@pytest.mark.parametrize(("agent", "target"), [("claude-code", "claude"), ("gemini", "gemini")])
def test_a_client_refuses_the_command_and_runs_the_one_that_works(
    agent: str, target: str, world: World
) -> None:
    rule = exported(world, target)
    client = world.client(agent)
    base = world.home if target == "gemini" else world.repo
    write(base / PLACES[target], rule)
    with serving([Shell("npm test"), Shell("make test"), "Done."]) as server:
        client.run(server, "Run the tests.")
        results = server.turns()[-1].results
    assert "3 passed" in results[-1], results
    assert "3 passed" not in results[0] and "Missing script" not in results[0], results
    refused = ("denied", "make test") if target == "gemini" else ("denied",)
    assert any(word in results[0] for word in refused), results


def test_codex_forbids_the_command_by_the_rule(world: World) -> None:
    write(world.home / "holdfast.rules", exported(world, "codex"))
    program = world.client("codex").program
    check = [program, "execpolicy", "check", "--rules", str(world.home / "holdfast.rules")]

    def decision(*words: str) -> str:
        return subprocess.run([*check, *words], capture_output=True, encoding="utf-8", check=True).stdout

    assert '"forbidden"' in decision("npm", "test", "--", "-x") and "make test" in decision("npm", "test")
    assert "forbidden" not in decision("make", "test") and "forbidden" not in decision("npm", "ci")
