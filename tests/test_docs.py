"""The documentation does not drift: generated pages are current, README commands run, links lead on."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.main import COMMANDS, resolve, subcommands
from holdfast.ledger.markdown import COLUMNS
from holdfast.terminal.run import parser_for

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PAGES_FOR_USERS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_RUN = re.compile(r"(?:make|pip|pipx|uv|python3? -m (?:pip|venv)|git clone)\b")


def commands_of(markdown: str) -> list[str]:
    """The lines after a `$ ` prompt in the console blocks of a page."""
    blocks = re.findall(r"^```console\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.promise("U4")
@pytest.mark.skipif(os.name == "nt", reason="the README speaks to a POSIX shell")
@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_commands_of_the_first_pages_run(repo: Path, page: str) -> None:
    commands = commands_of((ROOT / page).read_text(encoding="utf-8"))
    run = [command for command in commands if not NOT_RUN.match(command)]
    assert any(command.startswith("holdfast") for command in run)
    # One shell for all, so that a tutorial may build on its own steps; -x names the one that failed.
    done = subprocess.run(
        ["bash", "-ex", "-o", "pipefail", "-c", "\n".join(run)],
        cwd=repo,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def quoted_commands(markdown: str) -> set[str]:
    """What a page says to run: `holdfast …` in its console blocks and its inline code."""
    inline = re.findall(r"`(holdfast [^`\n]+)`", re.sub(r"(?s)^```.*?^```", "", markdown, flags=re.MULTILINE))
    shown = [command for command in commands_of(markdown) if command.startswith("holdfast ")]
    return {re.sub(r"\s+(?:#|[|<>&;]).*", "", command) for command in [*inline, *shown]}


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name for below in action.choices.values() for name in options_of(below)}
    return found


@pytest.mark.parametrize("page", PAGES_FOR_USERS, ids=lambda page: page.name)
def test_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    wrong = []
    for command in sorted(quoted_commands(page.read_text(encoding="utf-8"))):
        if not (called := command.replace("\\|", "|").split()[1:]) or called[0] in (
            "COMMAND",
            "--version",
            "--help",
        ):
            continue
        name, words = resolve(called)
        if name not in COMMANDS:
            wrong.append(command)
            continue
        module, about = COMMANDS[name]
        known = options_of(parser_for(name, importlib.import_module(module), about, subcommands(name)))
        options = [
            word.strip("[]\"'.,").partition("=")[0] for word in words if word.startswith(("--", "[--"))
        ]
        wrong += [command for option in options if len(option) > 2 and option not in known]
    assert wrong == []


@pytest.mark.promise("U4")
def test_the_pages_for_users_are_short_enough_to_be_read() -> None:
    """What contributors and the curious need lies in folders of its own. A cell's border is no word."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES_FOR_USERS}
    words = {name: len(re.findall(r"\S*\w\S*", text)) for name, text in texts.items()}
    assert sum(words.values()) <= 25_000, sorted(words.items(), key=lambda item: -item[1])


def test_every_column_of_the_ledger_is_documented() -> None:
    text = (ROOT / "docs" / "contributing" / "ledger-format.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"| `{name}` |" not in text] == []
