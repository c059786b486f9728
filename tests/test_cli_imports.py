"""`holdfast --help` pays for nothing it does not need, and every command is described."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from holdfast.cli.main import COMMANDS
from holdfast.terminal.run import parser_for

CLI_PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAVY = {"argparse", "sqlite3", "subprocess", "json", "re", "typing", "dataclasses", "inspect", "decimal"}
HEAVY |= {"asyncio", "logging", "tomllib", "urllib", "importlib.metadata", "difflib", "tempfile", "email"}

LOADED = (
    "import sys; before = set(sys.modules)\n{}\nprint(*sorted(set(sys.modules) - before), file=sys.stderr)"
)


def modules_loaded_by(*arguments: str) -> set[str]:
    """What a fresh interpreter imports to run the command, beyond what it starts with."""
    program = f"from holdfast.cli.main import main; assert main({json.dumps(list(arguments))}) == 0"
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(program)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "-h", "help", "--version"])
def test_help_and_version_load_only_the_entry_point(option: str) -> None:
    loaded = modules_loaded_by(option)
    assert {name for name in loaded if name.startswith("holdfast")} == {
        "holdfast",
        "holdfast.cli",
        "holdfast.cli.main",
    }
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_package_of_others(option: str) -> None:
    packages = {name.partition(".")[0] for name in modules_loaded_by(option)}
    assert packages - sys.stdlib_module_names == {"holdfast"}


def test_help_with_all_names_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    subprocess.run([sys.executable, "-m", "holdfast", "--help", "--all"], check=True)
    shown = capfd.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_described_and_documented(name: str) -> None:
    module, about = COMMANDS[name]
    assert about.strip()
    assert parser_for(name, import_module(module), about).description
    page = CLI_PAGE.read_text(encoding="utf-8")
    assert f"## holdfast {name}\n" in page or f"| `holdfast {name}` |" in page


def test_figures_over_a_ledger_load_only_what_they_use(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a project is known: its first command asks git, and writes."""
    add = [sys.executable, "-m", "holdfast", "ledger", "add", "--session", "one"]
    subprocess.run(add, cwd=repo, check=True, capture_output=True)
    monkeypatch.chdir(repo)
    loaded = modules_loaded_by("ledger", "stats")
    unused = {
        "sqlite3",
        "subprocess",
        "rich",
        "numpy",
        "tomllib",
        "holdfast.store.phrases",
        "holdfast.store.denied",
    }
    unused |= {
        "holdfast.sessions.store",
        "holdfast.ledger.report",
        "holdfast.ledger.recommend",
        "holdfast.search",
    }
    assert loaded & unused == set()
