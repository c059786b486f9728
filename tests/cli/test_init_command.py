"""`holdfast init`: from nothing to a memory that agents are told, in one go, asked once, and not done twice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.test_import_command import write_session
from tests.cli.test_terminal import on_terminal
from tests.command import Holdfast
from tests.hooks.enabled import Enabled, run_hook

import holdfast as package
from holdfast.cli.init import Done, _show
from holdfast.cli.main import COMMANDS, GROUPS, RARE_GROUPS
from holdfast.store.machine import Machine
from holdfast.upkeep.highlights import Highlight
from holdfast.upkeep.set_up import SetUp

DEMO = Path(package.__file__).parent / "demo_sessions"


@pytest.fixture
def worked_with(home: Path, repo: Path) -> Path:
    """A repository in which Claude Code and Codex have worked."""
    shutil.copytree(DEMO / "claude-code", home / ".claude" / "projects" / "-shop")
    shutil.copytree(DEMO / "codex", home / ".codex" / "sessions")
    for path in home.rglob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("/home/dev/tidepool", str(repo)), encoding="utf-8")
    (repo / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.ruff]\n', encoding="utf-8")
    return repo


def settings(home: Path) -> Path:
    return home / ".claude" / "settings.json"


@pytest.mark.promise("U4", "H1")
def test_one_command_reads_looks_wires_and_shows_what_the_next_session_is_told(
    holdfast: Holdfast, home: Path, worked_with: Path
) -> None:
    done = holdfast("init", "--yes", "--agents", "claude-code", check=0)
    assert "shop is set up." in done.stdout
    (sessions,) = [line.split() for line in done.stdout.splitlines() if line.startswith("  sessions")]
    assert sessions[1:4] == ["10", "(10", "new,"]
    assert "The next session here will see:" in done.stdout
    assert "uninstall --all" in done.stdout
    assert "In your last 10 sessions memory would have shown something in " in done.stdout
    payload = {"session_id": "s-1", "cwd": str(worked_with), "source": "startup", "transcript_path": ""}
    told = run_hook("SessionStart", json.dumps(payload).encode(), cwd=worked_with).context
    (_, *lines, _) = told.splitlines()
    assert lines and all(line in done.stdout for line in lines), "what was shown is what is told"
    assert Machine(cwd=worked_with).project().memory.joinpath("session.json").exists(), "it was looked at"
    assert "holdfast" in settings(home).read_text(encoding="utf-8")


def test_a_second_time_nothing_changes_and_nobody_is_asked(
    holdfast: Holdfast, home: Path, worked_with: Path
) -> None:
    holdfast("init", "--yes", "--agents", "claude-code", check=0)
    before = {path: path.read_bytes() for path in (settings(home), worked_with / ".holdfast" / "ledger.md")}
    again = holdfast("init", "--agents", "claude-code", check=0)
    assert "10 (0 new)" in again.stdout and "Set this up?" not in again.stderr
    assert {path: path.read_bytes() for path in before} == before
    holdfast("uninstall", "--all", "--yes", check=0)
    assert not settings(home).exists()


def test_a_script_that_does_not_say_yes_changes_nothing(
    holdfast: Holdfast, home: Path, worked_with: Path
) -> None:
    refused = holdfast("init", "--agents", "claude-code", check=2)
    assert "--yes" in refused.stderr and "~/.claude/settings.json" in refused.stdout
    assert not settings(home).exists() and not (worked_with / ".holdfast").exists()
    looked = holdfast("init", "--agents", "claude-code", "--dry-run", "--diff", check=0)
    assert "+++" in looked.stdout
    assert not settings(home).exists() and not (worked_with / ".holdfast").exists()


def test_parts_can_be_left_out(holdfast: Holdfast, home: Path, worked_with: Path) -> None:
    done = holdfast("init", "--json", "--no-import", "--no-scan", "--no-wire", check=0).json()
    assert done["import"] is None and done["agents"] == [] and done["known"]["sessions"] == 0
    assert not settings(home).exists()
    silent = holdfast("why", "--json", check=0).json()["now"]
    assert silent == "", "the project is enabled all the same"
    assert "no agent (holdfast agents install AGENT)" in holdfast("init", "--no-wire", check=0).stdout
    holdfast("install", "claude-code", "--yes", check=0)
    assert "as before: Claude Code" in holdfast("init", "--no-wire", check=0).stdout


def test_an_agent_whose_file_is_broken_is_left_out_and_said_unless_it_was_named(
    holdfast: Holdfast, home: Path, worked_with: Path
) -> None:
    settings(home).write_text("{broken", encoding="utf-8")
    done = holdfast("init", "--yes", check=0)
    assert "Claude Code is left out" in done.stderr and "10 (10 new, " in done.stdout
    assert settings(home).read_text(encoding="utf-8") == "{broken"
    holdfast("init", "--yes", "--agents", "claude-code", check=1)
    holdfast("init", "--yes", "--agents", "nobody", check=2)
    holdfast("init", "--agents", "claude-code", "--no-wire", check=2)


def test_the_backtest_is_left_out_where_it_would_take_long_or_nobody_wants_it(
    holdfast: Holdfast, worked_with: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("holdfast.cli.init.MOST_REPLAYED", 9)
        assert "holdfast backtest: " in holdfast("init", "--yes", check=0).stdout
    assert holdfast("init", "--json", "--no-backtest", check=0).json()["backtest"] == ""
    now = holdfast("init", "--json", check=0).json()["backtest"]
    assert now.startswith("In your last 10 sessions ")
    assert holdfast("init", "--json", "--no-backtest", check=0).json()["backtest"] == now, "kept from before"


def test_the_program_is_named_by_its_path_where_a_shell_would_not_find_it(
    holdfast: Holdfast, repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "bin" / "holdfast"
    own.parent.mkdir()
    own.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(own.parent / "python"))
    assert f"run it as {own}" in " ".join(holdfast("init", "--no-wire", check=0).stdout.split())
    monkeypatch.setenv("PATH", str(own.parent), prepend=os.pathsep)
    assert "not on your PATH" not in holdfast("init", "--no-wire", check=0).stdout


def test_where_nothing_was_recorded_it_says_so(holdfast: Holdfast) -> None:
    done = holdfast("init", check=0).stdout
    assert "no sessions recorded here yet" in done and "holdfast demo" in done


def test_a_hostile_session_does_not_stop_it(holdfast: Holdfast, home: Path, repo: Path) -> None:
    path = home / ".claude" / "projects" / "-shop" / "x.jsonl"
    write_session(path, "11111111-aaaa-4aaa-8aaa-000000000001", "fix it \x1b]0;title\x07", str(repo))
    with path.open("a", encoding="utf-8") as file:
        file.write("{torn\n")
    done = holdfast("init", "--yes", check=0)
    assert "could not be read" in done.stdout and "\x1b" not in done.stdout


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_end_fits_the_terminal(worked_with: Path, columns: int) -> None:
    screen, _ = on_terminal(["init", "--yes", "--agents", "claude-code"], worked_with, columns, 80)
    text = "\n".join(screen)
    assert "is set up." in text and "next      start an agent" in text


def test_every_command_stands_in_one_group_of_the_help() -> None:
    grouped = [name for names in (*GROUPS.values(), *RARE_GROUPS.values()) for name in names.split()]
    assert sorted(grouped) == sorted(name for name in COMMANDS if " " not in name)


@pytest.mark.parametrize("below", [".", "..", "/"], ids=["home", "above it", "the disk"])
def test_the_home_folder_and_what_is_above_it_are_no_project(
    below: str, holdfast: Holdfast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(os.path.normpath(home / below))
    before = sorted(os.listdir(folder))
    said = holdfast("init", "--yes", cwd=folder, check=2).stderr
    assert "would become one project" in said and said.count("\n") == 1
    assert sorted(os.listdir(folder)) == before


def test_nothing_sets_up_the_whole_disk(holdfast: Holdfast, home: Path) -> None:
    before = sorted(os.listdir("/"))
    said = holdfast("note", "decision", "Use pnpm here, never npm", cwd=Path("/"), check=1).stderr
    assert "the whole disk" in said
    assert sorted(os.listdir("/")) == before


def test_a_folder_without_git_is_named_as_such(holdfast: Holdfast, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    said = holdfast("init", "--yes", "--no-wire", "--no-import", cwd=folder, check=0)
    assert "notes is in no git repository" in said.stderr
    again = holdfast("init", "--yes", "--no-wire", "--no-import", cwd=folder, check=0)
    assert "no git" not in again.stderr, "it is a project by then"
    assert "no git" not in holdfast("init", "--yes", "--no-wire", "--no-import", check=0).stderr


def test_an_empty_memory_and_things_that_memory_knows_are_never_said_together(
    enabled: Enabled, capsys: pytest.CaptureFixture[str]
) -> None:
    known = SetUp(
        sessions=1, agents={}, decisions=1, facts=0, questions=0, lessons=0, proposed=0, conventions=0, patterns=0,
        told=(),
    )  # fmt: skip
    for knows in ([], [Highlight(text="Use pnpm", source="you", kind="decision")]):
        done = Done(imported=None, took_s=0.0, known=known, plans=[], knows=knows, before=[], to_trust=0)
        _show(done, enabled.machine.project(), "")
        assert ("memory is empty" in capsys.readouterr().out) is not bool(knows)
