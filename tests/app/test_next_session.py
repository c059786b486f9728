"""What the next session is told: where the last one stopped, what keeps failing, what works."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

import holdfast as package
from holdfast.app.importing import import_into
from holdfast.app.next_session import BUDGET, told_next
from holdfast.app.wiring import Machine
from holdfast.model.memory import DeadEnd, Harvest
from holdfast.model.session import DistilledSession
from holdfast.store.capture import CaptureStore
from holdfast.text.tokens import count_tokens

DEMO = Path(package.__file__).parent / "demo_sessions"


def records(tmp_path: Path) -> list[DistilledSession]:
    machine = Machine(env={"HOME": str(tmp_path / "home")}, cwd=tmp_path)
    project = machine.project()
    import_into(machine, project, [DEMO])
    store = CaptureStore(project.capture)
    try:
        return store.records(100)
    finally:
        store.close()


def stumbling(record: DistilledSession, number: int) -> DistilledSession:
    dead_end = DeadEnd(
        tried=f"gh pr diff {number} --stat", failed="unknown flag: --stat", instead="gh pr diff --name-only"
    )
    return replace(record, harvest=Harvest(dead_ends=(dead_end,)))


def test_nothing_known_nothing_said() -> None:
    assert told_next([]) == []


def test_a_stumble_is_told_when_a_second_session_met_it(tmp_path: Path) -> None:
    first, second, *rest = records(tmp_path)
    quiet = [replace(record, harvest=Harvest()) for record in (first, second, *rest)]
    once = [stumbling(quiet[0], 88), *quiet[1:]]
    assert not any("--stat" in line for line in told_next(once))
    twice = [stumbling(quiet[0], 88), stumbling(quiet[1], 104), *quiet[2:]]
    (line,) = [line for line in told_next(twice) if "--stat" in line]
    assert "gh pr diff --name-only" in line and "2 sessions" in line


def test_open_items_and_working_commands_are_told_within_the_budget(tmp_path: Path) -> None:
    told = told_next(records(tmp_path))
    assert any(line.startswith("Open: ") for line in told) and any("uv run pytest" in line for line in told)
    assert sum(count_tokens(line) for line in told) <= BUDGET
