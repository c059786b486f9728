"""The default `Index`: one SQLite file and one file of vectors beside it, for several processes at once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.model.search import EXACT_FIRST, TIMELESS, Changes, Chunk, Hit, Stats
from holdfast.search import lexical
from holdfast.search import terms as fuse
from holdfast.search.candidates import (
    Candidate,
    Candidates,
    Claim,
    QueryEvidence,
    Ranked,
    hit_of,
    remaining_evidence,
)
from holdfast.search.contract import FITTING, FLOOR, Query, Scope, When, seconds, storable
from holdfast.search.database import Database
from holdfast.search.embed.static import Embedder
from holdfast.search.terms import CLOSELY, Chosen, Terms
from holdfast.search.vectors import Vanished, VectorFile
from holdfast.search.writer import Embedding, Generations

if TYPE_CHECKING:
    from holdfast.search.writer import IndexWriter, Layout


# --- ranking -------------------------------------------------------------------------------------------

_LOOKED_AT_FOR_WORDING = 50


class Lookup:
    """Answers one query from one database, inside a read transaction."""

    def __init__(self, database: Database, terms: Terms, vectors: VectorFile | None) -> None:
        self._db = database
        self._terms = terms
        self._found = Candidates(database, vectors)

    def answer(self, question: Query, k: int, floor: float) -> list[Hit]:
        evidence = self._evidence(question)
        if question.least is not None and not evidence.fits(question.least):
            return []
        candidates = self._found.of(
            [*evidence.by_passage, *evidence.cosines], [*evidence.by_whole, *evidence.named], question.scope
        )
        self._found.complete(evidence.cosines, candidates, question)
        now = self._newest(question.scope.before) if question.now is None else question.now
        ranked = [
            one
            for number, candidate in candidates.items()
            if (one := self._ranked(number, candidate, evidence, question.text, now)) is not None
        ]
        left: dict[int, float] = {}
        if floor > 0 or (question.least is not None and not evidence.is_short_of_words):
            left = self._left_of(ranked, evidence.chosen, question, floor)
            if question.least is not None and max(left.values(), default=0.0) < FITTING:
                return []
            ranked = [one for one in ranked if floor <= 0 or left[one.number] >= floor]
        elif question.least is not None:
            left = {one.number: one.cosine + question.lift for one in ranked if one.claim is not None}

        # Break ties by values that a rebuilt index has too, never by row numbers.
        def order(one: Ranked) -> tuple[float, float, str]:
            return -one.value, -(candidates[one.number].at or 0), candidates[one.number].id

        ranked.sort(key=order)
        if ranked and len(question.text.split()) > 1:
            # Chunks below this value cannot be among the first k.
            least = ranked[:k][-1].value / fuse.AS_ASKED
            near = [one for one in ranked[:_LOOKED_AT_FOR_WORDING] if one.value >= least]
            ranked[: len(near)] = [
                self._by_wording(one, candidates[one.number].kind, question.text) for one in near
            ]
            ranked.sort(key=order)
        return [hit_of(self._db, one, evidence, left.get(one.number, FLOOR) < FLOOR) for one in ranked[:k]]

    def listed(self, scope: Scope, k: int) -> list[Hit]:
        """All chunks in the scope, newest first."""
        condition, values = scope.condition()
        statement = f"SELECT n FROM chunk WHERE {condition} ORDER BY at DESC, id LIMIT {k}"
        numbers = [number for (number,) in self._db.ask(statement, values)]
        chosen = Chosen([], 0, [], 1.0, 1.0, [], [], [])
        nothing = QueryEvidence(chosen, {}, {}, {}, set(), [])
        hits = []
        for number in numbers:
            statement = "SELECT n, start, stop FROM passage WHERE chunk = ? ORDER BY start LIMIT 1"
            (first,) = self._db.ask(statement, (number,))
            ranked = Ranked(1.0, number, first, 0.0, None)
            hits.append(hit_of(self._db, ranked, nothing, is_weak=False, otherwise="its date"))
        return hits

    def _evidence(self, question: Query) -> QueryEvidence:
        """The evidence of words, meaning and names for all chunks."""
        chosen = self._terms.choose(lexical.query_terms(question.text))
        signs = [] if _has_words(chosen) else lexical.sought_as_it_stands(question.text)
        if signs:
            by_passage = self._found.holding(signs, chosen, question.scope)
        else:
            by_passage = self._found.by_words(
                "passage_words", chosen.words, chosen.passage_factors, question.scope
            )
        by_whole = self._found.by_words("whole_words", chosen.words, chosen.whole_factors, question.scope)
        cosines, named = self._found.by_meaning(question), self._found.named(question)
        return QueryEvidence(chosen, by_passage, by_whole, cosines, named, signs)

    def _left_of(
        self, ranked: Sequence[Ranked], chosen: Chosen, question: Query, floor: float
    ) -> dict[int, float]:
        """Chunk → the evidence for it, as far as it matters."""
        if floor > 0 and not lexical.says_something(question.text):
            # A search for `next` means that word; `ok, thanks` is not a task.
            return {
                candidate.number: 0.0 if candidate.claim is not None else math.inf for candidate in ranked
            }
        least = min(floor, FITTING) if floor > 0 else FITTING
        claims = [candidate.claim for candidate in ranked]
        remaining = remaining_evidence(
            self._db, chosen, question.scope.condition(), claims, least, question.lift
        )
        return {candidate.number: evidence for candidate, evidence in zip(ranked, remaining, strict=True)}

    def _newest(self, before: float | None) -> float:
        """The time of the newest chunk, not newer than `before`."""
        condition, values = ("", []) if before is None else (" WHERE at < ?", [before])
        return self._db.number(f"SELECT max(at) FROM chunk{condition}", values)

    def _ranked(
        self, number: int, candidate: Candidate, evidence: QueryEvidence, query: str, now: float
    ) -> Ranked | None:
        """None if the chunk is not relevant at all."""
        passage, whole, cosine = evidence.of(number, candidate)
        relevance = fuse.relevance(passage, whole, cosine)
        claim: Claim | None = None
        if number in evidence.named:
            relevance += fuse.NAMED
        elif candidate.kind in EXACT_FIRST and self._holds(number, query):
            relevance += fuse.EXACT
        else:
            claim = evidence.claim(candidate, passage, cosine)
        if relevance <= 0:
            return None
        fades = candidate.kind not in TIMELESS and candidate.at is not None
        recent = fuse.recency(now - (candidate.at or 0)) if fades else 0.0
        value = fuse.rank_value(relevance, recent)
        return Ranked(value, number, evidence.best_passage(candidate), cosine, claim)

    def _by_wording(self, one: Ranked, kind: str, query: str) -> Ranked:
        """Ranks a chunk with the words in the order of the query before one with another order."""
        _, start, stop = one.best
        if kind in EXACT_FIRST or not self._holds(one.number, query, start, stop):
            return one
        return replace(one, value=one.value * fuse.AS_ASKED)

    def _holds(self, number: int, query: str, start: int = 0, stop: int = CLOSELY) -> bool:
        wanted = " ".join(query.casefold().split()).strip("\"'`?")
        if not 2 < len(wanted) <= 200:
            return False
        statement = "SELECT substr(text, ?, ?), title FROM chunk WHERE n = ?"
        ((text, title),) = self._db.ask(statement, (start + 1, stop - start, number))
        return lexical.holds(" ".join(lexical.composed(f"{title} {text}").casefold().split()), wanted)


def _has_words(chosen: Chosen) -> bool:
    """Whether FTS5 sees any word in a query: a single character of a script without spaces is hardly ever one."""
    return any(len(word) > 1 or not lexical.has_run(word) for word in chosen.words)


_MOST_HITS = 1000
_TRIES = 3


class SqliteIndex:
    """Satisfies `Index`. `embedder` None searches by words alone; `tell` receives messages about slow work."""

    def __init__(
        self, path: Path, embedder: Embedder | None, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self._tell = tell
        self._db = Database(path)
        self._terms = Terms(self._db, embedder)
        self._embedding = Embedding(embedder)
        self._generations = Generations(self._db, self._embedding)
        if self._generations.is_behind():
            self._layout.make_anew()

    # The writer is imported only when needed: most commands only search.

    @cached_property
    def _filling(self) -> IndexWriter:
        from holdfast.search.writer import IndexWriter

        return IndexWriter(self._db, self._generations, self._embedding)

    @cached_property
    def _layout(self) -> Layout:
        from holdfast.search.writer import Layout

        return Layout(self._db, self._generations, self._embedding, self._tell)

    def __enter__(self) -> SqliteIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._generations.close()
        self._db.close()

    def put(
        self,
        id: str,
        text: str,
        kind: str = "history",
        when: When = None,
        *,
        title: str = "",
        path: str = "",
        line: int = 0,
        session: str = "",
        project: str = "",
    ) -> bool:
        chunk = Chunk(
            id=id,
            text=text,
            kind=kind,
            when=seconds(when),
            title=title,
            path=path,
            line=line,
            session=session,
            project=project,
        )
        return self.put_many([chunk]).unchanged == 0

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        changes, gone = self._filling.put(chunks)
        if gone:
            self._layout.tidy(gone)
        return changes

    def delete(self, id: str) -> bool:
        return self.delete_many([id]) > 0

    def delete_many(self, ids: Iterable[str]) -> int:
        count, gone = self._filling.delete(ids)
        if gone:
            self._layout.tidy(gone)
        return count

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
        if not isinstance(query, str) or not isinstance(k, int):
            raise UsageError("a question is a text, and k a whole number", fix="As in search('why', k=5)")
        if k < 1 or not (query.strip() or since is not None):
            return []
        text = lexical.composed(storable(query[: lexical.LONGEST_QUERY]))
        projects = [project] if isinstance(project, str) else project
        if isinstance(kinds, str):
            raise UsageError("kinds is a text", fix="Give a list of kinds, as in kinds=['fact']")
        scope = Scope(
            None if kinds is None else tuple(sorted(set(kinds))),
            None if projects is None else tuple(sorted(set(projects))),
            seconds(before),
            seconds(since),
        )
        if not text.strip():
            with self._db.reading():
                return Lookup(self._db, self._terms, None).listed(scope, min(k, _MOST_HITS))
        vector = self._embedding.of_question(text)
        least = self._embedding.least(text) if fitting else None
        question = Query(text, scope, seconds(now), vector, least, self._embedding.lift)
        for _ in range(_TRIES):
            if self._generations.is_behind():
                self._layout.make_anew()
            with contextlib.suppress(Vanished), self._db.reading():
                lookup = Lookup(self._db, self._terms, self._generations.current())
                return lookup.answer(question, min(k, _MOST_HITS), floor)
        with self._db.reading():
            return Lookup(self._db, self._terms, None).answer(question, min(k, _MOST_HITS), floor)

    def ids(self) -> Iterator[str]:
        return iter([id for (id,) in self._db.ask("SELECT id FROM chunk ORDER BY id")])

    def text(self, id: str) -> str:
        return next((text for (text,) in self._db.ask("SELECT text FROM chunk WHERE id = ?", [id])), "")

    def mark(self) -> str:
        return self._db.meta("mark")

    def set_mark(self, mark: str) -> None:
        with self._db.writing():
            self._db.set_meta("mark", mark)

    def stats(self) -> Stats:
        with self._db.reading():
            files = [self.path, self.path.with_name(self.path.name + "-wal")]
            vectors = self._generations.current()
            files += [vectors.path] if vectors is not None else []
            return Stats(
                chunks=self._db.number("SELECT count(*) FROM chunk"),
                passages=self._db.number("SELECT count(*) FROM passage"),
                bytes=sum(file.stat().st_size for file in files if file.exists()),
                vectors=self._embedding.name,
                kinds=dict(self._db.ask("SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind")),
            )
