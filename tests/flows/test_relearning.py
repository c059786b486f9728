"""Sessions that an older holdfast read teach too, once they are read again; nothing else of them changes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.agents.builders import ClaudeFile
from tests.briefing.test_learning import FLAG, rules, stumbling, taken_in

from holdfast.flows.import_sessions import import_into
from holdfast.flows.lesson_upkeep import behind, relearn
from holdfast.flows.lessons import read_lessons
from holdfast.model.lesson import Experience
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project


@pytest.fixture
def machine(repo: Path, tmp_path: Path) -> Machine:
    """Two sessions as a holdfast kept them that knew nothing of lessons."""
    machine = Machine(cwd=repo)
    taken_in(machine, tmp_path / "t", stumbling(1, repo), stumbling(2, repo))
    store = CaptureStore(machine.project().capture)
    for record in store.all_records():
        with store.transaction():
            store.put_record(msgspec.structs.replace(record, experience=Experience()))
    store.close()
    for path in (machine.project().memory / "lessons").rglob("*"):
        if path.is_file():
            path.unlink()
    assert rules(machine) == set()
    return machine


def kept(project: Project) -> dict[str, bytes]:
    """Ledger and log."""
    named = [*project.memory.glob("ledger.md"), *project.memory.rglob("log*/**/*.md")]
    return {str(path): path.read_bytes() for path in named}


@pytest.mark.promise("S2")
def test_old_sessions_are_read_again_and_teach(machine: Machine, tmp_path: Path) -> None:
    project = machine.project()
    import_into(machine, project, list((tmp_path / "t").rglob("*.jsonl")))
    assert rules(machine) == set()  # an import leaves unchanged transcripts alone
    before = kept(project)
    told: list[tuple[int, int, str]] = []
    assert behind(project) == 2
    done = relearn(machine, project, lambda at, total, name: told.append((at, total, name)))
    assert (done.behind, done.read, done.gone, done.lessons) == (2, 2, 0, 2)
    assert rules(machine) == {FLAG, "tests: `npm test`"}
    assert told[-1][0] == told[-1][1] > 0
    assert behind(project) == 0
    assert relearn(machine, project).behind == 0
    assert kept(project) == before


def test_the_names_that_old_sessions_wrote_are_known_once_they_are_read_again(
    repo: Path, tmp_path: Path
) -> None:
    file = ClaudeFile(cwd=str(repo))
    file.user(1, "Take the voucher off the total")
    wrote = {"file_path": f"{repo}/cart.py", "old_string": "pass", "new_string": "return apply_voucher(cart)"}
    file.result(3, file.call(2, "Edit", wrote), "updated")
    machine = Machine(cwd=repo)
    import_into(machine, machine.project(), [file.save(tmp_path / "t" / "s.jsonl")])
    store = CaptureStore(machine.project().capture)
    (record,) = store.all_records()
    assert record.named == (("cart.py", "apply_voucher"),)
    with store.transaction():
        store.put_record(msgspec.structs.replace(record, named=(), experience=Experience()))
    store.close()
    relearn(machine, machine.project())
    store = CaptureStore(machine.project().capture)
    assert [one.named for one in store.all_records()] == [record.named]
    store.close()


def test_a_transcript_that_is_gone_is_not_looked_for_again(machine: Machine, tmp_path: Path) -> None:
    for path in (tmp_path / "t").rglob("*.jsonl"):
        path.unlink()
    done = relearn(machine, machine.project())
    assert (done.behind, done.read, done.gone) == (2, 0, 2)
    assert behind(machine.project()) == 0


def test_lines_that_another_session_counted_teach_it_nothing(machine: Machine, tmp_path: Path) -> None:
    """A fork repeats its original: its stumble was met once."""
    original = next((tmp_path / "t").rglob("*.jsonl"))
    lines = original.read_text(encoding="utf-8").splitlines()
    fork = tmp_path / "t" / "fork.jsonl"
    copied = [json.loads(line) for line in lines]
    for line in copied:
        line["sessionId"] = "ffffffff-58a4-4c4e-9b53-0d9f6b7e2a11"
    fork.write_text("\n".join(map(json.dumps, copied)) + "\n", encoding="utf-8")
    import_into(machine, machine.project(), [fork])
    relearn(machine, machine.project(), everything=True)
    flag = next(
        one for one in read_lessons(machine, machine.project()).lessons if one.lesson.rules == (FLAG,)
    )
    assert len(flag.lesson.sessions) == 2
