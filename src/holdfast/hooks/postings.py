"""Reads the tables of words, sessions and files that `briefing/file_pointers.py` wrote: docs/research/pointers.md."""

from __future__ import annotations

import math

from holdfast.core.words import name_words, words

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

_AT_ONCE = 500  # values in one statement: SQLite takes 999 at least
QUARTERS = 4.0  # counts of words are stored as whole quarters


class Postings:
    """The prompts and files of past sessions; each part is read once, when it is needed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._holding: dict[str, dict[int, float]] = {}
        self._paths: dict[int, str] = {}
        self._marks: dict[str, list[int]] = {}
        self._rarity: dict[str, float] = {}
        self._words: dict[str, tuple[list[str], list[str]]] = {}
        self._ids: dict[str, int] = {}
        self._written: dict[str, int] = {}
        meta = "SELECT empty, lengths, openings, files, written FROM asked_meta"
        ((empty, lengths, openings, self.known_files, self.written_average),) = db.execute(meta).fetchall()
        self.empty = frozenset(empty.split())
        self._openings: bytes = openings
        self._lengths: Sequence[float] = memoryview(lengths).cast("f").tolist()
        self.sessions = len(self._lengths)

    def load(self, wanted: Collection[str]) -> None:
        for rows in self._chunks("SELECT word, sessions FROM word WHERE word IN ({})", list(wanted)):
            for word, blob in rows:
                flat = memoryview(blob).cast("I").tolist()
                self._holding[word] = {
                    number: count / QUARTERS for number, count in zip(flat[::2], flat[1::2], strict=True)
                }
        for word in wanted:
            holding = len(self._holding.get(word, ()))
            self._rarity[word] = math.log(1 + (self.sessions - holding + 0.5) / (holding + 0.5))

    def holding(self, word: str) -> dict[int, float]:
        """Sessions whose prompts contain a word, and how often."""
        return self._holding.get(word, {})

    def rarity(self, word: str) -> float:
        return self._rarity[word]

    def longer(self, share: float, saturation: float) -> list[float]:
        """For each session the length normalisation of BM25."""
        average = sum(self._lengths) / max(self.sessions, 1) or 1.0
        return [saturation * (1 - share + share * length / average) for length in self._lengths]

    def openings(self) -> Sequence[float]:
        """How much the first prompt of each session says, by the weights of its words at large."""
        weights: Sequence[float] = memoryview(self._openings).cast("f").tolist()
        return weights

    def opening_with(self, wanted: Collection[str]) -> Iterator[tuple[str, list[int]]]:
        """For each known word the sessions whose first prompt contains it."""
        for rows in self._chunks("SELECT word, sessions FROM opening WHERE word IN ({})", list(wanted)):
            for word, blob in rows:
                yield word, memoryview(blob).cast("I").tolist()

    def number(self, session: str) -> int:
        """The number of a session; -1 for an unknown one."""
        rows = self._db.execute("SELECT number FROM asked WHERE session = ?", (session,)).fetchall()
        return rows[0][0] if rows else -1

    def session(self, number: int) -> str:
        rows = self._db.execute("SELECT session FROM asked WHERE number = ?", (number,)).fetchall()
        return str(rows[0][0]) if rows else ""

    def earlier(self, session: str) -> list[list[str]]:
        """The words of a session's captured prompts, oldest first."""
        rows = self._db.execute(
            "SELECT words FROM earlier WHERE session = ? ORDER BY position", (session,)
        ).fetchall()
        return [text.split() for (text,) in rows]

    def touched_by(self, number: int) -> list[str]:
        return [
            path for _, files in self.files([number]) for path in self.paths([file >> 1 for file in files])
        ]

    def files(self, numbers: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Each session's files: twice the file's number, plus one if it was edited."""
        for rows in self._chunks("SELECT number, files FROM asked WHERE number IN ({})", numbers):
            for number, blob in rows:
                yield number, memoryview(blob).cast("I").tolist()

    def paths(self, files: Sequence[int]) -> list[str]:
        """The paths of files, in the same order."""
        fresh = [file for file in files if file not in self._paths]
        statement = "SELECT id, path, words, named, sessions, written FROM file WHERE id IN ({})"
        for rows in self._chunks(statement, fresh):
            for id, path, *rest, written in rows:
                self._paths[id] = path
                self._ids[path], self._written[path] = id, written
                self._remember(path, *rest)
        return [self._paths[file] for file in files]

    def words_of(self, path: str) -> tuple[list[str], list[str]]:
        """The words of a path, and those of the file's name."""
        self.marks(path)
        return self._words[path]

    def touches(self, path: str) -> dict[int, bool]:
        """Sessions that touched a file, and whether they edited it."""
        return {mark >> 1: bool(mark & 1) for mark in self.marks(path)}

    def marks(self, path: str) -> list[int]:
        """Sessions that touched a file, oldest first: twice the number, plus one if it was edited."""
        if path not in self._marks:
            rows = self._db.execute(
                "SELECT words, named, sessions FROM file WHERE path = ?", (path,)
            ).fetchall()
            if rows:
                self._remember(path, *rows[0])
            else:
                self._marks[path] = []
                self._words[path] = (words(path, self.empty), sorted(name_words(path, self.empty)))
        return self._marks[path]

    def _remember(self, path: str, said: str, named: str, blob: bytes) -> None:
        self._words[path] = (said.split(), named.split())
        self._marks[path] = memoryview(blob).cast("I").tolist()

    def writing(self, wanted: Collection[str]) -> list[set[int]]:
        """For each known word the files into which it was written, as part of a name."""
        rows = self._chunks("SELECT files FROM written WHERE word IN ({})", list(wanted))
        return [set(memoryview(blob).cast("I").tolist()) for chunk in rows for (blob,) in chunk]

    def written_into(self, path: str) -> tuple[int, int]:
        """A file's number, and how many words were written into it; only for files read with `paths`."""
        return self._ids.get(path, -1), self._written.get(path, 0)

    def ending_with(self, name: str, most: int) -> list[str]:
        """Files whose path ends with a name, or with the last parts of a path, and is longer."""
        escaped = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        statement = "SELECT path FROM file WHERE path LIKE ? ESCAPE '\\' ORDER BY path LIMIT ?"
        rows = self._db.execute(statement, (f"%/{escaped}", most)).fetchall()
        return [path for (path,) in rows if path.endswith(f"/{name}")]

    def is_file(self, path: str) -> bool:
        """Whether a session touched a file of this path."""
        return bool(self._db.execute("SELECT 1 FROM file WHERE path = ?", (path,)).fetchall())

    def together(self, seeds: Collection[str]) -> list[tuple[str, str, float]]:
        """Files that commits change together with these: seed, file, frequency from 0 to 1."""
        pairs: list[tuple[str, str, float]] = []
        for rows in self._chunks("SELECT path, other, often FROM together WHERE path IN ({})", sorted(seeds)):
            pairs += rows
        return pairs

    def _chunks(self, query: str, values: Sequence[object]) -> Iterator[list[tuple[Any, ...]]]:
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            yield self._db.execute(query.format(", ".join("?" * len(part))), part).fetchall()
