"""`holdfast ledger` and its relatives: what users see, what scripts get, and what bad files lead to."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.command import Holdfast

import holdfast as package

DEMO = Path(package.__file__).parent / "demo_sessions"

SEED = """| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|------------|--------------------|-------|--------|-------|----------|-----------|-------------------------|
| a1b2c3d4 | claude-3.5-sonnet | 5 | 1 | $0.12 | 8min | react | refactor auth middleware |
| e5f6g7h8 | gpt-4-turbo | 3 | 0 | $0.08 | 4min | go | add rate limiting |
"""


def put_ledger(repo: Path, content: bytes) -> Path:
    path = repo / ".holdfast" / "ledger.md"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.promise("L3", "L4")
def test_a_ledger_in_the_seeds_form_is_read_and_added_to_without_changing_a_byte(
    holdfast: Holdfast, repo: Path
) -> None:
    path = put_ledger(repo, SEED.encode())
    rows = holdfast("ledger", "--json", check=0).json()
    assert [(row["session"], row["cost_usd"], row["duration_s"]) for row in rows] == [
        ("a1b2c3d4", 0.12, 480),
        ("e5f6g7h8", 0.08, 240),
    ]
    assert rows[0]["goal"] == ["refactor", "auth", "middleware"] and rows[0]["agent"] is None
    holdfast("ledger", "add", "--session", "mine", "--cost", "0.004", "--model", "m|x", check=0)
    assert path.read_bytes().startswith(SEED.encode())
    rows = holdfast("ledger", "--json", check=0).json()
    assert {row["session"] for row in rows} == {"a1b2c3d4", "e5f6g7h8", "mine"}
    mine = next(row for row in rows if row["session"] == "mine")
    assert mine["cost_usd"] == 0.004 and mine["model"] == "m|x"


@pytest.mark.promise("L4")
def test_a_row_with_too_few_cells_is_a_warning_with_its_line_and_is_kept(
    holdfast: Holdfast, repo: Path
) -> None:
    path = put_ledger(repo, (SEED + "| broken | only | three |\n").encode())
    before = path.read_bytes()
    done = holdfast("ledger", "--json", check=0)
    assert len(done.json()) == 2 and "ledger.md:5" in done.stderr
    checked = holdfast("doctor", check=1)
    assert "ledger.md:5" in checked.stdout
    holdfast("ledger", "add", "--session", "later", check=0)
    assert path.read_bytes().startswith(before)
    assert len(holdfast("ledger", "--json", check=0).json()) == 3


@pytest.mark.promise("L4", "F4")
@pytest.mark.parametrize(
    "content",
    [b"\x00\x01\x02" * 100, b"no table here, only prose\n", "| a | b |\n".encode("utf-16")],
    ids=["binary", "prose", "utf-16"],
)
def test_a_ledger_that_is_no_text_or_no_table_is_a_clear_error_and_untouched(
    holdfast: Holdfast, repo: Path, content: bytes
) -> None:
    path = put_ledger(repo, content)
    for arguments in (
        ["ledger"],
        ["ledger", "stats"],
        ["ledger", "add", "--session", "x"],
        ["import", str(DEMO)],
    ):
        done = holdfast(*arguments, check=1)
        assert done.stderr.count("\n") == 1 and "ledger.md" in done.stderr, done.stderr
    assert path.read_bytes() == content
    assert holdfast("doctor").returncode == 1


def test_a_ledger_that_is_a_directory_is_a_clear_error(holdfast: Holdfast, repo: Path) -> None:
    (repo / ".holdfast" / "ledger.md").mkdir(parents=True)
    done = holdfast("ledger", "add", "--session", "x", check=1)
    assert done.stderr.count("\n") == 1 and "directory" in done.stderr


@pytest.mark.promise("G4")
@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "a/b", "..", "-rf", "con", "x" * 300, "a\nb", "$(id)"]
)
def test_a_session_name_that_could_become_a_path_is_refused(
    holdfast: Holdfast, repo: Path, name: str
) -> None:
    done = holdfast("ledger", "add", f"--session={name}", check=1)
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert not (repo / ".holdfast").exists()


@pytest.mark.promise("G4")
def test_a_link_that_came_with_a_clone_is_never_written_through(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "authorized_keys"
    victim.write_text("mine\n")
    (repo / ".holdfast").mkdir()
    (repo / ".holdfast" / "ledger.md").symlink_to(victim)
    (repo / ".holdfast" / "local").symlink_to(tmp_path)
    holdfast("ledger", "add", "--session", "x", check=0)
    assert victim.read_text() == "mine\n"
    assert [row["session"] for row in holdfast("ledger", "--json").json()] == ["x"]
    whole = tmp_path / "whole"
    whole.mkdir()
    (repo / "sub").mkdir()
    other = tmp_path / "plain"
    other.mkdir()
    (other / ".holdfast").symlink_to(whole)
    done = holdfast("ledger", "add", "--session", "y", cwd=other, check=1)
    assert "is a link" in done.stderr and list(whole.iterdir()) == []


@pytest.mark.promise("F1", "L5")
def test_rows_added_by_many_processes_at_once_are_all_there_and_whole(holdfast: Holdfast, repo: Path) -> None:
    def add(number: int) -> int:
        return holdfast(
            "ledger", "add", "--session", f"row-{number}", "--goal", "add a cache", "--tasks", "1"
        ).returncode

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(add, range(24))) == {0}
    rows = holdfast("ledger", "--json", check=0).json()
    assert {row["session"] for row in rows} == {f"row-{number}" for number in range(24)}
    assert (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8").count("| Session |") == 1


@pytest.mark.promise("L5")
def test_a_corrected_session_adds_a_row_and_the_latest_counts(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--session", "s1", "--outcome", "failed", check=0)
    holdfast("ledger", "add", "--session", "s1", "--outcome", "done", check=0)
    (row,) = holdfast("ledger", "--json", check=0).json()
    assert row["outcome"] == "done"
    assert (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8").count("| s1 |") == 2


@pytest.mark.promise("L6", "L14")
def test_only_keywords_of_a_goal_are_kept(holdfast: Holdfast, repo: Path) -> None:
    goal = "Refactor the authentication middleware to use JWT"
    row = holdfast("ledger", "add", "--goal", goal, "--json", check=0).json()
    assert row["goal"] == ["refactor", "authentication", "middleware", "jwt"]
    assert goal not in (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")


@pytest.mark.promise("L1")
def test_sharing_is_one_command_and_can_be_undone(holdfast: Holdfast, repo: Path) -> None:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(repo), *arguments], capture_output=True, text=True, check=True
        ).stdout

    holdfast("import", DEMO, check=0)
    assert git("status", "--porcelain") == ""
    holdfast("ledger", "share", check=0)
    staged = set(git("diff", "--cached", "--name-only").split())
    assert staged == {".holdfast/.gitattributes", ".holdfast/.gitignore", ".holdfast/ledger.md"}
    assert "union" in git("check-attr", "merge", ".holdfast/ledger.md")
    git("commit", "--quiet", "-m", "share")
    assert git("status", "--porcelain") == ""
    holdfast("ledger", "add", "--session", "after", check=0)
    assert git("status", "--porcelain").split() == ["M", ".holdfast/ledger.md"]
    assert len(holdfast("ledger", "--json").json()) == 11
    holdfast("ledger", "share", "--undo", check=0)
    assert len(holdfast("ledger", "--json").json()) == 11
    git("commit", "--quiet", "-m", "take it back")
    assert git("ls-files") == "" and git("status", "--porcelain") == ""


def test_sharing_outside_git_says_what_to_do(holdfast: Holdfast, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    done = holdfast("ledger", "share", cwd=plain, check=2)
    assert "git init" in done.stderr


def test_one_session_is_shown_with_its_tasks_and_the_evidence(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    rows = holdfast("ledger", "--json").json()
    unfinished = next(row for row in rows if row["outcome"] == "failed")
    shown = holdfast("ledger", "show", unfinished["session"][:8], check=0).stdout
    assert "test_failure" in shown and "tests/test_auth.py::test_logout" in shown
    record = holdfast("ledger", "show", unfinished["session"], "--json", check=0).json()["record"]
    assert record["cwd"] == "/home/dev/tidepool" and record["tasks"]
    missing = holdfast("ledger", "show", "nothing", check=1)
    assert "no session 'nothing'" in missing.stderr


@pytest.mark.promise("L2")
def test_stats_give_totals_models_frameworks_and_averages(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    assert stats["total_sessions"] == 10 and stats["total_failed_tasks"] == 1
    assert stats["model_performance"]["gpt-5.5"]["sessions"] == 3
    assert stats["avg_cost"] > 0 and stats["known_costs"] == 10
    text = holdfast("ledger", "stats", check=0).stdout
    assert (
        "Ledger Statistics (10 sessions)" in text
        and "Top Frameworks" in text
        and "Failed Tasks: 0.1 (7.1% failure rate: 1 of 14 tasks" in text
    )
    only = holdfast("ledger", "stats", "--agent", "codex", "--json", check=0).json()
    assert only["total_sessions"] == 3


@pytest.mark.promise("L17")
def test_unknown_cost_is_shown_as_unknown_and_never_as_nothing(holdfast: Holdfast) -> None:
    holdfast("ledger", "add", "--session", "u", "--model", "mystery", check=0)
    (row,) = holdfast("ledger", "--json").json()
    assert row["cost_usd"] is None
    assert "$0.00" not in holdfast("ledger").stdout
    assert holdfast("ledger", "stats", "--json").json()["avg_cost"] is None
    assert "?" in holdfast("ledger", "stats").stdout


def test_filters_narrow_the_list(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    assert len(holdfast("ledger", "--agent", "codex", "--json").json()) == 3
    assert len(holdfast("ledger", "--since", "2026-11-06", "--json").json()) == 5
    assert len(holdfast("ledger", "-n", "1", "--json").json()) == 1
    assert len(holdfast("ledger", "list", "--model", "opus", "--json").json()) == 6
    assert (
        holdfast("ledger", "--last", "1", "--json").json()
        == holdfast("ledger", "--limit", "1", "--json").json()
    )
    assert "YYYY-MM-DD" in holdfast("ledger", "--since", "soon", check=2).stderr


@pytest.mark.parametrize(
    "arguments",
    [["ledger", "add", "--cost", "lots"], ["ledger", "add", "--duration", "soon"], ["ledger", "add", "--tasks", "-1"],
     ["ledger", "add", "--tasks", "1", "--failed", "2"], ["ledger", "nonsense"], ["nonsense"],
     ["import", "--agent", "hal", "."], ["import", "--all", "x"]],
)  # fmt: skip
def test_a_wrong_call_exits_2_and_changes_nothing(
    holdfast: Holdfast, repo: Path, arguments: list[str]
) -> None:
    done = holdfast(*arguments, check=2)
    assert done.stderr and "Traceback" not in done.stderr
    assert not (repo / ".holdfast").exists()


@pytest.mark.promise("F3")
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_memory_that_cannot_be_written_is_one_clear_line(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    done = holdfast("import", DEMO, env={"HOLDFAST_HOME": str(blocked)}, check=1)
    assert done.stderr.count("\n") == 1 and str(blocked) in done.stderr


def test_output_into_a_closed_pipe_is_no_error(holdfast: Holdfast, repo: Path) -> None:
    for number in range(40):
        put_ledger(
            repo, (SEED + "".join(f"| s{n} | m | 1 | 0 | $1 | 1s | go | x |\n" for n in range(4000))).encode()
        )
        if number == 0:
            break
    command = f"{sys.executable} -m holdfast ledger | head -2"
    done = subprocess.run(command, shell=True, cwd=repo, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
