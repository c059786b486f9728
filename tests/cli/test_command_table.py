"""The table of commands: at most 24 in the help, old names, names that are near, and options that mean the same."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.cli.main import COMMANDS, GROUPS, OLD_NAMES, RARE_GROUPS, help_text, subcommands
from holdfast.terminal.options import at_most
from holdfast.terminal.run import parser_for

MOST_LISTED = 24
pytestmark = pytest.mark.promise("U4")


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command, subcommand and verb with its parser."""
    for name, (module, about) in COMMANDS.items():
        parser = parser_for(name, import_module(module), about)
        yield name, parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"{name} {verb}", below) for verb, below in action.choices.items())


@pytest.mark.promise("U11")
def test_the_help_lists_at_most_24_commands_and_all_of_them_on_request() -> None:
    listed = " ".join(GROUPS.values()).split()
    assert len(listed) <= MOST_LISTED
    assert [name for name in listed if f"\n  {name} " not in help_text()] == []
    everything = help_text(everything=True)
    rare = [name for names in RARE_GROUPS.values() for name in names.split()]
    below = [f"{name} {verb}" for name in listed for verb in subcommands(name)]
    assert [name for name in (*listed, *rare, *below) if f"\n  {name} " not in everything] == []


def test_every_old_name_leads_to_a_command_of_today() -> None:
    assert set(OLD_NAMES) & set(COMMANDS) == set()
    assert [new for new in OLD_NAMES.values() if new not in COMMANDS] == []


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_does_what_the_new_one_does_and_scripts_hear_nothing_of_it(
    holdfast: Holdfast, old: str
) -> None:
    words = {"answer": ["Which port?", "8080"], "recommend": ["auth"], "similar": ["auth"]}.get(old, [])
    words = {"plugin": ["codex", "--path"], "install": ["--dry-run"], "uninstall": ["--all"]}.get(old, words)
    new = holdfast(*OLD_NAMES[old].split(), *words, env={"CI": ""})
    before = holdfast(old, *words, env={"CI": ""})
    assert before.returncode == new.returncode
    if old != "answer":  # which says the second time that it is known
        assert (before.stdout, before.stderr) == (new.stdout, new.stderr)


@pytest.mark.skipif(os.name == "nt", reason="a terminal of POSIX")
def test_an_old_name_says_the_new_one_on_a_terminal_and_never_on_standard_output(repo: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "fact"],
        cwd=repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        check=False,
    )
    os.close(follower)
    said = os.read(leader, 4096).decode()
    os.close(leader)
    assert "holdfast fact is now holdfast note fact." in said
    assert b"is now" not in done.stdout and done.returncode == 0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("leger", "ledger"),
        ("recomend", "ledger recommend"),
        ("instal", "agents install"),
        ("fct", "note fact"),
        ("promot", "lessons promote"),
        ("serach", "search"),
        ("note fcat", "fact"),
        ("note decision retier D-1", "retire"),
        ("agents instal", "install"),
        ("ledger recomend x", "recommend"),
        ("todo dnoe T-1", "done"),
    ],
)
def test_a_typo_finds_the_command_that_was_meant(holdfast: Holdfast, typed: str, meant: str) -> None:
    assert f"Did you mean {meant!r}?" in holdfast(*typed.split(), check=2).stderr


def test_a_kind_of_note_that_is_missing_is_asked_for(holdfast: Holdfast) -> None:
    assert "Use fact, decision, answer or rule" in holdfast("note", check=2).stderr


def test_options_that_may_stand_before_a_subcommand_do(holdfast: Holdfast) -> None:
    assert holdfast("note", "--json", "fact", check=0).json() == []
    late = holdfast("ledger", "--agent", "codex", "recommend", "auth", check=2)
    assert "recommend must come before options" in late.stderr


@pytest.mark.promise("U11")
def test_every_help_says_in_a_sentence_what_it_does_and_how_it_is_called() -> None:
    for name, parser in parsers():
        sentence, examples = parser.description or "", (parser.epilog or "").splitlines()[1:]
        assert re.match(r"[A-Z`.][^\n]{8,}", sentence) and sentence.rstrip().endswith("."), name
        assert any(line.startswith("  ") for line in examples), name
        first, *_ = name.split()
        assert first == "status" or any(f"holdfast {first}" in line for line in examples), name


def test_a_verb_shows_the_examples_that_call_it_and_no_others(holdfast: Holdfast) -> None:
    said = holdfast("todo", "done", "--help", check=0).stdout
    assert "\nClose to-dos that are done.\n" in said
    assert said.endswith("examples:\n  holdfast todo done T-k3 T-9a\n")
    assert holdfast("agents", "list", "--help", check=0).stdout.endswith(
        "examples:\n  holdfast agents list\n"
    )


# --- options that mean the same everywhere ---------------------------------------------------------------

# name -> the words that its help holds, or a pattern of them, and whether it takes a value
PERIOD = r"^only .+ from then on: 7d, 24h, 2w, today or YYYY-MM-DD$"


def option(parser: argparse.ArgumentParser, name: str) -> argparse.Action | None:
    return parser._option_string_actions.get(name)


def test_since_is_a_moment_everywhere() -> None:
    for name, parser in parsers():
        if (since := option(parser, "--since")) is not None:
            assert since.metavar == "WHEN" and re.match(PERIOD, since.help or ""), name


def test_limit_is_the_longest_list_everywhere_and_has_the_same_short_name() -> None:
    for name, parser in parsers():
        if (most := option(parser, "--limit")) is not None:
            assert most.metavar == "N" and (most.help or "").startswith("at most N "), name
            assert (most.help or "").endswith(("default: all)", "0: all)")), name
            assert most.type is at_most, name
            assert option(parser, "-n") is most, name


def test_a_project_is_a_name_everywhere() -> None:
    for name, parser in parsers():
        if (project := option(parser, "--project")) is not None and project.help != argparse.SUPPRESS:
            assert project.metavar == "NAME", name


def test_json_and_yes_are_switches_everywhere() -> None:
    for name, parser in parsers():
        for switch in ("--json", "--yes", "--dry-run"):
            if (action := option(parser, switch)) is not None:
                assert action.nargs == 0, f"{name} {switch}"
        if (yes := option(parser, "--yes")) is not None:
            assert "do not ask" in (yes.help or ""), name
        if (dry := option(parser, "--dry-run")) is not None:
            assert re.search(r"show|nothing is (sent|written)", dry.help or ""), name
        if option(parser, "-n") is not None:
            assert option(parser, "-n") is option(parser, "--limit"), name


def test_a_command_that_lists_takes_a_limit() -> None:
    lists = [
        name for name, _ in parsers() if name.endswith(" list") or name in ("log", "search", "questions")
    ]
    without = [name for name, parser in parsers() if name in lists and option(parser, "--limit") is None]
    assert without == ["agents list", "project list"], "as many as there are agents and projects"
