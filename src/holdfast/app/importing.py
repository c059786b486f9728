"""Import: transcripts in, ledger rows out. Incremental, idempotent, and safe to interrupt at any point.

Reading commits its cursors in batches and marks the sessions it touched; only then are rows written, and the
marks removed. Whatever stops in between is finished by the next import.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.finding import Found, discovered, importers_for, named, of_project
from holdfast.app.wiring import Machine
from holdfast.errors import TranscriptError
from holdfast.model.ledger import LedgerEntry
from holdfast.model.session import DistilledSession
from holdfast.store import files
from holdfast.store.capture import CaptureStore, ClaimRun, Cursor, SourceClaims, Stamp
from holdfast.store.layout import Project
from holdfast.store.ledger import LedgerStore
from holdfast.text.ledger_md import current
from holdfast.transcripts.contract import Warned

BATCH_BYTES = 32 * 1024 * 1024
BATCH_FILES = 64
HEAD_BYTES = 1024  # enough to notice that a path holds another file than before

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and the name of what is being read."""


class ImportReport(Struct):
    """What an import did. `bytes` are those really read."""

    sessions: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: list[str] = []
    warnings: list[Warned] = []
    bytes: int = 0


def import_into(
    machine: Machine,
    project: Project,
    paths: Sequence[Path] = (),
    agent: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Imports the named transcripts, or those that agents recorded in this project."""
    importers = importers_for(agent)
    known = known_stamps(project)
    if paths:
        search = named(paths, importers)
        found, skipped = search.found, search.skipped
    else:
        settings = machine.settings(project)
        everything = discovered(machine, importers, known, project)
        found = [
            item
            for item in of_project(everything, project, known)
            if not settings.excludes(item.glance.cwd, machine.user_home)
        ]
        skipped = []
    return import_found(machine, project, found, skipped, progress)


def import_found(
    machine: Machine,
    project: Project,
    found: Sequence[Found],
    skipped: Sequence[str],
    progress: Progress | None = None,
) -> ImportReport:
    """Imports transcripts that were chosen already."""
    return _Run(machine, project, progress).run(found, skipped)


def known_stamps(project: Project) -> dict[str, tuple[int, int]]:
    if not project.capture.exists():
        return {}
    store = CaptureStore(project.capture)
    try:
        return {path: (stamp.size, stamp.mtime_ns) for path, (stamp, _) in store.stamps().items()}
    finally:
        store.close()


class _Run:
    """One import into one project."""

    def __init__(self, machine: Machine, project: Project, progress: Progress | None) -> None:
        self.machine = machine
        self.project = project
        self.progress = progress or (lambda done, total, name: None)
        self.report = ImportReport()

    def run(self, found: Sequence[Found], skipped: Sequence[str]) -> ImportReport:
        self.report.skipped = list(skipped)
        if not found and not self.project.known:
            return self.report
        self.project.prepare()
        with files.lock(self.project.lock("import")):
            self.store = CaptureStore(self.project.capture)
            self.claims = ClaimRun(self.store)
            try:
                with _no_cycle_search():
                    self._read(found)
                    self._write_rows()
                self._count(found)
            finally:
                self.store.close()
        return self.report

    def _read(self, found: Sequence[Found]) -> None:
        stamps = self.store.stamps()
        changed = [
            item
            for item in found
            if (entry := stamps.get(item.key)) is None or entry[0] != Stamp(item.size, item.mtime_ns)
        ]
        # The original before its copies, a parent before its subagents: who comes first counts a line.
        changed.sort(key=lambda item: (item.glance.started or 0.0, len(item.path.parts), item.key))
        total = sum(item.size for item in changed)
        done = batch = 0
        waiting: list[tuple[Cursor, SourceClaims]] = []
        following = self.store.next_source()
        for item in changed:
            self.progress(done, total, item.path.name)
            try:
                waiting.append(self._read_one(item, following))
            except TranscriptError as error:
                # It was there when it was found. The others are read; this one is tried again next time.
                self.report.warnings.append(Warned(item.key, 0, "unreadable", error.problem))
            following += 1
            done += item.size
            batch += item.size
            if batch > BATCH_BYTES or len(waiting) >= BATCH_FILES:
                self._commit(waiting)
                waiting, batch = [], 0
        self._commit(waiting)
        self.progress(total, total, "")

    def _read_one(self, item: Found, number: int) -> tuple[Cursor, SourceClaims]:
        from holdfast.app.distilling import read_source

        head = blake2b(_first_bytes(item.path), digest_size=16).digest()
        before = self.store.cursor(item.key)
        if before is not None:
            number = before.id
            grown = (
                item.importer.appends
                and item.size >= before.position
                and _same_start(head, before, item.path)
            )
            if not grown:
                with self.store.transaction():
                    self.store.release(number)
                before = None
        claims = SourceClaims(self.claims, number)
        done = read_source(self.machine, item, before, claims, number, head)
        self.report.bytes += done.bytes
        self.report.warnings += done.warnings
        return done.cursor, claims

    def _commit(self, read: list[tuple[Cursor, SourceClaims]]) -> None:
        if not read:
            return
        with self.store.transaction():
            for cursor, claims in read:
                root = self.store.root_of(cursor.session) if cursor.session != cursor.own else cursor.session
                self.store.put(replace(cursor, session=root))
                self.store.adopt(cursor.own, root)
                claims.save()
                if root:
                    self.store.mark_pending(root)
        self.claims.rest()

    def _write_rows(self) -> None:
        """Rows first, then the marks: a row that is written twice is recognised, a lost one would be lost."""
        sessions = self.store.pending()
        if not sessions:
            return
        from holdfast.app.distilling import Conclusions

        ledger = LedgerStore(self.project.ledger, self.project.lock("ledger"))
        entries = ledger.read().entries
        known = {entry.session: entry for entry in current(entries)}
        forgotten = {entry.session for entry in entries if entry.forgotten}
        conclusions = Conclusions(self.machine, self.project)
        rows: list[LedgerEntry] = []
        records: list[DistilledSession] = []
        for session in sessions:
            concluded = conclusions.of(session, self.store.cursors_of(session))
            if concluded is None or session in forgotten:
                continue
            record, entry = concluded
            records.append(record)
            before = known.get(session)
            if before is not None and _same_row(before, entry):
                continue
            rows.append(replace(entry, recorded=self.machine.now()))
            if before is None:
                self.report.added += 1
            else:
                self.report.updated += 1
        rows.sort(key=lambda row: (row.timestamp is not None, row.timestamp))
        if rows:
            ledger.append(rows)
        with self.store.transaction():
            for record in records:
                self.store.put_record(record)
            self.store.settle(sessions)

    def _count(self, found: Sequence[Found]) -> None:
        stamps = self.store.stamps()
        sessions = {stamps[item.key][1] for item in found if item.key in stamps}
        self.report.sessions = len(sessions - {""})
        self.report.unchanged = self.report.sessions - self.report.added - self.report.updated


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Reading makes many objects and no cycles among them: looking for some would take a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _same_row(before: LedgerEntry, after: LedgerEntry) -> bool:
    return replace(before, recorded=None, extra=()) == replace(after, recorded=None, extra=())


def _same_start(head: bytes, before: Cursor, path: Path) -> bool:
    """Whether the file still begins as it did; a short one may have grown within the compared part."""
    if head == before.head:
        return True
    size = before.stamp.size
    return size < HEAD_BYTES and blake2b(_first_bytes(path)[:size], digest_size=16).digest() == before.head


def _first_bytes(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise TranscriptError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Try again"
        ) from error
