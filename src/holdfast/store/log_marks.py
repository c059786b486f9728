"""What each log entry was when it was written, as a hash: so that a change by hand can be said, never undone.

`history/log-marks.jsonl` has a line per entry. A log is a person's file too: whatever they changed stands. Entries
that have no mark, because an older holdfast or an archive brought them, are taken as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.store import files
from holdfast.store.files import Held


class Mark(Struct, frozen=True):
    project: str
    session: str
    mark: str


class Written(Struct, frozen=True):
    """An entry as it stands in a file now."""

    where: str
    line: int
    session: str
    at: float | None
    text: str


class Edited(Struct, frozen=True):
    """An entry that is not what was written. `line` is 0 when it is gone, or cannot be read as an entry any more."""

    where: str
    line: int
    session: str
    at: float | None = None


class LogMarks:
    def __init__(self, memory: Path, project: str) -> None:
        self._path = memory / "history" / "log-marks.jsonl"
        self._project = project
        self._decoder = msgspec.json.Decoder(Mark)

    def add(self, held: Held, entries: Iterable[tuple[str, str]]) -> None:
        lines = [Mark(self._project, session, _mark(text)) for session, text in entries]
        if lines:
            files.append_held(held, self._path, _encoded(lines))

    def edited(self, entries: Iterable[Written], forgotten: Collection[str], log: str) -> list[Edited]:
        """The entries of which no mark is known though their session has some, and sessions that are gone."""
        known: dict[str, set[str]] = {}
        for mark in self._marks():
            if mark.project == self._project and mark.session not in forgotten:
                known.setdefault(mark.session, set()).add(mark.mark)
        there = list(entries)
        found = [
            Edited(entry.where, entry.line, entry.session, entry.at)
            for entry in there
            if entry.session in known and _mark(entry.text) not in known[entry.session]
        ]
        gone = known.keys() - {entry.session for entry in there}
        return [*found, *(Edited(log, 0, session) for session in sorted(gone))]

    def accept(self, held: Held, entries: Iterable[Written], but: Collection[str] = ()) -> None:
        """From now on the entries are right as they are, but for those of some sessions."""
        before = self._marks()
        kept = [mark for mark in before if mark.project != self._project or mark.session in but]
        now = [
            Mark(self._project, entry.session, _mark(entry.text))
            for entry in entries
            if entry.session not in but
        ]
        after = [*kept, *dict.fromkeys(now)]
        if after != before:
            files.replace_held(held, self._path, _encoded(after), files.ANYTHING)

    def _marks(self) -> list[Mark]:
        found: list[Mark] = []
        for line in files.read_lines(self._path):
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):  # torn by a crash
                found.append(self._decoder.decode(line))
        return found


def _encoded(marks: Iterable[Mark]) -> bytes:
    return b"".join(msgspec.json.encode(mark) + b"\n" for mark in marks)


def _mark(text: str) -> str:
    """Line ends of another system are no change."""
    folded = text.replace("\r\n", "\n").rstrip("\n")
    return blake2b(folded.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
