"""Copilot CLI's files: one of ours alone, one shared list of servers, and a repository's local settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.agent_kit.host_contract import Scope, Where
from holdfast.agents.copilot.host import HOST, TIMEOUTS
from holdfast.core.errors import ConfigError
from holdfast.flows.hosts import install, plan_install, plan_uninstall, uninstall, wired
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("H1")

SERVERS = (
    '{\n\t"mcpServers": {\n\t\t"github": {"type": "local", "command": "gh-mcp", "tools": ["*"]}\n\t}\n}\n'
)


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def folder(home: Path) -> Path:
    path = home / ".copilot"
    path.mkdir()
    (path / "mcp-config.json").write_text(SERVERS, encoding="utf-8")
    return path


def wire(machine: Machine, scope: Scope = "user") -> bool:
    plan = plan_install(machine, machine.project(), "copilot", scope)
    install(machine, machine.project(), plan)
    return plan.is_change


def unwire(machine: Machine) -> bool:
    plan = plan_uninstall(machine, machine.project(), "copilot")
    uninstall(machine, plan)
    return plan.is_change


def test_our_file_comes_and_goes_and_the_shared_one_is_as_before(machine: Machine, folder: Path) -> None:
    assert wire(machine)
    ours = json.loads((folder / "hooks" / "holdfast.json").read_bytes())
    assert ours["version"] == 1 and ours["hooks"].keys() == TIMEOUTS.keys()
    for event, (group,) in ours["hooks"].items():
        (hook,) = group["hooks"]
        assert hook["command"].endswith(f"copilot {event} || true"), "a 2 would forbid the tool"
        assert group.get("matcher") == ("bash|ask_user|view|edit|create" if event == "preToolUse" else None)
    servers = json.loads((folder / "mcp-config.json").read_bytes())["mcpServers"]
    assert servers["holdfast"] == {
        "type": "local",
        "command": sys.executable,
        "args": ["-E", "-P", "-m", "holdfast", "mcp"],
        "tools": ["*"],
        "deferTools": "never",
    }
    assert not wire(machine)
    assert unwire(machine)
    assert not (folder / "hooks").exists()
    assert (folder / "mcp-config.json").read_text(encoding="utf-8") == SERVERS
    assert not unwire(machine)


def test_what_others_keep_beside_us_stays(machine: Machine, folder: Path) -> None:
    (folder / "hooks").mkdir()
    theirs = folder / "hooks" / "sound.json"
    theirs.write_text('{"version": 1, "hooks": {"agentStop": []}}', encoding="utf-8")
    wire(machine)
    servers = folder / "mcp-config.json"
    servers.write_text(
        servers.read_text(encoding="utf-8").replace("gh-mcp", "gh-mcp-2"), encoding="utf-8"
    )  # meanwhile
    unwire(machine)
    assert theirs.exists() and not (folder / "hooks" / "holdfast.json").exists()
    assert json.loads(servers.read_bytes()) == json.loads(SERVERS.replace("gh-mcp", "gh-mcp-2"))


def test_our_own_file_is_mended_and_what_a_person_put_there_stays(machine: Machine, folder: Path) -> None:
    wire(machine)
    ours = folder / "hooks" / "holdfast.json"
    value = json.loads(ours.read_bytes())
    del value["hooks"]["agentStop"]
    value["hooks"]["errorOccurred"] = [{"type": "command", "bash": "beep"}]
    ours.write_text(json.dumps(value, indent=2), encoding="utf-8")
    (user,) = [
        one for one in wired(machine, machine.project()) if (one.agent, one.scope) == ("copilot", "user")
    ]
    assert user.missing == ("agentStop",)
    assert wire(machine) and not wire(machine)
    assert unwire(machine)
    assert json.loads(ours.read_bytes()) == {
        "version": 1,
        "hooks": {"errorOccurred": [{"type": "command", "bash": "beep"}]},
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"a": 1} // no'])
def test_a_list_of_servers_that_cannot_be_read_stops_everything(
    machine: Machine, folder: Path, text: str
) -> None:
    (folder / "mcp-config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="mcp-config"):
        wire(machine)
    assert not (folder / "hooks").exists()


def test_the_folder_is_where_the_variable_says(home: Path, repo: Path, tmp_path: Path) -> None:
    where = Where(home, {"COPILOT_HOME": str(tmp_path / "c")}, repo, sys.executable, ("py", "mcp"))
    assert not HOST.found(where)
    (tmp_path / "c").mkdir()
    assert HOST.found(where) and HOST.needs(where, "user") == ()
    assert [change.path for change in HOST.install(where, "user")] == [
        tmp_path / "c" / "hooks" / "holdfast.json",
        tmp_path / "c" / "mcp-config.json",
    ]


def test_one_repository_has_its_local_settings_unless_git_has_them(machine: Machine, repo: Path) -> None:
    settings = repo / ".github" / "copilot" / "settings.local.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"model": "gpt-6"}', encoding="utf-8")
    plan = plan_install(machine, machine.project(), "copilot", "project")
    assert "trust" in plan.needs[0] and "info/exclude" in plan.needs[1]
    assert wire(machine, "project")
    assert json.loads(settings.read_bytes())["hooks"].keys() == TIMEOUTS.keys()
    assert json.loads((repo / ".github" / "mcp.json").read_bytes())["mcpServers"].keys() == {"holdfast"}
    assert unwire(machine)
    assert settings.read_text(encoding="utf-8") == '{"model": "gpt-6"}'
    assert not (repo / ".github" / "mcp.json").exists()
    subprocess.run(["git", "-C", str(repo), "add", "-f", str(settings)], check=True)
    with pytest.raises(ConfigError, match="tracked by git"):
        plan_install(machine, machine.project(), "copilot", "project")
