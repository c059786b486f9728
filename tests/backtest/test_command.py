"""`holdfast backtest` at the command line: what it says, and that it leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.backtest.histories import REFUSED, RIGHT, WRONG, History
from tests.command import Holdfast

DEMO = Path(__file__).parents[2] / "src" / "holdfast" / "demo_sessions"


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.promise("P1")
def test_it_works_before_init_and_writes_only_its_cache(repo: Path, home: Path, holdfast: Holdfast) -> None:
    before = files_below(repo)
    printed = holdfast("backtest", str(DEMO), "--json", check=0).json()
    assert printed["sessions"] > 1
    assert printed["control"]["of"] == "the bundled demonstration"
    assert printed["used"] + printed["unused"] + printed["wrong"] == printed["lines"]
    assert files_below(repo) == before
    assert {name for name in files_below(home) if not name.startswith(".holdfast/cache")} == {".holdfast"}


def test_without_sessions_it_says_so_in_one_line(holdfast: Holdfast) -> None:
    said = holdfast("backtest", check=1).stderr
    assert "no recorded sessions were found" in said
    assert said.count("\n") == 1


def test_the_last_result_is_shown_again_until_something_changes_and_init_ends_with_it(
    repo: Path, home: Path, holdfast: Holdfast
) -> None:
    history = History(repo, home)
    history.commit(-1, {"a.py": "a = 1\n"})
    for day in range(2):
        history.session(day, "What does the pull request say?").run(WRONG, REFUSED, exit_code=1).run(
            RIGHT, "t"
        ).save()
    first = holdfast("backtest", check=0)
    assert first.stdout.startswith("In your last 2 sessions memory would have shown something in 1, with ")
    again = holdfast("backtest", check=0)
    assert again.stdout == first.stdout
    assert "Nothing has changed since the last time." in again.stderr
    sentence = first.stdout.partition(".")[0]
    assert sentence in holdfast("init", "--yes", "--no-wire", "--no-scan", check=0).stdout
    history.session(2, "Thanks").run("ls", "a.py").save()
    assert holdfast("backtest", check=0).stdout.startswith("In your last 3 sessions ")


def test_one_session_is_shown_as_it_would_have_been(repo: Path, home: Path, holdfast: Holdfast) -> None:
    history = History(repo, home)
    history.commit(-1, {"a.py": "a = 1\n"})
    for day in range(2):
        history.session(day, "What does the pull request say?").run(WRONG, REFUSED, exit_code=1).run(
            RIGHT, "t"
        ).save()
    shown = holdfast("backtest", "--session", "2", check=0).stdout
    assert "At the command" in shown and "used: " in shown and "shown: remedy" in shown
    assert holdfast("backtest", "--session", "00000002", check=0).stdout == shown
    value = holdfast("backtest", "--session", "last", "--json", check=0).json()
    assert (value["number"], value["past"]) == (2, 1)
    assert "0 sessions" not in holdfast("backtest", "--session", "nothing", check=1).stderr
    page = holdfast("backtest", "--html", check=0).stdout
    assert page.startswith("<!doctype html>") and "<script" not in page


def test_one_session_and_a_transcript_that_is_no_more(repo: Path, home: Path, holdfast: Holdfast) -> None:
    history = History(repo, home)
    history.commit(-1, {"a.py": "a = 1\n"})
    history.session(0, "Look around").read("a.py").save()
    said = holdfast("backtest", check=0).stdout
    assert said.startswith("In your only session memory would have shown nothing.")
    assert "A single session has nothing before it that memory could have known." in said
    (path,) = history.folder.glob("*.jsonl")
    path.unlink()
    assert "no recorded sessions were found for this directory" in holdfast("backtest", check=1).stderr
    assert holdfast("backtest", str(path), check=2).stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("backtest", str(DEMO)), ("demo",)], ids=["backtest", "demo"])
@pytest.mark.parametrize("around", ["git", "folder"])
def test_a_project_that_lies_above_the_temporary_folder_is_not_touched(
    command: tuple[str, ...],
    around: str,
    tmp_path: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent = tmp_path / "parent"
    (parent / "tmp").mkdir(parents=True)
    if around == "git":
        subprocess.run(["git", "init", "-q"], cwd=parent, check=True)
    holdfast("init", "--yes", "--no-wire", "--no-import", "--no-scan", cwd=parent, check=0)
    memory = os.readlink(parent / ".holdfast" / "local")
    before = {path: path.lstat().st_mtime_ns for path in parent.rglob("*") if path != parent / "tmp"}
    monkeypatch.setattr(tempfile, "tempdir", str(parent / "tmp"))
    holdfast(*command, check=0)
    assert os.readlink(parent / ".holdfast" / "local") == memory
    assert {path: path.lstat().st_mtime_ns for path in parent.rglob("*") if path != parent / "tmp"} == before
