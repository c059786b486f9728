"""What a person sees: tables on a real terminal of several widths, progress, completion, first steps."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pyte
import pytest
from tests.command import Holdfast

import holdfast as package
from holdfast.terminal import output

DEMO = Path(package.__file__).parent / "demo_sessions"


def on_terminal(
    arguments: list[str], cwd: Path, columns: int, lines: int = 60, typed: bytes = b""
) -> tuple[list[str], bytes]:
    """Runs the command on a pseudo terminal; the screen at the end, and every byte that was sent to it."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(lines)}
    command = [sys.executable, "-m", "holdfast", *arguments]
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, typed)  # a terminal keeps it until it is read
        sent = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            sent += piece
        process.wait()
    os.close(master)
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    stream.feed(sent)
    return [line.rstrip() for line in screen.display], sent


@pytest.mark.promise("U2")
def test_an_import_shows_a_bar_with_rate_and_remaining_time_and_leaves_a_clean_screen(repo: Path) -> None:
    screen, sent = on_terminal(["import", str(DEMO)], repo, 120)
    assert b"reading" in sent and b"/s" in sent
    assert screen[0].startswith("10 sessions: 10 added") and not any("reading" in line for line in screen)


@pytest.mark.parametrize("columns", [70, 90, 120, 200])
def test_a_table_fits_its_terminal_and_keeps_what_matters(
    holdfast: Holdfast, repo: Path, columns: int
) -> None:
    holdfast("import", DEMO, check=0)
    screen, _ = on_terminal(["ledger"], repo, columns)
    told = [line for line in screen if line]
    shown, below = told[:12], " ".join(told[12:])
    for title in ("Agent", "Model", "Kind", "Tasks", "Failed", "Time"):
        assert (title in shown[0]) is not (title in below), "a column is shown, or named as left out"
    assert not below or below.startswith("Not shown here: "), (
        told
    )  # a header, a rule and a line for each session: nothing wraps
    assert "Session" in shown[0] and "Outcome" in shown[0] and "Cost" in shown[0]
    assert all("…" not in line[:8] for line in shown)


def test_escape_sequences_in_stored_text_are_shown_and_not_obeyed(holdfast: Holdfast, repo: Path) -> None:
    (repo / ".holdfast").mkdir()
    hostile = "| Session | Model | Goal |\n|---|---|---|\n| s1 | \x1b[31mred\x1b[0m\x07 | \u202eevil |\n"
    (repo / ".holdfast" / "ledger.md").write_text(hostile, encoding="utf-8")
    plain = holdfast("ledger", check=0).stdout
    assert "\x1b" not in plain and "\x07" not in plain and "\u202e" not in plain
    _, sent = on_terminal(["ledger"], repo, 120)
    assert b"\x1b[31m" not in sent and b"\x07" not in sent


def test_in_a_pipe_there_are_no_colours_and_no_bar(holdfast: Holdfast) -> None:
    done = holdfast("import", DEMO, check=0)
    assert "\x1b" not in done.stdout + done.stderr and "━" not in done.stderr
    assert "\x1b" not in holdfast("ledger").stdout


@pytest.mark.promise("U3")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed_for_each_shell(holdfast: Holdfast, shell: str) -> None:
    assert "holdfast" in holdfast("completion", shell, check=0).stdout


@pytest.mark.promise("U3")
def test_bash_completes_commands_verbs_and_options(holdfast_process: Holdfast, repo: Path) -> None:
    def complete(line: str) -> set[str]:
        env = {
            "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_SHELL": "bash",
            "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(repo / "out"),
        }  # fmt: skip
        (repo / "out").touch()
        holdfast_process(env=env)
        return {word.strip() for word in (repo / "out").read_text().split("\x0b")}

    assert {"ledger", "import", "doctor", "demo"} <= complete("holdfast ")
    assert {"list", "show", "stats", "share", "add"} <= complete("holdfast ledger ")
    assert {"--agent", "--all", "--json"} <= complete("holdfast import --")


@pytest.mark.promise("U4")
def test_the_demo_shows_ledger_stats_and_what_the_next_session_is_told(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    text = holdfast("demo", check=0).stdout
    for part in (
        "10 sessions: 10 added. Again: 0 added.",
        "Refactor the authentication middleware to use JWT",
        "Ledger Statistics",
        "next session of any agent sees",
    ):
        assert part in text
    told = holdfast("demo", "--json", check=0).json()["told"]
    assert any("uv run pytest" in line for line in told)
    assert any(line.startswith("To do (") for line in told)
    assert not (repo / ".holdfast").exists() and not (home / ".holdfast").exists()


@pytest.mark.promise("U4")
def test_a_newcomer_is_told_what_to_do(holdfast: Holdfast) -> None:
    first = holdfast(check=0).stdout
    assert "No agent has recorded a session here yet" in first and "holdfast demo" in first
    assert "holdfast import" in holdfast("ledger", check=0).stdout
    assert "Did you mean 'ledger'" in holdfast("leger", check=2).stderr
    for command in ("--help", "help", "-h"):
        assert "start:" in holdfast(command, check=0).stdout
    assert all(len(line) < 80 for line in holdfast("--help", check=0).stdout.splitlines())
    assert "examples:" in holdfast("import", "--help", check=0).stdout
    assert holdfast("--version", check=0).stdout.startswith("holdfast ")


def test_status_names_the_last_session_and_what_waits(holdfast: Holdfast, home: Path, repo: Path) -> None:
    text = next((DEMO / "claude-code").glob("*.jsonl")).read_text(encoding="utf-8")
    target = home / ".claude" / "projects" / "-x" / "a.jsonl"
    target.parent.mkdir(parents=True)
    target.write_text(text.replace("/home/dev/tidepool", str(repo)), encoding="utf-8")
    assert "1 transcript to read: holdfast init" in holdfast(check=0).stdout
    holdfast("import", check=0)
    status = holdfast("--json", check=0).json()
    assert (status["sessions"], status["waiting"], status["shared"]) == (1, 0, False)
    assert status["last"]["agent"] == "claude-code"
    agents = {agent["agent"]: agent for agent in holdfast("agents", "--json", check=0).json()}
    assert agents["claude-code"]["here"] == 1 and agents["codex"]["found"] is False


@pytest.mark.parametrize("command", [["resume"], ["log"], ["demo"], ["lessons", "--help"], ["import", "-h"]])
def test_no_word_is_broken_at_the_edge_of_a_terminal(
    holdfast: Holdfast, repo: Path, command: list[str]
) -> None:
    holdfast("import", DEMO, check=0)
    wide, _ = on_terminal(command, repo, 400, 150)
    narrow, _ = on_terminal(command, repo, 80, 150)
    known = set(" ".join(wide).split())
    known |= {"Not", "shown", "here:", "A", "wider", "terminal", "shows", "them,", "as", "does", "--json."}
    long = "\n".join(word for word in known if len(word) > 70)  # a path may well be longer than a line
    told = [word for line in narrow for word in line.split() if not word.endswith("…")]
    broken = [
        word
        for word in told
        if not known & {word, word.rstrip(",.")} and word not in long and set(word) != {"─"}
    ]
    assert broken == []


def test_agents_that_are_not_here_are_named_in_one_line(holdfast: Holdfast, home: Path, repo: Path) -> None:
    (home / ".claude" / "projects").mkdir(parents=True)
    screen, _ = on_terminal(["agents"], repo, 80)
    assert screen[0].startswith("Agent") and screen[2].startswith("claude-code")
    assert "Not on this machine: Codex CLI" in "\n".join(screen)


def test_status_says_what_a_person_can_do_next(holdfast: Holdfast, repo: Path) -> None:
    holdfast("import", DEMO, check=0)
    status = holdfast(check=0).stdout
    assert "hooks    silent here: memory is not enabled for this project (run holdfast init)" in status
    holdfast("install", "claude-code", "--yes", check=0)
    assert "silent here" not in holdfast(check=0, env={"CI": ""}).stdout
    holdfast("off", check=0)
    assert "switched off in this directory: holdfast agents on\n" in holdfast(check=0, env={"CI": ""}).stdout
    holdfast("on", "--inject", check=0)
    half = holdfast(check=0, env={"CI": ""}).stdout
    assert "sessions here are not recorded" in half and half.endswith("holdfast agents on --capture\n")
    holdfast("on", "--capture", check=0)
    assert "not recorded" not in holdfast(check=0, env={"CI": ""}).stdout


def test_what_status_counts_is_shown_by_the_command_that_it_names(holdfast: Holdfast, repo: Path) -> None:
    """`resume` leaves out what is old or another branch's, so it is not the place to send somebody who counts."""
    holdfast("todo", "add", "write the changelog", check=0)
    assert "1 to-do: holdfast todo\n" in holdfast(check=0).stdout
    assert "write the changelog" in holdfast("todo", check=0).stdout


def test_a_word_that_was_mistyped_is_answered_with_the_nearest(holdfast: Holdfast, repo: Path) -> None:
    assert "Did you mean 'show'?" in holdfast("ledger", "shwo", check=2).stderr
    assert "Did you mean claude-code?" in holdfast("install", "claude", check=2).stderr
    assert "Did you mean codex?" in holdfast("plugin", "codx", check=2).stderr
    assert "Did you mean" not in holdfast("install", "vim", check=2).stderr
    assert "-n/--limit: must be a whole number" in holdfast("ledger", "-n", "many", check=2).stderr
    for command in ("recommend", "similar"):
        assert "quotation marks" in holdfast(command, "refactor", "the", "parser", check=2).stderr


def test_agents_says_where_hooks_are_and_finds_one_that_has_settings_only(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    (home / ".claude" / "projects").mkdir(parents=True)
    (home / ".codex").mkdir()
    holdfast("install", "codex", "--yes", check=0)
    seen = {
        one["agent"]: (one["found"], one["wired"]) for one in holdfast("agents", "--json", check=0).json()
    }
    assert seen["codex"] == (True, True) and seen["claude-code"] == (True, False)
    (home / ".codex" / "hooks.json").write_text("{", encoding="utf-8")
    assert "codex" in holdfast("agents", check=0).stdout, (
        "a broken file of the agent is no reason to say nothing"
    )


def test_a_narrow_terminal_says_which_columns_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = output.Column("Model", dispensable=1)
    table = output.table_of(
        ["a"], (output.Column("Session"), lambda one: "s" * 30), (wide, lambda one: "m" * 30)
    )
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    for columns, told in (("40", True), ("100", False)):
        monkeypatch.setenv("COLUMNS", columns)
        output.show(table)
        assert ("Not shown here: Model." in " ".join(capsys.readouterr().out.split())) is told
