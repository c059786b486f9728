"""Kilo Code is wired as OpenCode is, in its own files, and its plugin says whose sessions these are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from holdfast.flows.hosts import install, plan_install, plan_uninstall, uninstall, wired
from holdfast.store.machine import Machine


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.mark.parametrize("before", [None, '{"model": "a/b"}', '{\n  // mine\n  "plugin": ["x"],\n}\n'])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_it_is_wired_and_unwired_to_the_byte(
    before: str | None, scope: str, machine: Machine, home: Path, repo: Path
) -> None:
    path = (home / ".config" / "kilo" if scope == "user" else repo) / "kilo.json"
    if before is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before, encoding="utf-8")
    install(machine, machine.project(), plan_install(machine, machine.project(), "kilo", scope))  # type: ignore[arg-type]
    text = path.read_text(encoding="utf-8")
    assert '"host": "kilo"' in text and "opencode_plugin.js" in text and sys.executable in text
    assert [
        one.missing for one in wired(machine, machine.project()) if (one.agent, one.scope) == ("kilo", scope)
    ] == [()]
    uninstall(machine, plan_uninstall(machine, machine.project(), "kilo"))
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before


def test_the_file_that_is_there_is_taken(machine: Machine, home: Path) -> None:
    folder = home / ".config" / "kilo"
    folder.mkdir(parents=True)
    (folder / "kilo.jsonc").write_text("{}", encoding="utf-8")
    install(machine, machine.project(), plan_install(machine, machine.project(), "kilo", "user"))
    assert "plugin" in json.loads((folder / "kilo.jsonc").read_text(encoding="utf-8"))
    assert not (folder / "kilo.json").exists()
