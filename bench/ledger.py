"""Figures over large ledgers: `holdfast ledger stats` on 10,000, 100,000 and 1,000,000 rows, as a process of its own."""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from bench.measuring import report
from bench.recommend import table
from holdfast.ledger.markdown import render_beginning, render_row
from holdfast.model.ledger import LedgerEntry, Tokens

SIZES = (10_000, 100_000, 1_000_000)
MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5.5", "gemini-2.5-pro")
KINDS = ("feature", "bugfix", "refactor", "test")
WORDS = [f"word{number}" for number in range(500)]


def write_ledger(path: Path, rows: int) -> None:
    """A ledger as holdfast writes it. A thousand rows are made, and used again under other ids and times."""
    rng = random.Random(rows)
    made = [_row(rng) for _ in range(1000)]
    start = datetime(2020, 1, 1, tzinfo=UTC)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(render_beginning())
        for number in range(rows):
            at = f"{start + timedelta(seconds=97 * number):%Y-%m-%dT%H:%M:%SZ}"
            session = f"{rng.getrandbits(128):032x}"
            file.write(made[number % 1000].replace("SESSION", session).replace("2001-01-01T00:00:00Z", at))


def _row(rng: random.Random) -> str:
    at, tasks = datetime(2001, 1, 1, tzinfo=UTC), rng.randint(1, 8)
    entry = LedgerEntry(
        session="SESSION",
        model=rng.choice(MODELS),
        tasks=tasks,
        failed=int(rng.random() < 0.1),
        cost_usd=Decimal(rng.randint(1, 30_000)) / 10_000,
        duration_s=rng.randint(10, 4000),
        framework="react",
        goal=tuple(rng.sample(WORDS, 4)),
        timestamp=at,
        agent="claude-code",
        provider="anthropic",
        kind=rng.choice(KINDS),
        skipped=0,
        project_type="typescript",
        complexity="simple",
        tokens=Tokens(*[rng.randint(0, 10**6) for _ in range(4)]),
        commits=1,
        outcome="done",
        recorded=at,
    )
    return f"{render_row(entry)}\n"


def _once(command: list[str], env: dict[str, str], cwd: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def bench_ledger(folder: Path) -> bool:
    env = {**os.environ, "HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory")}
    command = [sys.executable, "-m", "holdfast", "ledger"]
    seconds: dict[int, float] = {}
    cpu: dict[int, float] = {}
    ok = True
    for rows in SIZES:
        work = folder / f"rows{rows}"
        (work / ".holdfast").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(work)], check=True)
        write_ledger(work / ".holdfast" / "ledger.md", rows)
        _once([*command, "add", "--session", "one-more"], env, work)
        bare, taken = [], []
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for _ in range(15 if rows == SIZES[0] else 3):  # in turn, so that a busy minute is everybody's
            bare.append(_once([sys.executable, "-c", "pass"], env, work))
            taken.append(_once([*command, "stats"], env, work))
        seconds[rows] = min(taken)
        if rows == SIZES[0]:
            ratio = statistics.median(taken) / statistics.median(bare)
            ok &= report("ledger_stats_10k_rows", ratio, "x python -c pass", 8, seconds=round(min(taken), 3))
        own = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        cpu[rows] = own / len(taken)
    more_of_it = {"cpu_seconds": round(cpu[SIZES[2]], 2)}  # what it takes where neighbours do not
    ok &= report("ledger_stats_1m_rows", seconds[SIZES[2]], "s", 10, **more_of_it)
    each = {rows: 1e6 * taken / rows for rows, taken in seconds.items()}
    growth = each[SIZES[2]] / each[SIZES[1]]
    more = {f"us_per_row_{rows}": round(value, 2) for rows, value in each.items()}
    return report("ledger_stats_growth", growth, "x time per row, 1M to 100k", 1.5, **more) and ok


def bench_recommend(folder: Path) -> bool:
    """Ours against two simple rules on ledgers whose truth is known: mean regret, where models differ."""
    lines = [
        line
        for line in table(worlds=30)
        if line["models"] == "different" and int(str(line["sessions"])) >= 30
    ]

    def mean(name: str) -> float:
        return statistics.fmean(float(str(line[name])) for line in lines)

    ours, used, raw = mean("regret"), mean("regret_most_used"), mean("regret_lowest_raw")
    covered = mean("coverage")
    ok = report(
        "recommend_regret",
        ours / min(used, raw),
        "x the better simple rule",
        0.8,
        ours=round(ours, 4),
        most_used=round(used, 4),
        lowest_raw=round(raw, 4),
    )
    return report("recommend_intervals_that_miss", 1 - covered, "share", 0.1) and ok
