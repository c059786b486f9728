"""`holdfast backtest --ab`: paired sessions in places of their own; whatever goes wrong is an outcome."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.command import Holdfast
from tests.trials.taskfiles import Tasks, task

from holdfast.trials.taskfile import CLASSES, load

pytestmark = [
    pytest.mark.promise("S10", "P3"),
    pytest.mark.skipif(os.name == "nt", reason="the client of these tests is a POSIX script"),
]


@pytest.fixture
def tasks(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    folder = tmp_path / "ab"
    folder.mkdir()
    made = Tasks(repo, folder)
    monkeypatch.setenv("SEEN", str(made.seen))
    return made


def ran(holdfast: Holdfast, tasks: Tasks, *words: str) -> Any:
    return holdfast("backtest", "--ab", tasks.path, "--yes", "--json", *words, check=0).json()


def test_each_session_has_a_work_tree_and_a_home_of_its_own_that_go_afterwards(
    holdfast: Holdfast, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "x")
    tasks.write(task(), task("another", "bugfix", "edit other.txt", "test -f other.txt"), runs=2)
    found = ran(holdfast, tasks)
    assert [result["outcome"] for result in found["results"]] == ["passed"] * 8
    sessions = tasks.sessions()
    assert len({cwd for cwd, *_ in sessions}) == len({home for _, home, *_ in sessions}) == 8
    assert not any(Path(cwd).exists() or Path(home).exists() for cwd, home, *_ in sessions)
    assert not any("MY_SECRET" in variables for *_, variables in sessions)
    assert sorted(path.name for path in tasks.repo.iterdir()) == [".git", "README.md"], (
        "the repository is as it was"
    )


def test_the_warm_arm_has_the_memory_and_the_cold_one_has_none(holdfast: Holdfast, tasks: Tasks) -> None:
    holdfast("decide", "Refunds go through the ledger", "--because", "audits", "--by", "user", check=0)
    holdfast("lessons", "add", "money", "--rule", "amounts are whole cents, never floats", check=0)
    off = "[class.investigation]\nstatements = false\n[class.planning]\nlessons = false\n"
    kinds = ("test", "investigation", "planning")
    tasks.write(*(task(kind, kind) for kind in kinds), head=off)
    found = ran(holdfast, tasks)
    memory = {
        (result["task"], result["warm"]): names.split(",")
        for result, (_, _, _, names, _) in zip(found["results"], tasks.sessions(), strict=True)
    }
    assert all("money.md" not in memory[kind, False] for kind in kinds)
    assert {"money.md", "reference.md"} <= set(memory["test", True]) or "money.md" in memory["test", True]
    assert "money.md" in memory["investigation", True] and "money.md" not in memory["planning", True]
    assert len(memory["investigation", True]) < len(memory["test", True])
    assert len(memory["planning", True]) < len(memory["test", True])
    tasks.write(task(), cold="without")
    ran(holdfast, tasks)
    assert sum(names == "none" for _, _, _, names, _ in tasks.sessions()) == 1


def test_a_crash_a_hang_and_a_check_that_hangs_are_outcomes(holdfast: Holdfast, tasks: Tasks) -> None:
    tasks.write(
        task("crashes", prompt="crash"),
        task("hangs", prompt="hang"),
        task("check hangs", check="sleep 600"),
        task("fails", check="echo no such thing; exit 3"),
        task("no setup") + 'setup = "exit 4"\n',
        seconds=2,
        check_seconds=2,
    )
    found = ran(holdfast, tasks)
    outcomes = {result["task"]: (result["outcome"], result["detail"]) for result in found["results"]}
    assert outcomes["crashes"] == ("crashed", "exit code 7: it broke")
    assert outcomes["hangs"] == ("too slow", "stopped after 2 s")
    assert outcomes["check hangs"] == ("check too slow", "stopped after 2 s")
    assert outcomes["fails"] == ("failed", "no such thing")
    assert outcomes["no setup"][0] == "not set up"
    assert [line["wins"] for line in found["table"]["lines"]] == [0] * 5
    shown = holdfast("backtest", "--ab", tasks.path, "--yes", check=0).stdout
    assert "crashes, cold, run 1: crashed: exit code 7: it broke" in shown


def test_the_budget_ends_before_it_is_exceeded_and_a_larger_one_goes_on_from_there(
    holdfast: Holdfast, tasks: Tasks
) -> None:
    tasks.write(task(), runs=3, budget_usd=2.4)
    found = ran(holdfast, tasks)
    assert (len(found["results"]), found["left_out"], found["spent_usd"]) == (4, 2, 2.0)
    (line,) = found["table"]["lines"]
    assert line["cold"]["n"] == line["warm"]["n"] == 2, "only whole pairs were begun"
    tasks.write(task(), runs=3, budget_usd=3)
    found = ran(holdfast, tasks)
    assert (len(found["results"]), found["left_out"]) == (6, 0) and len(tasks.sessions()) == 6
    tasks.write(task(prompt="edit again.txt", check="true"), runs=1)
    assert ran(holdfast, tasks)["done"] == 0, "a changed task is run again"


def test_a_run_that_was_ended_is_resumed_and_a_torn_result_is_run_again(
    holdfast: Holdfast, tasks: Tasks, home: Path
) -> None:
    tasks.write(task(), runs=2)
    ran(holdfast, tasks)
    (results,) = (home / ".holdfast" / "cache" / "ab").glob("*/results.jsonl")
    lines = results.read_text("utf-8").splitlines()
    results.write_text("\n".join(lines[:2]) + "\n" + lines[2][:40], encoding="utf-8")
    found = ran(holdfast, tasks)
    assert found["done"] == 2 and len(found["results"]) == 4 and len(tasks.sessions()) == 6
    assert ran(holdfast, tasks, "--again")["done"] == 0 and len(tasks.sessions()) == 10


def test_a_dry_run_says_what_it_would_do_and_cost_and_starts_nothing(
    holdfast: Holdfast, tasks: Tasks
) -> None:
    tasks.write(task(), runs=3)
    said = " ".join(holdfast("backtest", "--ab", tasks.path, "--dry-run", check=0).stdout.split())
    assert "6 sessions: 1 task, 3 runs" in said and "about $3.00 ($0.50 a session" in said
    assert "It gets: $SEEN" in said and "could exceed $10.00" in said and str(tasks.client) in said
    plan = holdfast("backtest", "--ab", tasks.path, "--dry-run", "--json", check=0).json()
    assert (plan["sessions"], plan["expected_usd"], plan["budget_usd"]) == (6, 3.0, 10.0)
    assert tasks.sessions() == []


def test_it_asks_before_it_spends_and_an_agent_cannot_agree(
    holdfast: Holdfast, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.write(task())
    assert "cannot ask" in holdfast("backtest", "--ab", tasks.path, check=2).stderr
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "a person must decide" in holdfast("backtest", "--ab", tasks.path, "--yes", check=2).stderr
    assert tasks.sessions() == []


def test_without_a_known_cost_nothing_is_started(holdfast: Holdfast, tasks: Tasks) -> None:
    tasks.write(task(), session_usd=None)
    refused = holdfast("backtest", "--ab", tasks.path, "--yes", check=2).stderr
    assert "the cost of a session is unknown" in refused and "Set session_usd" in refused
    assert "unknown: set session_usd" in holdfast("backtest", "--ab", tasks.path, "--dry-run", check=0).stdout
    assert tasks.sessions() == []


@pytest.mark.parametrize(
    "changes, more, said",
    [
        ({"agent": "emacs"}, task(), "agent must be one of claude-code, codex"),
        ({"runs": 0}, task(), "runs must be a whole number from 1 to 100"),
        ({"runs": True}, task(), "runs must be a whole number"),
        ({"budget_usd": "much"}, task(), "budget_usd must be a number from 0"),
        ({"budget_usd": None}, task(), "budget_usd is missing"),
        ({"cold": "tepid"}, task(), "cold must be one of empty, without"),
        ({"env": ["A=B"]}, task(), "env 'A=B' is not a variable name"),
        ({"home_files": ["/etc/passwd"]}, task(), "home_files '/etc/passwd' must be a path below ~/"),
        ({"home_files": ["~/../x"]}, task(), "must be a path below ~/"),
        ({"budgett": 3}, task(), "budgett is not known"),
        ({}, "", "task is missing"),
        ({}, task(kind="poetry"), "task 1: class must be one of test, pattern"),
        ({}, task(name=""), "task 1: name must"),
        ({}, task(check=""), "task 1: check must not be empty"),
        ({}, task() + task(), "'write a file' appears twice"),
        ({}, task() + "chek = 1\n", "task 1: chek is not known"),
        ({}, "[class.poetry]\nlessons = 3\n" + task(), "class.poetry is not one of"),
        ({}, "[[task]\n", "it is not valid TOML"),
        ({}, "\0", "it is not valid TOML"),
    ],
)
def test_each_error_in_the_tasks_is_one_clear_line_and_nothing_is_spent(
    changes: dict[str, Any], more: str, said: str, holdfast: Holdfast, tasks: Tasks
) -> None:
    tasks.write(more, **changes)
    refused = holdfast("backtest", "--ab", tasks.path, "--yes", check=1)
    problems = [line for line in refused.stderr.splitlines() if said in line]
    assert len(problems) == 1 and str(tasks.path) in problems[0], refused.stderr
    assert refused.stderr.splitlines()[-1].endswith("Nothing was started. Correct the file.")
    assert tasks.sessions() == []


def test_all_errors_of_a_file_are_listed_at_once(holdfast: Holdfast, tasks: Tasks) -> None:
    tasks.write(task(kind="poetry", check=""), runs=-1)
    said = holdfast("backtest", "--ab", tasks.path, check=1).stderr
    assert len(said.splitlines()) == 4 and "3 errors in the tasks" in said


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"commit": "no-such-branch"}, "there is no commit 'no-such-branch'"),
        ({"commit": "--upload-pack=x"}, "there is no commit"),
        ({"repository": "/no/such/folder"}, "there is no commit"),
        ({"program": "no-such-client"}, "is not installed"),
    ],
)
def test_what_is_not_there_is_said_before_anything_is_spent(
    changes: dict[str, Any], said: str, holdfast: Holdfast, tasks: Tasks
) -> None:
    tasks.write(task(), **changes)
    refused = holdfast("backtest", "--ab", tasks.path, "--yes", check=1).stderr
    assert said in refused and refused.count("\n") == 1
    assert tasks.sessions() == []


def test_a_missing_file_of_the_home_is_an_outcome_of_every_session(holdfast: Holdfast, tasks: Tasks) -> None:
    tasks.write(task(), home_files=["~/.no-such-login"])
    found = ran(holdfast, tasks)
    assert {result["outcome"] for result in found["results"]} == {"not set up"}
    assert "there is no ~/.no-such-login" in found["results"][0]["detail"]


def test_a_file_that_is_not_there_is_one_line(holdfast: Holdfast, tmp_path: Path) -> None:
    refused = holdfast("backtest", "--ab", tmp_path / "none.toml", check=1).stderr
    assert "there is no such file" in refused and refused.count("\n") == 1


def test_a_later_solution_is_not_in_the_history_of_a_trial(holdfast: Holdfast, tasks: Tasks) -> None:
    import subprocess

    from tests.trials.taskfiles import AUTHOR

    git = ["git", "-C", str(tasks.repo)]
    (tasks.repo / "SOLUTION.md").write_text("the answer", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "the solution"], check=True, env={**os.environ, **AUTHOR})
    tasks.write(
        task(check="test ! -e SOLUTION.md && ! git log --all --oneline | grep -q solution"), commit="HEAD~1"
    )
    assert [result["outcome"] for result in ran(holdfast, tasks)["results"]] == ["passed"] * 2


def test_two_experiments_of_one_file_do_not_run_at_once(holdfast: Holdfast, tasks: Tasks, home: Path) -> None:
    from holdfast.core import files

    tasks.write(task())
    ran(holdfast, tasks)
    (folder,) = (home / ".holdfast" / "cache" / "ab").iterdir()
    tasks.write(task(), runs=2)
    with files.lock(folder / "lock"):
        refused = holdfast("backtest", "--ab", tasks.path, "--yes", check=1).stderr
    assert "lock" in refused and len(tasks.sessions()) == 2


def test_the_starter_set_has_a_task_of_each_class() -> None:
    experiment = load(Path(__file__).parents[2] / "docs" / "ab-starter.toml")
    assert sorted(task.kind for task in experiment.tasks) == sorted(CLASSES)
