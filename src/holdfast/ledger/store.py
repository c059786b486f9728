"""The ledger on disk: read whole, appended to under one lock, no past byte ever changed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, StoreError
from holdfast.ledger import markdown
from holdfast.ledger.markdown import LedgerFile
from holdfast.ledger.order import lowest_cells, missing, row_key
from holdfast.model.ledger import LedgerEntry
from holdfast.store.project import LINKS, UNION_MERGE, Project

if TYPE_CHECKING:
    from holdfast.ledger.order import RowKey


class _Ending(NamedTuple):
    """The header for a new row: our columns in force, or none; and whether the file has any content."""

    columns: tuple[str, ...]
    blank: bool


class LedgerStore:
    """One `ledger.md`. Callers redact before they append."""

    def __init__(self, path: Path, lock_path: Path) -> None:
        self.path = path
        self.lock_path = lock_path

    def read(self) -> LedgerFile:
        """Everything in the file; an empty ledger when there is none."""
        data = files.read(self.path) or b""
        if data and not data.endswith(b"\n"):
            data = self._read_between_writers() or data
        return markdown.parse_ledger(data, self.path.name)

    def _read_between_writers(self) -> bytes | None:
        """The last line without its end may be in the middle of being written."""
        if not self.lock_path.exists():
            return None
        try:
            with files.lock(self.lock_path, timeout=1):
                return files.read(self.path)
        except StoreError:
            return None

    def append(self, entries: Sequence[LedgerEntry]) -> None:
        """Add a row for each entry, in one write: all of them or, with an error, none."""
        if not entries:
            return
        with files.lock(self.lock_path) as held:
            ending = self._remembered_ending(held) or self._find_ending()
            columns = markdown.columns_for(entries, ending.columns)
            text = "".join([f"{markdown.render_row(entry, columns)}\n" for entry in entries])
            if columns != ending.columns:
                begin = markdown.render_beginning if ending.blank else markdown.render_table
                text = begin(columns) + text
            files.append_held(held, self.path, text.encode())
            self._remember_ending(held, columns)

    def _find_ending(self) -> _Ending:
        """Search the whole file for the header in force; refuse what must not be appended to."""
        survey = markdown.survey(files.read_lines(self.path), self.path.name)
        refuse_newer(survey.format, self.path)
        header = survey.header
        usable = header is not None and header.intact and not header.foreign
        return _Ending(header.columns if header and usable else (), survey.blank)

    # The search reads a million rows to find one header. So each writer leaves the answer in the lock file,
    # with the file's stamp; any other program's write changes the stamp and brings the search back.

    def _stamp(self) -> list[int]:
        status = os.lstat(self.path)
        return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]

    def _remember_ending(self, held: files.Held, columns: Sequence[str]) -> None:
        # The rows are on disk by now; that the file is gone again is not this writer's failure.
        with contextlib.suppress(OSError):
            held.leave_note(json.dumps([markdown.FORMAT, self._stamp(), columns]).encode())

    def _remembered_ending(self, held: files.Held) -> _Ending | None:
        try:
            written_by, stamp, columns = json.loads(held.note())
            if written_by == markdown.FORMAT and stamp == self._stamp():
                return _Ending(tuple(columns), blank=False)
        except (ValueError, TypeError, RecursionError, OSError):
            pass
        return None


def refuse_newer(number: int | None, path: Path) -> None:
    if number is not None and number > markdown.FORMAT:
        raise FormatTooNew(
            f"ledger format {number}, and this holdfast writes {markdown.FORMAT}",
            where=str(path),
            fix="Upgrade holdfast; until then the ledger can only be read",
        )


class ProjectLedger:
    """The rows that this machine wrote and those that the repository shares, read as one ledger."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._own = LedgerStore(project.ledger, project.lock("ledger"))

    @property
    def _shown(self) -> LedgerStore | None:
        path = self.project.window_ledger
        return LedgerStore(path, self.project.lock("ledger-shared")) if path is not None else None

    @property
    def exists(self) -> bool:
        return self.project.ledger.exists() or self._shown is not None

    def read(self) -> LedgerFile:
        """The rows of both files, each once."""
        own, shown = self._own.read(), self._shown
        if shown is None:
            return own
        repository = shown.read()
        more = missing_rows(own.entries, repository.entries)
        return replace(
            repository,
            entries=[*repository.entries, *more],
            lines=[*repository.lines, *[0 for _ in more]],
            problems=[*repository.problems, *own.problems],
        )

    def append(self, entries: Sequence[LedgerEntry]) -> None:
        """Into the repository's file first: should that refuse, nothing has changed."""
        if (shown := self._shown) is not None:
            shown.append(entries)
        self._own.append(entries)

    def share(self) -> None:
        """Makes the ledger a file of the repository, with every row that is known here."""
        self.project.prepare()
        path = self.project.window / "ledger.md"
        with files.lock(self.project.lock("ledger-shared")) as lock:
            if path.is_symlink() or not path.exists():
                files.discard([path])
                files.replace_held(lock, path, files.read(self.project.ledger) or b"", files.ANYTHING)
        if (shown := self._shown) is not None:
            shown.append(missing_rows(self._own.read().entries, shown.read().entries))
        self.project.write_ignore_rules(ledger=True)
        path = self.project.window / ".gitattributes"
        files.replace(path, UNION_MERGE.encode(), self.project.lock("layout"), files.ANYTHING)

    def unshare(self) -> None:
        """Takes the ledger back into memory. What git has recorded stays in its history."""
        if (shown := self._shown) is not None:
            self._own.append(missing_rows(shown.read().entries, self._own.read().entries))
            if LINKS:
                with files.lock(self.project.lock("ledger-shared")):
                    files.discard([shown.path])
        self.project.write_ignore_rules(ledger=False)
        self.project.prepare()


def missing_rows(entries: Iterable[LedgerEntry], known: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries that are not known yet, each once."""
    rows, known_rows = list(entries), list(known)
    cells = lowest_cells([row_of(row) for row in known_rows], [row.clock for row in known_rows])
    return [
        rows[place] for place in missing([row_of(row) for row in rows], [row.clock for row in rows], cells)
    ]


def row_of(entry: LedgerEntry) -> RowKey:
    """What identifies a row among those of several ledgers."""
    return row_key(entry.session, entry.clock, entry.recorded, entry.outcome)
