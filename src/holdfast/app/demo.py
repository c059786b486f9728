"""The demonstration: bundled sessions of two agents, imported into a scratch project that is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from holdfast.app.importing import ImportReport, import_into
from holdfast.app.ledger import read_ledger, rows
from holdfast.app.next_session import told_next
from holdfast.app.wiring import Machine
from holdfast.model.ledger import LedgerEntry
from holdfast.store.capture import CaptureStore
from holdfast.store.layout import Project, project_at

SESSIONS = Path(__file__).parent.parent / "demo_sessions"


class Demonstration(Struct, frozen=True, kw_only=True):
    project: Project
    first: ImportReport
    again: ImportReport
    rows: list[LedgerEntry]
    ledger_text: str
    told: list[str]


@contextmanager
def demonstrate(machine: Machine, keep: Path | None = None) -> Iterator[Demonstration]:
    """Runs the whole path once, and the import a second time to show that it adds nothing."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as scratch:
        base = keep or Path(scratch)
        root = base / "tidepool"
        root.mkdir(parents=True, exist_ok=True)
        env = {**machine.env, "HOLDFAST_HOME": str(base / "home")}
        visitor = Machine(env=env, cwd=root)
        project = project_at(root, visitor.home)
        first = import_into(visitor, project, [SESSIONS])
        again = import_into(visitor, project, [SESSIONS])
        store = CaptureStore(project.capture)
        try:
            told = told_next(store.records(100))
        finally:
            store.close()
        yield Demonstration(
            project=project,
            first=first,
            again=again,
            rows=rows(read_ledger(project)),
            ledger_text=project.ledger.read_text(encoding="utf-8"),
            told=told,
        )
