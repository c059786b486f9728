"""The demonstration: imports bundled sessions of two agents into a scratch project that is deleted afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.history import logged
from holdfast.briefing.prepare import prepare
from holdfast.briefing.recovery import recovery
from holdfast.core.folders import scratch_projects
from holdfast.demo.repository import make_repository
from holdfast.demo.telling import tell_session
from holdfast.flows import facts, lessons, questions, todos
from holdfast.flows.find_transcripts import TranscriptSearch, importers_for, search_paths
from holdfast.flows.import_sessions import ImportReport, import_into, import_sources
from holdfast.flows.payback import pay_back
from holdfast.flows.repo_scan import look
from holdfast.ledger.rows import read_ledger, rows
from holdfast.memory.log import render_entry
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import enable

THE_DAY_AFTER = datetime(2026, 11, 10, 9, tzinfo=UTC)  # output shows ages, and the sessions have fixed dates
SESSIONS = Path(__file__).parents[1] / "demo_sessions"
LONGEST_S = 3600.0  # no session takes longer
TOLD_SINCE = datetime(2026, 11, 7, tzinfo=UTC)  # before that there was little to tell


class ByHand(Struct, frozen=True):
    """What a person did at this time."""

    at: datetime
    does: Callable[[Machine, Project], object]


BY_HAND = (
    ByHand(
        datetime(2026, 11, 3, 17, tzinfo=UTC),
        lambda machine, project: questions.decide(
            machine, "Log as JSON lines to standard output", "the collector reads nothing else", "user"
        ),
    ),
    ByHand(
        datetime(2026, 11, 4, 16, tzinfo=UTC),
        lambda machine, project: facts.add_fact(
            machine, "The gateway listens on port 8085", "listening on :8085", "echo listening on :8085"
        ),
    ),
    ByHand(
        datetime(2026, 11, 5, 11, tzinfo=UTC),
        lambda machine, project: questions.ask(
            machine, "Logout with JWT: tokens that live 15 minutes, or a deny list?"
        ),
    ),
    ByHand(
        datetime(2026, 11, 5, 12, tzinfo=UTC),
        lambda machine, project: questions.answer(
            machine, "Who owns the tide data?", "The harbour office; ask them before we publish any", "user"
        ),
    ),
    ByHand(
        datetime(2026, 11, 6, 9, tzinfo=UTC),
        lambda machine, project: lessons.promote(machine, project, ["python-missing"]),
    ),
    ByHand(
        datetime(2026, 11, 7, 12, tzinfo=UTC),
        lambda machine, project: todos.add_todo(
            machine, "Show how often the forecast cache is hit", "high", "user", "we guessed one hour"
        ),
    ),
)


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
    with scratch_projects("demo") as scratch:
        base = keep or scratch
        root = base / "tidepool"
        root.mkdir(parents=True, exist_ok=True)
        env = {**machine.env, "HOLDFAST_HOME": str(base / "home")}
        visitor = Machine(env=env, cwd=root)
        if not make_repository(root):  # then this folder marks it as a project of its own
            (root / ".holdfast").mkdir(exist_ok=True)
        project = visitor.project()
        first = _import_as_they_came(visitor, project)
        visitor.now = lambda: THE_DAY_AFTER
        look(visitor, project, keep=True)
        prepare(visitor, project)
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


def _import_as_they_came(machine: Machine, project: Project) -> ImportReport:
    """Imports one session after the other, so that memory tells each what it knew from those before it."""
    enable(project)
    found = search_paths([SESSIONS], importers_for(None))
    report = ImportReport()
    waiting = list(BY_HAND)
    for source in sorted(found.sources, key=lambda source: source.glance.started or 0.0):
        began = source.glance.started or 0.0
        while waiting and waiting[0].at.timestamp() < began:
            _set_clock(machine, waiting[0].at.timestamp())
            waiting.pop(0).does(machine, project)
        _set_clock(machine, began)
        session = ""
        if began >= TOLD_SINCE.timestamp():
            prepare(machine, project)
            session = tell_session(machine, project, source)
        _set_clock(machine, began + LONGEST_S)
        report.add(import_sources(machine, project, TranscriptSearch([source]), prepares=False))
        if session:
            pay_back(machine, project, session, source)
    return report


def _set_clock(machine: Machine, at: float) -> None:
    machine.now = lambda: datetime.fromtimestamp(at, UTC)
