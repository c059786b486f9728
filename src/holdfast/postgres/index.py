"""`Index` on the team's server: one project that an owner made searchable, and what one author has in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.core.hashes import blake2b
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.postgres.address import Address
from holdfast.postgres.connection import ServerError, connected, explaining, find_vectors
from holdfast.postgres.migrations import SEARCH, require_schema
from holdfast.postgres.source import (
    BY_ID,
    PostgresSource,
    PostgresVocabulary,
    as_halfvec,
    as_lexeme,
    prepare,
    quoted,
)
from holdfast.search import lexical
from holdfast.search.base import Answer, BaseIndex
from holdfast.search.contract import When, storable, typed
from holdfast.search.embed.static import Embedder
from holdfast.search.stemming import Splitter, Taken
from holdfast.search.terms import CLOSELY, Terms
from holdfast.search.turns import turn_of
from holdfast.search.writer import Embedding, Ready, content_hash, prepared

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

_AT_ONCE = 500  # passages of one statement of SQL
_MOST_TIMES = 200  # of a word in a text: the server keeps 255, and more say no more
_LARGEST_WHOLE = 900_000  # bytes of different words; a tsvector has a megabyte
_MOST_REPEATED = 20  # hits of one id by several authors
_OWN = "FROM holdfast.statement WHERE project = %s AND author = %s"
_HASHES = f"SELECT s.id, s.hash {BY_ID} WHERE s.author = %s"
# Everybody sees what is locked: the key is made of what only members know.
_LOCK = (
    "SELECT pg_advisory_xact_lock(hashtextextended(channel || %s::text, 1::bigint)) "
    "FROM holdfast.project WHERE id = %s"
)
_COLUMNS = {
    "start": "integer", "stop": "integer", "id": "text", "hash": "bytea", "kind": "text", "name": "text",
    "session": "text", "path": "text", "line": "integer", "at": "float8", "title": "text", "data": "text",
    "series": "bigint", "place": "float8", "body": "text", "length": "integer", "words": "tsvector",
    "whole_length": "integer", "whole": "tsvector", "meaning": "halfvec",
}  # fmt: skip
_TYPES = {"tsvector": "text", "halfvec": "text"}  # what the driver sends, and the server reads
_PUT = (
    f"INSERT INTO holdfast.statement (project, author, {', '.join(_COLUMNS)}) SELECT %s, %s, "
    + ", ".join(f"{name}::{kind}" if kind in _TYPES else name for name, kind in _COLUMNS.items())
    + f" FROM unnest({', '.join(f'%s::{_TYPES.get(kind, kind)}[]' for kind in _COLUMNS.values())}) "
    + f"AS row ({', '.join(_COLUMNS)})"
)


class TeamIndex(BaseIndex):
    """Satisfies `Index`. Everybody's statements answer; one puts and deletes one's own.

    `author` is the key that one publishes under; '' for who only asks.
    """

    def __init__(
        self, address: Address, project: str, author: str = "", embedder: Embedder | str | None = "static"
    ) -> None:
        self._address, self._project, self._author = address, project, author
        self._splitter = Splitter()
        self._stack = ExitStack()
        self._stack.callback(self._splitter.close)
        with self._stack.pop_all() as opening:  # closed again if the server refuses
            self.session: Session = opening.enter_context(connected(address))
            require_schema(self.session, address.shown, SEARCH)
            place = find_vectors(self.session, address.shown)
            prepare(self.session)
            self._stack = opening.pop_all()
        self._put = _PUT.replace("::halfvec", f"::{place}.halfvec")
        self._vocabulary = PostgresVocabulary(self.session, project, self._splitter)
        given = _shipped() if isinstance(embedder, str) else embedder
        super().__init__(Terms(self._vocabulary, given), Embedding(given))

    def close(self) -> None:
        self._stack.close()

    @contextmanager
    def _transaction(self, *, reading: bool = False) -> Iterator[Session]:
        with explaining(self._address.shown), self.session.transaction():
            if reading:
                self.session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield self.session

    def _rows(self, query: str, *values: object) -> list[Any]:
        with explaining(self._address.shown):
            return self.session.execute(query.encode(), values).fetchall()

    def is_on(self) -> bool:
        """Whether an owner made this project searchable."""
        query = "SELECT is_indexed FROM holdfast.project WHERE id = %s"
        return self._rows(query, self._project) == [(True,)]

    # --- questions ---------------------------------------------------------------------------------------

    def _answered(self, answer: Answer) -> list[Hit]:
        with self._transaction(reading=True) as session:
            return answer(PostgresSource(session, self._project, self._vocabulary))

    def search(
        self,
        query: str,
        k: int = 10,
        now: When = None,
        kinds: Collection[str] | None = None,
        project: str | Collection[str] | None = None,
        *,
        before: When = None,
        since: When = None,
        floor: float = 0.0,
        fitting: bool = False,
    ) -> list[Hit]:
        """As every index; of what several authors share under one id the best."""
        most = k + _MOST_REPEATED if isinstance(k, int) and k > 0 else k
        hits = super().search(
            query, most, now, kinds, project, before=before, since=since, floor=floor, fitting=fitting
        )
        return list({hit.id: hit for hit in reversed(hits)}.values())[::-1][:k]

    def ids(self) -> Iterator[str]:
        query = "SELECT DISTINCT id FROM holdfast.statement WHERE project = %s AND start = 0 ORDER BY id"
        return iter([id for (id,) in self._rows(query, self._project)])

    def authors(self, ids: Collection[str]) -> dict[str, list[str]]:
        """Who has published each id."""
        query = f"SELECT s.id, s.author {BY_ID} ORDER BY 1, 2"
        found: dict[str, list[str]] = {}
        for id, author in self._rows(query, self._project, list(ids)):
            found.setdefault(id, []).append(author)
        return found

    def text(self, id: str) -> str:
        query = "SELECT author, string_agg(body, '' ORDER BY start) FROM holdfast.statement"
        query = f"{query} WHERE project = %s AND id = %s"
        rows = self._rows(f"{query} GROUP BY author ORDER BY author LIMIT 1", self._project, storable(id))
        return str(rows[0][1]) if rows else ""

    def stats(self) -> Stats:
        query = (
            "SELECT kind, count(*) FILTER (WHERE start = 0), count(*), sum(octet_length(body)) "
            "FROM holdfast.statement WHERE project = %s GROUP BY kind ORDER BY kind"
        )
        rows = self._rows(query, self._project)
        return Stats(
            chunks=sum(chunks for _, chunks, _, _ in rows),
            passages=sum(passages for _, _, passages, _ in rows),
            bytes=sum(size for _, _, _, size in rows),
            vectors=self._embedding.name,
            kinds={kind: chunks for kind, chunks, _, _ in rows},
        )

    # --- one's own statements ------------------------------------------------------------------------------

    def mark(self) -> str:
        query = "SELECT mark FROM holdfast.tally WHERE project = %s AND author = %s"
        return str(next((mark for (mark,) in self._rows(query, self._project, self._author)), ""))

    def set_mark(self, mark: str) -> None:
        with self._transaction() as session:
            session.execute("SELECT holdfast.set_mark(%s, %s, %s)", [self._project, self._author, mark])

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        by_id = {chunk.id: typed(chunk) for chunk in chunks}  # of two with one id the later counts
        hashes = {id: content_hash(chunk) for id, chunk in by_id.items()}
        stored = self._hashes(by_id)
        ready = prepared(self._embedding, by_id, hashes, stored)
        if not ready:
            return Changes(unchanged=len(by_id))
        rows = [row for one in ready for row in self._taken_apart(one)]
        changed = [one.chunk.id for one in ready]
        with self._writing():
            stored = self._hashes(changed)  # read again under the lock
            same = {id for id in changed if stored.get(id) == hashes[id]}
            updated = [id for id in changed if id in stored and id not in same]
            self._remove(updated)
            self._insert([row for row in rows if row["id"] not in same])
        added = len(changed) - len(same) - len(updated)
        return Changes(added=added, updated=len(updated), unchanged=len(by_id) - added - len(updated))

    def delete_many(self, ids: Iterable[str]) -> int:
        wanted = [id for id in ids if isinstance(id, str) and storable(id) == id]
        if not self._hashes(wanted):
            return 0
        with self._writing():
            return self._remove(wanted)

    def own(self) -> dict[str, bytes]:
        """The ids that one has published, each with its hash."""
        rows = self._rows(f"SELECT id, hash {_OWN} AND start = 0", self._project, self._author)
        return {str(id): bytes(hash) for id, hash in rows}

    def delete_of(self, author: str, ids: Collection[str]) -> int:
        """Deletes what another author has published, as an owner of the project."""
        with self._transaction() as session:
            query = f"DELETE {_OWN} AND id = ANY (%s)"
            count = session.execute(query.encode(), [self._project, author, list(ids)]).rowcount
            session.execute("SELECT holdfast.recount(%s, %s)", [self._project, author])
        return count

    def others(self) -> dict[str, list[str]]:
        """The ids that each other author has published."""
        query = "SELECT author, id FROM holdfast.statement WHERE project = %s AND author <> %s AND start = 0"
        found: dict[str, list[str]] = {}
        for author, id in self._rows(query, self._project, self._author):
            found.setdefault(author, []).append(id)
        return found

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One of this author's machines at a time; what is counted is counted at the end."""
        with self._transaction() as session:
            session.execute(_LOCK, [f"/{self._author}", self._project])
            rows = session.execute("SELECT holdfast.claim(%s, %s)", [self._project, self._author]).fetchall()
            if rows != [(True,)]:
                raise ServerError(
                    "you may not write to this project here",
                    where=self._address.shown,
                    fix="Ask an owner to make you a member of it: holdfast team server member",
                )
            yield
            session.execute("SELECT holdfast.recount(%s, %s)", [self._project, self._author])

    def _hashes(self, ids: Collection[str]) -> dict[str, bytes]:
        wanted = [storable(id) for id in ids if id]
        return {str(id): bytes(hash) for id, hash in self._rows(_HASHES, self._project, wanted, self._author)}

    def _remove(self, ids: Collection[str]) -> int:
        query = f"DELETE {_OWN} AND id = ANY (%s) RETURNING start"
        return sum(start == 0 for (start,) in self._rows(query, self._project, self._author, list(ids)))

    def _insert(self, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        if self._rows("SELECT %s = ANY (holdfast.indexed())", self._project) != [(True,)]:
            raise ServerError(
                "this project is not searchable on the server",
                where=self._address.shown,
                fix="An owner decides that: holdfast team server index",
            )
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            columns = [[row[name] for row in some] for name in _COLUMNS]
            self.session.execute(self._put.encode(), [self._project, self._author, *columns])

    def _taken_apart(self, one: Ready) -> Iterator[dict[str, Any]]:
        """A row for each passage of a chunk."""
        chunk, turn = one.chunk, turn_of(one.chunk)
        texts = [chunk.text[start:stop] for start, stop in one.spans]
        taken = self._splitter.split(
            [
                (chunk.title, text, lexical.names(f"{chunk.title} {text}") if start < CLOSELY else "")
                for text, (start, _) in zip(texts, one.spans, strict=True)
            ]
        )
        whole = _together(taken) if len(taken) > 1 else None
        vectors = one.vectors or [b""] * len(texts)
        line = chunk.line
        for (start, stop), text, found, vector in zip(one.spans, texts, taken, vectors, strict=True):
            yield {
                "start": start, "stop": stop, "id": chunk.id, "hash": one.hash, "kind": chunk.kind,
                "name": chunk.project, "session": chunk.session, "path": chunk.path, "line": line,
                "at": chunk.when, "title": chunk.title, "data": chunk.data,
                "series": _number(turn.series) if turn else 0, "place": turn.place if turn else 0.0,
                "body": text, "length": found.length, "words": _tsvector(found.stems),
                "whole_length": whole.length if whole and start == 0 else None,
                "whole": _tsvector(whole.stems) if whole and start == 0 else None, "meaning": as_halfvec(vector),
            }  # fmt: skip
            line += text.count("\n") if line else 0


def _shipped() -> Embedder:
    """The table that every holdfast has: vectors of different embedders cannot be compared."""
    from holdfast.search.embed.static import StaticTable

    return StaticTable()


def _together(taken: list[Taken]) -> Taken:
    """All passages as one text; a title is only once in it."""
    stems: dict[str, tuple[int, int]] = {}
    for one in taken:
        for stem, (titles, times) in one.stems.items():
            stems[stem] = (titles, stems.get(stem, (0, 0))[1] + times)
    titles = sum(count for count, _ in taken[0].stems.values())
    return Taken(sum(one.length - titles for one in taken) + titles, stems)


def _tsvector(stems: Mapping[str, tuple[int, int]]) -> str:
    """As the server reads it: positions only count, and A marks the title."""
    parts: list[str] = []
    size = 0
    for stem, (titles, times) in stems.items():
        titles, times = min(titles, _MOST_TIMES), min(times, _MOST_TIMES)
        places = [*(f"{place}A" for place in range(1, titles + 1))]
        places += [str(place) for place in range(titles + 1, titles + times + 1)]
        lexeme = as_lexeme(stem)
        size += len(lexeme.encode()) + 2 * len(places) + 4
        if size > _LARGEST_WHOLE:
            break
        parts.append(f"{quoted(lexeme)}:{','.join(places)}")
    return " ".join(parts)


def _number(series: str) -> int:
    """A number for the name of a chat, the same for everybody."""
    return int.from_bytes(blake2b(series.encode(), digest_size=8).digest(), "big", signed=True) or 1
