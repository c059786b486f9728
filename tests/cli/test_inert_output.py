"""Whatever memory holds, no command prints a byte that a terminal, a browser or a spreadsheet would obey.

The commands, their verbs and their formats come from the registry: a new one is tested without a line here.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.test_layers import SOURCE, tree_of

from holdfast.cli.main import COMMANDS
from holdfast.guard.hidden_text import has_hidden
from holdfast.guard.inert import inert
from holdfast.terminal.run import parser_for

pytestmark = pytest.mark.promise("G3")

MARK = "walrusmark"
# Each of them is on one line of a file: a colour, a title, a C1 sequence, two directions, tags, a separator, a tag.
HOSTILE = "=cmd\x1b[31m\x1b]0;x\x07\x9b2J\u202egnp\u2066\u200b\U000e0041\u2028<script>x</script>"
NOT_RUN = {
    "hook": "tests/hooks: its answer is JSON for a host, fenced",
    "statusline": "tests/hooks: no stored text",
    "mcp": "tests/mcp: answers are JSON, fenced",
    "demo": "works on bundled sessions in a scratch project",
    "completion": "prints a script for a shell",
    "fenced": "runs another command, which is tested",
}
# What is written with raw stored text would be read by nobody but us; these write no stored text.
WRITES_ITSELF = {
    "terminal/output.py": "the one place",
    "cli/completion.py": "a script for a shell",
    "cli/main.py": "help",
    "cli/ledger.py": "bytes of an export, made inert by ledger/export.py",
    "cli/prepared.py": "only text that is printable",
    "cli/context_quick.py": "only text that is printable",
}


def calls() -> Iterator[tuple[str, ...]]:
    """Every command and verb, as text, as JSON and in each of its formats."""
    for name, (module, about) in COMMANDS.items():
        if name in NOT_RUN:
            continue
        parser = parser_for(name, import_module(module), about)
        yield from _forms(tuple(name.split()), parser)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for verb, below in action.choices.items():
                    yield from _forms((*name.split(), verb), below)


def _forms(words: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[tuple[str, ...]]:
    given_words = [
        str(next(iter(action.choices))) if action.choices else MARK
        for action in parser._actions
        if not action.option_strings
        and not isinstance(action, argparse._SubParsersAction)
        and action.nargs not in ("?", "*", argparse.REMAINDER)
    ]
    call = (*words, *given_words)
    yield call
    for action in parser._actions:
        if "--json" in action.option_strings:
            yield (*call, "--json")
        if "--format" in action.option_strings and action.choices:
            texts = [str(choice) for choice in action.choices if choice != "parquet"]  # typed columns
            yield from ((*call, "--format", choice) for choice in texts)


@pytest.fixture
def hostile(holdfast: Holdfast, home: Path, repo: Path, scanner_off: None) -> Holdfast:
    """A memory whose files hold hostile text everywhere, as if another program had written them."""
    said = f"the refund worker {MARK} retries"
    holdfast("init", "--yes", check=None)
    holdfast("fact", "add", said, "--evidence", f"make {MARK}", check=None)
    for words in (("decide", said, "--why", f"because {MARK}"), ("ask", "--keep", f"why {MARK}?")):
        holdfast(*words, check=None)
    for words in (("todo", "add", f"wire {MARK}"), ("handoff", f"next: {MARK} must be wired")):
        holdfast(*words, check=None)
    for number in range(4):
        row = (
            "--session",
            f"s{number}",
            "--model",
            f"m{MARK}",
            "--goal",
            f"{MARK} auth",
            "--tasks",
            "3",
            "--failed",
            "1",
        )
        holdfast("ledger", "add", *row, "--framework", f"f{MARK}", "--type", f"t{MARK}", check=None)
    changed = 0
    for folder in (home / ".holdfast", repo / ".holdfast"):
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".md", ".jsonl", ".json") or not path.is_file() or path.is_symlink():
                continue
            text = path.read_text(encoding="utf-8")
            harm = HOSTILE if path.suffix == ".md" else json.dumps(HOSTILE)[1:-1]
            if MARK in text:
                path.write_text(text.replace(MARK, harm), encoding="utf-8")
                changed += 1
    assert changed >= 4, "the memory holds it in several files"
    return holdfast


def harmful(printed: str) -> set[str]:
    """Raw characters that something would obey; newlines and tabs are ours."""
    return {f"U+{ord(sign):04X}" for sign in printed if sign not in "\n\t\r" and has_hidden(sign)}


def test_no_command_prints_a_raw_control_character(hostile: Holdfast) -> None:
    shown = 0
    wrong = {}
    for words in calls():
        finished = hostile(*words)
        shown += "x1b" in finished.stdout or "u001b" in finished.stdout
        found = harmful(finished.stdout) | harmful(finished.stderr)
        if found or "\r" in finished.stdout.replace("\r\n", ""):
            wrong[" ".join(words)] = found
        if "html" in words:
            assert "<script" not in finished.stdout
        if "md" in words:
            assert "<script" not in finished.stdout
        if "csv" in words:
            cells = [cell for row in csv.reader(io.StringIO(finished.stdout)) for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "@", "\t"))]
        if "--json" in words and finished.returncode == 0 and finished.stdout:
            json.loads(finished.stdout)
    assert wrong == {}
    assert shown >= 10, "the hostile text is shown, as escapes"


def test_only_one_module_writes_to_standard_output() -> None:
    writing = {
        f"{room}/{path.name}"
        for room in ("cli", "views", "terminal")
        for path in (SOURCE / room).glob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "write" and "sys.stdout" in ast.unparse(node)
    }
    assert writing <= set(WRITES_ITSELF)


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)


@given(TEXTS)
def test_a_text_is_inert_in_every_format(text: str) -> None:
    for form in ("text", "csv", "md", "html", "openmetrics"):
        assert not harmful(inert(text, form).replace("\u200d", "").replace("\ufe0f", "")) or not has_hidden(
            inert(text, form)
        )
        assert "\x1b" not in inert(text, form) and "\u202e" not in inert(text, form)
    assert "<" not in inert(text, "html") and "<" not in inert(text, "md")
    assert not inert(text, "csv").lstrip().startswith(("=", "+", "-", "@"))


@given(TEXTS)
def test_json_means_the_same(text: str) -> None:
    document = json.dumps({"a": [text]}, ensure_ascii=False, indent=2)
    written = inert(document, "json")
    assert json.loads(written) == {"a": [text]}
    assert not harmful(written)
    assert "\n".join(written.split("\n")) == written and "\u2028" not in written


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "\n=1", "＝1", "\xa0=1"])
def test_a_formula_is_text_for_a_spreadsheet(cell: str) -> None:
    assert inert(cell, "csv").startswith("'") or inert(cell, "csv").startswith("\\")
