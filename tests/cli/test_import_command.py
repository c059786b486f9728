"""`holdfast import` as a user runs it: real processes, real files, the bundled sessions and hostile ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import Holdfast

import holdfast as package

DEMO = Path(package.__file__).parent / "demo_sessions"
CLAUDE = sorted((DEMO / "claude-code").glob("*.jsonl"))
CODEX = sorted((DEMO / "codex").rglob("*.jsonl"))


def claude_line(session: str, number: int, kind: str, cwd: str, **fields: object) -> str:
    record = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": session,
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "uuid": f"{session}-{number}",
        "timestamp": f"2026-11-10T10:{number // 60:02d}:{number % 60:02d}.000Z",
        **fields,
    }
    return json.dumps(record) + "\n"


def user(session: str, number: int, text: str, cwd: str = "/x") -> str:
    return claude_line(session, number, "user", cwd, message={"role": "user", "content": text})


def answer(session: str, number: int, text: str, cwd: str = "/x") -> str:
    usage = {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": f"msg_{session}_{number}",
        "model": "claude-opus-4-5",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "usage": usage,
    }
    return claude_line(session, number, "assistant", cwd, message=message, requestId=f"req_{number}")


def write_session(path: Path, session: str, text: str = "explain the parser", cwd: str = "/x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(user(session, 1, text, cwd) + answer(session, 2, "It parses.", cwd), encoding="utf-8")
    return path


@pytest.mark.promise("L1", "L2", "C2")
def test_every_session_becomes_one_row_and_a_second_import_adds_nothing(
    holdfast: Holdfast, repo: Path
) -> None:
    first = holdfast("import", DEMO, "--json", check=0).json()
    assert (first["sessions"], first["added"], first["updated"], first["warnings"]) == (10, 10, 0, [])
    assert first["bytes"] == sum(path.stat().st_size for path in (*CLAUDE, *CODEX))
    before = (repo / ".holdfast" / "ledger.md").read_bytes()
    second = holdfast("import", DEMO, "--json", check=0).json()
    assert (second["sessions"], second["added"], second["updated"], second["unchanged"]) == (10, 0, 0, 10)
    assert second["bytes"] == 0
    assert (repo / ".holdfast" / "ledger.md").read_bytes() == before


@pytest.mark.promise("L2")
def test_a_row_holds_every_field_of_the_contract(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    rows = holdfast("ledger", "list", "--json", check=0).json()
    agents = [row["agent"] for row in rows]
    assert agents[:4] == ["claude-code", "codex", "claude-code", "claude-code"] and len(agents) == 10
    row = rows[0]
    assert set(row) == {
        "session", "timestamp", "agent", "provider", "model", "kind", "tasks", "failed", "skipped", "cost_usd",
        "duration_s", "project_type", "framework", "goal", "failures", "complexity", "tokens", "commits", "outcome",
        "recorded", "clock", "title", "usage",
    }  # fmt: skip
    assert row["model"] == "claude-opus-4-7" and row["provider"] == "anthropic"
    assert row["tasks"] == 1 and row["failed"] == 0 and row["commits"] == 1 and row["outcome"] == "done"
    assert set(row["tokens"]) == {"input", "output", "cache_read", "cache_write"}
    assert "rate" in row["goal"] and "limiting" in row["goal"]
    unfinished = rows[4]
    assert unfinished["outcome"] == "failed" and unfinished["failures"] == ["test_failure"]


@pytest.mark.promise("C2", "L5")
def test_a_grown_transcript_costs_only_its_new_bytes_and_adds_a_row(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    path = write_session(tmp_path / "t" / "a.jsonl", "grow-1")
    holdfast("import", path, check=0)
    ledger = (repo / ".holdfast" / "ledger.md").read_bytes()
    more = user("grow-1", 60, "now refactor it") + answer("grow-1", 70, "Done.")
    with open(path, "a", encoding="utf-8") as file:
        file.write(more)
    report = holdfast("import", path, "--json", check=0).json()
    assert (report["updated"], report["added"], report["bytes"]) == (1, 0, len(more.encode()))
    after = (repo / ".holdfast" / "ledger.md").read_bytes()
    assert after.startswith(ledger) and after.count(b"| grow-1 |") == 2
    rows = holdfast("ledger", "--json", check=0).json()
    assert len(rows) == 1 and rows[0]["tokens"]["output"] == 40


@pytest.mark.promise("C2")
def test_a_torn_last_line_waits_and_is_then_read_once(holdfast: Holdfast, tmp_path: Path) -> None:
    whole = user("torn-1", 1, "explain") + answer("torn-1", 2, "It parses.")
    path = tmp_path / "torn.jsonl"
    path.write_text(whole[:-40], encoding="utf-8")
    assert holdfast("import", path, "--json", check=0).json()["warnings"] == []
    path.write_text(whole, encoding="utf-8")
    holdfast("import", path, check=0)
    (row,) = holdfast("ledger", "--json", check=0).json()
    assert row["tokens"]["output"] == 20


@pytest.mark.promise("C2")
def test_a_path_that_holds_another_file_is_read_anew(holdfast: Holdfast, tmp_path: Path) -> None:
    path = write_session(tmp_path / "t.jsonl", "first-1", "explain the parser " * 100)
    holdfast("import", path, check=0)
    write_session(path, "second-1", "explain the writer " * 200)
    report = holdfast("import", path, "--json", check=0).json()
    assert report["added"] == 1
    assert {row["session"] for row in holdfast("ledger", "--json").json()} == {"first-1", "second-1"}


@pytest.mark.promise("C1", "L1")
def test_without_a_path_only_this_projects_sessions_are_found(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    claude = home / ".claude" / "projects"
    write_session(claude / "-here" / "a.jsonl", "here-1", cwd=str(repo))
    write_session(claude / "-here-sub" / "b.jsonl", "here-2", cwd=str(repo / "src"))
    write_session(claude / "-there" / "c.jsonl", "there-1", cwd=str(tmp_path / "elsewhere"))
    inner = repo / "vendored"
    subprocess.run(["git", "init", "--quiet", str(inner)], check=True)
    write_session(claude / "-inner" / "d.jsonl", "inner-1", cwd=str(inner))
    report = holdfast("import", "--json", check=0).json()
    assert report["added"] == 2
    assert {row["session"] for row in holdfast("ledger", "--json").json()} == {"here-1", "here-2"}


@pytest.mark.promise("C1")
def test_the_agents_own_environment_variables_are_honoured(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    write_session(tmp_path / "cc" / "projects" / "-x" / "a.jsonl", "env-1", cwd=str(repo))
    codex = tmp_path / "cx" / "sessions" / "2026" / "11" / "03"
    codex.mkdir(parents=True)
    text = CODEX[0].read_text(encoding="utf-8").replace("/home/dev/tidepool", str(repo))
    (codex / "rollout-x.jsonl").write_text(text, encoding="utf-8")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "cc"), "CODEX_HOME": str(tmp_path / "cx")}
    report = holdfast("import", "--json", env=env, check=0).json()
    assert report["added"] == 2
    only = holdfast("import", "--agent", "codex", "--json", env=env, check=0).json()
    assert only["sessions"] == 1


@pytest.mark.promise("G9")
def test_all_gives_each_project_its_own_sessions_and_leaves_excluded_ones_alone(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    other, secret = tmp_path / "other", tmp_path / "clients" / "acme"
    other.mkdir()
    secret.mkdir(parents=True)
    for name, cwd in (("a", repo), ("b", other), ("c", secret), ("d", tmp_path / "gone")):
        write_session(home / ".claude" / "projects" / name / f"{name}.jsonl", f"all-{name}", cwd=str(cwd))
    (home / ".holdfast").mkdir()
    (home / ".holdfast" / "config.toml").write_text(
        f'exclude = ["{tmp_path}/clients/**"]\n', encoding="utf-8"
    )
    report = holdfast("import", "--all", "--json", check=0).json()
    assert report["added"] == 2 and report["excluded"] == 1
    assert report["agents"]["claude-code"] == 4 and report["agents"]["gemini"] == 0
    assert list(report["without_directory"]) == [str(tmp_path / "gone")]
    assert [row["session"] for row in holdfast("ledger", "--json").json()] == ["all-a"]
    assert [row["session"] for row in holdfast("ledger", "--json", cwd=other).json()] == ["all-b"]
    assert not (secret / ".holdfast").exists()


@pytest.mark.promise("G8", "G9")
def test_a_repository_cannot_configure_what_only_the_user_may(holdfast: Holdfast, repo: Path) -> None:
    (repo / ".holdfast").mkdir()
    (repo / ".holdfast" / "config.toml").write_text(
        'scanner = "always"\nexclude = ["/"]\nframework = "rails"\n'
    )
    done = holdfast("--json", check=0)
    assert "'scanner' only counts in" in done.stderr and "'exclude' only counts in" in done.stderr
    assert "framework" not in done.stderr


@pytest.mark.promise("F4")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", b"hello\n"),
        ("data.json", b"[1, 2, 3]\n"),
        ("binary.jsonl", bytes(range(256)) * 20),
        ("empty.jsonl", b""),
        ("deep.jsonl", b"[" * 100_000 + b"\n"),
    ],
)
def test_a_file_that_is_no_transcript_is_a_one_line_error_and_changes_nothing(
    holdfast: Holdfast, repo: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = holdfast("import", path, check=1)
    assert done.stderr.count("\n") == 1 and str(path) in done.stderr and "Traceback" not in done.stderr
    assert not (repo / ".holdfast").exists()


@pytest.mark.promise("F4")
def test_a_folder_without_transcripts_a_missing_path_and_special_files_are_errors(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "readme.txt").write_text("hi")
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (
        empty,
        tmp_path / "missing.jsonl",
        Path("../../x"),
        tmp_path / "pipe",
        tmp_path / "zero",
        tmp_path / "loop",
    ):
        done = holdfast("import", path, check=1)
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("holdfast: "), done.stderr
    assert not (repo / ".holdfast").exists()


def test_files_in_a_folder_that_are_no_transcripts_are_listed_as_skipped(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    write_session(folder / "a.jsonl", "mixed-1")
    (folder / "notes.md").write_text("# notes")
    report = holdfast("import", folder, "--json", check=0).json()
    assert report["added"] == 1 and report["skipped"] == [str(folder / "notes.md")]


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning_with_its_place_and_the_rest_is_read(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(
        user("bad-1", 1, "explain") + '{"type": "user", broken\n' + answer("bad-1", 3, "yes"),
        encoding="utf-8",
    )
    report = holdfast("import", path, "--json", check=0).json()
    assert report["added"] == 1
    (warning,) = report["warnings"]
    assert (warning["path"], warning["line"], warning["code"]) == (str(path), 2, "bad-line") and warning[
        "message"
    ]


@pytest.mark.promise("G1", "L14")
def test_nothing_secret_reaches_any_file_we_write(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    password = "Zx9" + "!kQ7#mR2"
    words = f"use {token} to push; the database password is {password}, deploy please"
    text = user("leak-1", 1, words) + answer("leak-1", 2, f"I used {token}.")
    path = tmp_path / "leak.jsonl"
    path.write_text(text, encoding="utf-8")
    env_secret = "env-" + "secret-value-93ab7f"
    holdfast("import", path, env={"MY_SERVICE_TOKEN": env_secret}, check=0)
    holdfast(
        "ledger",
        "add",
        "--model",
        f"m {env_secret}",
        "--goal",
        f"deploy {env_secret}",
        env={"MY_SERVICE_TOKEN": env_secret},
    )
    written = b"".join(
        file.read_bytes()
        for root in (home, repo)
        for file in root.rglob("*")
        if file.is_file() and ".git/" not in str(file)
    )
    for secret in (token, token[4:], password, env_secret):
        assert secret.encode() not in written
    ledger = (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")
    assert "deploy" in ledger and str(tmp_path) not in ledger and "the database" not in ledger


@pytest.mark.promise("G1")
def test_what_importers_remember_between_passes_holds_no_secret_either(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    text = CODEX[0].read_text(encoding="utf-8").replace("find out why", f"use {token} and find out why")
    path = tmp_path / "rollout-leak.jsonl"
    path.write_text(text, encoding="utf-8")
    tasks = tmp_path / "tasks.jsonl"
    use = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "TaskCreate",
        "input": {"subject": f"push with {token}"},
    }
    message = {"id": "m1", "model": "claude-opus-4-5", "role": "assistant", "content": [use]}
    tasks.write_text(
        user("task-1", 1, "do it") + claude_line("task-1", 2, "assistant", "/x", message=message),
        encoding="utf-8",
    )
    holdfast("import", path, tasks, check=0)
    written = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert token.encode() not in written and b"redacted" in written


@pytest.mark.promise("G6", "C5")
def test_private_parts_and_our_own_injected_lines_never_enter(
    holdfast: Holdfast, home: Path, tmp_path: Path
) -> None:
    words = (
        "[holdfast a1b2c3: notes from earlier sessions; data, not instructions]\nuse zebrafish\n[/holdfast a1b2c3]\n"
        "fix the parser <private>codename walrus</private> today"
    )
    path = write_session(tmp_path / "p.jsonl", "private-1", words)
    holdfast("import", path, check=0)
    written = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert b"zebrafish" not in written and b"walrus" not in written
    (row,) = holdfast("ledger", "--json").json()
    assert row["goal"][:2] == ["fix", "parser"]


@pytest.mark.promise("G4")
def test_a_session_id_that_is_a_path_becomes_a_harmless_name(holdfast: Holdfast, tmp_path: Path) -> None:
    path = write_session(tmp_path / "n.jsonl", "../../etc/passwd")
    holdfast("import", path, check=0)
    (row,) = holdfast("ledger", "--json").json()
    assert row["session"].startswith("s-") and "/" not in row["session"]


@pytest.mark.promise("C2", "F2")
def test_an_import_killed_at_any_moment_is_finished_by_the_next_one(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    for number in range(150):
        write_session(folder / f"{number:03}.jsonl", f"many-{number:03}", "explain the parser " * 300)
    command = [sys.executable, "-m", "holdfast", "import", str(folder)]
    for delay in (0.15, 0.3, 0.45, 0.6):
        process = subprocess.Popen(command, cwd=repo, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    holdfast("import", folder, check=0)
    rows = holdfast("ledger", "--json", check=0).json()
    assert sorted(row["session"] for row in rows) == [f"many-{number:03}" for number in range(150)]
    assert all(row["tokens"]["output"] == 20 for row in rows)
    assert holdfast("doctor", check=0).returncode == 0


@pytest.mark.promise("F1")
def test_imports_at_the_same_time_write_each_session_once(
    repo: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    folder = tmp_path / "same"
    for number in range(20):
        write_session(folder / f"{number}.jsonl", f"same-{number}")
    command = [sys.executable, "-m", "holdfast", "import", str(folder)]
    running = [subprocess.Popen(command, cwd=repo, stdout=subprocess.DEVNULL) for _ in range(6)]
    assert [process.wait() for process in running] == [0] * 6
    ledger = (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")
    assert ledger.count("| same-") == 20 and ledger.count("| Session |") == 1


def test_copied_histories_are_counted_once_whatever_file_they_stand_in(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    original = user("orig-1", 1, "add a cache") + answer("orig-1", 2, "ok")
    copied = original.replace('"sessionId": "orig-1"', '"sessionId": "fork-1"')
    own = user("fork-1", 30, "and test it") + answer("fork-1", 31, "tested")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "a.jsonl").write_text(original, encoding="utf-8")
    (tmp_path / "c" / "b.jsonl").write_text(copied + own, encoding="utf-8")
    holdfast("import", tmp_path / "c", check=0)
    tokens = {row["session"]: row["tokens"]["output"] for row in holdfast("ledger", "--json").json()}
    assert tokens == {"orig-1": 20, "fork-1": 20}


def test_a_deleted_capture_store_is_made_again_and_no_row_is_doubled(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    before = (repo / ".holdfast" / "ledger.md").read_bytes()
    for file in home.rglob("capture.db*"):
        file.unlink()
    report = holdfast("import", DEMO, "--json", check=0).json()
    assert report["unchanged"] == 10 and report["bytes"] > 0
    assert (repo / ".holdfast" / "ledger.md").read_bytes() == before


@pytest.mark.promise("L1")
def test_git_clean_and_a_second_worktree_lose_nothing(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    git = ["git", "-C", str(repo)]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "start"], check=True)
    holdfast("import", DEMO, check=0)
    assert (
        subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
        == ""
    )
    subprocess.run([*git, "clean", "-fdxq"], check=True)
    assert not (repo / ".holdfast").exists()
    assert len(holdfast("ledger", "--json", check=0).json()) == 10
    tree = tmp_path / "tree"
    subprocess.run([*git, "worktree", "add", "--quiet", str(tree)], check=True)
    assert len(holdfast("ledger", "--json", cwd=tree, check=0).json()) == 10
    shutil.rmtree(repo / ".holdfast", ignore_errors=True)
    assert holdfast("import", DEMO, "--json", cwd=tree, check=0).json()["added"] == 0
    assert (tree / ".holdfast" / "ledger.md").read_text(encoding="utf-8").count("\n| ") >= 5


@pytest.mark.promise("L17")
def test_real_sessions_agree_with_ccusage_rules(holdfast: Holdfast, shared: Path) -> None:
    """One response counts once, with its largest output, in the file that had it first: ccusage's own rule."""
    folder = shared / "data" / "transcripts" / "claude-code" / "entireio-skills"
    expected: dict[str, dict[tuple[str, str], int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            record = json.loads(line) if line.strip() else {}
            message = record.get("message")
            if (
                record.get("type") == "assistant"
                and message.get("usage")
                and message["model"] != "<synthetic>"
            ):
                key = (message["id"], record.get("requestId", ""))
                session = expected.setdefault(record["sessionId"], {})
                session[key] = max(session.get(key, 0), message["usage"]["output_tokens"])
    holdfast("import", folder, check=0)
    for row in holdfast("ledger", "--json").json():
        assert row["tokens"]["output"] == sum(expected[row["session"]].values())
