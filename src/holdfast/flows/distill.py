"""Distills a transcript into its digest, and a session's digests into its record and row.

Separate from `import_sessions` because this module loads all of distillation, and an import that finds nothing new
should not pay for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.agent_kit.contract import Claims, Reading, Warned
from holdfast.agents.registry import importer_of
from holdfast.core.fence import strip_ours
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.flows.find_transcripts import SessionSource
from holdfast.knowledge.stack import Stack, stack_from_evidence, stack_of
from holdfast.ledger.intake import end_of_transcript
from holdfast.model.events import DistilledSession, Event
from holdfast.model.ledger import LedgerEntry
from holdfast.model.times import no_later_than
from holdfast.sessions.cursor import SourceCursor, SourceStamp
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.session import SessionPart, conclude, ledger_entry
from holdfast.sessions.usage_gaps import unreadable_lines
from holdfast.store.denied import Denied
from holdfast.store.gate import pass_value, session_name
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_REDACTED = lazy_regex(
    r"\W*(?:(?:\w+[-_])?(?:redacted|removed|masked|hidden|anonymi[sz]ed|scrubbed)(?:[-_ ]\w{1,12})?|[*•x_#-]{3,}"
    r"|\[?(?:session[-_ ]?)?(?:id|uuid)\]?)\W*|\W+",
    re.IGNORECASE,
)
EVENTS_BETWEEN_WORDS = 20_000
MOST_TOUCHED = 200  # files and commands that show a project's stack; more add nothing
MOST_COMMANDS = 60


class Pass(Struct, frozen=True):
    """The result of reading a transcript: the cursor to store, and what to report."""

    cursor: SourceCursor
    bytes: int
    warnings: list[Warned]


def read_source(
    machine: Machine,
    item: SessionSource,
    before: SourceCursor | None,
    claims: Claims,
    number: int,
    advance: Callable[[int], None],
    denied: Denied,
) -> Pass:
    """Reads a transcript from its cursor, or from the start if there is none."""
    if before is None:
        digest, start, state = Digest(item.importer.agent), 0, b""
    else:
        digest = msgspec.msgpack.decode(before.digest, type=Digest)
        start, state = before.position, before.reader
    reading = item.importer.open(item.path, start, state, claims, item.glance.part)
    Reducer(digest).take_all(_counted(reading, start, advance))
    if digest.first_at is None and digest.turns and not item.glance.part:
        digest.first_at = digest.last_at = item.mtime_ns / 1e9  # no line has a date: use the file's
    if item.headless is not None:  # the last envelope counts: a person may resume a headless run
        digest.headless = item.headless
    digest.unreadable += unreadable_lines(reading.warnings)
    if is_redacted(digest.session):
        digest.session = f"file-{blake2b(item.key.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"
    if is_redacted(digest.parent):
        digest.parent = ""
    session, parent = digest.session, digest.parent
    machine.look_over(_texts_in(msgspec.to_builtins(digest)))
    clean = denied.cleaner(lambda text: machine.clean(strip_ours(text)))
    digest.seal(clean)
    cursor = SourceCursor(
        id=number,
        path=item.key,
        agent=item.importer.agent,
        own=session_name(session.replace("/", ":") if parent else session, machine.clean),
        session=session_name(parent or session, machine.clean),
        position=reading.position(),
        stamp=SourceStamp(item.size, item.mtime_ns),
        head=b"",
        reader=_sealed(reading.state(), clean),
        digest=msgspec.msgpack.encode(digest),
    )
    return Pass(cursor, reading.position() - start, list(reading.warnings))


def is_redacted(session: str) -> bool:
    """Whether another tool has blanked an id: it then stands for many sessions, and names none."""
    return bool(session) and bool(_REDACTED.fullmatch(session))


def is_headless(cursor: SourceCursor) -> bool:
    """Whether what was read so far counts as a headless run."""
    return msgspec.msgpack.decode(cursor.digest, type=Digest).headless


def _counted(reading: Reading, start: int, advance: Callable[[int], None]) -> Iterator[Event]:
    """The events, reporting progress now and then."""
    for number, event in enumerate(reading.events(), 1):
        if not number % EVENTS_BETWEEN_WORDS:
            advance(reading.position() - start)
        yield event


def _texts_in(value: Any) -> list[str]:
    """Every text in a structure of plain values."""
    texts: list[str] = []

    def gather(items: Iterable[Any]) -> None:
        for item in items:
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is dict:
                texts.extend(item)
                gather(item.values())
            elif kind is list or kind is tuple:
                gather(item)

    gather((value,))
    return texts


def _sealed(state: bytes, clean: Callable[[str], str]) -> bytes:
    """An importer's state as it may be stored: its texts are cleaned like any other."""
    return msgspec.msgpack.encode(pass_value(msgspec.msgpack.decode(state), clean)) if state else state


class Conclusion(Struct, frozen=True):
    """What a session comes to. `end` is when its transcript ended, and the end it claims if that cannot be true."""

    record: DistilledSession
    row: LedgerEntry
    end: tuple[int, int | None]


class Conclusions:
    """Records and rows of one project's sessions."""

    def __init__(self, machine: Machine, project: Project, denied: Denied) -> None:
        self.machine = machine
        self.project = project
        self._settings = machine.settings(project)
        self._denied = denied
        self._stack: Stack | None = None

    def of(self, session: str, cursors: Sequence[SourceCursor]) -> Conclusion | None:
        """The record and row of a session; None if its transcripts contain no lines of their own."""
        parts = _parts(cursors)
        if not parts:
            return None
        stack = self._stack_for(parts)
        record = conclude(session, parts, stack.project_type, stack.framework)
        if self._denied:
            record = replace(
                record,
                harvest=self._denied.left_of(record.harvest),
                passages=tuple(filter(self._denied.lets, record.passages)),
            )
        changed = (cursor.stamp.mtime_ns for cursor in cursors)
        end = end_of_transcript(record.ended, changed, self.machine.clock.now())
        if end[1] is not None:
            record = no_later_than(record, end[0] / 1000)
        return Conclusion(record, self._clean_row(ledger_entry(record)), end)

    def _stack_for(self, parts: Sequence[SessionPart]) -> Stack:
        """The stack of the checkout if the session ran in it; else the stack that the session's files suggest."""
        cwd = next((part.digest.cwd for part in parts if part.digest.cwd), "")
        root = self.project.root
        if cwd and (Path(cwd) == root or root in Path(cwd).parents):
            if self._stack is None:
                self._stack = self._overridden(stack_of(root))
            if self._stack.project_type:
                return self._stack
        touched = [path for part in parts for path in part.digest.files]
        commands = [command for part in parts for command in part.digest.commands]
        return self._overridden(stack_from_evidence(touched[:MOST_TOUCHED], commands[:MOST_COMMANDS]))

    def _overridden(self, stack: Stack) -> Stack:
        settings = self._settings
        return replace(
            stack,
            project_type=settings.project_type or stack.project_type,
            framework=settings.framework or stack.framework,
        )

    def _clean_row(self, entry: LedgerEntry) -> LedgerEntry:
        """Cleans the names, which came from a transcript like any other text."""
        clean = self.machine.clean
        return replace(
            entry,
            model=clean(entry.model) if entry.model else None,
            provider=clean(entry.provider) if entry.provider else None,
        )


def _parts(cursors: Sequence[SourceCursor]) -> list[SessionPart]:
    """A session's digests: of the agent's own transcripts or, if there are none, of copies by other programs."""
    originals: list[SessionPart] = []
    copies: list[SessionPart] = []
    for cursor in cursors:
        if not cursor.digest:
            continue  # emptied by `forget`
        digest = msgspec.msgpack.decode(cursor.digest, type=Digest)
        if not digest.empty:
            importer = importer_of(cursor.agent)  # None if the package that provided it was removed
            is_copy = importer is not None and importer.copies
            (copies if is_copy else originals).append(SessionPart(cursor.path, digest))
    return originals or copies
