"""`install --commands`: the slash commands as files of one's own, with the plugin's names, undone to the byte."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.agents.test_host_repair import files_of
from tests.command import Holdfast

from holdfast.agent_kit.slash_commands import COMMANDS

PLACES = {"claude-code": (".claude", "md"), "gemini": (".gemini", "toml"), "qwen": (".qwen", "toml")}


def folder_of(home: Path, agent: str) -> Path:
    return home / PLACES[agent][0] / "commands" / "holdfast"


@pytest.mark.promise("H5", "H1")
@pytest.mark.parametrize("agent", PLACES)
def test_they_come_with_the_wiring_and_go_with_it(
    holdfast: Holdfast, home: Path, repo: Path, agent: str
) -> None:
    (home / PLACES[agent][0]).mkdir()
    before = files_of(home, repo)
    holdfast("install", agent, "--yes", check=0)
    assert not folder_of(home, agent).exists(), "nobody asked for them"
    holdfast("install", agent, "--commands", "--yes", check=0)
    written = {path.name: path.read_text(encoding="utf-8") for path in folder_of(home, agent).iterdir()}
    assert set(written) == {f"{one.name}.{PLACES[agent][1]}" for one in COMMANDS}
    if agent != "claude-code":
        assert all(tomllib.loads(text)["prompt"] for text in written.values())
    after = files_of(home, repo)
    again = holdfast("install", agent, "--yes", "--json", check=0).json()
    assert not any(change["changed"] for change in again["changes"]) and files_of(home, repo) == after
    holdfast("uninstall", agent, "--yes", check=0)
    assert files_of(home, repo) == before and not folder_of(home, agent).parent.exists()


def test_a_command_that_somebody_made_their_own_stays(holdfast: Holdfast, home: Path) -> None:
    folder = folder_of(home, "claude-code")
    folder.mkdir(parents=True)
    (folder / "why.md").write_text("my own why\n", encoding="utf-8")
    holdfast("install", "claude-code", "--commands", "--yes", check=0)
    (folder / "ledger.md").write_text("mine by now\n", encoding="utf-8")
    holdfast("uninstall", "claude-code", "--yes", check=0)
    assert sorted(path.name for path in folder.iterdir()) == ["ledger.md", "why.md"]
    assert (folder / "why.md").read_text(encoding="utf-8") == "my own why\n"


def test_with_another_interpreter_they_follow(holdfast: Holdfast, home: Path) -> None:
    holdfast("install", "claude-code", "--commands", "--yes", check=0)
    path = folder_of(home, "claude-code") / "resume.md"
    good = path.read_bytes()
    path.write_bytes(good.replace(sys.executable.encode(), b"/gone/python"))
    holdfast("install", "claude-code", "--yes", check=0)
    assert path.read_bytes() == good


def test_where_they_cannot_be_it_is_said(holdfast: Holdfast) -> None:
    holdfast("install", "codex", "--commands", "--yes", check=2)
    holdfast("install", "claude-code", "--commands", "--scope", "project", "--yes", check=2)


def test_what_agents_start_in_a_repository_runs_no_module_of_that_repository(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    """Python puts the current folder first for `-m`: a clone with a json.py would run in the name of its reader."""
    (home / ".claude").mkdir()
    holdfast("install", "claude-code", "--commands", "--yes", check=0)
    for module in ("json.py", "holdfast.py", "typing.py"):
        (repo / module).write_text("open('ran', 'w').close()\nraise SystemExit(9)\n", encoding="utf-8")
    server = json.loads((home / ".claude.json").read_bytes())["mcpServers"]["holdfast"]
    command = (folder_of(home, "claude-code") / "resume.md").read_text(encoding="utf-8")
    line = re.search(r"!`(.+?)`", command)
    assert line is not None
    for words in ([server["command"], *server["args"]], ["bash", "-c", line[1]]):
        done = subprocess.run(words, cwd=repo, stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == 0 and not (repo / "ran").exists(), words
