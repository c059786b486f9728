"""Rows of the ledger, entries of the log and records of sessions as items. Nobody edits them: the latest counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core import files
from holdfast.core.errors import HoldfastError
from holdfast.core.sync_folders import sync_names
from holdfast.ledger import markdown
from holdfast.ledger.order import LONG_AGO, used_stamp
from holdfast.ledger.store import LedgerStore, refuse_newer
from holdfast.memory import log as log_md
from holdfast.memory.log import LogFile
from holdfast.memory.session_log import LONGEST, LogMarks
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import LogEntry
from holdfast.sessions.store import CaptureStore
from holdfast.store.line_grammar import render_month
from holdfast.store.sections import decode_text, encode_text
from holdfast.sync.items import Items, Place, Read, built_in, by_project, key_of, parts_of, plain
from holdfast.sync.statement_items import values


class Rows:
    """Every row, also those that a later one of the same session replaced. The ledger is ordered by their stamps."""

    prefix = "row/"

    def __init__(self, place: Place) -> None:
        self._place = place
        project = place.project
        self._store = LedgerStore(project.ledger, project.lock("ledger"))

    def read(self) -> Read:
        entries = self._store.read().entries
        return Read({_row_key(entry): built_in(entry) for entry in entries})

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = {_row_key(entry) for entry in self._store.read().entries}
        self._store.append(
            [
                entry
                for entry in values(changed, LedgerEntry)
                if entry.session and _row_key(entry) not in known
            ]
        )
        self._arrange()

    def _arrange(self) -> None:
        """Puts the rows into the order of their stamps, if nothing but rows is in the file."""
        path = self._store.path
        with files.lock(self._store.lock_path) as held:
            data = files.read(path)
            if not data:
                return
            refuse_newer(markdown.survey(files.read_lines(path), path.name).format, path)
            ledger = markdown.parse_ledger(data, path.name)
            entries = ledger.entries
            columns = markdown.columns_for(entries)
            as_written = _render(entries, columns)
            if ledger.problems or as_written.count(b"\n") != data.count(b"\n"):
                return  # a person's own lines, or ones that are not understood
            if not data.startswith(markdown.render_beginning(columns).encode()):
                return
            if markdown.parse_ledger(as_written, path.name).entries != entries:
                return
            ordered = _render(sorted(entries, key=_row_order), columns)
            if ordered != data:
                files.replace_held(held, path, ordered, files.digest(data))


def _row_key(entry: LedgerEntry) -> str:
    return key_of("row", entry.session, str(used_stamp(entry.clock, entry.recorded)), entry.outcome or "")


def _row_order(entry: LedgerEntry) -> tuple[Any, ...]:
    return (
        used_stamp(entry.clock, entry.recorded),
        entry.recorded or LONG_AGO,
        entry.session,
        entry.outcome or "",
    )


def _render(entries: Iterable[LedgerEntry], columns: tuple[str, ...]) -> bytes:
    rows = "".join(f"{markdown.render_row(entry, columns)}\n" for entry in entries)
    return (markdown.render_beginning(columns) + rows).encode()


class Log:
    """Entries of the log and its archive, as they are written. Where an entry lies follows from all of them."""

    prefix = "log/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in self._place.names():
            outside = self._place.outside(name)
            try:
                found = _LogOnDisk(self._place.store(outside))
            except HoldfastError as error:
                read.problems.append(error.line())
                continue
            if found.entries and not found.torn:
                read.whole.add(f"{key_of('log', outside)}/")
            elif not found.own:
                read.absent.add(f"{key_of('log', outside)}/")
            for session, (entry, text) in found.entries.items():
                read.items[key_of("log", outside, session)] = plain(
                    {"at": entry.at, "text": text.strip("\n")}
                )
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = by_project(everything())
        for name in by_project(changed):
            bodies = known.get(name, {})
            texts = {
                parts_of(key)[2]: body for key, body in bodies.items() if _is_entry(parts_of(key)[2], body)
            }
            self._arrange(self._place.store(name), texts)

    def bury(self, sessions: Iterable[str]) -> None:
        """Says of forgotten sessions that they were: also of those that never came here, as where they were."""
        logs = [_LogOnDisk(self._place.store(self._place.outside(name))) for name in self._place.names()]
        known = set().union(*(log.forgotten for log in logs))
        store, new = self._place.store(""), sorted(set(sessions) - known)
        if new and files.read(store.log_file):
            lines = "".join(f"{log_md.forgotten_line(session)}\n" for session in new)
            with files.lock(store.lock_path) as held:  # no version is kept of it: it holds other sessions
                text = decode_text(files.read(store.log_file) or b"")
                _put(held, store.log_file, f"{text.rstrip()}\n\n{lines}")
            self._arrange(
                store,
                {
                    session: plain({"at": entry.at, "text": text.strip("\n")})
                    for session, (entry, text) in _LogOnDisk(store).entries.items()
                },
            )

    def _arrange(self, store: MemoryStore, texts: dict[str, Any]) -> None:
        with files.lock(store.lock_path) as held:
            disk = _LogOnDisk(store)
            order = sorted(
                (session for session in texts if session not in disk.forgotten),
                key=lambda session: (texts[session].get("at") or 0.0, session),
            )
            blocks = {session: f"\n{texts[session]['text']}\n" for session in order}
            log, archives = _layout(order, blocks, lambda session: texts[session].get("at"))
            written: dict[Path, str] = {}
            for month, sessions in archives.items():
                path = store.archive_folder / f"{month}.md"
                written[path] = _joined(disk.own.get(path, f"# Sessions of {month}\n"), sessions, blocks)
            for path, own in disk.own.items():
                if path not in written and path != store.log_file:
                    written[path] = _joined(own, [], blocks)
            own = disk.own.get(store.log_file) or log_md.render_beginning(store.name)
            gone = "".join(f"{log_md.forgotten_line(session)}\n" for session in sorted(disk.forgotten))
            beginning = f"{own.rstrip()}\n\n{gone}" if gone else own
            new = [
                (session, text.lstrip("\n"))
                for session, text in blocks.items()
                if session not in disk.entries or disk.entries[session][1].strip("\n") != text.strip("\n")
            ]
            LogMarks(store.project.memory, store.name).add(held, new)
            for path, text in written.items():
                _put(held, path, text)
            sync_names()  # the archive must be on disk before the entries leave the log
            _put(held, store.log_file, _joined(beginning, log, blocks))


def _is_entry(session: str, body: Any) -> bool:
    """Whether a body is one whole log entry of this session: anything else would break the file."""
    if not isinstance(body, dict) or not isinstance(body.get("text"), str):
        return False
    file = log_md.parse_log(f"{body['text']}\n")
    return [entry.session for entry in file.entries] == [session] and not file.preamble and not file.forgotten


def _put(held: files.Held, path: Path, text: str) -> None:
    data = encode_text(text)
    before = files.read(path)
    if before != data:
        files.make_private(path.parent)
        files.replace_held(held, path, data, files.digest(before))


def _joined(own: str, sessions: Iterable[str], blocks: Mapping[str, str]) -> str:
    own = own.rstrip("\n")
    return f"{own}\n" * bool(own) + "".join(blocks[session] for session in sessions)


def _layout(
    order: list[str], blocks: Mapping[str, str], at: Callable[[str], float | None]
) -> tuple[list[str], dict[str, list[str]]]:
    """The sessions that stay in the log, and those of each month in the archive. It follows from the entries alone."""
    left, cut = LONGEST, 0
    if sum(blocks[session].count("\n") for session in order) > LONGEST:
        left = LONGEST * 3 // 5
        cut = len(order)
        while cut > 0 and (cut == len(order) or left >= blocks[order[cut - 1]].count("\n")):
            cut -= 1
            left -= blocks[order[cut]].count("\n")
    archives: dict[str, list[str]] = {}
    for session in order[:cut]:
        archives.setdefault(render_month(at(session)), []).append(session)
    return order[cut:], archives


class _LogOnDisk:
    """The log and its archive: the last entry of each session, and all lines between entries, file by file."""

    def __init__(self, store: MemoryStore) -> None:
        self.entries: dict[str, tuple[LogEntry, str]] = {}
        self.forgotten: set[str] = set()
        self.own: dict[Path, str] = {}
        self.torn = False
        archives = sorted(store.archive_folder.glob("*.md")) if store.archive_folder.is_dir() else []
        for path in (*archives, store.log_file):
            data = files.read(path)
            if data is not None:
                self._read(path, log_md.parse_log(decode_text(data), path.name))

    def _read(self, path: Path, log: LogFile) -> None:
        own = [_without_forgotten(log.preamble).rstrip("\n")]
        self.forgotten |= log.forgotten
        for block in log.blocks:
            entry_text = "".join(log.lines[block.start : block.end])
            if block.entry is None:
                self.torn = True
                own.append(log.text(block).strip("\n"))
                continue
            self.entries[block.entry.session] = block.entry, entry_text
            own.append(_without_forgotten("".join(log.lines[block.end : block.stop])).strip("\n"))
        self.own[path] = "\n".join(filter(None, own))


def _without_forgotten(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(line for line in lines if not log_md.is_forgotten_line(line))


class Records:
    """What capture.db keeps of each session."""

    prefix = "record/"

    def __init__(self, place: Place) -> None:
        self._path = place.project.capture

    def read(self) -> Read:
        nothing: list[tuple[Any, ...]] = []
        rows = CaptureStore.glimpse(
            self._path, lambda store: store.select("SELECT id, record FROM session ORDER BY id"), nothing
        )
        return Read(
            {key_of("record", session): plain(msgspec.json.decode(record)) for session, record in rows}
        )

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        found = values(changed, DistilledSession)  # a record goes with `forget` alone
        with closing(CaptureStore(self._path)) as store, store.transaction():
            for record in found:
                store.put_record(record)
