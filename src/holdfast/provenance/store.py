"""edits.db: what the recorded sessions of a project wrote, as hashes. One SQLite file per project.

It outlives the transcripts, which agents delete. As long as these exist you can delete it: the next `blame` reads
them again. The only texts in it are paths and the beginnings of prompts, which have passed the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core.hashes import blake2b
from holdfast.provenance.collect import LONGEST_PROMPT, TranscriptEdits
from holdfast.provenance.line_hashes import packed, unpacked
from holdfast.store.database import SqliteStore

FORMAT = 1
_TEXTS = ("prompt.text", "place.path", "place.cwd", "place.name")
_SCHEMA = """
CREATE TABLE source (
  id INTEGER PRIMARY KEY, key BLOB UNIQUE, size INTEGER, changed INTEGER, session INTEGER, started REAL
);
CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT UNIQUE, agent TEXT);
CREATE TABLE prompt (source INTEGER, number INTEGER, at REAL, text TEXT, PRIMARY KEY (source, number));
CREATE TABLE place (id INTEGER PRIMARY KEY, path TEXT, cwd TEXT, name TEXT, UNIQUE (path, cwd));
CREATE TABLE edit (
  id INTEGER PRIMARY KEY, source INTEGER, at REAL, prompt INTEGER, place INTEGER, whole INTEGER, lines BLOB, parts BLOB
);
CREATE INDEX edit_source ON edit (source);
CREATE INDEX edit_place ON edit (place);
CREATE INDEX place_name ON place (name);
CREATE TABLE looked (at REAL)
"""


class StoredEdit(Struct, frozen=True, gc=False):
    """An edit as it is matched. `session` and `started` are those of the transcript, `prompt` is its number there."""

    id: int
    source: int
    session: str
    agent: str
    started: float
    at: float
    prompt: int
    path: str
    cwd: str
    whole: bool
    lines: Collection[int]
    parts: tuple[tuple[int, int], ...]


class EditStore(SqliteStore):
    format = FORMAT
    schema = _SCHEMA
    when_deleted = "the next holdfast blame makes it again from the transcripts"
    when_newer = "Upgrade holdfast, or delete the file: it is made again from the transcripts"

    def __init__(self, path: Path | None) -> None:
        """Open the file, or a store that lives as long as this object."""
        super().__init__(path or Path(":memory:"))

    def stamp_of(self, key: str) -> tuple[int, int] | None:
        """Size and time of a transcript when it was read; None for one that was not."""
        row = self._ask("SELECT size, changed FROM source WHERE key = ?", (_digest(key),)).fetchone()
        return None if row is None else (int(row[0]), int(row[1]))

    def note_look(self, at: float) -> None:
        """Record that all transcripts were looked at, so that the file shows how old its content is."""
        with self.transaction():
            self._ask("DELETE FROM looked")
            self._ask("INSERT INTO looked VALUES (?)", (at,))

    def put(
        self,
        key: str,
        stamp: tuple[int, int],
        session: str,
        found: TranscriptEdits,
        clean: Callable[[str], str],
    ) -> None:
        """Store what a transcript wrote, in the place of what was known of it."""
        number = self._session(session, clean(found.agent))
        self._drop_source(_digest(key))
        source = self._ask(
            "INSERT INTO source (key, size, changed, session, started) VALUES (?,?,?,?,?)",
            (_digest(key), *stamp, number, found.started),
        ).lastrowid
        for prompt in found.prompts:
            self._ask(
                "INSERT INTO prompt VALUES (?,?,?,?)",
                (source, prompt.number, prompt.at, clean(prompt.text)[:LONGEST_PROMPT]),
            )
        places: dict[tuple[str, str], int] = {}
        for edit in found.edits:
            where = (edit.path, edit.cwd)
            if where not in places:
                places[where] = self._place(clean(edit.path), clean(edit.cwd))
            self._ask(
                "INSERT INTO edit (source, at, prompt, place, whole, lines, parts) VALUES (?,?,?,?,?,?,?)",
                (
                    source,
                    edit.at,
                    edit.prompt,
                    places[where],
                    edit.whole,
                    packed(edit.lines),
                    packed(edit.parts),
                ),
            )

    def _session(self, name: str, agent: str) -> int:
        self._ask(
            "INSERT INTO session (name, agent) VALUES (?,?) ON CONFLICT (name) DO NOTHING", (name, agent)
        )
        return int(self._ask("SELECT id FROM session WHERE name = ?", (name,)).fetchone()[0])

    def _place(self, path: str, cwd: str) -> int:
        self._ask(
            "INSERT INTO place (path, cwd, name) VALUES (?,?,?) ON CONFLICT (path, cwd) DO NOTHING",
            (path, cwd, path.rpartition("/")[2]),
        )
        return int(self._ask("SELECT id FROM place WHERE path = ? AND cwd = ?", (path, cwd)).fetchone()[0])

    def _drop_source(self, key: bytes) -> None:
        for (source,) in self._ask("SELECT id FROM source WHERE key = ?", (key,)).fetchall():
            self._ask("DELETE FROM edit WHERE source = ?", (source,))
            self._ask("DELETE FROM prompt WHERE source = ?", (source,))
            self._ask("DELETE FROM source WHERE id = ?", (source,))

    def edits_of(self, names: Iterable[str]) -> list[StoredEdit]:
        """The edits of files with one of these names, in whatever folder, oldest first."""
        wanted = list(dict.fromkeys(names))
        marks = ",".join("?" * len(wanted))
        return self._edits(f"WHERE place.name IN ({marks})", wanted)

    def all_edits(self) -> list[StoredEdit]:
        return self._edits("", ())

    def _edits(self, where: str, values: Iterable[object]) -> list[StoredEdit]:
        rows = self._ask(
            "SELECT edit.id, source.id, session.name, session.agent, source.started, edit.at, edit.prompt, "
            "place.path, place.cwd, edit.whole, edit.lines, edit.parts FROM edit "
            "JOIN source ON source.id = edit.source JOIN session ON session.id = source.session "
            f"JOIN place ON place.id = edit.place {where} ORDER BY edit.at, edit.id",
            tuple(values),
        )
        return [
            StoredEdit(
                *(number, source, session, agent, started, at, prompt, path, cwd),
                whole=bool(whole),
                lines=unpacked(lines),
                parts=_pairs(unpacked(parts)),
            )
            for number, source, session, agent, started, at, prompt, path, cwd, whole, lines, parts in rows
        ]

    def prompt_before(self, session: str, source: int, number: int, at: float) -> tuple[int, str]:
        """The number and the text of the request behind an edit; (0, '') if there is none.

        A subagent has no requests of its own: then it is the last one of its session before the edit.
        """
        row = self._ask(
            "SELECT number, text FROM prompt WHERE source = ? AND number = ?", (source, number)
        ).fetchone()
        if row is None:
            row = self._ask(
                "SELECT prompt.number, prompt.text FROM prompt JOIN source ON source.id = prompt.source "
                "JOIN session ON session.id = source.session WHERE session.name = ? AND prompt.at <= ? "
                "ORDER BY prompt.at DESC LIMIT 1",
                (session, at),
            ).fetchone()
        return (int(row[0]), str(row[1])) if row else (0, "")

    def first_prompt(self, session: str) -> str:
        row = self._ask(
            "SELECT prompt.text FROM prompt JOIN source ON source.id = prompt.source "
            "JOIN session ON session.id = source.session WHERE session.name = ? ORDER BY prompt.at LIMIT 1",
            (session,),
        ).fetchone()
        return str(row[0]) if row else ""

    def sessions(self) -> set[str]:
        return {name for (name,) in self._ask("SELECT name FROM session")}

    def texts(self) -> Iterator[tuple[str, int, str]]:
        """Every text: its column, the number of its row, and the text."""
        for column in _TEXTS:
            table, name = column.split(".")
            yield from (
                (column, row, text)
                for row, text in self._ask(f"SELECT rowid, {name} FROM {table} WHERE {name} != ''").fetchall()
            )

    def erase(self, sessions: Iterable[str], changes: Iterable[tuple[str, int, str]]) -> None:
        """Delete all of these sessions and replace these texts. SQLite overwrites what it frees."""
        self._ask("PRAGMA secure_delete=ON")
        with self.transaction():
            for name in sorted(sessions):
                keys = self._ask(
                    "SELECT key FROM source WHERE session IN (SELECT id FROM session WHERE name = ?)", (name,)
                )
                for (key,) in keys.fetchall():
                    self._drop_source(key)
                self._ask("DELETE FROM session WHERE name = ?", (name,))
            self._ask("DELETE FROM place WHERE id NOT IN (SELECT place FROM edit)")
            for column, row, text in changes:
                table, name = column.split(".")
                self._ask(f"UPDATE OR IGNORE {table} SET {name} = ? WHERE rowid = ?", (text, row))
        self._ask("VACUUM")


def _digest(key: str) -> bytes:
    """A transcript by the hash of its path, which often names the session: what is forgotten leaves nothing."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pairs(numbers: Collection[int]) -> tuple[tuple[int, int], ...]:
    flat = tuple(numbers)
    return tuple(zip(flat[::2], flat[1::2], strict=True))
