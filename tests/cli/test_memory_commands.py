"""Facts, decisions, questions and to-dos from the command line: kept once, never without evidence, never lost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.memory.memory_values import LOOK_ALIKES
from tests.patience import PATIENCE_S, wait_until

import holdfast as package
from holdfast.cli.main import main
from holdfast.flows.notes import LONGEST
from holdfast.store.machine import Machine
from holdfast.terminal import output

DEMO = Path(package.__file__).parent / "demo_sessions"
PORT = "The API listens on port 8080"
OTHER_PORT = "The API listens on port 9090"
TOKEN = "ghp_" + "a1B2c3D4" * 4 + "e5F6"


def memory(repo: Path) -> Path:
    return (repo / ".holdfast" / "local").resolve()


def reference(repo: Path) -> Path:
    return memory(repo) / "projects" / "shop" / "reference.md"


def add_fact(holdfast: Holdfast, text: str, *more: str, evidence: str = "seen") -> dict[str, Any]:
    found: dict[str, Any] = holdfast(
        "fact", "add", text, "--evidence", evidence, *more, "--json", check=0
    ).json()
    return found


def in_process(*arguments: str) -> tuple[int, str, str]:
    """The command line without a process of its own, where hundreds of runs are wanted."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(arguments)
    return code, out.getvalue(), errors.getvalue()


# --- facts ---------------------------------------------------------------------------------------------


@pytest.mark.promise("M3")
@pytest.mark.parametrize("evidence", [[], ["--evidence", ""], ["--evidence", " \n "]])
def test_a_fact_without_evidence_is_refused_in_one_line_and_nothing_is_written(
    holdfast: Holdfast, repo: Path, home: Path, evidence: list[str]
) -> None:
    done = holdfast("fact", "add", PORT, *evidence, check=2)
    assert done.stderr.startswith("holdfast: the evidence is missing") and done.stderr.count("\n") == 1
    assert not (repo / ".holdfast").exists() and not (home / ".holdfast").exists()


@pytest.mark.promise("M3", "M16")
def test_a_fact_is_kept_with_its_evidence_and_category(holdfast: Holdfast, repo: Path) -> None:
    told = holdfast(
        "fact", "add", PORT, "--evidence", "listening on 8080", "--command", "make ping", check=0
    ).stdout
    assert told == "F-n4gdkn added to endpoint: The API listens on port 8080\n"
    assert (
        "- The API listens on port 8080 · F-n4gdkn\n  - command: make ping → showed: listening on 8080"
        in (reference(repo).read_text(encoding="utf-8"))
    )
    (fact,) = holdfast("fact", "list", "--json", check=0).json()
    assert (fact["id"], fact["category"], fact["command"]) == ("F-n4gdkn", "endpoint", "make ping")
    assert fact["verified_at"] == fact["at"] and fact["was"] == [] and fact["retired_at"] is None
    assert holdfast("fact", "list", "--category", "id", "--json", check=0).json() == []
    assert holdfast("fact", "--category", "endpoint", "--json", check=0).json() == [fact]
    holdfast("fact", "add", "x", "--evidence", "y", "--category", "gossip", check=2)


@pytest.mark.promise("M14")
def test_the_same_fact_in_other_words_is_merged_and_verified_anew(holdfast: Holdfast) -> None:
    first = add_fact(holdfast, PORT)
    time.sleep(1.1)
    again = add_fact(holdfast, "API is listening at port 8080.", "--command", "make ping", evidence="on 8080")
    assert (again["status"], again["id"], again["text"]) == ("merged", first["id"], PORT)
    assert again["verified_at"] > first["verified_at"] and again["at"] == first["at"]
    assert (again["command"], again["evidence"]) == ("make ping", "on 8080")
    assert len(holdfast("fact", "list", "--json").json()) == 1
    assert "is already recorded" in holdfast("fact", "add", PORT, "--evidence", "z", check=0).stdout


@pytest.mark.promise("M14")
def test_a_contradicting_fact_is_kept_beside_the_other_and_said(holdfast: Holdfast) -> None:
    first = add_fact(holdfast, PORT)
    told = holdfast("fact", "add", OTHER_PORT, "--evidence", "on 9090", check=0).stdout
    assert f"Contradicts {first['id']}: {PORT}  (8080 against 9090)" in told
    assert f"holdfast note fact change {first['id']}" in told
    assert [fact["text"] for fact in holdfast("fact", "--json").json()] == [PORT, OTHER_PORT]


@pytest.mark.promise("M3")
def test_a_changed_fact_keeps_its_history_and_is_found_by_its_old_id(holdfast: Holdfast) -> None:
    old = add_fact(holdfast, PORT, "--command", "make ping", evidence="on 8080")
    missing = holdfast("fact", "change", old["id"], OTHER_PORT, check=2)
    assert "evidence is missing" in missing.stderr
    new = holdfast("fact", "change", "f-N4", OTHER_PORT, "--evidence", "on 9090", "--json", check=0).json()
    assert (new["text"], new["command"], new["category"]) == (OTHER_PORT, "make ping", "endpoint")
    assert [was["evidence"] for was in new["was"]] == ["on 8080"]
    assert new["contradicts"] == []
    shown = holdfast("fact", "show", old["id"], check=0).stdout
    assert shown.startswith(f"{new['id']}  {OTHER_PORT}\n") and f"was       {PORT}  ({old['id']})" in shown
    assert holdfast("fact", "show", new["id"], "--json", check=0).json()["was"] == new["was"]


def test_a_fact_is_not_changed_into_one_that_is_there_already(holdfast: Holdfast) -> None:
    one, other = add_fact(holdfast, PORT), add_fact(holdfast, "Tests need a database")
    done = holdfast("fact", "change", one["id"], other["text"], "--evidence", "x", check=2)
    assert f"holdfast note fact retire {one['id']}" in done.stderr
    assert len(holdfast("fact", "--json").json()) == 2


@pytest.mark.promise("M3")
def test_a_retired_fact_stays_with_date_and_reason_and_can_stand_again(holdfast: Holdfast) -> None:
    fact = add_fact(holdfast, PORT)
    gone = holdfast("fact", "retire", fact["id"], "--because", "moved · to: 9090", "--json", check=0).json()
    assert gone["status"] == "retired" and gone["retired_at"]
    assert holdfast("fact", "--json").json() == []
    (kept,) = holdfast("fact", "list", "--all", "--json").json()
    assert (kept["retired_at"], kept["retired_because"]) == (gone["retired_at"], "moved · to: 9090")
    assert "has been retired" in holdfast("fact", "retire", fact["id"], check=0).stdout
    assert holdfast("fact", "verify", fact["id"], "--yes", check=2).stderr.count("is retired") == 1
    assert "current again" in holdfast("fact", "add", PORT, "--evidence", "back", check=0).stdout
    (kept,) = holdfast("fact", "--json").json()
    assert (kept["evidence"], kept["retired_because"]) == ("back", "")


# --- ids -----------------------------------------------------------------------------------------------


def test_an_id_may_be_typed_in_any_case_and_in_part_and_never_guessed(holdfast: Holdfast) -> None:
    one, other = add_fact(holdfast, PORT), add_fact(holdfast, "Tests need a database")
    assert holdfast("fact", "show", one["id"].upper(), "--json", check=0).json()["id"] == one["id"]
    assert holdfast("fact", "show", one["id"][:4], "--json", check=0).json()["id"] == one["id"]
    ambiguous = holdfast("fact", "show", "F-", check=1).stderr
    assert one["id"] in ambiguous and other["id"] in ambiguous and ambiguous.count("\n") == 1
    unknown = holdfast("fact", "show", "F-zzz", check=1).stderr
    assert unknown == "holdfast: no fact 'F-zzz'. holdfast note fact list --all shows them.\n"
    holdfast("fact", "show", "", check=2)
    for command in (
        ["fact", "retire", "D-1"],
        ["fact", "verify", "nonsense", "--yes"],
        ["answer", "Q-zz", "yes"],
        ["answer", one["id"], "yes"],
        ["todo", "done", "T-1"],
        ["todo", "drop", "../../etc/passwd"],
    ):
        done = holdfast(*command, check=1)
        assert done.stderr.startswith("holdfast: no ") and "shows them" in done.stderr


def test_an_unknown_id_in_a_new_project_makes_no_files(holdfast: Holdfast, repo: Path) -> None:
    for command in (
        ["fact", "retire", "F-1"],
        ["fact", "change", "F-1", "x", "--evidence", "y"],
        ["answer", "Q-1", "yes"],
        ["todo", "done", "T-1"],
    ):
        holdfast(*command, check=1)
    for command in (["fact"], ["decide"], ["questions"], ["todo"], ["ask", "Why?", "--no-record"]):
        holdfast(*command, check=0)
    assert not (repo / ".holdfast").exists()


# --- verifying -----------------------------------------------------------------------------------------


def on_terminal(arguments: list[str], cwd: Path, typed: bytes) -> tuple[int, str]:
    """Runs the command on a pseudo terminal on which somebody types; exit code and all that was shown."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "holdfast", *arguments]
    with subprocess.Popen(command, cwd=cwd, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, typed)
        shown = b""
        with contextlib.suppress(OSError):
            while piece := os.read(master, 65536):
                shown += piece
        code = process.wait()
    os.close(master)
    return code, shown.decode("utf-8")


@pytest.fixture
def leaves_a_trace(holdfast: Holdfast, repo: Path) -> tuple[str, Path]:
    """A fact whose command leaves a file, and that file."""
    command = "pwd > ran.txt; echo 12 passed in 0.34s"
    fact = add_fact(holdfast, "The tests pass", "--command", command, evidence="9 passed in 0.11s")
    return fact["id"], repo / "ran.txt"


@pytest.mark.promise("M3")
def test_nothing_is_run_where_nobody_can_be_asked(
    holdfast: Holdfast, leaves_a_trace: tuple[str, Path], repo: Path
) -> None:
    id, trace = leaves_a_trace
    before = reference(repo).read_bytes()
    for command in (["fact", "verify"], ["fact", "verify", id], ["fact", "verify", "--json"]):
        done = holdfast(*command, check=2)
        assert "--yes" in done.stderr and done.stdout == ""
    holdfast("fact", "verify", input="y\n", check=2)
    assert not trace.exists() and reference(repo).read_bytes() == before


@pytest.mark.promise("M3")
def test_the_exact_command_is_shown_and_run_only_after_a_yes(
    holdfast: Holdfast, leaves_a_trace: tuple[str, Path], repo: Path
) -> None:
    id, trace = leaves_a_trace
    code, shown = on_terminal(["fact", "verify", id], repo, b"n\n")
    assert code == 1 and "$ pwd > ran.txt; echo 12 passed in 0.34s" in shown and "not run" in shown
    assert not trace.exists()
    code, shown = on_terminal(["fact", "verify", id], repo, b"y\n")
    assert code == 0 and "still true, verified today" in shown
    assert Path(trace.read_text(encoding="utf-8").strip()) == repo


@pytest.mark.promise("M3")
def test_a_fact_that_holds_gets_its_date_numbers_that_vary_aside(
    holdfast: Holdfast, leaves_a_trace: tuple[str, Path], repo: Path
) -> None:
    id, _ = leaves_a_trace
    before = holdfast("fact", "show", id, "--json").json()
    time.sleep(1.1)
    (verdict,) = holdfast("fact", "verify", "--yes", "--json", cwd=repo, check=0).json()
    assert (verdict["id"], verdict["status"], verdict["exit_code"]) == (id, "holds", 0)
    after = holdfast("fact", "show", id, "--json").json()
    assert after["verified_at"] > before["verified_at"]
    assert {**after, "verified_at": 0} == {**before, "verified_at": 0}


@pytest.mark.promise("M3")
@pytest.mark.parametrize(
    ("text", "evidence", "command", "status", "instead"),
    [
        ("python is 3.11.2 here", "Python 3.11.2", "echo Python 3.12.1", "changed", ["Python 3.12.1"]),
        ("Python 3.11 is required", "Python 3.11.2", "echo Python 3.11.9", "holds", []),
        ("The answer is known", "42", "echo 43", "changed", ["43"]),
        ("The suite passes", "ok\tshop/api\t0.01s", "echo 'ok shop/api (cached)'", "holds", []),
        ("Lint is silent", "exit code 0, no output", "true", "holds", []),
        ("Lint is silent", "exit code 0, no output", "echo 3 problems", "changed", ["3 problems"]),
        ("It greets", "hello\nworld", "printf '\\033[31mhello\\033[0m\\nthe  world\\n'", "holds", []),
        ("It is fine", "ok", "echo token", "changed", ["token"]),
        ("It works", "fine", "echo fine; exit 3", "failed", ["fine"]),
        ("It works", "fine", "no-such-program-here", "failed", None),
    ],
)
def test_what_came_instead_is_said_and_that_it_did_not_show(
    holdfast: Holdfast,
    repo: Path,
    text: str,
    evidence: str,
    command: str,
    status: str,
    instead: list[str] | None,
) -> None:
    add_fact(holdfast, text, "--command", command, evidence=evidence)
    before = reference(repo).read_bytes()
    done = holdfast("fact", "verify", "--yes", "--json", check=0 if status == "holds" else 1)
    (verdict,) = done.json()
    assert verdict["status"] == status
    assert instead is None or verdict["instead"] == instead
    if status != "holds":
        now = reference(repo).read_bytes()
        assert b"".join(line for line in now.splitlines(True) if b"- failed: " not in line) == before
        assert now != before and "(did not show on 2" in holdfast("fact", "list", check=0).stdout
        shown = holdfast("fact", "verify", "--yes", check=1).stdout
        assert f"  $ {command}" in shown and "instead: " in shown


def test_a_failed_verification_is_kept_until_the_fact_shows_again(holdfast: Holdfast, repo: Path) -> None:
    fact = add_fact(holdfast, "The flag is set", "--command", "cat flag.txt", evidence="set")["id"]
    holdfast("fact", "verify", fact, "--yes", check=1)
    assert "but       did not show on 2" in holdfast("fact", "show", fact, check=0).stdout
    assert holdfast("fact", "show", fact, "--json", check=0).json()["failed_at"]
    (repo / "flag.txt").write_text("set\n", encoding="utf-8")
    holdfast("fact", "verify", fact, "--yes", check=0)
    assert holdfast("fact", "show", fact, "--json", check=0).json()["failed_at"] is None
    assert "failed" not in reference(repo).read_text(encoding="utf-8")


@pytest.mark.promise("F5")
def test_a_command_that_takes_too_long_is_ended_with_all_it_started(holdfast: Holdfast, repo: Path) -> None:
    command = "(sleep 300; echo late > late.txt) & echo $! > child.txt; echo begun; sleep 300"
    add_fact(holdfast, "It ends", "--command", command, evidence="begun")
    (verdict,) = holdfast("fact", "verify", "--yes", "--timeout", "5", "--json", check=1).json()
    assert (verdict["status"], verdict["exit_code"], verdict["instead"]) == ("timeout", None, ["begun"])
    assert not is_running(int((repo / "child.txt").read_text(encoding="utf-8")))
    for seconds in ("0", "-1", "nan", "soon", "1e9"):
        holdfast("fact", "verify", "--yes", "--timeout", seconds, check=2)


@pytest.mark.promise("F5")
def test_what_a_command_leaves_in_the_background_is_ended_too(holdfast: Holdfast, repo: Path) -> None:
    add_fact(
        holdfast, "It ends", "--command", "sleep 300 & echo $! > child.txt; echo begun", evidence="begun"
    )
    holdfast("fact", "verify", "--yes", "--timeout", "60", check=0)
    assert not is_running(int((repo / "child.txt").read_text(encoding="utf-8")))


def is_running(process: int) -> bool:
    """Whether a process lives; one that is dead and not yet buried does not."""

    def is_over() -> bool:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state in "ZX"

    return not wait_until(is_over, PATIENCE_S / 2)  # it would live for longer


def test_output_without_end_is_read_within_bounds(holdfast: Holdfast) -> None:
    command = "head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo the end"
    add_fact(holdfast, "It has an end", "--command", command, evidence="the end")
    assert holdfast("fact", "verify", "--yes", "--json", check=0).json()[0]["status"] == "holds"


@pytest.mark.promise("G1")
def test_a_secret_in_the_output_is_not_shown(holdfast: Holdfast, repo: Path) -> None:
    (repo / "greeting.txt").write_text(f"{TOKEN}\n", encoding="utf-8")
    add_fact(holdfast, "It greets", "--command", "cat greeting.txt", evidence="hello")
    done = holdfast("fact", "verify", "--yes", "--json", check=1)
    assert TOKEN not in done.stdout and "redacted" in done.stdout


def test_facts_that_cannot_be_run_say_so(holdfast: Holdfast) -> None:
    bare = add_fact(holdfast, PORT)
    assert "No fact has a command" in holdfast("fact", "verify", "--yes", check=0).stdout
    assert "has no command" in holdfast("fact", "verify", bare["id"], "--yes", check=1).stdout
    secret = add_fact(
        holdfast, "The hub knows us", "--command", f"curl -H 'Authorization: Bearer {TOKEN}' x.org"
    )
    assert TOKEN not in secret["command"]
    assert "is incomplete" in holdfast("fact", "verify", secret["id"], "--yes", check=1).stdout
    assert "is incomplete" in holdfast("fact", "verify", "--yes", check=0).stdout
    cut = add_fact(holdfast, "It was cut", "--command", "gh pr create --title…")
    assert "is incomplete" in holdfast("fact", "verify", cut["id"], "--yes", check=1).stdout


@pytest.mark.promise("M3")
@pytest.mark.parametrize(
    "command",
    [
        "gh pr create --title x",
        "git -C . push origin main",
        "rm -rf build",
        "curl -X POST localhost:1/orders",
        "curl localhost:1 -d a=b",
        "sudo true",
    ],
)
def test_saying_yes_to_all_does_not_run_what_may_change_something(holdfast: Holdfast, command: str) -> None:
    fact = add_fact(holdfast, "It was done", "--command", command)
    (verdict,) = holdfast("fact", "verify", "--yes", "--json", check=0).json()
    assert (verdict["id"], verdict["status"]) == (fact["id"], "not named")
    assert (
        f"holdfast note fact verify {fact['id']} runs it"
        in holdfast("fact", "verify", "--yes", check=0).stdout
    )


# --- decisions -----------------------------------------------------------------------------------------


@pytest.mark.promise("M3", "M14")
def test_a_decision_is_kept_once_with_its_reasons(holdfast: Holdfast) -> None:
    decide = ("decide", "Use pnpm, not npm")
    first = holdfast(*decide, "--because", "the lock file is pnpm's", "--json", check=0).json()
    assert (first["status"], first["by"], first["contradicts"]) == ("recorded", "user", [])
    again = holdfast("decide", "use pnpm instead of npm", "--because", "it is faster", "--json").json()
    assert (again["status"], again["id"]) == ("merged", first["id"])
    assert again["rationale"] == "the lock file is pnpm's; it is faster"
    assert "already recorded" in holdfast(*decide, "--because", "it is faster", check=0).stdout
    (listed,) = holdfast("decide", "--json", check=0).json()
    assert listed["rationale"] == again["rationale"]
    assert holdfast("decide", "--list", "--json").json() == [listed]


@pytest.mark.promise("M14")
def test_contradicting_decisions_are_both_kept_and_both_shown(holdfast: Holdfast) -> None:
    holdfast("decide", "Use pnpm, not npm", check=0)
    told = holdfast("decide", "Use npm, not pnpm", "--by", "agent", check=0).stdout
    assert "recorded · by agent: Use npm, not pnpm" in told and ": Use pnpm, not npm  (" in told
    assert [decision["by"] for decision in holdfast("decide", "--json").json()] == ["user", "agent"]


def test_a_contradiction_stays_an_open_question_until_one_of_the_two_is_retired(
    holdfast: Holdfast, repo: Path
) -> None:
    first = holdfast("decide", "Always squash commits before merging", "--json", check=0).json()
    holdfast("decide", "Never squash commits before merging", "--json", check=0)
    holdfast("decide", "Always squash commits before merging", check=0)
    add_fact(holdfast, PORT)
    port = add_fact(holdfast, OTHER_PORT)["id"]
    asked = holdfast("questions", "--json", check=0).json()
    assert [one["status"] for one in asked] == ["open", "open"]
    assert f"({first['id']}) or “Never squash" in asked[0]["text"] and port in asked[1]["text"]
    assert "Open question: Which holds: “Always squash" in holdfast("resume", check=0).stdout
    told = holdfast("decide", "retire", first["id"], check=0).stdout
    assert told.startswith(f"{first['id']} retired: Always squash commits before merging.")
    holdfast("fact", "retire", port, check=0)
    assert [one["text"] for one in holdfast("decide", "--json").json()] == [
        "Never squash commits before merging"
    ]
    answers = {one["answer"] for one in holdfast("questions", "--json", check=0).json()}
    assert answers == {f"{first['id']} was retired", f"{port} was retired"}
    assert first["id"] in (memory(repo) / "dismissed.jsonl").read_text(encoding="utf-8")
    assert "Which holds" not in holdfast("resume", check=0).stdout
    holdfast("decide", "retire", first["id"], check=1)
    holdfast("decide", "retire", check=2)
    holdfast("decide", "two", "texts", check=2)


def test_in_an_agents_shell_it_is_the_agent_who_decides(holdfast: Holdfast) -> None:
    agent = {"CLAUDECODE": "1"}
    assert holdfast("decide", "Use tabs", "--json", env=agent).json()["by"] == "agent"
    assert holdfast("answer", "Tabs?", "yes", "--json", env=agent).json()["by"] == "agent"
    assert holdfast("decide", "Sort imports", "--by", "user", "--json", env=agent).json()["by"] == "user"


def test_a_blank_decision_is_refused_and_does_not_list(holdfast: Holdfast, repo: Path) -> None:
    assert "the decision is missing" in holdfast("decide", "  ", check=2).stderr
    assert "No decisions yet" in holdfast("decide", check=0).stdout
    holdfast("decide", "--because", "why", check=2)
    holdfast("decide", "x", "--list", check=2)
    assert not (repo / ".holdfast").exists()


# --- questions -----------------------------------------------------------------------------------------


def answers_given(repo: Path) -> list[dict[str, Any]]:
    path = memory(repo) / "answered.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


@pytest.mark.promise("M4")
def test_a_closed_question_is_answered_from_the_record_in_other_words_too(
    holdfast: Holdfast, repo: Path
) -> None:
    new = holdfast("ask", "--keep", "Which region do we deploy to?", "--json", check=0).json()
    assert (new["status"], new["answer"]) == ("recorded", "")
    still = holdfast("ask", "--keep", "To which region should we deploy?", "--json", check=0).json()
    assert (still["status"], still["id"]) == ("open", new["id"])
    assert (
        "Asked before and still open"
        in holdfast("ask", "--keep", "Which region do we deploy to?", check=0).stdout
    )
    assert answers_given(repo) == []
    assert "Which region do we deploy to?" in holdfast("resume", check=0).stdout
    holdfast("answer", new["id"][:4], "eu-west-1", "--by", "user", check=0)
    assert "Which region do we deploy to?" not in holdfast("resume", check=0).stdout
    reply = holdfast("ask", "--keep", "To which region should we deploy?", "--json", check=0).json()
    assert (reply["status"], reply["id"], reply["answer"]) == ("answered", new["id"], "eu-west-1")
    assert (reply["by"], reply["source"]) == ("user", "projects/shop/open-questions.md")
    assert reply["at"] and reply["session"] == ""
    shown = holdfast("ask", "--keep", "which region do we deploy to", check=0).stdout
    assert shown.startswith(f"eu-west-1\n  {new['id']} · by user · 20")
    assert [given["id"] for given in answers_given(repo)] == [new["id"]] * 2
    assert all(time.time() - 600 < given["at"] <= time.time() for given in answers_given(repo))
    assert len(holdfast("questions", "--json").json()) == 1


@pytest.mark.promise("M4")
def test_a_decision_or_a_fact_answers_only_when_it_says_it(holdfast: Holdfast, repo: Path) -> None:
    add_fact(holdfast, PORT)
    holdfast("decide", "Use pnpm, not npm", "--because", "the lock file is pnpm's", check=0)
    fact = holdfast("ask", "--keep", "What port does the API listen on?", "--json").json()
    assert (fact["status"], fact["answer"]) == ("answered", PORT)
    assert fact["source"] == "projects/shop/reference.md"
    decided = holdfast("ask", "--keep", "Why do we use pnpm and not npm?", "--json").json()
    assert decided["answer"] == "Use pnpm, not npm (because the lock file is pnpm's)"
    for question in ("Does the API need a key?", "Which API do we listen to?", "Why does the API listen?"):
        assert holdfast("ask", "--keep", question, "--json").json()["status"] == "recorded", question
    other = add_fact(holdfast, OTHER_PORT)
    assert f"But {fact['id']} says" in (
        told := holdfast("ask", "--keep", "What port does the API listen on?").stdout
    ) or (f"But {other['id']} says" in told)


def test_looking_without_recording_writes_nothing(holdfast: Holdfast, repo: Path) -> None:
    holdfast("answer", "Tabs or spaces?", "tabs", check=0)
    before = {path: path.read_bytes() for path in memory(repo).rglob("*") if path.is_file()}
    assert holdfast("ask", "Tabs or spaces?", "--no-record", check=0).stdout.startswith("tabs\n")
    reply = holdfast("ask", "Who is on call?", "--no-record", "--json", check=0).json()
    assert (reply["status"], reply["id"]) == ("open", "")
    assert {path: path.read_bytes() for path in memory(repo).rglob("*") if path.is_file()} == before


# What is made from the files, and made again when it is missing or old.
DERIVED = re.compile(
    r"/(?:index\.(?:db|json)(?:-wal|-shm)?|index-\w+\.vec|told\.db|hot\.(?:db|words)|scan\.cache|locks/.*)\Z"
)
ASKING = (
    ("ask", "Which region do we deploy to?"),
    ("ask", "Who is on call at night?"),
    ("recall", "change the region that we deploy to"),
    ("recall", "--as-prompt", "change the region that we deploy to"),
    ("search", "region"),
    ("search", "--brief", "regions"),
    ("resume",),
    ("log",),
    ("log", "--decisions"),
    ("note", "decision", "list"),
    ("note", "fact", "list"),
    ("questions",),
    ("todo",),
    ("why",),
    ("status",),
    ("ledger", "list"),
    ("ledger", "recommend", "deploy to another region"),
    ("know",),
    ("lessons", "list"),
)


@pytest.mark.promise("W10")
@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_asking_writes_nothing(holdfast: Holdfast, repo: Path, home: Path, words: tuple[str, ...]) -> None:
    holdfast("decide", "Deploy to the region eu-west-1", check=0)
    holdfast("todo", "add", "Move the queue to eu-west-1", check=0)

    def kept() -> dict[str, bytes]:
        files = (path for root in (repo, home) for path in root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files if not DERIVED.search(path.as_posix())}

    before = kept()
    holdfast(*words, check=0)
    assert kept() == before


@pytest.mark.promise("M4", "M14")
def test_another_answer_counts_and_the_earlier_one_is_mentioned(holdfast: Holdfast) -> None:
    first = holdfast("answer", "Which region do we deploy to?", "eu-west-1", "--json", check=0).json()
    assert (first["changed"], first["before"]) == ("recorded", None)
    same = holdfast("answer", first["id"], "EU-west-1.", "--json", check=0).json()
    assert (same["changed"], same["answer"]) == ("unchanged", "eu-west-1")
    told = holdfast("answer", first["id"], "us-east-1", check=0).stdout
    assert "This contradicts the earlier answer: eu-west-1 · by user" in told
    assert holdfast("ask", "--keep", first["text"], "--json").json()["answer"] == "us-east-1"


def test_a_question_closed_by_hand_stays_closed_and_is_not_told(holdfast: Holdfast, repo: Path) -> None:
    asked = holdfast("ask", "--keep", "Which cache do we use for sessions?", "--json", check=0).json()["id"]
    file = memory(repo) / "projects" / "shop" / "open-questions.md"
    file.write_text(file.read_text(encoding="utf-8").replace("- [ ]", "- [x]"), encoding="utf-8")
    holdfast("ask", "--keep", "Who reviews the billing code?", check=0)
    assert "- [x] Which cache do we use for sessions?" in file.read_text(encoding="utf-8")
    assert "Which cache" not in holdfast("resume", check=0).stdout
    found = {one["id"]: one["status"] for one in holdfast("questions", "--json", check=0).json()}
    assert found.pop(asked) == "closed" and list(found.values()) == ["open"]
    assert "closed  Which cache do we use for sessions?" in holdfast("questions", check=0).stdout
    again = holdfast("ask", "--keep", "Which cache do we use for sessions?", "--json", check=0).json()
    assert (again["status"], again["id"], again["answer"]) == ("closed", asked, "")
    assert holdfast("answer", asked, "Redis", "--json", check=0).json()["status"] == "answered"
    assert (
        holdfast("ask", "--keep", "Which cache do we use for sessions?", "--json", check=0).json()["answer"]
        == "Redis"
    )


def test_questions_are_listed_open_first(holdfast: Holdfast) -> None:
    holdfast("answer", "Tabs or spaces?", "tabs", check=0)
    holdfast("ask", "--keep", "Who is on call?", check=0)
    listed = holdfast("questions", "--json", check=0).json()
    assert [question["status"] for question in listed] == ["open", "answered"]
    assert [question["text"] for question in holdfast("questions", "--open", "--json").json()] == [
        "Who is on call?"
    ]
    assert [question["answer"] for question in holdfast("questions", "--answered", "--json").json()] == [
        "tabs"
    ]
    shown = holdfast("questions", check=0).stdout.splitlines()
    assert shown[0].split() == ["Id", "When", "By", "State", "Question"]
    assert shown[2].endswith("answered  Tabs or spaces? → tabs")
    holdfast("questions", "--open", "--answered", check=2)


# --- to-dos --------------------------------------------------------------------------------------------


@pytest.mark.promise("M1")
def test_a_to_do_is_noted_with_priority_and_owner_and_done_for_good(holdfast: Holdfast, repo: Path) -> None:
    low = holdfast("todo", "add", "Write docs", "--priority", "low", "--json", check=0).json()
    add = ("todo", "add", "Rotate the webhook key", "--priority", "high", "--owner", "user")
    high = holdfast(*add, "--because", "it leaked", "--json", check=0).json()
    assert (high["owner"], high["why"], high["session"]) == ("user", "it leaked", "")
    assert [item["id"] for item in holdfast("todo", "--json").json()] == [high["id"], low["id"]]
    assert holdfast("todo", "list", "--json").json() == holdfast("todo", "--json").json()
    holdfast("todo", "done", high["id"], "T-zzz", check=1)
    assert len(holdfast("todo", "--json").json()) == 2, "all or none"
    assert holdfast("todo", "done", high["id"][:5], check=0).stdout == (
        f"{high['id']} done: Rotate the webhook key\n"
    )
    holdfast("todo", "drop", low["id"], low["id"], check=0)
    assert holdfast("todo", check=0).stdout.startswith("No to-dos.")
    dismissed = (memory(repo) / "dismissed.jsonl").read_text(encoding="utf-8")
    assert high["id"] in dismissed and low["id"] in dismissed
    state = (memory(repo) / "current.md").read_text(encoding="utf-8")
    assert "\n- Rotate the webhook key · at: " in state and "Write docs" not in state


@pytest.mark.promise("M1", "M7")
def test_what_is_done_does_not_come_back_with_its_session_and_what_a_person_added_stays(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    left = [item for item in holdfast("todo", "--all", "--json", check=0).json() if item["session"]]
    assert left
    mine = holdfast("todo", "add", "Rotate the webhook key", "--json", check=0).json()
    holdfast("todo", "done", *(item["id"] for item in left), check=0)
    (memory(repo) / "capture.db").unlink()
    holdfast("import", DEMO, check=0)
    assert [item["id"] for item in holdfast("todo", "--all", "--json", check=0).json()] == [mine["id"]]


@pytest.mark.promise("M14")
def test_a_to_do_in_other_words_is_there_already(holdfast: Holdfast) -> None:
    first = holdfast("todo", "add", "Run make fix before every commit", "--json").json()
    again = holdfast("todo", "add", "Before each commit, run make fix", "--priority", "high", "--json").json()
    assert (again["status"], again["id"], again["priority"]) == ("merged", first["id"], "high")


@pytest.mark.promise("M1")
def test_a_persons_lines_survive_and_what_they_tick_is_done(holdfast: Holdfast, repo: Path) -> None:
    ticked = holdfast("todo", "add", "Write docs", "--json").json()
    path = memory(repo) / "current.md"
    text = path.read_text(encoding="utf-8").replace("- [ ] Write docs", "- [x] Write docs")
    path.write_text(f"My own words.\n\n{text}\n- [ ] my own box\n", encoding="utf-8")
    (own,) = holdfast("todo", "--json").json()
    assert (own["text"], own["session"]) == ("my own box", "")
    _, shown = holdfast("todo", "list", "--all", "--json").json()
    assert (shown["id"], shown["done"]) == (ticked["id"], True)
    holdfast("todo", "add", "Rotate the key", check=0)
    now = path.read_text(encoding="utf-8")
    assert now.startswith("My own words.\n\n") and now.endswith("\n- [ ] my own box\n")
    assert "- [ ] Write docs" not in now and "\n- Write docs · at: " in now, "done last"
    assert ticked["id"] in (memory(repo) / "dismissed.jsonl").read_text(encoding="utf-8")


@pytest.mark.promise("M1")
def test_a_to_do_written_by_hand_is_listed_told_and_closed_where_it_stands(
    holdfast: Holdfast, repo: Path
) -> None:
    ours = holdfast("todo", "add", "Rotate the key", "--because", "it leaked", "--json").json()["id"]
    path = memory(repo) / "current.md"
    text = path.read_text(encoding="utf-8").replace("- [ ] Rotate the key", "- [ ] Rotate both keys")
    own = (
        "## Mine\n\n* [ ] call  Bob ·  soon \n- [ ] water the plants\n- [x] long done\n```\n- [ ] code\n```\n"
    )
    path.write_text(text + own, encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    ids = {one["text"]: one["id"] for one in holdfast("todo", "--json").json()}
    assert list(ids) == ["Rotate both keys", "call  Bob ·  soon", "water the plants"]
    assert "by hand" in holdfast("todo").stdout
    told = holdfast("resume").stdout
    assert "To do (by hand): Rotate both keys\n" in told and "To do (by hand): call Bob · soon\n" in told
    assert "long done" not in told and "leaked" not in told
    holdfast("todo", "done", ids["call  Bob ·  soon"], ids["Rotate both keys"], check=0)
    ticked = before.replace("* [ ] call", "* [x] call").replace("- [ ] Rotate both", "- [x] Rotate both")
    assert path.read_text(encoding="utf-8") == ticked
    holdfast("todo", "drop", ids["water the plants"], check=0)
    left = ticked.replace("- [ ] water the plants\n", "")
    assert path.read_text(encoding="utf-8") == left
    holdfast("todo", "add", "Something new", check=0)
    now = path.read_text(encoding="utf-8")
    assert now.endswith(own.replace("* [ ]", "* [x]").replace("- [ ] water the plants\n", ""))
    assert "- [x] Rotate both keys · because: it leaked" in now
    assert ours in (memory(repo) / "dismissed.jsonl").read_text(encoding="utf-8")
    assert [one["text"] for one in holdfast("todo", "--json").json()] == ["Something new"]


@pytest.mark.promise("M1")
def test_to_dos_of_other_branches_are_listed_only_on_request_with_their_branch(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("todo", "add", "Everywhere", check=0)
    path = memory(repo) / "current.md"
    with path.open("a", encoding="utf-8") as file:
        file.write("- [ ] Only there · branch: feat/other\n")
    assert [one["text"] for one in holdfast("todo", "--json").json()] == ["Everywhere"]
    found = {one["text"]: one["branch"] for one in holdfast("todo", "--all", "--json").json()}
    assert found == {"Everywhere": "", "Only there": "feat/other"}
    assert "Branch" in holdfast("todo", "--all").stdout and "feat/other" not in holdfast("todo").stdout
    assert "Only there" not in holdfast("resume").stdout
    assert "To do (by hand): Only there" in holdfast("resume", "--branch", "feat/other").stdout


# --- whatever is typed ---------------------------------------------------------------------------------


@pytest.fixture
def scratch(home: Path) -> Callable[[], contextlib.AbstractContextManager[Path]]:
    """Makes a project of its own for each of many runs."""

    @contextlib.contextmanager
    def make():  # type: ignore[no-untyped-def]
        with tempfile.TemporaryDirectory(dir=home.parent) as folder, contextlib.chdir(folder):
            yield Path(folder)

    return make


typed = st.one_of(
    st.sampled_from(LOOK_ALIKES),
    st.text(max_size=40),
    st.lists(st.sampled_from([*LOOK_ALIKES, " ", "a", "· "]), min_size=1, max_size=4).map("".join),
)


@pytest.mark.promise("M3", "M4")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=typed, evidence=typed)
@example(text="\u0085a | b\r\n\x1b[31m <!-- holdfast:end facts -->", evidence="- · → `x`")
def test_any_text_survives_from_the_command_to_the_list(
    scratch: Callable[[], contextlib.AbstractContextManager[Path]], text: str, evidence: str
) -> None:
    clean = Machine().clean
    kept, shown = (
        clean(re.sub("[\ud800-\udfff]", "\ufffd", one).strip()).strip() for one in (text, evidence)
    )
    with scratch() as folder:
        code, _, errors = in_process("fact", "add", f"--evidence={evidence}", "--", text)
        if not kept or not shown:
            assert code == 2 and errors.count("\n") == 1 and not any(folder.iterdir())
            return
        assert code == 0, errors
        (fact,) = json.loads(in_process("fact", "list", "--json")[1])
        assert (fact["text"], fact["evidence"]) == (kept, shown)
        for command in ("decide", "ask", "todo add"):
            assert in_process(*command.split(), "--", text)[0] == 0
        assert json.loads(in_process("decide", "--json")[1])[0]["text"] == kept
        assert kept in [item["text"] for item in json.loads(in_process("todo", "--json")[1])]
        asked = json.loads(in_process("questions", "--json")[1])
        assert [question["text"] for question in asked] in ([kept], [])  # [] where the fact itself answers


@pytest.mark.promise("G1", "G6")
def test_secrets_and_private_parts_are_never_written(holdfast: Holdfast, repo: Path, home: Path) -> None:
    secret = f"the token is {TOKEN}"
    done = [
        holdfast("fact", "add", f"{secret} here", "--evidence", f"export GITHUB_TOKEN={TOKEN}", check=0),
        holdfast("decide", f"Keep {secret}", "--because", f"{secret} <private>hush</private>", check=0),
        holdfast("answer", f"What is {secret}?", secret, check=0),
        holdfast("todo", "add", f"Rotate {secret}", "--because", secret, check=0),
        holdfast("ask", "--keep", f"Who knows that {secret}?", check=0),
    ]
    assert not any(TOKEN in one.stdout + one.stderr for one in done)
    written = [path.read_bytes() for root in (home, repo) for path in root.rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in data or b"hush" in data for data in written)
    refused = holdfast("decide", "<private>all of it</private>", check=2)
    assert "is private" in refused.stderr


@pytest.mark.promise("G3")
def test_terminal_escapes_are_shown_and_not_obeyed(holdfast: Holdfast) -> None:
    evil = "port\x1b]0;owned\x07 8080\x1b[2J\u202e\nF-000000  forged"
    outputs = [
        holdfast("fact", "add", evil, "--evidence", evil, "--command", evil, check=0),
        holdfast("fact", "list", check=0),
        holdfast("fact", "show", "F-", check=0),
        holdfast("fact", "verify", "F-", "--yes", "--timeout", "20", check=1),
        holdfast("fact", "verify", "F-", check=2),
        holdfast("decide", evil, "--because", evil, check=0),
        holdfast("decide", check=0),
        holdfast("answer", evil, evil, check=0),
        holdfast("ask", "--keep", evil, check=0),
        holdfast("questions", check=0),
        holdfast("todo", "add", evil, "--because", evil, check=0),
        holdfast("todo", check=0),
    ]
    for done in outputs:
        said = done.stdout + done.stderr
        assert "\x1b" not in said and "\x07" not in said and "\u202e" not in said
        assert not re.search(r"^F-000000", said, re.MULTILINE)


@pytest.mark.parametrize("name", ["fact", "decide", "ask", "todo"])
def test_a_text_without_measure_is_refused(holdfast: Holdfast, repo: Path, name: str) -> None:
    long = "x" * (LONGEST + 1)
    commands = {
        "fact": ["fact", "add", "x", "--evidence", long],
        "decide": ["decide", long],
        "ask": ["ask", "--keep", long],
        "todo": ["todo", "add", "x", "--because", long],
    }
    done = holdfast(*commands[name], check=2)
    assert "4,001 characters, 4,000 are allowed" in done.stderr and len(done.stderr) < 200
    assert not (repo / ".holdfast").exists()


# --- files that are not as they should be --------------------------------------------------------------


def test_conflict_markers_are_named_and_nothing_is_written(holdfast: Holdfast, repo: Path) -> None:
    add_fact(holdfast, PORT)
    broken = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n" + reference(repo).read_text(encoding="utf-8")
    reference(repo).write_text(broken, encoding="utf-8")
    for command in (
        ["fact", "add", "Tests need a database", "--evidence", "x"],
        ["decide", "Use tabs"],
        ["fact"],
        ["ask", "--keep", "Which port?"],
    ):
        done = holdfast(*command, check=1)
        assert "reference.md:1: an unresolved git conflict" in done.stderr and done.stderr.count("\n") == 1
    assert reference(repo).read_text(encoding="utf-8") == broken


@pytest.mark.parametrize("shape", ["directory", "link"])
def test_a_file_that_is_none_is_refused_and_left_alone(
    holdfast: Holdfast, repo: Path, tmp_path: Path, shape: str
) -> None:
    holdfast("todo", "add", "Write docs", check=0)
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n", encoding="utf-8")
    for path in (memory(repo) / "current.md", reference(repo)):
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if shape == "directory" else path.symlink_to(outside)
    for command in (
        ["todo"],
        ["todo", "add", "x"],
        ["fact", "add", "x", "--evidence", "y"],
        ["decide", "x"],
    ):
        done = holdfast(*command, check=1)
        assert (
            done.stderr.count("\n") == 1
            and ("Move it away" if shape == "directory" else "itself") in done.stderr
        )
    assert outside.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.promise("F3")
@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_memory_is_a_clear_error(holdfast: Holdfast, repo: Path) -> None:
    add_fact(holdfast, PORT)
    folder = reference(repo).parent
    folder.chmod(0o500)
    try:
        done = holdfast("fact", "add", "Tests need a database", "--evidence", "x", check=1)
    finally:
        folder.chmod(0o700)
    assert "permission denied" in done.stderr and done.stderr.count("\n") == 1


def test_a_line_that_cannot_be_read_is_a_warning_and_survives(holdfast: Holdfast, repo: Path) -> None:
    add_fact(holdfast, PORT)
    text = reference(repo).read_text(encoding="utf-8")
    reference(repo).write_text(
        text.replace("### Endpoints\n", "### Endpoints\n\n- gossip\n"), encoding="utf-8"
    )
    done = holdfast("fact", check=0)
    assert "a fact without evidence" in done.stderr and PORT in done.stdout
    holdfast("decide", "Use tabs", check=0)
    assert "- gossip" in reference(repo).read_text(encoding="utf-8")


# --- many at once --------------------------------------------------------------------------------------

_WRITER = """
import sys
from holdfast.cli.main import main
for number in range(10):
    words = f"{sys.argv[1]} knows secret place {sys.argv[1]}{number}x"
    assert main(["fact", "add", words, "--evidence", "seen", "--json"]) == 0
"""


@pytest.mark.promise("F1")
def test_eight_processes_add_ten_facts_each_and_none_is_lost(holdfast: Holdfast, repo: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, f"w{name}"], cwd=repo, stdout=subprocess.DEVNULL)
        for name in "abcdefgh"
    ]
    assert [writer.wait() for writer in writers] == [0] * 8
    texts = {fact["text"] for fact in holdfast("fact", "--json", check=0).json()}
    assert texts == {f"w{name} knows secret place w{name}{n}x" for name in "abcdefgh" for n in range(10)}


def test_each_change_says_what_it_was_in_the_history(holdfast: Holdfast, repo: Path) -> None:
    fact = add_fact(holdfast, PORT, "--command", "echo seen")
    holdfast("fact", "change", fact["id"], OTHER_PORT, "--evidence", "seen", check=0)
    time.sleep(1.1)
    holdfast("fact", "verify", "--yes", check=0)
    holdfast("fact", "retire", "F-", check=0)
    holdfast("decide", "Use tabs", check=0)
    holdfast("ask", "--keep", "Who is on call?", check=0)
    holdfast("answer", "Who is on call?", "Ada", check=0)
    item = holdfast("todo", "add", "Write docs", "--json").json()
    holdfast("todo", "done", item["id"], check=0)
    journal = (memory(repo) / "history" / "changes.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["reason"] for line in journal] == [
        "fact add",
        "fact change",
        "fact verify",
        "fact retire",
        "decide",
        "ask",
        "ask",
        "answer",
        "answer",
        "todo add",
        "todo done",
    ]


# --- numbers that make no sense ------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["-3", "x"])
def test_a_log_of_less_than_nothing_is_refused(holdfast: Holdfast, number: str) -> None:
    assert "must be a whole number" in holdfast("log", "-n", number, check=2).stderr


def test_a_budget_that_is_too_small_is_said_and_not_taken_for_an_empty_memory(holdfast: Holdfast) -> None:
    assert "Nothing is known here yet" in holdfast("resume", "--budget", "0", check=0).stderr
    holdfast("todo", "add", "Rotate the webhook key", check=0)
    assert "A budget of 0 tokens is too small" in holdfast("resume", "--budget", "0", check=0).stderr


def test_a_long_text_is_wrapped_on_a_terminal_and_never_cut() -> None:
    text = " ".join(f"word{number}" for number in range(40))
    columns = (output.Column("Id"), output.Column("Text", flexible=True, wrapped=True))
    fitted = output.fitted(output.Table(columns, [("T-1", text)], below=["why"]), 80)
    assert fitted.rows[0][1] == text and fitted.below == ["why"]


def test_a_search_that_finds_nothing_near_says_so(holdfast: Holdfast) -> None:
    holdfast("decide", "Sessions are stored in Redis", check=0)
    far = holdfast("search", "banana bread recipe", check=0)
    assert "Nothing matches" in far.stderr
    near = holdfast("search", "where are sessions stored", check=0)
    assert "Redis" in near.stdout and "clearly" not in near.stderr


def test_every_list_takes_a_limit_and_the_newest_stay(repo: Path, holdfast: Holdfast) -> None:
    for number in ("one", "two", "three"):
        holdfast("decide", f"The gateway has {number} retries for uploads of tenant {number}", check=0)
        holdfast("todo", "add", f"Rotate the key {number}", check=0)
        holdfast("fact", "add", f"The port of {number} is known", "--evidence", f"port of {number}", check=0)
    for words in (
        ("decide", "--list"),
        ("todo",),
        ("fact",),
        ("fact", "list"),
        ("search", "retries of tenant"),
    ):
        assert len(holdfast(*words, "--limit", "2", "--json", check=0).json()) == 2, words
        assert len(holdfast(*words, "--limit", "0", "--json", check=0).json()) >= 3, "0 is all"
    assert holdfast("search", "retries of tenant", "--since", "2999-01-01", "--json", check=0).json() == []
    assert len(holdfast("search", "retries of tenant", "--since", "today", "--json", check=0).json()) >= 2


def test_questions_can_be_the_newest_few(repo: Path, holdfast: Holdfast) -> None:
    for name in ("first", "second", "third"):
        holdfast("ask", "--keep", f"Which {name} colour has the door?", check=0)
    shown = json.loads(holdfast("questions", "--json", "-n", "2", check=0).stdout)
    assert len(shown) == 2
    assert len(json.loads(holdfast("questions", "--json", check=0).stdout)) == 3
    assert holdfast("questions", "-n", "-1", check=2).returncode == 2


def test_a_search_says_where_and_when_and_on_demand_why(repo: Path, holdfast: Holdfast) -> None:
    holdfast("decide", "Deploy to eu-west-1", "--because", "the customers are there", check=0)
    plain = holdfast("search", "deploy region", check=0).stdout
    explained = holdfast("search", "deploy region", "--why", check=0).stdout
    assert "eu-west-1" in plain and ".holdfast/local/" in plain and "fit 0." not in plain
    assert "fit " in explained and "meaning: " in explained
