"""Writes what prompts are compared with: words of past sessions, their files, what git changes together.

`hot/postings.py` reads it, in hooks from the prepared file and in the application from a database in memory, so both
rank alike. docs/pointers.md has the tables.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from holdfast.hot.postings import QUARTERS
from holdfast.hot.words import LONGEST_PROMPT, branch_words, command_in, name_words, words
from holdfast.model.pointer import PointerSession
from holdfast.text.stopwords import ENGLISH

_ANSWER = 0.25  # what a word of the agent's weighs beside one of the person's
_REMEMBERED = 30  # sessions that may go on, whose prompts so far are kept one by one
_EARLIER = 8  # of their prompts

TABLES = {
    "asked_meta": """CREATE TABLE asked_meta (empty TEXT NOT NULL, lengths BLOB NOT NULL, files INTEGER NOT NULL,
        written REAL NOT NULL)""",
    "word": "CREATE TABLE word (word TEXT PRIMARY KEY, sessions BLOB NOT NULL) WITHOUT ROWID",
    "asked": "CREATE TABLE asked (number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, files BLOB NOT NULL)",
    "file": """CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, words TEXT NOT NULL,
        named TEXT NOT NULL, sessions BLOB NOT NULL, written INTEGER NOT NULL)""",
    "written": "CREATE TABLE written (word TEXT PRIMARY KEY, files BLOB NOT NULL) WITHOUT ROWID",
    "together": """CREATE TABLE together (path TEXT NOT NULL, other TEXT NOT NULL, often REAL NOT NULL,
        PRIMARY KEY (path, other)) WITHOUT ROWID""",
    "earlier": """CREATE TABLE earlier (session TEXT NOT NULL, position INTEGER NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (session, position)) WITHOUT ROWID""",
}


def write_postings(
    db: sqlite3.Connection,
    sessions: Iterable[PointerSession],
    together: Mapping[str, Mapping[str, float]],
) -> None:
    ordered = sorted(sessions, key=lambda session: (session.at, session.session))
    holding: dict[str, array[int]] = defaultdict(lambda: array("I"))
    touching: dict[str, array[int]] = defaultdict(lambda: array("I"))
    ids: dict[str, int] = {}
    lengths = array("f")
    for statement in TABLES.values():
        db.execute(statement)
    path_words: dict[str, list[str]] = {}
    for number, session in enumerate(ordered):
        counts = _counts(session, path_words)
        lengths.append(sum(counts.values()))
        for word, count in counts.items():
            holding[word].extend((number, round(count * QUARTERS)))
        files = array("I")
        for path, edited in [*((p, 1) for p in session.edited), *((p, 0) for p in session.read)]:
            files.append(ids.setdefault(path, len(ids)) * 2 + edited)
            touching[path].append(number * 2 + edited)
        db.execute("INSERT INTO asked VALUES (?, ?, ?)", (number, session.session, files.tobytes()))
    written = _written(ordered, ids)
    average = sum(map(len, written.values())) / max(len(written), 1)
    meta = (" ".join(sorted(ENGLISH)), lengths.tobytes(), len(ids), average)
    db.execute("INSERT INTO asked_meta VALUES (?, ?, ?, ?)", meta)
    db.executemany(
        "INSERT INTO word VALUES (?, ?)", ((word, held.tobytes()) for word, held in holding.items())
    )
    db.executemany(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)",
        (
            (id, path, *_path_words(path, path_words), touching[path].tobytes(), len(written.get(id, ())))
            for path, id in ids.items()
        ),
    )
    inside: dict[str, array[int]] = defaultdict(lambda: array("I"))
    for id, found in written.items():
        for word in found:
            inside[word].append(id)
    db.executemany(
        "INSERT INTO written VALUES (?, ?)", ((word, files.tobytes()) for word, files in inside.items())
    )
    db.executemany(
        "INSERT INTO together VALUES (?, ?, ?)",
        ((path, other, often) for path, others in together.items() for other, often in others.items()),
    )
    _write_earlier(db, ordered[-_REMEMBERED:])


def _counts(session: PointerSession, path_words: dict[str, list[str]]) -> dict[str, float]:
    counts: dict[str, float] = defaultdict(float)
    for prompt in session.prompts:
        for word in prompt_words(prompt):
            counts[word] += 1.0
        if command := command_in(prompt):
            counts[command] += 1.0
    for word in prompt_words(session.answer):
        counts[word] += _ANSWER
    for word in branch_words(session.branch, ENGLISH):
        counts[word] += 1.0
    for path in session.edited:
        if path not in path_words:
            path_words[path] = sorted(set(words(path, ENGLISH)))
        for word in path_words[path]:
            counts[word] += 1.0
    return counts


def _written(sessions: Sequence[PointerSession], ids: Mapping[str, int]) -> dict[int, set[str]]:
    """For each file the words of the names that sessions wrote into it."""
    found: dict[int, set[str]] = {}
    split: dict[str, list[str]] = {}
    for session in sessions:
        for path, names in session.named:
            if path in ids:
                own = found.setdefault(ids[path], set())
                for name in names.split():
                    if name not in split:
                        split[name] = words(name, ENGLISH)
                    own.update(split[name])
    return found


def _path_words(path: str, known: Mapping[str, list[str]]) -> tuple[str, str]:
    said = known.get(path) or sorted(set(words(path, ENGLISH)))
    return " ".join(said), " ".join(sorted(name_words(path, ENGLISH)))


def _write_earlier(db: sqlite3.Connection, latest: Sequence[PointerSession]) -> None:
    db.executemany(
        "INSERT INTO earlier VALUES (?, ?, ?)",
        (
            (session.session, position, " ".join(dict.fromkeys(prompt_words(prompt))))
            for session in latest
            for position, prompt in enumerate(session.prompts[-_EARLIER:])
        ),
    )


def prompt_words(prompt: str) -> list[str]:
    return words(prompt[:LONGEST_PROMPT], ENGLISH)
