"""Hooks that an older version wrote, without the tools for files: they work, `doctor` says so, and they are renewed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.test_host_repair import files_of
from tests.command import Holdfast

from holdfast.agent_kit.json_hooks import HookHost
from holdfast.agents.registry import HOSTS, PLUGINS, host_of
from holdfast.hooks.host_protocol import _TOOLS, FILE_TOOLS

RENEWED = [agent for agent in HOSTS if isinstance(host := host_of(agent), HookHost) and host.earlier]
THEIRS = "/usr/local/bin/guard.sh"


def quoted(matcher: str) -> bytes:
    return json.dumps(matcher).encode()


def aged(agent: str, *roots: Path) -> dict[Path, bytes]:
    """Puts the matchers of an older version into the host's files; returns what was there."""
    host = host_of(agent)
    assert isinstance(host, HookHost)
    now = files_of(*roots)
    for path, data in now.items():
        old = data
        for event, first in host.earlier.items():
            old = old.replace(quoted(host.matchers[event]), quoted(first))
        if old != data:
            path.write_bytes(old)
    assert files_of(*roots) != now
    return now


def hooks_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["hooks"]


def file_of(agent: str, home: Path) -> Path:
    return next(
        path for path, data in files_of(home).items() if b"hook_entry.py" in data and path.suffix == ".json"
    )


def test_hosts_that_let_a_tool_hook_speak_register_the_tools_for_files() -> None:
    assert RENEWED == ["claude-code", "copilot", "gemini", "qwen", "cursor"]
    for agent in RENEWED:
        host = host_of(agent)
        assert isinstance(host, HookHost)
        for event, old in host.earlier.items():
            names = set(host.matchers[event].strip("^$()").split("|"))
            known = {_TOOLS.get(name, name) for name in names}
            assert known >= ({"Read", "Write"} if agent == "cursor" else FILE_TOOLS)
            assert set(old.strip("^$()").split("|")) < names, "nothing is lost"


@pytest.mark.promise("H1")
@pytest.mark.parametrize("agent", RENEWED)
def test_hooks_of_an_older_version_are_a_note_and_renewed_by_fix(
    agent: str, holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("install", agent, "--yes", check=0)
    good = aged(agent, home, repo)
    report = holdfast("doctor", check=0).stdout
    assert f"hooks of an older version for {agent} (" in report
    assert f"holdfast agents install {agent} to renew them" in report
    assert "missing or changed" not in report
    planned = holdfast("doctor", "--fix", "--dry-run", check=0).stdout
    assert f"of {agent} in " in planned and files_of(home, repo) != good
    holdfast("doctor", "--fix", check=0)
    assert {
        path: json.loads(data) for path, data in files_of(home, repo).items() if path.suffix == ".json"
    } == {path: json.loads(data) for path, data in good.items() if path.suffix == ".json"}
    assert "older version" not in holdfast("doctor", check=0).stdout


@pytest.mark.promise("H1")
@pytest.mark.parametrize("agent", RENEWED)
def test_install_again_renews_them_beside_what_a_person_added_and_uninstall_removes_both_forms(
    agent: str, holdfast: Holdfast, home: Path, repo: Path
) -> None:
    host = host_of(agent)
    assert isinstance(host, HookHost)
    (event,) = host.earlier
    before = files_of(home, repo)
    holdfast("install", agent, "--yes", check=0)
    path = file_of(agent, home)
    aged(agent, home, repo)
    old = path.read_bytes()
    value = json.loads(old)
    theirs = (
        {"command": THEIRS}
        if agent == "cursor"
        else {"matcher": "x", "hooks": [{"type": "command", "command": THEIRS}]}
    )
    value["hooks"][event].insert(0, theirs)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    assert "older version" in holdfast("doctor", check=0).stdout
    holdfast("install", agent, "--yes", check=0)
    first, ours = hooks_of(path)[event]
    assert first == theirs and ours["matcher"] == host.matchers[event]
    holdfast("uninstall", agent, "--yes", check=0)
    assert hooks_of(path) == {event: [theirs]}

    path.write_bytes(old)  # and the old form, never renewed
    holdfast("uninstall", agent, "--yes", check=0)
    assert not any(b"hook_entry.py" in data for data in files_of(home, repo).values())
    assert before.keys() <= files_of(home, repo).keys()


@pytest.mark.parametrize("agent", RENEWED)
@pytest.mark.parametrize("renew", [True, False])
def test_what_an_older_version_installed_is_undone_to_the_byte(
    agent: str, renew: bool, holdfast: Holdfast, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = host_of(agent)
    assert isinstance(host, HookHost)
    before = files_of(home, repo)
    with monkeypatch.context() as patch:
        patch.setattr(
            type(host),
            "matchers",
            {**host.matchers, **host.earlier},
        )
        holdfast("install", agent, "--yes", check=0)
    assert "older version" in holdfast("doctor", check=0).stdout
    if renew:
        holdfast("install", agent, "--yes", check=0)
        assert "older version" not in holdfast("doctor", check=0).stdout
    holdfast("uninstall", agent, "--yes", check=0)
    assert files_of(home, repo) == before


def test_a_matcher_that_a_person_changed_is_still_a_problem(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("install", "claude-code", "--yes", check=0)
    path = file_of("claude-code", home)
    path.write_bytes(path.read_bytes().replace(b"Bash|AskUserQuestion|Read|Edit|Write", b"Read"))
    assert "PreToolUse of claude-code missing or changed" in holdfast("doctor", check=1).stdout


@pytest.mark.promise("H6")
@pytest.mark.parametrize("agent", [agent for agent in RENEWED if agent in PLUGINS])
def test_a_plugin_of_an_older_version_is_a_note_and_made_again(
    agent: str, holdfast: Holdfast, home: Path
) -> None:
    holdfast("plugin", agent, check=0)
    plugin = home / ".holdfast" / "plugins" / agent
    (path,) = plugin.rglob("hooks.json")
    good = path.read_bytes()
    host = host_of(agent)
    assert isinstance(host, HookHost)
    for event, first in host.earlier.items():
        path.write_bytes(good.replace(quoted(host.matchers[event]), quoted(first)))
    assert path.read_bytes() != good
    report = holdfast("doctor", check=0).stdout
    assert f"the plugin for {agent} has hooks of an older version; they work" in report
    holdfast("doctor", "--fix", check=0)
    assert path.read_bytes() == good
