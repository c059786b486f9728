"""The plugin and the tools in OpenCode's configuration: beside what people wrote there, and gone without a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents.opencode.host import HOST, PLUGIN, OpenCode
from holdfast.core.errors import ConfigError
from holdfast.core.json_text import parse
from holdfast.flows.hosts import agents_here, install, plan_install, plan_uninstall, uninstall, wired
from holdfast.store.machine import Machine

COMMENTED = """{
  // how I like it
  "$schema": "https://opencode.ai/config.json",
  "model": "anthropic/claude-opus-5", // the slow one
  "plugin": ["opencode-notify"], /* others */
  "mcp": {
    "github": { "type": "remote", "url": "https://example.org/mcp" }, // "holdfast": {},
  },
}
"""
STYLES = {
    "comments and last commas": COMMENTED,
    "nothing of its kind": '{\n  "$schema": "x",\n  "theme": "dark"\n}\n',
    "empty lists": '{"plugin": [], "mcp": {}}\n',
    "one line": '{"model": "a/b", "plugin": [["file:///mine.js", {"a": 1}]]}',
    "CRLF": '{\r\n\t"model": "a/b"\r\n}\r\n',
    "empty": "",
}


def entry(interpreter: str) -> list[Any]:
    assert isinstance(HOST, OpenCode)
    return HOST.entry(interpreter)


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def folder(home: Path) -> Path:
    made = home / ".config" / "opencode"
    made.mkdir(parents=True)
    return made


def wire(machine: Machine, scope: str = "user") -> bool:
    plan = plan_install(machine, machine.project(), "opencode", scope)  # type: ignore[arg-type]
    install(machine, machine.project(), plan)
    return plan.is_change


def unwire(machine: Machine) -> bool:
    plan = plan_uninstall(machine, machine.project(), "opencode")
    uninstall(machine, plan)
    return plan.is_change


def value_of(path: Path) -> dict[str, Any]:
    found = parse(path.read_bytes().decode(), comments=True).value
    assert isinstance(found, dict)
    return found


@pytest.mark.promise("H1")
@pytest.mark.parametrize("name", ["opencode.json", "opencode.jsonc", "config.json"])
@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_what_was_there_stays_and_comes_back_to_the_byte(
    machine: Machine, folder: Path, name: str, text: str
) -> None:
    path = folder / name
    path.write_bytes(text.encode())
    before = parse(text or "{}", comments=True).value
    assert wire(machine)
    after = value_of(path)
    assert after["plugin"] == [*before.get("plugin", []), entry(sys.executable)]
    ours = after["mcp"].pop("holdfast")
    assert ours == {
        "type": "local",
        "command": [sys.executable, "-E", "-P", "-m", "holdfast", "mcp"],
        "enabled": True,
    }
    assert after["mcp"] == before.get("mcp", {})
    assert {**after, "plugin": 0, "mcp": 0} == {**before, "plugin": 0, "mcp": 0}
    assert path.read_text(encoding="utf-8").count("//") == text.count("//") + 1  # file:///
    assert not wire(machine), "installing again changes nothing"
    assert [file.name for file in folder.iterdir()] == [name]
    assert unwire(machine)
    assert path.read_bytes() == text.encode()


@pytest.mark.promise("H1")
@pytest.mark.parametrize("text", [STYLES["comments and last commas"], STYLES["nothing of its kind"]])
def test_what_was_added_meanwhile_stays_when_ours_goes(machine: Machine, folder: Path, text: str) -> None:
    path = folder / "opencode.jsonc"
    path.write_text(text, encoding="utf-8")
    wire(machine)
    theirs = '{\n  "autoupdate": false,'
    path.write_text(path.read_text(encoding="utf-8").replace("{", theirs, 1), encoding="utf-8")
    assert unwire(machine)
    assert path.read_text(encoding="utf-8") == text.replace("{", theirs, 1)


def test_a_file_of_our_own_has_what_opencode_would_add_to_it(machine: Machine, home: Path) -> None:
    wire(machine)
    path = home / ".config" / "opencode" / "opencode.json"
    assert next(iter(value_of(path).items())) == ("$schema", "https://opencode.ai/config.json")
    unwire(machine)
    assert not (home / ".config").exists()


def test_another_interpreter_or_an_older_plugin_is_put_right(machine: Machine, folder: Path) -> None:
    path = folder / "opencode.json"
    old = [
        ["file:///gone/holdfast/hosts/opencode_plugin.js", {"command": ["/gone/python"]}],
        "opencode-notify",
    ]
    path.write_text(json.dumps({"plugin": [*old, old[0][0]]}, indent=2), encoding="utf-8")
    (state,) = [
        one for one in wired(machine, machine.project()) if (one.agent, one.scope) == ("opencode", "user")
    ]
    assert state.installed and state.missing == ("plugin",) and state.path == path
    assert wire(machine)
    assert value_of(path)["plugin"] == ["opencode-notify", entry(sys.executable)]


@pytest.mark.parametrize("text", ['{"plugin": "x"}', '{"mcp": []}', "{", "[]", '{"a": 1,, }', "\ufeff{"])
def test_a_file_that_opencode_does_not_read_either_is_left_alone(
    machine: Machine, folder: Path, text: str
) -> None:
    path = folder / "opencode.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"opencode\.json"):
        wire(machine)
    assert path.read_text(encoding="utf-8") == text


def test_where_the_user_keeps_configuration_is_where_it_goes(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo: Path
) -> None:
    assert "opencode" not in agents_here(machine, machine.project())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    moved = Machine(cwd=repo)
    wire(moved)
    assert (tmp_path / "own" / "opencode" / "opencode.json").exists()
    assert "opencode" in agents_here(moved, moved.project())
    unwire(moved)
    assert not (tmp_path / "own").exists()


def test_ones_own_file_may_be_a_link(machine: Machine, folder: Path, tmp_path: Path) -> None:
    dotfile = tmp_path / "dotfiles.jsonc"
    dotfile.write_text(COMMENTED, encoding="utf-8")
    (folder / "opencode.jsonc").symlink_to(dotfile)
    wire(machine)
    assert (folder / "opencode.jsonc").is_symlink() and "holdfast" in dotfile.read_text(encoding="utf-8")
    unwire(machine)
    assert dotfile.read_text(encoding="utf-8") == COMMENTED


# --- one repository ------------------------------------------------------------------------------------


def track(repo: Path, *names: str) -> None:
    for name in names:
        (repo / name).write_text(COMMENTED, encoding="utf-8")
    subprocess.run(["git", "-C", str(repo), "add", *names], check=True)


def test_a_file_that_git_tracks_never_names_this_machine(machine: Machine, repo: Path) -> None:
    track(repo, "opencode.json")
    plan = plan_install(machine, machine.project(), "opencode", "project")
    assert [change.path.name for change in plan.changes] == ["opencode.jsonc"]
    assert "opencode.jsonc" in plan.needs[-1] and "exclude" in plan.needs[-1]
    wire(machine, "project")
    assert (repo / "opencode.json").read_text(encoding="utf-8") == COMMENTED
    assert not wire(machine, "project")
    unwire(machine)
    assert not (repo / "opencode.jsonc").exists()
    track(repo, "opencode.jsonc")
    with pytest.raises(ConfigError, match="tracked by git"):
        wire(machine, "project")


def test_a_link_that_came_with_a_repository_is_not_followed(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.json").write_text("{}", encoding="utf-8")
    (repo / "opencode.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ConfigError, match="link"):
        wire(machine, "project")
    assert not unwire(machine)
    assert (tmp_path / "elsewhere.json").read_text(encoding="utf-8") == "{}"


def test_the_plugin_lies_in_the_package() -> None:
    assert PLUGIN.is_file()


def test_what_opencode_fetches_for_any_plugin_is_said_until_it_is_there(
    machine: Machine, folder: Path
) -> None:
    assert "npm registry" in plan_install(machine, machine.project(), "opencode", "user").needs[0]
    (folder / "node_modules").mkdir()
    assert plan_install(machine, machine.project(), "opencode", "user").needs == ()
