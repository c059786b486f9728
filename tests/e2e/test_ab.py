"""`holdfast backtest --ab` with real clients and a scripted model: places, memory, measures, and what goes wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.clients import Client
from tests.e2e.model_server import ModelServer, Shell, serving
from tests.e2e.story import LESSON
from tests.e2e.world import World, program_of, snapshot, told
from tests.trials.taskfiles import AUTHOR, _toml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.promise("S10", "P3"),
    pytest.mark.parametrize("agent", ["claude-code", "codex"]),
]
PROMPT = "Implement the refund endpoint: refunds go through the ledger service"
WORKS = Shell("echo refunds > refund.txt")


def tasks(world: World, agent: str, client: Client, server: ModelServer, **changes: object) -> Path:
    """A file of two tasks: one whose check looks for the file, and one whose check hangs."""
    values: dict[str, object] = {
        "repository": str(world.repo),
        "agent": agent,
        "program": program_of(agent),
        "model": "claude-sonnet-4-5",
        "runs": 1,
        "budget_usd": 5,
        "session_usd": 0.1,
        "check_seconds": 3,
        "seconds": 240,
        "env": sorted(client.variables(server)),
        **changes,
    }
    if agent == "codex":
        values["home_files"] = ["~/.codex/config.toml"]
        own = ["-c", f'model_providers.scripted.base_url="{server.url}/v1"']
        values["arguments"] = [*own, *(values.get("arguments") or [])]  # type: ignore[misc]
    lines = [f"{name} = {_quoted(value)}" for name, value in values.items()]
    for name, check in (("refunds", "grep -q refunds refund.txt"), ("hanging check", "sleep 600")):
        lines += [
            "[[task]]",
            f'name = "{name}"',
            'class = "change"',
            f'prompt = "{PROMPT}"',
            f'check = "{check}"',
        ]
    path = world.home / "tasks.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _quoted(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return f"'{value}'" if isinstance(value, str) else _toml(value)


@pytest.fixture
def shop(world: World) -> World:
    """A repository with a commit, and a lesson that fits the tasks."""
    for words in (("add", "-A"), ("commit", "-q", "-m", "A shop")):
        subprocess.run(["git", "-C", str(world.repo), *words], check=True, env={**os.environ, **AUTHOR})
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    return world


def ran(
    world: World, client: Client, server: ModelServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    for name, value in client.variables(server).items():
        monkeypatch.setenv(name, value)
    return world.holdfast("backtest", "--ab", str(path), "--yes", "--json").json()


def test_pairs_run_in_a_real_client_and_only_the_warm_ones_see_memory(
    agent: str, shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = shop.client(agent)
    before = snapshot(shop.repo)
    with serving([WORKS, "Done."]) as server:
        found = ran(shop, client, server, tasks(shop, agent, client, server), monkeypatch)
        heard = [any(LESSON in line for line in told(request)) for request in server.turns()]
    results = found["results"]
    outcomes = {(result["task"], result["warm"]): result["outcome"] for result in results}
    assert outcomes["refunds", False] == outcomes["refunds", True] == "passed", results
    assert outcomes["hanging check", False] == outcomes["hanging check", True] == "check too slow", results
    assert all(result["tokens"] and result["calls"] == 1 and result["turns"] >= 2 for result in results), (
        results
    )
    assert any(heard) and not all(heard)
    assert sum(heard) == len(heard) / 2, "both requests of each warm session, and none of a cold one"
    assert found["table"]["lines"][0]["pairs"] == 1
    assert snapshot(shop.repo) == before, "the person's own work tree is as it was"
    assert shop.rows() == [], "trials are no sessions of the person"


def test_a_client_that_crashes_and_a_budget_that_ends_are_outcomes(
    agent: str, shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = shop.client(agent)
    with serving([WORKS, "Done."]) as server:
        path = tasks(shop, agent, client, server, arguments=["--no-such-option"], budget_usd=0.2)
        found = ran(shop, client, server, path, monkeypatch)
    assert [result["outcome"] for result in found["results"]] == ["crashed", "crashed"]
    assert found["left_out"] == 2 and found["spent_usd"] <= 0.2 + 1e-9
