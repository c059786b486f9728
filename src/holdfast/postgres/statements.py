"""What a team shares, as rows with words and meaning: the candidates for a question, from the index of the server."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.postgres.address import Address
from holdfast.postgres.connection import connected
from holdfast.postgres.migrations import require_schema
from holdfast.search.lexical import query_terms

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session
    from holdfast.search.embed.static import Embedder

_SCHEMA = 2
_AT_ONCE = 500
_MOST_WORDS = 32
# relaxed_order: with row-level security the index is read on until there are enough rows that the reader may see.
_SETTINGS = (
    "SET hnsw.iterative_scan = relaxed_order",
    "SET hnsw.ef_search = 100",
    "SET hnsw.max_scan_tuples = 200000",
)
_PUT = """INSERT INTO holdfast.statement (project, author, id, kind, at, title, body, meaning)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (project, author, id) DO UPDATE
SET kind = excluded.kind, at = excluded.at, title = excluded.title, body = excluded.body, meaning = excluded.meaning"""
_ROW = "author, id, kind, at, title, body"
_BY_WORDS = f"""SELECT {_ROW} FROM holdfast.statement WHERE project = %s AND words @@ to_tsquery('simple', %s)
ORDER BY ts_rank_cd(words, to_tsquery('simple', %s)) DESC, author, id LIMIT %s"""
# A relaxed order is put right at the end; the subselect must stay one, or the index would not be used.
_BY_MEANING = f"""SELECT {_ROW} FROM (
    SELECT {_ROW}, meaning <=> %s::halfvec AS distance FROM holdfast.statement WHERE project = %s
    ORDER BY distance LIMIT %s) AS nearest ORDER BY distance + 0, author, id"""


class Statement(Struct, frozen=True, kw_only=True):
    """One shared statement. `author` is the key it was published under, which the server checks."""

    id: str
    kind: str
    body: str
    title: str = ""
    at: float | None = None
    author: str = ""


class TeamIndex:
    """The statements of one project, in one session. Use it as a context manager."""

    def __init__(self, address: Address, project: str, embedder: Embedder | None = None) -> None:
        self._address, self._project, self._given = address, project, embedder
        self._stack = ExitStack()
        self.session: Session

    def __enter__(self) -> TeamIndex:
        self.session = self._stack.enter_context(connected(self._address))
        try:
            require_schema(self.session, self._address.shown, _SCHEMA)
            self.session.execute("SELECT NULL::halfvec")  # loads the extension, which knows the settings
            for setting in _SETTINGS:
                self.session.execute(setting.encode())
        except BaseException as error:
            if not self._stack.__exit__(type(error), error, error.__traceback__):
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    @property
    def _embedder(self) -> Embedder:
        if self._given is None:
            from holdfast.search.embed.static import StaticTable

            self._given = StaticTable()
        return self._given

    def put(self, author: str, statements: Iterable[Statement]) -> int:
        """Stores statements under one's own key, all of them or none; those of the same id are replaced."""
        rows = list(statements)
        with self.session.transaction():
            self.session.execute("SELECT holdfast.claim(%s, %s)", [self._project, author])
            for start in range(0, len(rows), _AT_ONCE):
                some = rows[start : start + _AT_ONCE]
                vectors = self._embedder.embed([f"{one.title}\n{one.body}".strip() for one in some])
                with self.session.cursor() as cursor:
                    cursor.executemany(
                        _PUT,
                        [
                            (
                                self._project,
                                author,
                                one.id,
                                one.kind,
                                one.at,
                                one.title,
                                one.body,
                                _halfvec(vector),
                            )
                            for one, vector in zip(some, vectors, strict=True)
                        ],
                    )
        return len(rows)

    def delete(self, ids: Sequence[str]) -> int:
        """Deletes statements of one's own; an owner deletes those of anybody."""
        return self.session.execute(
            "DELETE FROM holdfast.statement WHERE project = %s AND id = ANY (%s)", [self._project, list(ids)]
        ).rowcount

    def by_words(self, question: str, most: int) -> list[Statement]:
        """Statements with any word of the question, those that have most of them closest together first."""
        wanted = _any_word(question)
        if not wanted:
            return []
        return self._statements(_BY_WORDS, [self._project, wanted, wanted, most])

    def by_meaning(self, question: str, most: int, *, exact: bool = False) -> list[Statement]:
        """The nearest statements; `exact` compares all, for measurements."""
        (vector,) = self._embedder.embed([question])
        meaning = _halfvec(vector)
        if meaning is None:
            return []
        values = [meaning, self._project, most]
        if not exact:
            return self._statements(_BY_MEANING, values)
        with self.session.transaction():
            self.session.execute("SET LOCAL enable_indexscan = off")
            return self._statements(_BY_MEANING, values)

    def explain(self, question: str) -> str:
        """The plan of a search by words."""
        wanted = _any_word(question)
        rows = self.session.execute(
            f"EXPLAIN (VERBOSE) {_BY_WORDS}".encode(), [self._project, wanted, wanted, 10]
        ).fetchall()
        return "\n".join(str(line) for (line,) in rows)

    def _statements(self, query: str, values: Sequence[object]) -> list[Statement]:
        rows: list[Any] = self.session.execute(query.encode(), values).fetchall()
        return [
            Statement(author=author, id=id, kind=kind, at=at, title=title, body=body)
            for author, id, kind, at, title, body in rows
        ]


def _halfvec(vector: bytes) -> str | None:
    """Signed bytes as the server reads them; None for a text that says nothing."""
    values = array("b", vector)
    return f"[{','.join(map(str, values))}]" if any(values) else None


def _any_word(question: str) -> str:
    """A tsquery of the question's words, each quoted: nothing in it is an operator."""
    words = list(dict.fromkeys(query_terms(question)))[:_MOST_WORDS]
    return " | ".join("'" + word.replace("\\", "\\\\").replace("'", "''") + "'" for word in words)
