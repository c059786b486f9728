"""Hooks and tools in Cursor's files, as its documentation wants them: flat, with a version, beside others'."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents.cursor.host import EVENTS, Cursor
from holdfast.core.errors import ConfigError
from holdfast.flows.hosts import agents_here, install, plan_install, plan_uninstall, uninstall, wired
from holdfast.store.machine import Machine

THEIRS = {"command": "./hooks/audit.sh", "timeout": 10, "failClosed": True}


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def folder(home: Path) -> Path:
    made = home / ".cursor"
    made.mkdir()
    return made


def wire(machine: Machine, scope: str = "user") -> bool:
    plan = plan_install(machine, machine.project(), "cursor", scope)  # type: ignore[arg-type]
    install(machine, machine.project(), plan)
    return plan.is_change


def unwire(machine: Machine) -> None:
    uninstall(machine, plan_uninstall(machine, machine.project(), "cursor"))


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_hooks_are_flat_have_a_version_and_no_time_of_their_own(machine: Machine, home: Path) -> None:
    assert "cursor" not in agents_here(machine, machine.project())
    assert wire(machine)
    hooks = read(home / ".cursor" / "hooks.json")
    assert list(hooks) == ["version", "hooks"] and hooks["version"] == 1
    assert list(hooks["hooks"]) == list(EVENTS)
    for event, entry in Cursor().entries(sys.executable).items():
        assert hooks["hooks"][event] == [entry]
        assert set(entry) == ({"command", "matcher"} if event == "postToolUse" else {"command"})
        assert f"cursor {event} || true" in entry["command"]
    assert "beforeSubmitPrompt" in hooks["hooks"]  # to listen only: what it says is dropped
    tools = read(home / ".cursor" / "mcp.json")["mcpServers"]["holdfast"]
    assert tools == {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-E", "-P", "-m", "holdfast", "mcp"],
    }
    assert "cursor" in agents_here(machine, machine.project())
    assert not wire(machine)
    unwire(machine)
    assert not (home / ".cursor").exists()


@pytest.mark.promise("H1")
@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"version": 1, "hooks": {"stop": [THEIRS], "afterFileEdit": [THEIRS]}}, indent=2),
        json.dumps({"hooks": {"sessionStart": [THEIRS]}}, indent="\t") + "\n",
        '{"version":1}',
        '{ "version": 1, "hooks": {} }\n',
        "",
    ],
)
def test_others_hooks_stay_and_the_file_comes_back_to_the_byte(
    machine: Machine, folder: Path, text: str
) -> None:
    path = folder / "hooks.json"
    path.write_text(text, encoding="utf-8")
    (folder / "mcp.json").write_text('{"mcpServers": {"github": {"url": "https://x"}}}', encoding="utf-8")
    before = json.loads(text or "{}").get("hooks", {})
    assert wire(machine)
    after = read(path)
    assert after["version"] == 1
    for event, entry in Cursor().entries(sys.executable).items():
        assert after["hooks"][event] == [*before.get(event, []), entry]
    assert set(after["hooks"]) == {*EVENTS, *before}
    assert not wire(machine)
    unwire(machine)
    assert path.read_text(encoding="utf-8") == text
    assert read(folder / "mcp.json") == {"mcpServers": {"github": {"url": "https://x"}}}


def test_what_changed_meanwhile_stays(machine: Machine, folder: Path) -> None:
    path = folder / "hooks.json"
    path.write_text(json.dumps({"version": 1, "hooks": {"stop": [THEIRS]}}, indent=2), encoding="utf-8")
    wire(machine)
    grown = read(path)
    grown["hooks"]["stop"].insert(0, THEIRS)
    path.write_text(json.dumps(grown, indent=2), encoding="utf-8")
    unwire(machine)
    assert read(path) == {"version": 1, "hooks": {"stop": [THEIRS, THEIRS]}}


def test_an_old_interpreter_is_put_right(machine: Machine, folder: Path) -> None:
    wire(machine)
    path = folder / "hooks.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace(sys.executable, "/gone/python"), encoding="utf-8"
    )
    (state,) = [
        one for one in wired(machine, machine.project()) if (one.agent, one.scope) == ("cursor", "user")
    ]
    assert state.installed and set(state.missing) == set(EVENTS)
    assert wire(machine)
    assert "/gone/python" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"stop": {}}}', "// mine\n{}"])
def test_a_file_that_cursor_does_not_read_either_is_left_alone(
    machine: Machine, folder: Path, text: str
) -> None:
    (folder / "hooks.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"hooks\.json"):
        wire(machine)
    assert (folder / "hooks.json").read_text(encoding="utf-8") == text


def test_a_repositorys_file_never_names_this_machine_in_git(machine: Machine, repo: Path) -> None:
    plan = plan_install(machine, machine.project(), "cursor", "project")
    assert "documentation" in plan.needs[0] and ".cursor/hooks.json" in plan.needs[1]
    (repo / ".cursor").mkdir()
    (repo / ".cursor" / "mcp.json").write_text("{}", encoding="utf-8")
    subprocess.run(["git", "-C", str(repo), "add", ".cursor/mcp.json"], check=True)
    with pytest.raises(ConfigError, match="tracked by git"):
        wire(machine, "project")
