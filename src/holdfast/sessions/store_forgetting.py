"""Forgetting in `capture.db`: records, digests and reader states, down to the pages that SQLite would leave behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core.errors import StoreError
from holdfast.model.events import DistilledSession
from holdfast.sessions.store import BUSY_SECONDS, CaptureStore
from holdfast.store.removal import Removal

Plain = dict[str, Any]


class CaptureForgetting(CaptureStore):
    """The store with what is needed to take things out of it for good."""

    @classmethod
    def look(cls, path: Path) -> CaptureForgetting | None:
        """To read only, without a byte being written; None where there is none."""
        if not path.is_file():
            return None
        # Beside a database in this mode SQLite makes files, unless it is told that nobody writes to it.
        alone = not path.with_name(f"{path.name}-wal").exists()
        store = cls.__new__(cls)
        store.path = path
        mode = "mode=ro&immutable=1" if alone else "mode=ro"
        try:
            store._db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5)
            store._ask("SELECT count(*) FROM source")
        except sqlite3.Error as error:
            raise StoreError(str(error), where=str(path), fix="Run holdfast doctor") from error
        return store

    def sessions(self) -> set[str]:
        asked = "SELECT session FROM source UNION SELECT id FROM session UNION SELECT session FROM pending"
        return {name for (name,) in self._ask(asked)} - {""}

    def paths_of(self, session: str) -> list[str]:
        return [path for (path,) in self._ask("SELECT path FROM source WHERE session = ?", (session,))]

    def plain_records(self) -> Iterator[tuple[str, Plain]]:
        for name, record in self._ask("SELECT id, record FROM session ORDER BY id"):
            yield name, msgspec.json.decode(record)

    def count(self, removal: Removal) -> int:
        """How many records and transcripts hold what is to be forgotten."""
        return sum(1 for _ in self._changes(removal)) + sum(
            self._holds(session) for session in removal.sessions
        )

    def _holds(self, session: str) -> int:
        asked = (
            "SELECT (SELECT count(*) FROM session WHERE id = ?) + (SELECT count(*) FROM source "
            "WHERE session = ? AND length(digest) + length(reader) > 0)"
        )
        return int(self._ask(asked, (session, session)).fetchone()[0])

    def forget(self, removal: Removal) -> int:
        """Takes it out. What SQLite deletes it overwrites, and pages it gave up before are given back."""
        self._ask("PRAGMA secure_delete=ON")
        self._ask("PRAGMA temp_store=MEMORY")
        number = self.count(removal)
        with self.transaction():
            for statement, values in list(self._changes(removal)):
                self._ask(statement, values)
            for session in sorted(removal.sessions):
                self.empty(session)
        self._ask("VACUUM")
        (busy, _, _) = self._ask("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"somebody has been reading it for {BUSY_SECONDS} s, and an old copy of its pages is left",
                where=str(self.path),
                fix="Run the command again when no other holdfast runs",
            )
        return number

    def _changes(self, removal: Removal) -> Iterator[tuple[str, tuple[object, ...]]]:
        if not removal.phrases and not removal.ids:
            return
        for name, record in self._ask("SELECT id, record FROM session"):
            if name not in removal.sessions:
                new = _edited(record, removal, msgspec.json.decode, _encoded_record)
                if new != record:
                    yield "UPDATE session SET record = ? WHERE id = ?", (new, name)
        for number, session, reader, digest in self._ask("SELECT id, session, reader, digest FROM source"):
            if session not in removal.sessions:
                new_reader, new_digest = (
                    _edited(data, removal, msgspec.msgpack.decode, msgspec.msgpack.encode)
                    for data in (reader, digest)
                )
                if (new_reader, new_digest) != (reader, digest):
                    yield (
                        "UPDATE source SET reader = ?, digest = ? WHERE id = ?",
                        (new_reader, new_digest, number),
                    )


def _encoded_record(value: Any) -> bytes:
    return msgspec.json.encode(msgspec.convert(value, DistilledSession))


def _edited(
    data: bytes, removal: Removal, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]
) -> bytes:
    if not data:
        return data
    before = decode(data)
    after = removal.plain(before)
    return data if after == before else encode(after)
