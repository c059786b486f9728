"""`holdfast backtest` at the command line: what it says, and that it leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile
from tests.backtest.histories import DAY, REFUSED, RIGHT, WRONG, History
from tests.command import Holdfast

from holdfast.backtest.report import BacktestReport, NeedSum, Stretch, Tally
from holdfast.backtest.words import sentences
from holdfast.terminal import progress

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
    begins, used, *_ = first.stdout.splitlines()
    ends = " ".join(holdfast("init", "--yes", "--no-wire", "--no-scan", check=0).stdout.split())
    assert begins in ends and used.startswith("Of its ") and used in ends
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


def test_a_long_history_is_tested_from_its_newest_end_and_that_is_said(
    repo: Path, home: Path, holdfast: Holdfast
) -> None:
    history = History(repo, home)
    history.commit(-1, {"a.py": "a = 1\n"})
    for day in range(6):
        history.session(day, "What does the pull request say?").run(WRONG, REFUSED, exit_code=1).run(
            RIGHT, "t"
        ).save()
    subagent = ClaudeFile(f"{1:08d}-1111-4111-8111-111111111111", str(repo), agent="abc1", prefix="sub")
    subagent.user(5 * DAY, "Look")
    subagent.assistant(5 * DAY + 1, "Looked.")
    subagent.save(history.folder / f"{1:08d}-1111-4111-8111-111111111111" / "subagents" / "agent-abc1.jsonl")
    every = holdfast("backtest", "--json", check=0).json()
    assert (every["sessions"], every["found"]) == (6, 0)
    newest = holdfast("backtest", "--limit", "2", "--json", check=0).json()
    assert (newest["sessions"], newest["found"]) == (2, 6)
    numbers = [one["session"][:8] for one in newest["details"]]
    assert numbers == ["00000005", "00000006"]
    assert [one["past"] for one in newest["details"]] == [0, 1], "memory begins with the first of them"
    said = holdfast("backtest", "--limit", "2", check=0).stdout
    assert said.startswith("In your newest 2 of 6 sessions memory would have shown something in 1")
    assert "Of 6 recorded sessions the newest 2 were tested" in " ".join(said.split()) and "--all" in said
    assert holdfast("backtest", "--limit", "2", "--all", "--json", check=0).json()["found"] == 0


def _report(memory: Tally, rival: Tally, **more: Any) -> BacktestReport:
    return BacktestReport(
        project="shop",
        made=0.0,
        version="1",
        sessions=16,
        memory=memory,
        control=Tally(),
        shuffled=Tally(),
        rival=rival,
        **more,
    )


def _tally(files: int, commands: int, **more: int) -> Tally:
    needs = {"file": NeedSum(known=42, told=files), "command": NeedSum(known=5, told=commands)}
    return Tally(spoke=15, tokens=1290, lines=46, used=9, unused=37, needs=needs, **more)


def test_the_result_is_said_in_plain_sentences_also_where_a_plain_list_does_better() -> None:
    said = " ".join(sentences(_report(_tally(5, 2), _tally(8, 5))))
    assert (
        "Of 42 files that a session later needed and an earlier one had used, memory named 5 beforehand, "
        "and of 5 commands 2." in said
    )
    assert (
        "A plain list of the latest commands and files does better there: it names 8 of the 42 files" in said
    )
    assert "5 of the 5 commands" in said
    said = " ".join(sentences(_report(_tally(9, 2), _tally(8, 5))))
    assert "it names 5 of the 5 commands" in said and "42 files." not in said
    assert "plain list" not in " ".join(sentences(_report(_tally(9, 5), _tally(8, 5))))


def test_it_says_whether_lines_were_used_less_as_memory_grew() -> None:
    def stretch(first: int, used: int) -> Stretch:
        return Stretch(first=first, last=first + 7, tally=Tally(lines=50, used=used))

    falling = sentences(_report(_tally(1, 1), Tally(), stretches=(stretch(1, 12), stretch(9, 7))))[-1]
    assert "fell as memory grew, from 24% in sessions 1 to 8 to 14% in 9 to 16" in falling
    steady = sentences(_report(_tally(1, 1), Tally(), stretches=(stretch(1, 12), stretch(9, 11))))
    assert not any("as memory grew" in one for one in steady)


def test_a_long_command_gives_a_sign_of_life_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 1.0, 4.0, 5.0, 15.0])
    monkeypatch.setattr(progress, "FIRST_S", 3.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    with progress.progress_bar(show=True, text="backtest", columns=()) as update:
        assert update is not None
        for done in (10, 40, 50, 90):
            update(done, 100, "asking memory")
    told = capsys.readouterr()
    assert told.err.splitlines() == ["holdfast: asking memory, 40%", "holdfast: asking memory, 90%"]
    assert told.out == ""
    with progress.progress_bar(show=False, text="backtest", columns=()) as update:
        assert update is None
