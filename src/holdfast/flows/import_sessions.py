"""Import: transcripts in, ledger rows out. Incremental, idempotent, and safe to interrupt at any point.

Reading commits its cursors in batches and marks the sessions it touched; then rows are written and the marks
removed. The next import finishes an interrupted one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agent_kit.contract import Warned
from holdfast.core import files
from holdfast.core.errors import TranscriptError, UsageError
from holdfast.core.open_files import marks_of, opened_once
from holdfast.core.sync_folders import names_together
from holdfast.flows.find_transcripts import (
    SessionSource,
    TranscriptSearch,
    discover,
    importers_for,
    search_paths,
    sources_of_project,
)
from holdfast.ledger.intake import captured, correct_stamps, stamp_of
from holdfast.ledger.markdown import current
from holdfast.ledger.store import ProjectLedger
from holdfast.model.events import DistilledSession
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions.cursor import SourceCursor, SourceStamp
from holdfast.sessions.line_claims import ClaimRun, SourceClaims
from holdfast.sessions.store import CaptureStore
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project

BATCH_BYTES = 32 * 1024 * 1024
BATCH_FILES = 64

Progress = Callable[[int, int, str], None]
"""Called with the bytes read, the total, and the name of the current file."""


class ImportReport(Struct):
    """The result of an import. `bytes` were actually read; `forgotten` counts the sessions on the denylist."""

    sessions: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    forgotten: int = 0
    skipped: list[str] = []
    warnings: list[Warned] = []
    bytes: int = 0

    def add(self, other: ImportReport) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def import_into(
    machine: Machine,
    project: Project,
    paths: Sequence[Path] = (),
    agent: str | None = None,
    progress: Progress | None = None,
    *,
    rows: bool = True,
) -> ImportReport:
    """Imports the named transcripts, or those that agents recorded in this project.

    Without `rows` only the records are updated: the session is still running, and its row is written when it ends.
    """
    search = search_paths(paths, importers_for(agent)) if paths else recorded_here(machine, project, agent)
    return import_sources(machine, project, search, progress, rows=rows)


def import_kept(machine: Machine, project: Project, progress: Progress | None = None) -> ImportReport:
    """Rebuilds everything from the kept transcripts, as if the agents still had theirs."""
    from holdfast.agent_kit.contract import Glance
    from holdfast.transcripts.keep import KeptImporter, place_of
    from holdfast.transcripts.kept import open_kept

    opened = open_kept(project.memory)
    if opened is None:
        raise UsageError(
            "no transcripts have been kept here", fix="Set keep_transcripts = true in ~/.holdfast/config.toml"
        )
    with opened as kept:
        sources = [
            SessionSource(
                path=place_of(about.key)[0],
                importer=KeptImporter(kept, about),
                size=about.size,
                mtime_ns=about.mtime_ns,
                glance=Glance(about.cwd, about.started, about.part),
            )
            for about in kept.all()
        ]
        return import_sources(machine, project, TranscriptSearch(sources), progress)


def recorded_here(machine: Machine, project: Project, agent: str | None = None) -> TranscriptSearch:
    """Transcripts that agents recorded in this project, without the excluded folders."""
    stamps = known_stamps(project)
    settings = machine.settings(project)
    search = discover(machine, importers_for(agent), stamps, project)
    sources = [
        source
        for source in sources_of_project(search.sources, project, stamps)
        if not settings.excludes(source.glance.cwd, machine.user_home)
    ]
    return TranscriptSearch(sources, [], search.warnings)


def unread(project: Project, search: TranscriptSearch) -> list[SessionSource]:
    """Transcripts that are new, or have grown since they were read."""
    stamps = known_stamps(project)
    return [item for item in search.sources if stamps.get(item.key) != (item.size, item.mtime_ns)]


def import_sources(
    machine: Machine,
    project: Project,
    search: TranscriptSearch,
    progress: Progress | None = None,
    *,
    rows: bool = True,
    prepares: bool = True,
    remembers: bool = True,
) -> ImportReport:
    """Imports the transcripts of a search. Without `prepares` the caller prepares the hooks' file.

    Without `remembers` they are only read into capture.db, and nothing is concluded from them.
    """
    with opened_once():
        return _Run(machine, project, progress, rows=rows, prepares=prepares, remembers=remembers).run(search)


def known_stamps(project: Project) -> dict[str, tuple[int, int]]:
    """Size and time of each transcript when it was read."""
    none: dict[str, tuple[SourceStamp, str]] = {}
    stamps = CaptureStore.glimpse(project.capture, CaptureStore.stamps, none)
    return {path: (stamp.size, stamp.mtime_ns) for path, (stamp, _) in stamps.items()}


class _Run:
    """One import into one project."""

    def __init__(
        self,
        machine: Machine,
        project: Project,
        progress: Progress | None,
        *,
        rows: bool,
        prepares: bool,
        remembers: bool,
    ) -> None:
        self.rows = rows
        self.remembers = remembers
        self.prepares = prepares
        self.machine = machine
        self.project = project
        self.progress = progress or (lambda done, total, name: None)
        self.report = ImportReport()
        self._written: set[str] = set()

    def run(self, search: TranscriptSearch) -> ImportReport:
        sources = search.sources
        self.report.skipped = list(search.skipped)
        self.report.warnings = list(search.warnings)
        if not sources and not self.project.known:
            return self.report
        with names_together():
            self.project.prepare()
        with files.lock(self.project.lock("import")):
            self.store = CaptureStore(self.project.capture)
            self.claims = ClaimRun(self.store)
            self.denied = Denied(self.project.memory)
            try:
                with collector_paused():
                    self._read(sources)
                    due = self._sessions_of(sources)
                    if self.remembers:
                        self._update_memory(due)
                    if self.remembers and self.rows and self.machine.settings().keep_transcripts:
                        self._keep(due)
                self._count(sources)
            finally:
                self.store.close()
        return self.report

    def _read(self, sources: Sequence[SessionSource]) -> None:
        stamps = self.store.stamps()
        changed = [
            item
            for item in sources
            if (entry := stamps.get(item.key)) is None
            or entry[0] != SourceStamp(item.size, item.mtime_ns)
            or self._headless_changed(item)
        ]
        if self.denied.sessions:
            changed = self._without_forgotten(changed, {key: entry[1] for key, entry in stamps.items()})
        # The original before its copies, a parent before its subagents: the first reader of a line owns it. A copy
        # starts with the same line as its original, and was written later.
        changed.sort(
            key=lambda item: (item.glance.started or 0.0, len(item.path.parts), item.mtime_ns, item.key)
        )
        total = sum(item.size for item in changed)
        done = batch = 0
        waiting: list[tuple[SourceCursor, SourceClaims]] = []
        following = self.store.next_source()

        def advance(read: int) -> None:
            self.progress(min(done + read, total), total, item.path.name)

        for item in changed:
            advance(0)
            try:
                waiting.append(self._read_one(item, following, advance))
            except TranscriptError as error:
                # The file existed during the search. Read the others; the next import retries this one.
                self.report.warnings.append(Warned(item.key, 0, "unreadable", error.problem))
            following += 1
            done += item.size
            batch += item.size
            if batch > BATCH_BYTES or len(waiting) >= BATCH_FILES:
                self._commit(waiting)
                waiting, batch = [], 0
        self._commit(waiting)
        self.progress(total, total, "")

    def _keep(self, sessions: set[str]) -> None:
        from holdfast.transcripts.keep import keep_sessions

        run = ClaimRun(self.store)
        clean = self.denied.cleaner(self.machine.clean)
        keep_sessions(self.machine, self.project, self.store, sessions, run.stored_owner, clean)

    def _headless_changed(self, item: SessionSource) -> bool:
        """Whether hooks reported another value for `headless` after the last line was read."""
        if item.headless is None:
            return False
        from holdfast.flows.distill import is_headless

        cursor = self.store.cursor(item.key)
        return cursor is not None and bool(cursor.digest) and is_headless(cursor) is not item.headless

    def _without_forgotten(
        self, changed: Sequence[SessionSource], sessions: Mapping[str, str]
    ) -> list[SessionSource]:
        """Skips files that are known to belong to a forgotten session; a new file shows that when it is read."""
        grown = [item for item in changed if sessions.get(item.key) in self.denied.sessions]
        with self.store.transaction():
            for item in grown:
                self.store.passed_over(item.key, SourceStamp(item.size, item.mtime_ns))
        return [item for item in changed if sessions.get(item.key) not in self.denied.sessions]

    def _read_one(
        self, item: SessionSource, number: int, advance: Callable[[int], None]
    ) -> tuple[SourceCursor, SourceClaims]:
        from holdfast.flows.distill import read_source

        before = self.store.cursor(item.key)
        if before is not None:
            number = before.id
            grown = item.importer.appends and item.size >= before.position
            if not grown or not before.digest or _marks(item.path, before.position) != before.head:
                with self.store.transaction():
                    self.store.release(number)
                before = None
        claims = SourceClaims(self.claims, number)
        done = read_source(self.machine, item, before, claims, number, advance, self.denied)
        self.report.bytes += done.bytes
        self.report.warnings += done.warnings
        head = (
            _marks(item.path, done.cursor.position) if item.path.exists() else b""
        )  # a kept copy has no file
        return replace(done.cursor, head=head), claims

    def _commit(self, read: list[tuple[SourceCursor, SourceClaims]]) -> None:
        if not read:
            return
        with self.store.transaction():
            for cursor, claims in read:
                root = self.store.root_of(cursor.session) if cursor.session != cursor.own else cursor.session
                forgotten = root in self.denied.sessions
                if forgotten:
                    # Its lines stay claimed, so that a fork that repeats them does not count them.
                    cursor = replace(cursor, reader=b"", digest=b"")
                self.store.put(replace(cursor, session=root))
                self.store.adopt(cursor.own, root)
                claims.save()
                if forgotten:
                    self.store.empty(root)
                elif root:
                    self.store.mark_pending(root)
        self.claims.rest()

    def _sessions_of(self, sources: Sequence[SessionSource]) -> set[str]:
        stamps = self.store.stamps()
        sessions = {stamps[source.key][1] for source in sources if source.key in stamps}
        return sessions - {""} - self.denied.sessions

    def _update_memory(self, sessions: set[str]) -> None:
        """Writes rows and records of sessions with new lines, or without a row.

        Rows are written before the marks are removed: a row that is written twice is recognised, a missing one is
        not. Without `rows` the sessions are still running: only their records are updated, and other sessions stay
        marked.
        """
        ledger = ProjectLedger(self.project)
        entries = ledger.read().entries
        correct_stamps(ledger, entries, self.machine.clock)
        forgotten = {entry.session for entry in entries if entry.forgotten} | self.denied.sessions
        rows_by_session = {entry.session: entry for entry in current(entries)} if self.rows else {}
        due = sessions - forgotten - rows_by_session.keys()
        settled = due
        if self.rows:
            settled = set(self.store.pending())
            due |= settled - forgotten
        if due or not self.rows:
            known = [entry for entry in entries if entry.session in due]
            self._write(ledger, rows_by_session, known, due)
        with self.store.transaction():
            self.store.settle(settled)

    def _write(
        self,
        ledger: ProjectLedger,
        counted: Mapping[str, LedgerEntry],
        known: Sequence[LedgerEntry],
        due: set[str],
    ) -> None:
        from holdfast.flows.distill import Conclusions
        from holdfast.flows.refresh import refresh
        from holdfast.flows.remember import remember

        conclusions = Conclusions(self.machine, self.project, self.denied)
        rows: list[LedgerEntry] = []
        records: list[DistilledSession] = []
        for session in sorted(due):
            concluded = conclusions.of(session, self.store.cursors_of(session))
            if concluded is None:
                continue
            records.append(concluded.record)
            old_row = counted.get(session)
            if self.rows and (old_row is None or not _same_row(old_row, concluded.row)):
                row = replace(concluded.row, recorded=self.machine.now())
                rows_of_session = [entry for entry in known if entry.session == session]
                stamped = captured(row, rows_of_session, *concluded.end, self.machine.clock.letters)
                if stamped is not None:
                    rows.append(stamped)
                    self.report.added += old_row is None
                    self.report.updated += old_row is not None
        rows.sort(key=lambda row: (row.timestamp is not None, row.timestamp))
        with names_together():
            if rows:
                ledger.append(rows)
                self.machine.clock.merge(map(stamp_of, rows))
            with self.store.transaction():
                for record in records:
                    self.store.put_record(record)
            remember(self.machine, self.project, records, ended=self.rows)
            refresh(self.machine, self.project, prepares=self.prepares)
        self._written = {record.session for record in records}

    def _count(self, sources: Sequence[SessionSource]) -> None:
        """Counts the sessions of these sources, and those left over from an interrupted import."""
        self.report.sessions = len(self._sessions_of(sources) | self._written)
        stamps = self.store.stamps() if self.denied.sessions else {}
        sessions = {stamps[source.key][1] for source in sources if source.key in stamps}
        self.report.forgotten = len(sessions & self.denied.sessions)
        self.report.unchanged = self.report.sessions - self.report.added - self.report.updated


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector: reading creates many objects without cycles, and scanning them costs 10% of it.

    The objects are frozen afterwards, so that the collector skips them from then on, also at exit.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()


def _same_row(before: LedgerEntry, after: LedgerEntry) -> bool:
    return replace(before, recorded=None, clock=None, extra=()) == replace(
        after, recorded=None, clock=None, extra=()
    )


def _marks(path: Path, position: int) -> bytes:
    try:
        return marks_of(path, position)
    except OSError as error:
        raise TranscriptError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Try again"
        ) from error
