"""Faults that a hostile review found, each as the user met it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_import_command import answer, claude_line, user, write_session
from tests.command import Holdfast

import holdfast as package

DEMO = Path(package.__file__).parent / "demo_sessions"


def git(repo: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repo), *arguments], capture_output=True, text=True, check=True
    ).stdout


def sessions(holdfast: Holdfast, cwd: Path | None = None) -> set[str]:
    return {row["session"] for row in holdfast("ledger", "--json", cwd=cwd, check=0).json()}


@pytest.mark.promise("L5")
def test_private_rows_stay_when_a_shared_ledger_arrives_and_when_sharing_ends(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    mate = tmp_path / "mate"
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "start")
    subprocess.run(["git", "clone", "--quiet", str(repo), str(mate)], check=True)
    holdfast("import", write_session(tmp_path / "mine.jsonl", "mine-1"), check=0)
    holdfast("import", write_session(tmp_path / "hers.jsonl", "hers-1"), cwd=mate, check=0)
    holdfast("ledger", "share", cwd=mate, check=0)
    git(mate, "commit", "--quiet", "-m", "share")
    git(repo, "pull", "--quiet", str(mate), "HEAD")
    assert sessions(holdfast) == {"mine-1", "hers-1"}
    assert "mine-1" not in (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")
    holdfast("ledger", "share", check=0)
    assert "mine-1" in (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")
    holdfast("ledger", "share", "--undo", check=0)
    assert sessions(holdfast) == {"mine-1", "hers-1"}


@pytest.mark.promise("L5", "L1")
def test_rows_do_not_depend_on_the_branch_that_is_checked_out(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "start")
    holdfast("import", write_session(tmp_path / "a.jsonl", "one-1"), check=0)
    git(repo, "checkout", "--quiet", "-b", "feat")
    holdfast("ledger", "share", check=0)
    git(repo, "commit", "--quiet", "-m", "share")
    holdfast("ledger", "add", "--session", "on-feat", check=0)
    git(repo, "stash", "--quiet")
    git(repo, "checkout", "--quiet", "main")
    assert sessions(holdfast) == {"one-1", "on-feat"}
    holdfast("ledger", "add", "--session", "on-main", check=0)
    git(repo, "checkout", "--quiet", "--force", "feat")
    assert sessions(holdfast) == {"one-1", "on-feat", "on-main"}


@pytest.mark.promise("C2")
def test_a_file_named_twice_is_one_session(holdfast: Holdfast, tmp_path: Path) -> None:
    path = write_session(tmp_path / "d" / "a.jsonl", "twice-1")
    report = holdfast(
        "import", path, path, tmp_path / "d", tmp_path / "d" / ".." / "d" / "a.jsonl", "--json", check=0
    ).json()
    assert (report["sessions"], report["added"]) == (1, 1)
    assert sessions(holdfast) == {"twice-1"}


@pytest.mark.promise("L1")
def test_a_deleted_ledger_is_written_again_by_the_next_import(
    holdfast: Holdfast, home: Path, tmp_path: Path
) -> None:
    path = write_session(tmp_path / "a.jsonl", "gone-1")
    holdfast("import", path, check=0)
    (ledger,) = home.glob(".holdfast/projects/*/ledger.md")
    ledger.unlink()
    assert holdfast("import", path, "--json", check=0).json()["added"] == 1
    assert sessions(holdfast) == {"gone-1"}


def test_the_demo_touches_nothing_wherever_it_runs(holdfast: Holdfast, repo: Path, home: Path) -> None:
    holdfast("ledger", "add", "--session", "real", check=0)
    holdfast("demo", "--keep", repo / "demo", check=0)
    (repo / "tmp").mkdir()
    holdfast("demo", env={"TMPDIR": str(repo / "tmp")}, check=0)
    assert sessions(holdfast) == {"real"}


@pytest.mark.promise("G1")
def test_secrets_in_names_and_across_cuts_are_not_stored(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    todo = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": [
        {"content": "x" * 20 + " word" * 24 + f" use {token} now", "status": "pending", "activeForm": "x"}]}}  # fmt: skip
    shell = {
        "type": "tool_use",
        "id": "t2",
        "name": "Bash",
        "input": {"command": "echo " + "a " * 1985 + f"{token} done"},
    }
    message = {"id": f"m-{token}", "model": f"model-{token}", "role": "assistant", "content": [todo, shell],
               "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    lines = user(token, 1, "a " * 1490 + f" {token} fix it")
    lines += user(token, 2, f"<private>{'p' * 2920}</private> then use the key {token} please")
    command = f"<command-name>/do-{token}</command-name><command-args>x</command-args>"
    lines += user(token, 3, command) + claude_line(
        token, 4, "assistant", "/x", message=message, gitBranch=f"fix/{token}"
    )
    path = tmp_path / "s.jsonl"
    path.write_text(lines, encoding="utf-8")
    holdfast("import", path, check=0)
    written = b"".join(
        file.read_bytes() for root in (home, repo) for file in root.rglob("*") if file.is_file()
    )
    for length in (36, 24, 16, 10):
        assert token[4 : 4 + length].encode() not in written, f"{length} characters of a secret"
    assert holdfast("ledger", "add", "--session", token, check=1).stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_memory_is_nobody_elses_to_read(holdfast: Holdfast, home: Path) -> None:
    holdfast("import", DEMO, check=0)
    for folder in (home / ".holdfast", *home.glob(".holdfast/projects/*")):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


@pytest.mark.promise("G9")
def test_a_folder_cannot_claim_another_projects_memory(
    holdfast: Holdfast, home: Path, tmp_path: Path
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "unpacked"
    mine.mkdir()
    holdfast("ledger", "add", "--session", "private", cwd=mine, check=0)
    identity = (mine / ".holdfast" / "id").read_text(encoding="utf-8")
    (other / ".holdfast").mkdir(parents=True)
    (other / ".holdfast" / "id").write_text(identity, encoding="utf-8")
    refused = holdfast("ledger", "--json", cwd=other, check=1)
    assert "private" not in refused.stdout and "this is a copy" in refused.stderr


def test_another_repository_at_the_same_place_does_not_inherit(
    holdfast: Holdfast, make_repo: object, tmp_path: Path
) -> None:
    app = tmp_path / "app"
    for _ in range(2):
        subprocess.run(["git", "init", "--quiet", str(app)], check=True)
        assert sessions(holdfast, app) == set()
        holdfast("ledger", "add", "--session", "old", cwd=app, check=0)
        subprocess.run(["rm", "-rf", str(app)], check=True)


@pytest.mark.promise("F4")
def test_special_files_that_came_with_a_clone_hang_and_exhaust_nothing(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    place = tmp_path / "clone"
    (place / ".holdfast").mkdir(parents=True)
    (place / ".holdfast" / "id").symlink_to("/dev/zero")
    (place / ".holdfast" / ".gitignore").symlink_to("/dev/zero")
    os.mkfifo(place / ".holdfast" / "config.toml")
    assert holdfast(cwd=place, check=0).returncode == 0
    assert holdfast("ledger", "add", "--session", "x", cwd=place).returncode in (0, 1)


@pytest.mark.promise("F4")
def test_one_unreadable_file_does_not_keep_the_others_out(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    folder = home / ".claude" / "projects" / "-x"
    write_session(folder / "good.jsonl", "good-1", cwd=str(repo))
    (folder / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    report = holdfast("import", "--json", check=0).json()
    assert report["added"] == 1 and [w["code"] for w in report["warnings"]] == ["unreadable"]
    assert holdfast(check=0).returncode == 0 and holdfast("agents", check=0).returncode == 0
    named = holdfast("import", folder, "--json", check=0).json()
    assert named["sessions"] == 1


@pytest.mark.promise("F4")
@pytest.mark.parametrize("count", [2**70, -5])
def test_impossible_counts_are_bounded_and_stop_nothing(
    holdfast: Holdfast, tmp_path: Path, count: int
) -> None:
    message = {"id": "m", "model": "claude-opus-4-5", "role": "assistant", "content": [],
               "usage": {"input_tokens": count, "output_tokens": 5}}  # fmt: skip
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.jsonl").write_text(
        user("big-1", 1, "x") + claude_line("big-1", 2, "assistant", "/x", message=message), encoding="utf-8"
    )
    write_session(tmp_path / "f" / "b.jsonl", "other-1")
    holdfast("import", tmp_path / "f", check=0)
    rows = {row["session"]: row for row in holdfast("ledger", "--json", check=0).json()}
    assert set(rows) == {"big-1", "other-1"} and rows["big-1"]["tokens"]["input"] >= 0
    assert holdfast("ledger", "stats", check=0).returncode == 0


@pytest.mark.promise("F4")
@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes here")
def test_a_file_name_that_is_no_text_is_read_like_any_other(holdfast: Holdfast, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.jsonl"))
    write_session(path, "bytes-1")
    assert holdfast("import", tmp_path, "--json", check=0).json()["added"] == 1
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/dir\xfe"))
    place.mkdir()
    assert holdfast("--json", cwd=place).returncode == 0


@pytest.mark.promise("L4", "F4")
def test_hostile_cells_are_shown_or_reported_and_never_crash(holdfast: Holdfast, repo: Path) -> None:
    head = "| Session | Model | Tasks | Failed | Cost | Time |\n|---|---|---|---|---|---|\n"
    rows = "".join(
        f"| {name} | m | {tasks} | 0 | {cost} | {time} |\n"
        for name, tasks, cost, time in (
            ("first", "1", "$1", "0001-01-01T00:00:00Z"),
            ("last", "1", "$1", "9999-12-31T23:59:59Z"),
            ("digits", "9" * 4000, "$1", "2026-01-01T00:00:00Z"),
            ("rich", "1", "$" + "9" * 4000, "2026-01-01T00:00:00Z"),
        )
    )
    (repo / ".holdfast").mkdir()
    (repo / ".holdfast" / "ledger.md").write_text(head + rows, encoding="utf-8")
    for zone in ("UTC", "Asia/Tokyo", "America/Lima"):
        assert holdfast("ledger", env={"TZ": zone}, check=0).stdout.count("\n") == 3
    assert holdfast("ledger", "stats", check=0).returncode == 0
    assert holdfast("doctor", check=1).stdout.count("ledger.md:") >= 2
    assert holdfast("ledger", "add", "--cost", "1e99999999", check=2).returncode == 2


@pytest.mark.promise("G8")
@pytest.mark.parametrize("text", ["framework = 5\n", "[" * 100_000, "x = " + "[" * 5000])
def test_a_clones_broken_configuration_stops_nobody(holdfast: Holdfast, repo: Path, text: str) -> None:
    (repo / ".holdfast").mkdir()
    (repo / ".holdfast" / "config.toml").write_text(text, encoding="utf-8")
    for arguments in ([], ["import", str(DEMO)], ["doctor"]):
        assert holdfast(*arguments, check=0).returncode == 0


def test_a_first_prompt_with_a_picture_is_found_all_the_same(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    record = json.loads(user("image-1", 1, "x", str(repo)))
    message = {
        "role": "user",
        "content": [{"type": "image", "source": {"data": "A" * 300_000}}, {"type": "text", "text": "see"}],
    }
    first = {
        "parentUuid": None,
        "type": "user",
        "message": message,
        **{k: v for k, v in record.items() if k not in ("message", "type", "parentUuid")},
    }
    path = home / ".claude" / "projects" / "-x" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(first) + "\n" + answer("image-1", 2, "ok", str(repo)), encoding="utf-8")
    assert holdfast("import", "--json", check=0).json()["added"] == 1


@pytest.mark.promise("U9")
def test_reading_needs_no_right_to_write(holdfast: Holdfast, home: Path) -> None:
    holdfast("import", DEMO, check=0)
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    import sqlite3

    with sqlite3.connect(memory / "capture.db") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    assert holdfast(check=0).returncode == 0
    session = holdfast("ledger", "--json", check=0).json()[0]["session"]
    assert holdfast("ledger", "show", session, check=0).returncode == 0
    assert "newer holdfast" in holdfast("import", DEMO, check=1).stderr


def test_errors_show_what_a_terminal_would_obey(holdfast: Holdfast) -> None:
    done = holdfast("ledger", "show", "\x1b[31mred\nnext", check=1)
    assert "\x1b" not in done.stderr and done.stderr.count("\n") == 1


def test_what_stands_before_the_verb_counts_too(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    assert len(holdfast("ledger", "--agent", "codex", "--json", "list", check=0).json()) == 3
    assert holdfast("ledger", "--json", "stats", check=0).json()["total_sessions"] == 10
    assert holdfast("ledger", "-n", "-1", check=2).returncode == 2


def test_rates_have_one_base_and_reasons_belong_to_failures(holdfast: Holdfast) -> None:
    holdfast("ledger", "add", "--session", "a", "--tasks", "2", "--failed", "1", "--model", "m", check=0)
    holdfast("ledger", "add", "--session", "b", "--failed", "3", "--model", "m", check=0)
    stats = holdfast("ledger", "stats", "--json", check=0).json()["model_performance"]["m"]
    assert (stats["failed_tasks"], stats["tasks"], stats["failure_rate"]) == (1, 2, 0.5)
    assert holdfast("ledger", "add", "--failed", "0", "--failure", "timeout", check=2).returncode == 2


def test_sharing_says_so_when_git_refuses_and_takes_back_only_its_own(holdfast: Holdfast, repo: Path) -> None:
    holdfast("import", DEMO, check=0)
    (repo / ".git" / "index.lock").touch()
    assert "git add failed" in holdfast("ledger", "share", check=1).stderr
    (repo / ".git" / "index.lock").unlink()
    (repo / ".holdfast" / "config.toml").write_text('framework = "rails"\n', encoding="utf-8")
    git(repo, "add", "--force", ".holdfast/config.toml")
    holdfast("ledger", "share", check=0)
    holdfast("ledger", "share", "--undo", check=0)
    assert git(repo, "ls-files").split() == [".holdfast/config.toml"]


def test_the_home_directory_is_no_project(holdfast: Holdfast, home: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(home)], check=True)
    done = holdfast("ledger", "add", "--session", "x", cwd=home, check=1)
    assert "own folder" in done.stderr


@pytest.mark.promise("C2")
def test_a_file_rewritten_with_the_same_size_and_beginning_is_read_anew(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    beginning = user("same-1", 1, "explain the parser " * 100)
    path.write_text(beginning + answer("same-1", 2, "aaaa"), encoding="utf-8")
    holdfast("import", path, check=0)
    path.write_text(
        beginning + answer("same-1", 2, "aaaa").replace('"output_tokens": 20', '"output_tokens": 70'),
        encoding="utf-8",
    )
    os.utime(path, ns=(1, 1))
    holdfast("import", path, check=0)
    (row,) = holdfast("ledger", "--json", check=0).json()
    assert row["tokens"]["output"] == 70


def test_a_gone_directory_and_a_full_device_are_one_line(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    holdfast("import", DEMO, check=0)
    script = (
        f"mkdir {tmp_path}/x && cd {tmp_path}/x && rmdir {tmp_path}/x && {sys.executable} -m holdfast ledger"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "directory is gone" in done.stderr and "Traceback" not in done.stderr
    full = f"{sys.executable} -m holdfast ledger > /dev/full"
    done = subprocess.run(["bash", "-c", full], cwd=repo, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert holdfast("demo", env=env, check=0).returncode == 0


def test_inside_the_memory_it_is_still_the_same_project(holdfast: Holdfast, repo: Path) -> None:
    holdfast("handoff", "Sign the links", check=0)
    memory = (repo / ".holdfast" / "local").resolve()
    assert "Sign the links" in holdfast("resume", cwd=memory, check=0).stdout
    holdfast("todo", "add", "Rotate the key", cwd=memory, check=0)
    assert "Rotate the key" in holdfast("todo", check=0).stdout
    assert not (memory / ".holdfast").exists()
