"""Search on PostgreSQL beside SQLite over the same texts: which questions each answers, and how long it takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tests.postgres.server import Server, running_server, set_up, why_none

from bench import retrieval_sets
from bench.measuring import report
from bench.retrieval_sets import SETS, RetrievalSet, mean, measure
from holdfast import search
from holdfast.postgres.address import parse_address
from holdfast.postgres.index import TeamIndex
from holdfast.search import Chunk, Index

_DEEP = 50
_AUTHOR = "aaaaaaaaaaaaaaaa"


def bench_team_search(folder: Path) -> bool:
    """Skipped without the sets or a server. A question is lost if only SQLite has a right answer among its first 5."""
    if not SETS.is_dir() or why_none():
        return True
    ok = True
    with running_server(folder / "postgres") as server:
        set_up(server)
        for number, found in enumerate([*retrieval_sets.retrieval_sets(), retrieval_sets.beliefs()]):
            answerable = found._replace(questions=[asked for asked in found.questions if asked.gold])
            ok &= _compare(answerable, folder, server, f"set-{number}")
    return ok


def _compare(found: RetrievalSet, folder: Path, server: Server, project: str) -> bool:
    server.sql("SELECT holdfast.add_project(%s, 'ana')", project)
    server.sql("SELECT holdfast.set_indexed(%s, true)", project, login="ana")
    address = parse_address(server.address("ana"))
    here, here_ms, here_s = _answers(found, lambda: search.open(folder / f"{found.name}.db"))
    there, there_ms, there_s = _answers(found, lambda: TeamIndex(address, project, _AUTHOR))
    before, after = measure(here, found.questions), measure(there, found.questions)
    pairs = list(zip(before.any5, after.any5, found.questions, strict=True))
    lost = [asked.query[:60] for ours, theirs, asked in pairs if ours > theirs]
    gained = [asked.query[:60] for ours, theirs, asked in pairs if theirs > ours]
    return report(
        f"team_search_{found.name}_lost",
        len(lost),
        "questions",
        None,
        n=len(found.questions),
        texts=len(found.texts),
        lost=lost,
        gained=gained,
        same_first=sum(one[:1] == two[:1] for one, two in zip(here, there, strict=True)),
        same_ten=sum(one[:10] == two[:10] for one, two in zip(here, there, strict=True)),
        any5=(round(mean(before.any5), 4), round(mean(after.any5), 4)),
        mrr=(round(mean(before.mrr), 4), round(mean(after.mrr), 4)),
        ndcg10=(round(mean(before.ndcg10), 4), round(mean(after.ndcg10), 4)),
        ms=(round(here_ms, 1), round(there_ms, 1)),
        fill_s=(round(here_s, 1), round(there_s, 1)),
    )


def _answers(found: RetrievalSet, opening: Callable[[], Index]) -> tuple[list[list[str]], float, float]:
    """The ids for each question, the median time of one in ms, and the seconds it took to fill the index."""
    with opening() as index:
        start = time.perf_counter()
        chunks = [
            Chunk(id=text.id, text=text.text, when=text.at, title=text.title, project=text.project)
            for text in found.texts
        ]
        for first in range(0, len(chunks), 200):
            index.put_many(chunks[first : first + 200])
        filled = time.perf_counter() - start
        answers, times = [], []
        for asked in found.questions:
            start = time.perf_counter()
            hits = index.search(
                asked.query, _DEEP, asked.now, before=asked.now, project=asked.projects or None
            )
            times.append(time.perf_counter() - start)
            answers.append([hit.id for hit in hits])
        return answers, statistics.median(times) * 1000, filled
