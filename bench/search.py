"""Measures search: how good its answers are beside FTS5's own, how precise with the floor, how fast, how it grows."""

from __future__ import annotations

import itertools
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import holdfast.search
from bench import measuring, retrieval_sets
from bench.retrieval_sets import SETS, RetrievalSet, interval, mean, measure, plain_fts5, precision_recall
from holdfast.core.stopwords import ENGLISH
from holdfast.search import Chunk, Index
from holdfast.search.embed.static import FOLDER, VOCABULARY

_DEEP = 50
_chosen = "static"  # the embedder that is measured

COLD = """
import sys
import holdfast.search
with holdfast.search.open(sys.argv[1]) as index:
    index.search(sys.argv[2])
"""


def report(name: str, value: float, unit: str, bound: float | None, **more: Any) -> bool:
    """As every benchmark reports, with the embedder in the name where it is not the one that is shipped."""
    return measuring.report(name if _chosen == "static" else f"{name}_{_chosen}", value, unit, bound, **more)


@contextmanager
def measured_with(embedder: str) -> Iterator[None]:
    """All that is measured inside is asked by another embedder than the one that is shipped, and named after it."""
    global _chosen
    before, _chosen = _chosen, embedder
    try:
        yield
    finally:
        _chosen = before


def embedder() -> str:
    return _chosen


def opened(path: Path) -> Index:
    return holdfast.search.open(path, _chosen)


# --- quality -------------------------------------------------------------------------------------------


def answers(found: RetrievalSet, folder: Path) -> list[list[str]]:
    with opened(folder / f"{found.name}.db") as index:
        index.put_many(Chunk(id=text.id, text=text.text, when=text.at) for text in found.texts)
        return [
            [hit.id for hit in index.search(asked.query, _DEEP, asked.now, before=asked.now)]
            for asked in found.questions
        ]


def plain_answers(found: RetrievalSet) -> list[list[str]]:
    """FTS5's own; where only earlier texts are visible, with an index of those alone."""
    if all(asked.visible == len(found.texts) for asked in found.questions):
        return plain_fts5(found.texts, [asked.query for asked in found.questions], ENGLISH, _DEEP)
    return [
        answer
        for asked in found.questions
        for answer in plain_fts5(found.texts[: asked.visible], [asked.query], ENGLISH, _DEEP)
    ]


def bench_search_quality(folder: Path, leaving_out: str = "") -> bool:
    if not SETS.is_dir():
        return True
    ok = True
    bounds = {"coding_prompts": {"any5": 0.57, "ndcg10": 0.34}}
    gains: list[list[float]] = []
    for found in retrieval_sets.retrieval_sets():
        if found.name == leaving_out:
            continue
        ours = measure(answers(found, folder), found.questions)
        plain = measure(plain_answers(found), found.questions)
        for name in ("any5", "mrr", "ndcg10"):
            mine, theirs = getattr(ours, name), getattr(plain, name)
            wanted = max(mean(theirs) if name != "ndcg10" else 0, bounds.get(found.name, {}).get(name, 0))
            gain = [one - other for one, other in zip(mine, theirs, strict=True)]
            gains.append(gain)
            ok &= report(
                f"search_{found.name}_{name}",
                mean(mine),
                "mean",
                round(wanted, 4) or None,
                least=True,
                n=len(mine),
                interval=interval(mine),
                fts5=round(mean(theirs), 4),
                gain_interval=interval(gain),
            )
    total = sum(mean(gain) for gain in gains) / len(gains)
    return report("search_gain_over_fts5", total, "mean", 0.0, least=True, measures=len(gains)) and ok


def bench_search_precision(folder: Path) -> bool:
    """PrecisionMemBench: nothing that was not asked for, and nothing where there is nothing."""
    if not SETS.is_dir():
        return True
    found = retrieval_sets.beliefs()
    rows: list[tuple[int, int, int]] = []
    with opened(folder / "beliefs.db") as index:
        index.put_many(
            Chunk(id=text.id, text=text.text, title=text.title, project=text.project, kind="fact")
            for text in found.texts
        )
        for asked in found.questions:
            hits = index.search(asked.query, 12, project=asked.projects, floor=holdfast.search.FLOOR)
            given = {hit.id for hit in hits}
            rows.append((len(given & asked.gold), len(given), len(asked.gold)))
    chance = random.Random(7)
    spread = sorted(precision_recall(chance.choices(rows, k=len(rows))) for _ in range(2000))
    low, high = spread[50][0], spread[-50][0]
    precision, recall = precision_recall(rows)
    recalls = sorted(one[1] for one in spread)
    exact = sum(right == given == wanted for right, given, wanted in rows)
    more = {"n": len(rows), "exact_cases": exact}
    ok = report(
        "search_precision",
        precision,
        "share",
        0.5,
        least=True,
        interval=(round(low, 3), round(high, 3)),
        **more,
    )
    between = (round(recalls[50], 3), round(recalls[-50], 3))
    return report("search_recall", recall, "share", 0.8, least=True, interval=between, **more) and ok


# --- speed ---------------------------------------------------------------------------------------------


def made_up_chunks(count: int, seed: int = 5) -> Iterator[Chunk]:
    """Notes of about 50 words that follow Zipf's law, with names, paths and flags among them."""
    vocabulary = Path(FOLDER, VOCABULARY).read_text(encoding="utf-8").split("\n")
    words = [word for word in vocabulary[1996:] if word.isalpha() and len(word) > 2][:20_000]
    shares = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(words))))
    chance = random.Random(seed)
    for number in range(count):
        said = chance.choices(words, cum_weights=shares, k=chance.randrange(30, 70))
        said[5] = f"src/{said[5]}/{said[6]}_{said[7]}.py"
        said[9] = f"--{said[9]}"
        text = " ".join(said)
        yield Chunk(
            id=f"N-{number:07d}",
            text=text,
            when=1.7e9 + number * 60,
            path=f"log{number % 51}.md",
            line=number,
        )


def made_up_questions(count: int, seed: int = 11) -> list[str]:
    return [" ".join(chunk.text.split()[10 : 10 + 6]) for chunk in made_up_chunks(count, seed)]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_search_small(folder: Path) -> bool:
    """961 chunks in 51 files: what a project has after some months."""
    chunks = list(made_up_chunks(961))
    path = folder / "small.db"
    with holdfast.search.open(path) as index:
        ok = report("search_index_961_chunks", timed(lambda: index.put_many(chunks)), "s", 1.0)
        ok &= report("search_unchanged_961_chunks", timed(lambda: index.put_many(chunks)), "s", 0.1)
        questions = made_up_questions(50)
        index.search(questions[0])
        times = [timed(lambda question=question: index.search(question)) for question in questions]
        ok &= report(
            "search_warm_961_chunks", statistics.median(times) * 1000, "ms", 50, most=max(times) * 1000
        )
    bare, cold = [], []
    for _ in range(15):  # in turn, so that a busy minute is everybody's
        bare.append(timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
        command = [sys.executable, "-c", COLD, str(path), questions[0]]
        cold.append(timed(lambda command=command: subprocess.run(command, check=True)))
    ratio = statistics.median(cold) / statistics.median(bare)
    return (
        report(
            "search_cold_process", ratio, "x python -c pass", 12, milliseconds=statistics.median(cold) * 1000
        )
        and ok
    )


def _grown(folder: Path, count: int, bounds: dict[str, float | None]) -> bool:
    """Index `count` chunks, then ask: what it takes, and what a process that only asks holds in memory."""
    path = folder / f"grown{count}.db"
    batch = 50_000
    seconds = 0.0
    with holdfast.search.open(path) as index:
        source = made_up_chunks(count)
        while some := list(itertools.islice(source, batch)):
            seconds += timed(lambda some=some: index.put_many(some))
        size = index.stats().bytes
    ok = report(f"search_index_{count}_chunks", seconds, "s", bounds.get("index"), bytes=size)
    done = subprocess.run(
        [sys.executable, "-m", "bench.search", str(path)], capture_output=True, encoding="utf-8", check=True
    )
    told = json.loads(done.stdout)
    ok &= report(
        f"search_warm_{count}_chunks",
        told["p50"],
        "ms",
        bounds.get("warm"),
        **{name: round(told[name], 1) for name in ("p95", "p50_of_all", "p95_of_all", "cpu_p50")},
    )
    return report(f"search_rss_{count}_chunks", told["rss"], "MB", bounds.get("rss")) and ok


def bench_search_growth(folder: Path) -> bool:
    ok = _grown(folder, 1_000, {}) and _grown(folder, 10_000, {})
    return _grown(folder, 100_000, {"index": 90, "warm": 60}) and ok


def bench_search_million(folder: Path) -> bool:
    return _grown(folder, 1_000_000, {"warm": 200, "rss": 2000})


def ask_only(path: Path) -> dict[str, float]:
    """What a person waits: the best of three for each question, because neighbours make noise; all waits beside it."""
    walls: list[list[float]] = []
    own: list[float] = []
    with holdfast.search.open(path) as index:
        for question in made_up_questions(5, seed=12):
            index.search(question)
        for _ in range(3):
            walls.append([])
            for question in made_up_questions(60):
                before = time.process_time()
                walls[-1].append(timed(lambda question=question: index.search(question)))
                own.append(time.process_time() - before)
    best = sorted(min(times) for times in zip(*walls, strict=True))
    every = sorted(itertools.chain(*walls))
    return {
        "p50": best[30] * 1000,
        "p95": best[57] * 1000,
        "p50_of_all": every[90] * 1000,
        "p95_of_all": every[171] * 1000,
        "cpu_p50": statistics.median(own) * 1000,
        "rss": _peak(),
    }


def _peak() -> float:
    """MB at most, of this process alone: what getrusage says is inherited from the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (
            line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")
        )
        return int(line.split()[1]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    print(json.dumps(ask_only(Path(sys.argv[1]))))
