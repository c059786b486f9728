"""kept.db: what the transcripts of a project said, redacted and compressed, for when the agent deletes its own.

What is kept are the events that the reader made of a transcript, not its bytes: they are redacted as texts, whatever
the agent's file escapes them as, and a line that several files repeat is kept once. One row for each transcript.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import StoreError
from holdfast.model import events as ev
from holdfast.store.database import SqliteStore

KEPT = "kept.db"
KEPT_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS kept (
    key TEXT PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL, part TEXT NOT NULL, cwd TEXT NOT NULL,
    headless INTEGER, started REAL, ended REAL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    data BLOB NOT NULL) WITHOUT ROWID
"""
_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ev.Began, ev.UserTurn, ev.AgentTurn, ev.ToolCall, ev.ToolResult, ev.TodoList, ev.Asked, ev.Planned,
        ev.UsageReport, ev.Compaction, ev.Guided, ev.Interruption, ev.ApiFailure, ev.Tick,
    )
}  # fmt: skip


class KeptTranscript(Struct, frozen=True, kw_only=True):
    """One transcript. `size` and `mtime_ns` are those of the agent's file when it was read."""

    key: str
    agent: str
    session: str
    part: str = ""
    cwd: str = ""
    headless: bool | None = None
    started: float | None = None
    ended: float | None = None
    size: int = 0
    mtime_ns: int = 0
    stored: int = 0  # bytes that it takes here


class KeptTranscripts(SqliteStore):
    format = KEPT_FORMAT
    schema = _SCHEMA
    when_deleted = "the next import keeps again what agents still have"

    def _configure(self) -> None:
        self._db.execute("PRAGMA secure_delete=ON")

    def all(self) -> list[KeptTranscript]:
        """Every transcript, the oldest first."""
        rows = self._ask(
            "SELECT key, agent, session, part, cwd, headless, started, ended, size, mtime_ns, length(data) "
            "FROM kept ORDER BY started, key"
        )
        names = KeptTranscript.__struct_fields__
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [KeptTranscript(**{**row, "headless": _truth(row["headless"])}) for row in found]

    def put(self, about: KeptTranscript, events: Iterable[ev.Event], clean: Callable[[str], str]) -> None:
        """Stores a transcript in the place of what was kept of it before. Every text passes `clean`."""
        lines = [_encoded(event, clean) for event in events]
        data = lzma.compress(b"\n".join(lines), preset=6)
        self._ask(
            "INSERT OR REPLACE INTO kept VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (
                clean(about.key), about.agent, about.session, clean(about.part), clean(about.cwd), about.headless,
                about.started, about.ended, about.size, about.mtime_ns, data,
            ),
        )  # fmt: skip

    def events(self, key: str) -> Iterator[ev.Event]:
        row = self._ask("SELECT data FROM kept WHERE key = ?", (key,)).fetchone()
        if row is None:
            return
        try:
            lines = lzma.decompress(row[0]).split(b"\n")
            for line in lines:
                if line:
                    yield _decoded(line)
        except (lzma.LZMAError, msgspec.MsgspecError, KeyError, ValueError) as error:
            raise StoreError(f"the kept transcript {key} is damaged", where=str(self.path)) from error

    def drop(self, keys: Iterable[str]) -> int:
        gone = [self._ask("DELETE FROM kept WHERE key = ?", (key,)).rowcount for key in list(keys)]
        if gone:
            self._ask("VACUUM")
        return sum(gone)

    def count(self, sessions: Iterable[str], edit: Callable[[Any], Any]) -> int:
        """How many transcripts a removal concerns."""
        wanted = frozenset(sessions)
        return sum(
            one.session in wanted or any(edit(value) != value for value in self._plain(one.key))
            for one in self.all()
        )

    def forget(self, sessions: Iterable[str], edit: Callable[[Any], Any]) -> int:
        """Removes the transcripts of sessions, and passes the texts of the others through `edit`."""
        wanted = frozenset(sessions)
        changed = 0
        for one in self.all():
            if one.session in wanted:
                changed += self.drop([one.key])
                continue
            before = self._plain(one.key)
            after = [edit(value) for value in before]
            if after != before:
                changed += 1
                data = lzma.compress(b"\n".join(map(msgspec.json.encode, after)), preset=6)
                self._ask("UPDATE kept SET data = ? WHERE key = ?", (data, one.key))
        if changed:
            self._ask("VACUUM")
        return changed

    def _plain(self, key: str) -> list[Any]:
        row = self._ask("SELECT data FROM kept WHERE key = ?", (key,)).fetchone()
        return [msgspec.json.decode(line) for line in lzma.decompress(row[0]).split(b"\n") if line]


def open_kept(memory: Path, *, make: bool = False) -> closing[KeptTranscripts] | None:
    """The kept transcripts of a memory; None if there are none and none are to be made."""
    path = memory / KEPT
    return closing(KeptTranscripts(path)) if make or path.is_file() else None


def _encoded(event: ev.Event, clean: Callable[[str], str]) -> bytes:
    from holdfast.store.gate import pass_value

    return msgspec.json.encode([type(event).__name__, pass_value(msgspec.to_builtins(event), clean)])


def _decoded(line: bytes) -> ev.Event:
    name, fields = msgspec.json.decode(line)
    event: ev.Event = msgspec.convert(fields, _TYPES[name])
    return event


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)
