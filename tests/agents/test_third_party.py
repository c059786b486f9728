"""An agent of another package, made of the code in docs/contributing/add-an-agent.md: nothing in holdfast knows its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.command import Holdfast
from tests.conftest import ROOT

SESSION = "0197a2c4-11aa-7bb0-9c21-5d2f6a7e8b90"


def package(site: Path, name: str, files: dict[str, str]) -> dict[str, str]:
    """Installs `holdfast_NAME` into a folder as pip does, and gives the environment that sees it."""
    for path, text in {
        **{f"holdfast_{name}/{file}": text for file, text in files.items()},
        f"holdfast_{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: holdfast-{name}\nVersion: 1.0\n",
        f"holdfast_{name}-1.0.dist-info/entry_points.txt": f"[holdfast.agents]\n{name} = holdfast_{name}\n",
    }.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, encoding="utf-8")
    return {"PYTHONPATH": str(site)}


@pytest.fixture
def holdfast(holdfast_process: Holdfast) -> Holdfast:
    """A process for each command: another package is on the path of a new one only."""
    return holdfast_process


@pytest.fixture
def robin(tmp_path: Path) -> dict[str, str]:
    page = (ROOT / "docs" / "contributing" / "add-an-agent.md").read_text(encoding="utf-8")
    reader, host = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    init = "from holdfast_robin.host import HOST\nfrom holdfast_robin.reader import READER\n"
    return package(tmp_path / "site", "robin", {"__init__.py": init, "reader.py": reader, "host.py": host})


def session(home: Path, repo: Path) -> Path:
    lines: list[dict[str, Any]] = [
        {"kind": "start", "session": SESSION, "directory": str(repo)},
        {"kind": "asked", "text": "Write the parser of the price list"},
        {"kind": "ran", "tool": "sh", "call": "c1", "target": "make test"},
        {"kind": "ended", "call": "c1", "exit": 0, "text": "7 passed"},
        {"kind": "answered", "text": "Done.", "model": "gpt-5", "tokens_in": 900, "tokens_out": 40},
    ]
    path = home / ".robin" / "log" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    for number, line in enumerate(lines):
        line["time"] = datetime.fromtimestamp(1_790_000_000 + number, UTC).isoformat()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def ask(command: str, repo: Path, **payload: str) -> str:
    """Runs a hook as the agent would, without the package in sight; gives what the model is told."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=repo,
        env={name: value for name, value in os.environ.items() if name not in ("CI", "HOLDFAST")},
        input=json.dumps({"cwd": str(repo), **payload}).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    if not done.stdout:
        return ""
    said: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return said


def test_its_transcripts_are_found_listed_and_imported(
    holdfast: Holdfast, home: Path, repo: Path, robin: dict[str, str]
) -> None:
    path = session(home, repo)
    (seen,) = [
        one for one in holdfast("agents", "--json", env=robin, check=0).json() if one["agent"] == "robin"
    ]
    assert (seen["title"], seen["sessions"], seen["here"], seen["host"]) == ("Robin", 1, 1, True)
    assert "robin" in holdfast("agents", env=robin, check=0).stdout
    holdfast("import", env=robin, check=0)
    row = holdfast("ledger", "list", "--json", env=robin, check=0).stdout
    assert SESSION in row
    # Without the package its sessions stay, and commands go on.
    assert SESSION in holdfast("ledger", "list", "--json", check=0).stdout
    assert "not a transcript" in holdfast("import", path).stderr


def test_it_is_wired_and_its_hooks_are_answered(
    holdfast: Holdfast, home: Path, repo: Path, robin: dict[str, str]
) -> None:
    (home / ".robin").mkdir()
    settings = home / ".robin" / "settings.json"
    before = b'{"theme": "dark"}\n'
    settings.write_bytes(before)
    holdfast("install", "robin", "--yes", env=robin, check=0)
    hooks = json.loads(settings.read_bytes())["hooks"]
    commands = {event: group[0]["hooks"][0]["command"] for event, group in hooks.items()}
    holdfast("handoff", "Write the parser of the price list", check=0)
    assert "parser of the price list" in ask(
        commands["SessionStart"], repo, session_id="s-1", source="startup"
    )
    renamed = commands["UserPromptSubmit"].replace(
        " || true", " session_id=conversation prompt=words || true"
    )
    ask(renamed, repo, conversation="s-2", words="Go on with the parser of the price list")
    told = holdfast("why", "--json", "last", check=0).stdout
    assert "s-2" in told
    assert "connected" in holdfast("agents", env=robin, check=0).stdout
    holdfast("uninstall", "robin", "--yes", env=robin, check=0)
    assert settings.read_bytes() == before


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import no_such_module\n", "No module named 'no_such_module'"),
        ("READER = None\n", "no attribute 'agent'"),
        ("class READER:\n    agent = 'codex'\n", "must name the agent as the entry point does"),
    ],
)
def test_a_broken_one_is_one_line_and_breaks_nothing(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path, code: str, problem: str
) -> None:
    broken = package(tmp_path / "site", "wren", {"__init__.py": code})
    done = holdfast("agents", env=broken, check=0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("holdfast: warning: agent wren (holdfast_wren) was skipped: ") and problem in line
    assert "no hooks for agent 'wren'" in holdfast("install", "wren", "--yes", env=broken, check=2).stderr
    assert problem in holdfast("import", env=broken).stderr


def test_one_that_fails_on_the_way_leaves_the_others_alone(
    holdfast: Holdfast, home: Path, repo: Path, robin: dict[str, str], tmp_path: Path
) -> None:
    session(home, repo)
    reader = tmp_path / "site" / "holdfast_robin" / "reader.py"
    text = reader.read_text(encoding="utf-8")
    reader.write_text(text.replace("action = ACTIONS.get(", "action = NOTHING.get("), encoding="utf-8")
    done = holdfast("import", env=robin)
    assert "agent robin failed: NameError" in done.stderr and "Traceback" not in done.stderr
    reader.write_text(text.replace("return (usual_folder(", "return (no_such("), encoding="utf-8")
    done = holdfast("agents", env=robin, check=0)
    assert done.stderr.count("agent robin failed: NameError") == 1
