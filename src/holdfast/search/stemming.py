"""How FTS5 takes texts apart: the stems of words, and how often each is in a text."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

CUT = "surrogateescape"
"""The stemmer counts bytes, not characters. Before an ending that it takes off it removes one of two equal bytes, and
some characters end in such a pair: a stem may end within one."""

_SAID = "said USING fts5(term, tokenize='porter unicode61')"
_SAID_WORD = "said_word USING fts5vocab(temp, said, instance)"


def stems_of(ask: Callable[[str, Sequence[object]], sqlite3.Cursor], terms: Sequence[str]) -> dict[str, str]:
    """The stem of each term, computed by FTS5 itself with a table in memory."""
    # Created every time: a query that is rolled back and retried also rolls back its tables.
    for table in _SAID, _SAID_WORD:
        ask(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}", ())
    ask("DELETE FROM temp.said", ())
    for number, term in enumerate(terms):
        ask("INSERT INTO temp.said (rowid, term) VALUES (?, ?)", (number + 1, term))
    stem_by_term = {
        terms[doc - 1]: stem.decode("utf-8", CUT)
        for stem, doc in ask("SELECT CAST(term AS BLOB), doc FROM temp.said_word", ())
    }
    return {term: stem_by_term[term] for term in terms if term in stem_by_term}


class Taken(Struct, frozen=True):
    """What FTS5 makes of a text: its number of words, and each stem with how often the title and the rest have it."""

    length: int
    stems: dict[str, tuple[int, int]]


class Splitter:
    """Takes texts apart as the index of SQLite does, for one that is not SQLite. Belongs to one thread."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.execute(
            "CREATE VIRTUAL TABLE text USING fts5(title, body, names, content='', tokenize='porter unicode61')"
        )
        self._db.execute("CREATE VIRTUAL TABLE text_word USING fts5vocab(text, instance)")

    def close(self) -> None:
        self._db.close()

    def stems(self, terms: Sequence[str]) -> dict[str, str]:
        return stems_of(self._db.execute, terms)

    def split(self, texts: Sequence[tuple[str, str, str]]) -> list[Taken]:
        """Each text is a title, a body and names (`lexical.names`)."""
        found: list[dict[str, tuple[int, int]]] = [{} for _ in texts]
        lengths = [0] * len(texts)
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO text (rowid, title, body, names) VALUES (?, ?, ?, ?)",
            ((number, *text) for number, text in enumerate(texts, 1)),
        )
        counted = (
            "SELECT doc, CAST(term AS BLOB), sum(col = 'title'), count(*) FROM text_word GROUP BY doc, term"
        )
        for doc, term, titles, times in self._db.execute(counted):
            found[doc - 1][term.decode("utf-8", CUT)] = (titles, times - titles)
            lengths[doc - 1] += times
        self._db.execute("INSERT INTO text (text) VALUES ('delete-all')")
        self._db.execute("COMMIT")
        return [Taken(length, stems) for length, stems in zip(lengths, found, strict=True)]
