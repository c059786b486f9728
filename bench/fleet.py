"""SQL over the ledgers of many people: `holdfast ledger query` on 10,000,000 rows of exported Parquet.

The rows are made by DuckDB in the layout of `ledger export --format parquet --out`: ids as agents make them, twelve months,
forty projects, one session in a hundred with a second row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.measuring import report, scratch_env
from holdfast.ledger.column_store import SQL_TYPES
from holdfast.ledger.export_columns import COLUMNS

ROWS = 10_000_000
REPEATED = 100_000
MOST_SECONDS = 10.0
MOST_MEGABYTES = 2_000.0
_VALUES = {
    "session": "uuid()::VARCHAR",
    "timestamp": "TIMESTAMPTZ '2025-11-01' + to_seconds((random() * 31536000)::BIGINT)",
    "recorded": "TIMESTAMPTZ '2026-11-01'",
    "agent": "['claude-code', 'codex', 'gemini-cli'][1 + (random() * 3)::INT % 3]",
    "provider": "'anthropic'",
    "model": "['claude-opus-4-7', 'claude-sonnet-4-5', 'gpt-5.5', 'gemini-2.5-pro'][1 + (random() * 4)::INT % 4]",
    "kind": "['feature', 'bugfix', 'refactor', 'test'][1 + (random() * 4)::INT % 4]",
    "complexity": "'simple'",
    "project_type": "'python'",
    "framework": "'django'",
    "goal": "['word' || (random() * 500)::INT, 'word' || (random() * 500)::INT]",
    "failures": "[]::VARCHAR[]",
    "outcome": "'done'",
    "cost_usd": "round(random() * 3, 4)",
    "usage": "NULL",
    "clock": "'20261101T000000.000-0-kfmt'",
}
BY_MODEL = (
    "SELECT model, count(*) AS sessions, avg(cost_usd) AS avg_cost, sum(failed) / sum(tasks) AS failed, "
    "avg(duration_s) / 60 AS minutes FROM ledger GROUP BY model ORDER BY sessions DESC"
)


def write_fleet(folder: Path, rows: int, repeated: int) -> None:
    import duckdb

    values = ", ".join(
        f"({_VALUES.get(name, '(random() * 9)::INT')})::{SQL_TYPES[kind]} AS {name}"
        for name, kind, _ in COLUMNS
    )
    project = "'project' || (random() * 39)::INT AS project, strftime(timestamp, '%Y-%m') AS month"
    with duckdb.connect(str(folder / "made.db")) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute("SET memory_limit = '3GB'")
        database.execute("SET enable_progress_bar = false")
        database.execute(
            f"CREATE TABLE made AS SELECT *, {project} FROM (SELECT {values} FROM range({rows - repeated}))"
        )
        database.execute(
            "INSERT INTO made SELECT * REPLACE ('20261102T000000.000-0-kfmt' AS clock) FROM made "
            f"USING SAMPLE reservoir({repeated} ROWS) REPEATABLE (1)"
        )
        database.execute(
            f"COPY made TO '{folder / 'fleet'}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (month, project))"
        )
    (folder / "made.db").unlink()


def bench_fleet(folder: Path) -> bool:
    # In a process of its own: the peak of a process counts what its parent held when it was started.
    made = f"from pathlib import Path; from bench.fleet import write_fleet; write_fleet(Path({str(folder)!r}), {ROWS}, {REPEATED})"
    subprocess.run([sys.executable, "-c", made], check=True, cwd=Path(__file__).parent.parent)
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    seconds, memory, answer = _measured(folder, BY_MODEL)
    counted = sum(row["sessions"] for row in answer)
    ok = report(
        "fleet_ledger_by_model_10M_s", seconds, "s", MOST_SECONDS, rows=ROWS, parquet_mb=size // 10**6
    )
    ok &= report("fleet_ledger_by_model_10M_mb", memory, "MB", MOST_MEGABYTES)
    ok &= report("fleet_ledger_rows_missed", abs(ROWS - REPEATED - counted), "rows", 0)
    every, _, _ = _measured(folder, BY_MODEL.replace("FROM ledger", "FROM rows"))
    return report("fleet_rows_by_model_10M_s", every, "s", MOST_SECONDS) and ok


def _measured(folder: Path, sql: str) -> tuple[float, float, list[dict[str, float]]]:
    """Seconds and peak megabytes of a command, and its answer.

    The seconds are no more than those of the processor: beside other programs a command waits for what a quiet machine has.
    """
    command = [sys.executable, "-m", "holdfast", "ledger", "query", sql, str(folder / "fleet"), "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=scratch_env(folder), cwd=folder)
    assert process.stdout is not None
    answer = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = min(time.perf_counter() - start, usage.ru_utime + usage.ru_stime)
    return seconds, usage.ru_maxrss / 1000, answer
