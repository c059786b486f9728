"""The ledger on disk: read whole, appended to under one lock, no past byte ever changed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import FormatTooNew, StoreError
from holdfast.model.ledger import LedgerEntry
from holdfast.store import files
from holdfast.text import ledger_md
from holdfast.text.ledger_md import LedgerFile


class _Ending(NamedTuple):
    """What a new row would stand under: our columns in force, or none; and whether the file says anything."""

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
        return ledger_md.parse_ledger(data, self.path.name)

    def _read_between_writers(self) -> bytes | None:
        """A last line without its end may be one that is being written just now."""
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
            columns = ledger_md.columns_for(entries, ending.columns)
            text = "".join([f"{ledger_md.render_row(entry, columns)}\n" for entry in entries])
            if columns != ending.columns:
                begin = ledger_md.render_beginning if ending.blank else ledger_md.render_table
                text = begin(columns) + text
            files.append_held(held, self.path, text.encode())
            self._remember_ending(held, columns)

    def _find_ending(self) -> _Ending:
        """Search the whole file for the header in force; refuse what must not be appended to."""
        found = ledger_md.survey(files.read_lines(self.path), self.path.name)
        refuse_newer(found.format, self.path)
        header = found.header
        usable = header is not None and header.intact and not header.foreign
        return _Ending(header.columns if header and usable else (), found.blank)

    # The search reads a million rows to find one header. So each writer leaves the answer in the lock file,
    # with the file's stamp; any other program's write changes the stamp and brings the search back.

    def _stamp(self) -> list[int]:
        status = os.lstat(self.path)
        return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]

    def _remember_ending(self, held: files.Held, columns: Sequence[str]) -> None:
        # The rows are on disk by now; that the file is gone again is not this writer's failure.
        with contextlib.suppress(OSError):
            held.leave_note(json.dumps([ledger_md.FORMAT, self._stamp(), columns]).encode())

    def _remembered_ending(self, held: files.Held) -> _Ending | None:
        try:
            written_by, stamp, columns = json.loads(held.note())
            if written_by == ledger_md.FORMAT and stamp == self._stamp():
                return _Ending(tuple(columns), blank=False)
        except (ValueError, TypeError, RecursionError, OSError):
            pass
        return None


def refuse_newer(number: int | None, path: Path) -> None:
    if number is not None and number > ledger_md.FORMAT:
        raise FormatTooNew(
            f"ledger format {number}, and this holdfast writes {ledger_md.FORMAT}",
            where=str(path),
            fix="Upgrade holdfast; until then the ledger can only be read",
        )
