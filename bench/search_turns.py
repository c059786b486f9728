"""Measures search over chats that are put turn by turn, beside FTS5's own, and what the context of a turn costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from bench.retrieval_sets import SETS, Asked, RetrievalSet, Text, interval, mean, measure, plain_fts5
from bench.search import opened, report
from bench.turn_sets import chats, dated, found_of_ten, longmemeval_turns
from holdfast.core.stopwords import ENGLISH
from holdfast.search import Chunk, Index

_DEEP = 50
_ABOVE_FTS5 = 0.1
_COST = 1.15
_ROUNDS = 5


def answers(found: RetrievalSet, path: Path, *, sessions: bool = False) -> list[list[str]]:
    """With `sessions` chunks are put with their session; without, their ids alone say it."""
    with opened(path) as index:
        index.put_many(_chunks(found.texts, sessions=sessions))
        return [[hit.id for hit in index.search(asked.query, _DEEP)] for asked in found.questions]


def _chunks(texts: Sequence[Text], *, sessions: bool = False) -> list[Chunk]:
    return [
        Chunk(id=text.id, text=text.text, when=text.at, session=text.session if sessions else "")
        for text in texts
    ]


def bench_search_turns(folder: Path) -> bool:
    ok = _reported(chats(), folder, _ABOVE_FTS5)
    if SETS.is_dir():
        for users_only in (True, False):
            found = longmemeval_turns(users_only)
            ok &= _reported(found, folder, None if users_only else 0.0)
            ok &= _reported(dated(found), folder, _ABOVE_FTS5)
    return ok


def _reported(found: RetrievalSet, folder: Path, above: float | None) -> bool:
    ours = answers(found, folder / f"{found.name}.db")
    plain = plain_fts5(found.texts, [asked.query for asked in found.questions], ENGLISH, _DEEP)
    mine, theirs = (found_of_ten(given, found.questions) for given in (ours, plain))
    return report(
        f"search_{found.name}_r10",
        mean(mine),
        "mean",
        None if above is None else round(mean(theirs) + above, 4),
        least=True,
        n=len(mine),
        interval=interval(mine),
        fts5=round(mean(theirs), 4),
        mrr=round(mean(measure(ours, found.questions).mrr), 4),
        fts5_mrr=round(mean(measure(plain, found.questions).mrr), 4),
    )


def bench_search_turns_cost(folder: Path) -> bool:
    """The same turns with ids that say of which chat they are, and with ids that say nothing."""
    found = chats()
    chunks = _chunks(found.texts)
    alone = [Chunk(id=f"{number:x}x", text=one.text, when=one.when) for number, one in enumerate(chunks)]
    put: dict[str, list[float]] = {"turns": [], "alone": []}
    asked: dict[str, list[float]] = {"turns": [], "alone": []}
    size: dict[str, int] = {}
    for number in range(_ROUNDS):  # in turn, so that a busy minute is everybody's
        for name, some in (("turns", chunks), ("alone", alone)):
            path = folder / f"{name}{number}.db"
            with opened(path) as index:
                start = time.process_time()
                index.put_many(some)
                put[name].append(time.process_time() - start)
                asked[name].append(_asking(index, found.questions))
            size[name] = sum(file.stat().st_size for file in folder.glob(f"{name}{number}*"))
    ok = report("search_turns_put", min(put["turns"]) / min(put["alone"]), "x the same as notes", _COST)
    ok &= report(
        "search_turns_search", min(asked["turns"]) / min(asked["alone"]), "x the same as notes", None
    )
    return report("search_turns_size", size["turns"] / size["alone"], "x the same as notes", _COST) and ok


def _asking(index: Index, questions: Sequence[Asked]) -> float:
    """Seconds of this process for a question, in the middle."""
    times = []
    for asked in questions:
        start = time.process_time()
        index.search(asked.query)
        times.append(time.process_time() - start)
    return statistics.median(times)
