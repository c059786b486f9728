"""The demonstration: imports bundled sessions of two agents into a scratch project that is deleted afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.history import logged
from holdfast.briefing.recovery import recovery
from holdfast.flows.import_sessions import ImportReport, import_into
from holdfast.ledger.rows import read_ledger, rows
from holdfast.memory.log import render_entry
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.store.project import Project, project_at

THE_DAY_AFTER = datetime(2026, 11, 10, 9, tzinfo=UTC)  # output shows ages, and the sessions have fixed dates
SESSIONS = Path(__file__).parent.parent / "demo_sessions"


class Demonstration(Struct, frozen=True, kw_only=True):
    project: Project
    first: ImportReport
    again: ImportReport
    rows: list[LedgerEntry]
    ledger_text: str
    entry: str
    told: list[str]


@contextmanager
def demonstrate(machine: Machine, keep: Path | None = None) -> Iterator[Demonstration]:
    """Runs an import with all its steps, then a second one to show that it adds nothing."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as scratch:
        base = keep or Path(scratch)
        root = base / "tidepool"
        root.mkdir(parents=True, exist_ok=True)
        env = {**machine.env, "HOLDFAST_HOME": str(base / "home")}
        visitor = Machine(env=env, cwd=root)
        visitor.now = lambda: THE_DAY_AFTER
        project = project_at(root, visitor.home)
        first = import_into(visitor, project, [SESSIONS])
        again = import_into(visitor, project, [SESSIONS])
        entries, _ = logged(visitor, project)
        sample = next(entry for entry in entries if entry.decisions or entry.dead_ends)
        yield Demonstration(
            project=project,
            first=first,
            again=again,
            rows=rows(read_ledger(project)),
            ledger_text=project.ledger.read_text(encoding="utf-8"),
            entry=render_entry(
                replace(sample, transcript="")
            ),  # the path of the samples means nothing to readers
            told=[line.text for line in recovery(visitor, project)],
        )
