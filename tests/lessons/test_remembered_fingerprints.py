"""What was seen of a work tree is remembered, derived and harmless to lose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.lessons.fingerprint import Changed, Same, take
from holdfast.lessons.states import check_fingerprints, known_stamps
from holdfast.model.lesson import Fingerprint
from holdfast.store.machine import Machine
from holdfast.store.memory_files import kind_of


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    repo = tmp_path / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (repo / "package.json").write_text('{"scripts": {"test": "vitest"}}', encoding="utf-8")
    (repo / "Makefile").write_text("all:\n", encoding="utf-8")
    return Machine({"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "memory")}, repo)


def prints(machine: Machine, *targets: str) -> list[Fingerprint]:
    found = [take(machine.project().root, target) for target in targets]
    return [item for item in found if isinstance(item, Fingerprint)]


@pytest.mark.promise("S7")
def test_stamps_are_kept_where_there_is_a_memory_and_nowhere_else(machine: Machine) -> None:
    project = machine.project()
    wanted = prints(machine, "Makefile", "package.json#scripts.test")
    assert {type(verdict) for verdict in check_fingerprints(machine, project, wanted).verdicts} == {Same}
    assert not project.memory.exists()
    project.memory.mkdir(parents=True)
    (project.memory / "format").write_text("1\n", encoding="utf-8")
    check_fingerprints(machine, project, wanted)
    check_fingerprints(machine, project, wanted[:1])
    assert set(known_stamps(project)) == {"Makefile", "package.json#scripts.test"}
    (kept,) = project.memory.glob("stamps-*.json")
    assert not kind_of(kept.name).exported
    (project.root / "package.json").write_text('{"scripts": {"test": "jest"}}', encoding="utf-8")
    found = check_fingerprints(machine, project, wanted).verdicts[1]
    assert isinstance(found, Changed)
    assert found.what == "vitest → jest"


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b'{"a": 1}', b"\xff\xfe", b'{"Makefile": {"digest": "x", "places": 3}}']
)
def test_broken_stamps_are_no_stamps(machine: Machine, broken: bytes) -> None:
    project = machine.project()
    project.memory.mkdir(parents=True)
    (project.memory / "format").write_text("1\n", encoding="utf-8")
    wanted = prints(machine, "Makefile")
    check_fingerprints(machine, project, wanted)
    (kept,) = project.memory.glob("stamps-*.json")
    kept.write_bytes(broken)
    assert isinstance(check_fingerprints(machine, project, wanted).verdicts[0], Same)
    assert set(json.loads(kept.read_bytes())) == {"Makefile"}
