"""An interpreter that is gone: `doctor` says so for every host, and `--fix` wires it as it should be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.agents.registry import HOSTS


def files_of(*roots: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and not {".holdfast", ".git"} & set(path.relative_to(root).parts)
    }


@pytest.mark.promise("H1")
def test_doctor_mends_the_hooks_of_every_host_when_the_interpreter_is_gone(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    for agent in HOSTS:
        installed = holdfast("install", agent, "--yes", check=0)
        assert "is inside the repository" in installed.stderr or ".venv" not in sys.executable
    good = files_of(home, repo)
    for path, data in good.items():
        path.write_bytes(data.replace(sys.executable.encode(), b"/gone/bin/python"))
    assert not any(sys.executable.encode() in data for data in files_of(home, repo).values())
    report = holdfast("doctor", check=1).stdout
    assert [agent for agent in HOSTS if f"of {agent} missing or changed" not in report] == []
    holdfast("doctor", "--fix", check=0)
    assert files_of(home, repo) == good
