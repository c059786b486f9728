"""How FTS5 takes texts apart: the stems of words, and how often each is in a text."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

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
