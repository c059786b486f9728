"""What a person reads: plural and singular, cents, paths from `~`, what is missing, what is about to be read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.test_init_command import worked_with as worked_with
from tests.cli.test_terminal import DEMO, on_terminal
from tests.command import Holdfast
from tests.remembered import project_at, remember

from holdfast.cli.main import main
from holdfast.terminal.output import counted, dollars, in_words, place, places


def test_one_thing_is_not_said_in_the_plural() -> None:
    assert [counted(count, "commit") for count in (0, 1, 2, 1200)] == [
        "0 commits",
        "1 commit",
        "2 commits",
        "1,200 commits",
    ]


def test_a_look_at_one_file_and_one_commit_says_so(holdfast: Holdfast, repo: Path) -> None:
    (repo / "main.py").write_text("print(1)\n", encoding="utf-8")
    assert "1 file listed by git, 1 source read, 0 commits" in holdfast("know", check=0).stdout


def test_a_cost_reads_in_cents_and_json_has_every_digit(holdfast: Holdfast) -> None:
    holdfast("ledger", "add", "--session", "s1", "--cost", "3.929727", check=0)
    holdfast("ledger", "add", "--session", "s2", "--model", "gpt-5", check=0)
    assert "cost     $3.93\n" in holdfast("ledger", "show", "s1", check=0).stdout
    assert holdfast("ledger", "show", "s1", "--json", check=0).json()["cost_usd"] == 3.929727
    shown = holdfast("ledger", "show", "s2", check=0).stdout
    assert "  unknown  goal, outcome, kind, tasks, cost, time, tokens, project, commits\n" in shown
    assert "?" not in shown.partition("\n")[2], "what is unknown is said once"
    assert dollars(0.0012) == "$0.0012"


def test_a_row_with_nothing_in_it_is_not_written(holdfast: Holdfast, repo: Path) -> None:
    refused = holdfast("ledger", "add", check=2)
    assert "nothing to add" in refused.stderr and refused.stderr.count("\n") == 1
    assert not (repo / ".holdfast").exists()


@pytest.mark.parametrize("words", [["--bogus"], ["--json", "--bogus"], ["-x"], ["--versoin"]])
def test_an_option_that_is_not_there_is_not_the_usage_of_status(holdfast: Holdfast, words: list[str]) -> None:
    refused = holdfast(*words, check=2)
    assert (
        refused.stderr.startswith(f"holdfast: unknown option {words[-1]!r}.")
        and "status" not in refused.stderr
    )
    assert ("Did you mean '--version'?" in refused.stderr) == (words == ["--versoin"])


def test_what_is_missing_is_said_with_what_it_is_for(holdfast: Holdfast) -> None:
    refused = holdfast("completion", check=2).stderr
    assert "SHELL is missing: your shell: bash, zsh, fish, powershell" in refused
    assert "required" not in refused
    assert "QUERY is missing: words, a question, an id or an error" in holdfast("search", check=2).stderr
    assert "SESSION is missing: the session's id" in holdfast("ledger", "show", check=2).stderr


def test_rows_by_hand_are_not_called_no_sessions(holdfast: Holdfast) -> None:
    holdfast("ledger", "add", "--goal", "fix the login", "--model", "gpt-5", check=0)
    said = holdfast("roi", check=0).stdout
    assert said.startswith("1 session in the ledger, none of them from a transcript on this machine")
    assert "No sessions yet" not in said


def test_init_says_what_it_will_read_before_it_does_and_how_long_that_took(
    holdfast: Holdfast, worked_with: Path
) -> None:
    assert holdfast("init", "--dry-run", "--json", check=0).json()["to_read"]["transcripts"] == 10
    said = holdfast("init", "--yes", "--no-wire", check=0).stdout
    assert said.startswith("holdfast will read 10 transcripts (") and "Claude Code 7, Codex CLI 3." in said
    (row,) = [line for line in said.splitlines() if line.startswith("  sessions")]
    assert "10 (10 new, " in row and " read in " in row
    again = holdfast("init", "--yes", "--no-wire", check=0).stdout
    assert "will read" not in again and "10 (0 new)" in again


def test_paths_begin_at_home_for_people_and_are_whole_in_json(holdfast: Holdfast, home: Path) -> None:
    below = home / "work" / "shop"
    below.mkdir(parents=True)
    added = holdfast("ledger", "add", "--goal", "fix the login", cwd=below, check=0).stdout
    assert "to ~/work/shop/.holdfast/ledger.md" in added and str(home) not in added
    assert "~/work/shop/.holdfast/ledger.md" in holdfast(cwd=below, check=0).stdout
    assert holdfast("--json", cwd=below, check=0).json()["ledger"] == str(below / ".holdfast" / "ledger.md")
    refused = holdfast("import", below / "nowhere", cwd=below, check=1).stderr
    assert "~/work/shop/nowhere" in refused and str(home) not in refused


def test_only_whole_paths_below_home_are_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada/")
    assert place(Path("/home/ada/x")) == "~/x" and place("/home/ada") == "~"
    kept = "/home/adam/x /mnt/home/ada/x ./home/ada"
    assert places(kept) == kept
    assert places("in /home/ada/a, '/home/ada/b c'") == "in ~/a, '~/b c'"
    monkeypatch.setenv("HOME", "/")
    assert place("/etc/hosts") == "/etc/hosts"


def test_a_small_chance_is_said_in_words_and_kept_as_a_number_in_json(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    reasons = ["opened with it; 9% likely", "opened with it; 61% likely", "9% likely story", "99 bottles"]
    told = [{"text": f"a{n}.py", "reason": reason} for n, reason in enumerate(reasons)]
    line = {
        "time": "2026-11-02T09:30:00Z",
        "session": "s1",
        "host": "claude-code",
        "lines": told,
        "tokens": 1,
    }
    (project_at(repo).memory / "why.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert store.current_file.exists()
    said = holdfast("why", check=0).stdout
    assert "opened with it; worth a look" in said and "61% likely" in said and "9% likely" not in said
    assert "4 lines, 1 token\n" in said
    kept = holdfast("why", "--json", check=0).json()["injections"][0]["lines"]
    assert kept[0]["reason"] == reasons[0]
    assert in_words("changed before; 24% likely") == "changed before; worth a look"


def test_a_search_for_nonsense_says_that_nothing_fits(holdfast: Holdfast) -> None:
    holdfast("fact", "add", "staging listens on port 5433", "--evidence", "psql -p 5433 answered", check=0)
    nothing = holdfast("search", "xqzv blorp", check=0)
    assert nothing.stdout == "" and "Nothing matches. --all shows the nearest." in nothing.stderr
    assert holdfast("search", "xqzv blorp", "--json", check=0).json() == []
    assert "5433" in holdfast("search", "xqzv blorp", "--all", check=0).stdout
    assert "5433" in holdfast("search", "staging", check=0).stdout


def test_sessions_about_the_same_thing_are_found_by_its_name_alone(holdfast: Holdfast) -> None:
    for number, goal in enumerate(
        ("double check checkpoint ids", "list checkpoints of a branch", "prune checkpoints")
    ):
        holdfast("ledger", "add", "--session", f"s{number}", "--goal", goal, check=0)
    for asked in ("checkpoint", "checkpoints"):
        found = holdfast("similar", asked, "--json", check=0).json()
        assert {one["session"] for one in found} == {"s0", "s1", "s2"}
    assert "No similar sessions" in holdfast("similar", "xqzv blorp", check=0).stdout


def test_a_session_is_found_by_what_its_log_says_where_its_row_does_not(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    (found,) = [
        one
        for one in holdfast("similar", "Retry-After header", "--json", check=0).json()
        if one["session"].startswith("a09a15e0")
    ]
    assert not {"retry", "after", "header"} & set(found["goal"]) and "its log has" in found["why"]


def test_a_damaged_index_is_made_anew_and_nobody_hears_of_it(holdfast: Holdfast, repo: Path) -> None:
    holdfast("fact", "add", "staging listens on port 5433", "--evidence", "psql -p 5433 answered", check=0)
    assert "5433" in holdfast("search", "staging", check=0).stdout
    index = project_at(repo).memory / "index.db"
    for damaged in (b"no database at all", index.read_bytes()[:5000] + b"\0" * 20_000):
        index.write_bytes(damaged)
        found = holdfast("search", "staging", check=0)
        assert "5433" in found.stdout and not found.stderr
    index.write_bytes(b"no database at all")
    holdfast("index", check=0)


def test_commands_that_have_nothing_to_do_say_so(holdfast: Holdfast, repo: Path) -> None:
    assert "Memory is empty" in holdfast("search", "staging", check=0).stderr
    assert holdfast("know", check=0).stdout == "There are no files here to learn from.\n"
    assert holdfast("init", "--dry-run", "--no-wire", check=0).stdout.startswith("Nothing to import")
    assert holdfast("uninstall", "--all", "--dry-run", check=0).stdout.startswith("Nothing would change")
    assert not (repo / ".holdfast").exists()


def test_a_ledger_that_was_never_committed_leaves_nothing_to_commit(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--goal", "fix the login", check=0)
    holdfast("ledger", "share", check=0)
    assert holdfast("ledger", "share", "--undo", check=0).stdout == "The ledger is private again.\n"
    holdfast("ledger", "share", check=0)
    subprocess.run(["git", "commit", "--quiet", "-m", "share"], cwd=repo, check=True)
    assert "Commit the removal" in holdfast("ledger", "share", "--undo", check=0).stdout


def test_an_interrupt_while_modules_load_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.cli.main._main", interrupted)
    assert main(["ledger"]) == 130
    assert capsys.readouterr().err == "holdfast: interrupted; nothing was done.\n"


def test_half_of_a_goal_in_a_log_is_no_likeness(holdfast: Holdfast) -> None:
    holdfast("import", DEMO, check=0)
    assert "No similar sessions" in holdfast("similar", "xqzv header", check=0).stdout


def test_what_would_be_undone_is_shown_and_asked_for(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    before = store.current_file.read_bytes()
    refused = holdfast("undo", check=2)
    assert "Would undo: capture alpha" in refused.stdout and "current.md" in refused.stdout
    assert "no terminal: cannot ask. Add --yes to go ahead" in refused.stderr
    assert store.current_file.read_bytes() == before


@pytest.mark.parametrize(("answer", "is_there"), [("y", False), ("", True), ("no", True)])
def test_undo_on_a_terminal_does_what_the_person_answers(
    holdfast: Holdfast, repo: Path, answer: str, is_there: bool
) -> None:
    store = remember(repo, "alpha")
    screen, _ = on_terminal(["undo"], repo, 100, typed=f"{answer}\n".encode())
    text = "\n".join(screen)
    assert "Would undo: capture alpha" in text and "Go ahead? [y/N]" in text
    assert ("Nothing was changed." in text) == is_there == store.current_file.exists()
    assert ("redoes it" in text) != is_there


def test_an_undo_right_after_init_says_what_would_go_and_takes_nothing_by_itself(
    holdfast: Holdfast, worked_with: Path
) -> None:
    holdfast("init", "--yes", "--no-wire", check=0)
    memory = project_at(worked_with).memory
    before = {path: path.read_bytes() for path in memory.rglob("*.md")}
    refused = holdfast("undo", check=2)
    assert refused.stdout.startswith("Would undo: what sessions left in memory of ")
    assert {path: path.read_bytes() for path in memory.rglob("*.md")} == before


def test_sessions_are_found_by_their_rows_where_the_memory_cannot_be_indexed(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    (project_at(repo).memory / "locks" / "index.lock").mkdir(parents=True)  # where the lock would be
    assert "rate" in holdfast("similar", "rate limiting", check=0).stdout


def test_a_question_that_ends_with_the_input_leaves_a_clean_line(repo: Path) -> None:
    remember(repo, "alpha")
    screen, _ = on_terminal(["undo"], repo, 100, typed=b"\x04")
    assert "Nothing was changed." in screen
