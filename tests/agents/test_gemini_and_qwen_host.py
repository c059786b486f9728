"""Gemini CLI and Qwen Code: hooks and tools in one file of settings, beside whatever people keep and remark there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.agent_kit.host_contract import Where
from holdfast.core.errors import ConfigError
from holdfast.core.json_text import parse
from holdfast.flows.hosts import host_for, install, plan_install, plan_uninstall, uninstall
from holdfast.hooks import host_protocol
from holdfast.store.machine import Machine
from holdfast.store.switches import switches_of

AGENTS = ("gemini", "qwen")
SERVER = ("/usr/bin/python3", "-m", "holdfast", "mcp")
COMMENTED = """// mine
{
  // how it looks
  "ui": {"theme": "Default"}, // at night
  "mcpServers": {
    /* the team's */ "github": {"command": "gh-mcp", "trust": true}
  },
  "hooks": {
    "SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}] // when
  }
}
"""


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def settings_file(home: Path, agent: str) -> Path:
    path = home / f".{agent}" / "settings.json"
    path.parent.mkdir()
    return path


def wire(machine: Machine, agent: str, scope: Any = "user") -> bool:
    plan = plan_install(machine, machine.project(), agent, scope)
    install(machine, machine.project(), plan)
    return plan.is_change


def unwire(machine: Machine, agent: str) -> bool:
    plan = plan_uninstall(machine, machine.project(), agent)
    uninstall(machine, plan)
    return plan.is_change


def read(path: Path) -> dict[str, Any]:
    value = parse(path.read_text(encoding="utf-8"), comments=True).value
    assert isinstance(value, dict)
    return value


def entries(agent: str) -> dict[str, Any]:
    """What is written into an empty file."""
    (change,) = host_for(agent).install(Where(Path("/h"), {}, Path("/r"), "/usr/bin/python3", SERVER), "user")
    assert change.after is not None
    value = json.loads(change.after)
    assert isinstance(value, dict)
    return value


@pytest.mark.promise("H1")
def test_comments_and_others_entries_stay_and_the_file_comes_back_to_the_byte(
    machine: Machine, agent: str, settings_file: Path
) -> None:
    settings_file.write_text(COMMENTED, encoding="utf-8")
    assert wire(machine, agent)
    text, value = settings_file.read_text(encoding="utf-8"), read(settings_file)
    assert all(
        line in text for line in ("// mine", "// how it looks", "// at night", "/* the team's */", "// when")
    )
    assert value["mcpServers"]["github"] == {"command": "gh-mcp", "trust": True}
    assert value["mcpServers"]["holdfast"]["args"][-1] == "mcp"
    assert value["hooks"]["SessionStart"][0]["hooks"][0]["command"] == "date"
    assert len(value["hooks"]["SessionStart"]) == 2
    assert not wire(machine, agent), "twice is as good as once"
    assert unwire(machine, agent)
    assert settings_file.read_text(encoding="utf-8") == COMMENTED


@pytest.mark.promise("H1")
def test_where_a_person_wrote_something_meanwhile_only_ours_goes(
    machine: Machine, agent: str, settings_file: Path
) -> None:
    settings_file.write_text(COMMENTED, encoding="utf-8")
    wire(machine, agent)
    text = settings_file.read_text(encoding="utf-8").replace('"theme": "Default"', '"theme": "Ayu"')
    settings_file.write_text(text, encoding="utf-8")
    assert unwire(machine, agent)
    left = settings_file.read_text(encoding="utf-8")
    assert "holdfast" not in left and left == COMMENTED.replace("Default", "Ayu")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
    ],
)
def test_a_broken_file_is_one_clear_error_and_stays_as_it_is(
    machine: Machine, agent: str, settings_file: Path, text: str, said: str
) -> None:
    settings_file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        wire(machine, agent)
    assert said in error.value.line() and str(settings_file) in error.value.line()
    assert settings_file.read_text(encoding="utf-8") == text
    assert not switches_of(machine.project()).enabled


@pytest.mark.promise("M10", "S12")
def test_every_registered_event_is_understood_and_tool_calls_have_a_matcher(agent: str) -> None:
    hooks = entries(agent)["hooks"]
    for event, (group,) in hooks.items():
        understood = host_protocol.event_of(agent, event)
        assert understood
        assert ("matcher" in group) == (understood == host_protocol.MOMENT)
        (hook,) = group["hooks"]
        assert hook["name"] == "holdfast", "else the client shows the whole command while it runs"
        assert hook["command"].endswith(f"hook_entry.py {agent} {event} || true")
        assert hook["timeout"] in ((5_000, 10_000) if agent == "gemini" else (5, 10)), (
            "milliseconds or seconds"
        )
    assert set(hooks) == set(host_protocol.EVENTS[agent])


@pytest.mark.promise("G8")
def test_tools_run_unasked_only_where_a_person_says_so(agent: str) -> None:
    server = entries(agent)["mcpServers"]["holdfast"]
    assert (server["command"], tuple(server["args"])) == (SERVER[0], SERVER[1:])
    assert "trust" not in server
    assert server.get("alwaysLoadTools", False) == (agent == "qwen")


def test_what_a_person_set_for_our_tools_is_kept(machine: Machine, agent: str, settings_file: Path) -> None:
    wire(machine, agent)
    value = read(settings_file)
    value["mcpServers"]["holdfast"] |= {"trust": True, "alwaysLoadTools": False, "command": "/gone/python"}
    settings_file.write_text(json.dumps(value), encoding="utf-8")
    assert wire(machine, agent)
    server = read(settings_file)["mcpServers"]["holdfast"]
    assert server["command"] == sys.executable
    assert server["trust"] is True and server["alwaysLoadTools"] is False
    assert not wire(machine, agent)
    assert unwire(machine, agent)
    assert "holdfast" not in settings_file.read_text(encoding="utf-8")


def test_what_comes_before_every_request_is_not_listened_to() -> None:
    assert "PreCompress" not in entries("gemini")["hooks"]


@pytest.mark.parametrize(
    ("agent", "name", "within"),
    [("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"), ("qwen", "QWEN_HOME", "settings.json")],
)
def test_the_configured_folder_is_honoured(
    machine: Machine, home: Path, agent: str, name: str, within: str
) -> None:
    elsewhere = home / "else where"
    machine.env[name] = str(elsewhere)
    wire(machine, agent)
    assert (elsewhere / within).is_file() and not (home / f".{agent}").exists()
    unwire(machine, agent)
    assert not elsewhere.exists()


def test_an_agent_is_found_by_its_folder(machine: Machine, home: Path, repo: Path, agent: str) -> None:
    where = Where(home, {}, repo, sys.executable)
    assert not host_for(agent).found(where)
    (home / f".{agent}").mkdir()
    assert host_for(agent).found(where)


@pytest.mark.promise("G8")
def test_paths_of_this_machine_do_not_get_into_a_file_that_is_in_git(
    machine: Machine, repo: Path, agent: str
) -> None:
    file = repo / f".{agent}" / "settings.json"
    file.parent.mkdir()
    file.write_text("{}\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(repo), "add", "."], check=True)
    with pytest.raises(ConfigError) as error:
        wire(machine, agent, "project")
    assert "tracked by git" in error.value.line()
    assert file.read_text(encoding="utf-8") == "{}\n"


def needs(home: Path, repo: Path, agent: str, scope: Any = "user") -> list[str]:
    return list(host_for(agent).needs(Where(home, {}, repo, sys.executable, SERVER), scope))


def test_a_repositorys_file_is_to_be_kept_out_of_git(home: Path, repo: Path, agent: str) -> None:
    assert any(f".{agent}/settings.json" in need for need in needs(home, repo, agent, "project"))
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text(f".{agent}/\n", encoding="utf-8")
    assert not any(f".{agent}/settings.json" in need for need in needs(home, repo, agent, "project"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ({"disableAllHooks": True}, "disableAllHooks"),
        ({"mcp": {"allowed": ["github"]}}, "mcp.allowed"),
        ({"mcp": {"excluded": ["holdfast"]}}, "mcp.excluded"),
        ({"mcp": {"allowed": ["holdfast"], "excluded": []}, "hooksConfig": {"enabled": True}}, ""),
    ],
)
def test_what_is_switched_off_is_told(
    home: Path, repo: Path, agent: str, settings_file: Path, settings: dict[str, Any], said: str
) -> None:
    trust = {"security": {"folderTrust": {"enabled": False}}}
    settings_file.write_text(json.dumps({**settings, **trust}), encoding="utf-8")
    assert [said in need for need in needs(home, repo, agent)] == ([True] if said else [])


def test_whoever_has_to_trust_a_folder_is_told(home: Path, repo: Path, agent: str) -> None:
    folder = home / f".{agent}"
    folder.mkdir()

    def write(name: str, value: object) -> None:
        (folder / name).write_text(json.dumps(value), encoding="utf-8")

    assert bool(needs(home, repo, agent)) == (agent == "gemini"), "one of them asks unless it is told not to"
    write("settings.json", {"security": {"folderTrust": {"enabled": True}}})
    (need,) = needs(home, repo, agent)
    assert "/permissions" in need
    for rules, trusted in (
        ({str(repo): "DO_NOT_TRUST"}, False),
        ({str(repo): "TRUST_FOLDER"}, True),
        ({str(repo.parent / "other"): "TRUST_FOLDER"}, False),
        ({str(repo.parent / "other"): "TRUST_PARENT"}, True),
        ([], False),
    ):
        write("trustedFolders.json", rules)
        assert bool(needs(home, repo, agent)) != trusted, rules
    write("settings.json", {"security": {"folderTrust": {"enabled": False}}})
    assert needs(home, repo, agent) == []
    (folder / "settings.json").write_text("{", encoding="utf-8")
    (folder / "trustedFolders.json").write_bytes(b"\xff")
    assert bool(needs(home, repo, agent)) == (agent == "gemini")
