"""Codex's two files: hooks in JSON, tools in TOML; both as their owner wrote them before and after."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.agent_kit.host_contract import Scope, Where
from holdfast.agents.codex.host import HOST, MATCHERS, TIMEOUTS, TRUST
from holdfast.core.errors import ConfigError
from holdfast.flows.hosts import install, plan_install, plan_uninstall, uninstall, wired
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("H1")

CONFIG = """# mine
model = "gpt-6"  # the new one
notify = [
  "say",  # [mcp_servers.holdfast]
]

[mcp_servers.github]
command = "gh-mcp"

[projects."/home/me/shop"]
trust_level = "trusted"
"""
TRUSTED = '\n[hooks.state."/home/me/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
FOREIGN = {"hooks": [{"type": "command", "command": "afplay done.aiff"}]}


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def config(home: Path) -> Path:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(CONFIG, encoding="utf-8")
    return path


def wire(machine: Machine, scope: Scope = "user", *, tools: bool = True) -> bool:
    plan = plan_install(machine, machine.project(), "codex", scope, tools=tools)
    install(machine, machine.project(), plan)
    return plan.is_change


def unwire(machine: Machine) -> bool:
    plan = plan_uninstall(machine, machine.project(), "codex")
    uninstall(machine, plan)
    return plan.is_change


def hooks_in(path: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(path.read_bytes())["hooks"]
    return found


def test_hooks_and_tools_come_and_go_to_the_byte(machine: Machine, config: Path) -> None:
    hooks = config.with_name("hooks.json")
    hooks.write_text(json.dumps({"description": "mine", "hooks": {"Stop": [FOREIGN]}}), encoding="utf-8")
    before = hooks.read_bytes()
    assert wire(machine)
    text = config.read_text(encoding="utf-8")
    assert text.startswith(CONFIG)
    assert tomllib.loads(text)["mcp_servers"] == {
        "github": {"command": "gh-mcp"},
        "holdfast": {
            "command": sys.executable,
            "args": ["-E", "-P", "-m", "holdfast", "mcp"],
        },
    }
    groups = hooks_in(hooks)
    assert groups.keys() == TIMEOUTS.keys() and groups["Stop"][0] == FOREIGN
    assert groups["PreToolUse"][0]["matcher"] == MATCHERS["PreToolUse"]
    assert not wire(machine)
    assert unwire(machine)
    assert config.read_text(encoding="utf-8") == CONFIG and hooks.read_bytes() == before
    assert not unwire(machine)


def test_what_codex_wrote_meanwhile_stays_when_we_go(machine: Machine, config: Path) -> None:
    """Trust in our hooks is written into the same file, so this is what everybody has."""
    wire(machine)
    config.write_text(config.read_text(encoding="utf-8") + TRUSTED, encoding="utf-8")
    assert not wire(machine)
    assert unwire(machine)
    assert config.read_text(encoding="utf-8") == CONFIG + TRUSTED
    assert not config.with_name("hooks.json").exists()


def test_the_text_of_a_hook_stays_as_it_was_trusted(machine: Machine, config: Path) -> None:
    wire(machine)
    hooks = config.with_name("hooks.json")
    first = hooks.read_bytes()
    config.write_text(CONFIG, encoding="utf-8")  # somebody took our tools out
    assert wire(machine)
    assert hooks.read_bytes() == first
    (commands,) = [groups[0]["hooks"] for event, groups in hooks_in(hooks).items() if event == "SessionEnd"]
    assert commands == [
        {
            "type": "command",
            "command": commands[0]["command"],  # type: ignore[index]
            "timeout": 3,
        }
    ]


def test_what_a_person_says_of_our_tools_is_kept(machine: Machine, config: Path) -> None:
    wire(machine)
    before, args, after = config.read_text(encoding="utf-8").rpartition("args = ")
    text = f"{before}required = true\nstartup_timeout_sec = 60\n{args}{after}"
    config.write_text(text, encoding="utf-8")
    assert not wire(machine)
    moved = text.replace(f'command = "{sys.executable}"', 'command = "/gone/python"')
    config.write_text(moved, encoding="utf-8")
    assert wire(machine)
    assert (
        tomllib.loads(config.read_text(encoding="utf-8"))["mcp_servers"]["holdfast"]["command"]
        == sys.executable
    )
    assert unwire(machine)
    assert tomllib.loads(config.read_text(encoding="utf-8")) == tomllib.loads(CONFIG)


def test_without_tools_their_file_is_left_alone(machine: Machine, config: Path) -> None:
    assert wire(machine, tools=False)
    assert config.read_text(encoding="utf-8") == CONFIG


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model = \n", "is not valid TOML"),
        ('mcp_servers = { github = { command = "gh" } }\n', "cannot extend"),
        ('mcp_servers = "none"\n', "cannot extend"),
        ('[mcp_servers]\nholdfast = { command = "mine" }\n', "cannot extend"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_as_it_is(
    machine: Machine, config: Path, text: str, problem: str
) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem) as raised:
        plan_install(machine, machine.project(), "codex", "user")
    assert str(config) in raised.value.line()
    assert config.read_text(encoding="utf-8") == text
    assert not config.with_name("hooks.json").exists()


def test_an_entry_that_somebody_wrote_otherwise_is_theirs(machine: Machine, config: Path) -> None:
    config.write_text('[mcp_servers]\nholdfast = { command = "mine" }\n', encoding="utf-8")
    assert not unwire(machine)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\xef\xbb\xbfmodel = 'x'\r\n"], ids=["not UTF-8", "BOM"])
def test_bytes_are_kept_or_refused(machine: Machine, config: Path, data: bytes) -> None:
    config.write_bytes(data)
    if data.startswith(b"\xff"):
        with pytest.raises(ConfigError, match="not UTF-8"):
            wire(machine)
        return
    wire(machine)
    assert config.read_bytes().startswith(data) and b"\n" not in config.read_bytes().replace(b"\r\n", b"")
    unwire(machine)
    assert config.read_bytes() == data


def test_the_folder_is_where_the_variable_says(home: Path, repo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    where = Where(
        home, {"CODEX_HOME": str(elsewhere)}, repo, sys.executable, ("python", "-m", "holdfast", "mcp")
    )
    assert not HOST.found(where)
    elsewhere.mkdir()
    assert HOST.found(where)
    assert {change.path.parent for change in HOST.install(where, "user")} == {elsewhere}


def test_tools_are_told_where_memory_is(home: Path, repo: Path) -> None:
    """Codex hands on a few variables of its own choice."""
    where = Where(
        home, {"HOLDFAST_HOME": "/data/memory"}, repo, sys.executable, ("python", "-m", "holdfast", "mcp")
    )
    _, tools = HOST.install(where, "user")
    assert tools.after is not None and b'env_vars = ["HOLDFAST_HOME"]' in tools.after


def test_settings_that_are_a_link_stay_one(machine: Machine, config: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    config.rename(real)
    config.symlink_to(real)
    wire(machine)
    assert config.is_symlink() and "[mcp_servers.holdfast]" in real.read_text(encoding="utf-8")
    unwire(machine)
    assert config.is_symlink() and real.read_text(encoding="utf-8") == CONFIG


def test_one_repository_has_its_own_files_unless_git_has_them(machine: Machine, repo: Path) -> None:
    plan = plan_install(machine, machine.project(), "codex", "project")
    assert [change.path for change in plan.changes] == [
        repo / ".codex/hooks.json",
        repo / ".codex/config.toml",
    ]
    assert any("info/exclude" in need for need in plan.needs) and TRUST in plan.needs
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text(".codex/\n", encoding="utf-8")
    plan = plan_install(machine, machine.project(), "codex", "project")
    assert not any("info/exclude" in need for need in plan.needs)
    (repo / ".codex").mkdir()
    (repo / ".codex" / "config.toml").write_text("", encoding="utf-8")
    subprocess.run(["git", "-C", str(repo), "add", "-f", ".codex/config.toml"], check=True)
    with pytest.raises(ConfigError, match="tracked by git"):
        plan_install(machine, machine.project(), "codex", "project")
    assert plan_install(machine, machine.project(), "codex", "project", tools=False).is_change


@pytest.mark.parametrize("name", ["hooks.json", "config.toml"])
def test_a_link_that_came_with_a_repository_is_not_followed(
    machine: Machine, repo: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / "target"
    target.write_text("", encoding="utf-8")
    (repo / ".codex").mkdir()
    (repo / ".codex" / name).symlink_to(target)
    with pytest.raises(ConfigError, match="is a link"):
        plan_install(machine, machine.project(), "codex", "project")
    assert not plan_uninstall(machine, machine.project(), "codex").is_change


def test_doctor_sees_a_hook_that_is_missing(machine: Machine, config: Path) -> None:
    wire(machine)
    hooks = config.with_name("hooks.json")
    value = json.loads(hooks.read_bytes())
    del value["hooks"]["Stop"]
    hooks.write_text(json.dumps(value), encoding="utf-8")
    (user,) = [
        one for one in wired(machine, machine.project()) if (one.agent, one.scope) == ("codex", "user")
    ]
    assert user.installed and user.missing == ("Stop",)


@pytest.mark.promise("H3")
def test_codex_is_not_told_to_wait_for_our_tools_and_who_tells_it_hears_what_that_means(
    holdfast: Holdfast, home: Path
) -> None:
    assert "required" not in holdfast("install", "codex", "--yes", check=0).stdout
    path = home / ".codex" / "config.toml"
    assert "required" not in path.read_text(encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8") + "required = true\n", encoding="utf-8")
    said = " ".join(holdfast("install", "codex", "--yes", check=0).stdout.split())
    assert "required = true keeps Codex from starting" in said
    assert tomllib.loads(path.read_text(encoding="utf-8"))["mcp_servers"]["holdfast"]["required"] is True
