"""Exports ledger rows as csv, jsonl, OpenMetrics and Parquet, with stable column names."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from holdfast.core import files
from holdfast.core.errors import UsageError
from holdfast.guard.inert import inert
from holdfast.ledger.cells import render_time
from holdfast.model.ledger import LedgerEntry
from holdfast.store.project import Project

# name, type (as Parquet will have it), what it says. Documented in docs/ledger.md; only ever added to.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("session", "string", "the agent's own id of the session"),
    ("timestamp", "timestamp", "when it began, UTC"),
    ("recorded", "timestamp", "when the row was written, UTC"),
    ("agent", "string", "the coding agent"),
    ("provider", "string", "who served the model"),
    ("model", "string", "the model that did the work"),
    ("kind", "string", "the sort of work: feature, bugfix, refactor, …"),
    ("complexity", "string", "trivial, simple, moderate or complex"),
    ("project_type", "string", "the project's main language"),
    ("framework", "string", "what the project is built with"),
    ("goal", "list", "keywords of what it was about"),
    ("tasks", "integer", "tasks in all"),
    ("failed", "integer", "tasks that failed"),
    ("skipped", "integer", "tasks left open"),
    ("failures", "list", "a reason for each failed task"),
    ("outcome", "string", "how it ended"),
    ("commits", "integer", "commits made"),
    ("cost_usd", "number", "dollars; empty is unknown"),
    ("duration_s", "integer", "seconds of work"),
    ("input_tokens", "integer", "tokens read that no cache held"),
    ("output_tokens", "integer", "tokens written by the model"),
    ("cache_read_tokens", "integer", "tokens read from the cache"),
    ("cache_write_tokens", "integer", "tokens written to the cache"),
    ("usage", "string", "incomplete or missing where the transcript shows it: cost and tokens are too low"),
    ("clock", "string", "the stamp that orders the rows of a session"),
)
NAMES = tuple(name for name, _, _ in COLUMNS)


def flat(entry: LedgerEntry) -> dict[str, Any]:
    """One row with the stable column names; None is unknown, and so is a count that no other program could hold."""
    return {name: _portable(value) for name, value in _values(entry).items()}


def _portable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_portable(word) for word in value]
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def _values(entry: LedgerEntry) -> dict[str, Any]:
    tokens = entry.tokens
    return {
        "session": entry.session,
        "timestamp": entry.timestamp,
        "recorded": entry.recorded,
        "agent": entry.agent,
        "provider": entry.provider,
        "model": entry.model,
        "kind": entry.kind,
        "complexity": entry.complexity,
        "project_type": entry.project_type,
        "framework": entry.framework,
        "goal": list(entry.goal),
        "tasks": entry.tasks,
        "failed": entry.failed,
        "skipped": entry.skipped,
        "failures": list(entry.failures),
        "outcome": entry.outcome,
        "commits": entry.commits,
        "cost_usd": None if entry.cost_usd is None else float(entry.cost_usd),
        "duration_s": entry.duration_s,
        "input_tokens": tokens.input if tokens else None,
        "output_tokens": tokens.output if tokens else None,
        "cache_read_tokens": tokens.cache_read if tokens else None,
        "cache_write_tokens": tokens.cache_write if tokens else None,
        "usage": entry.usage,
        "clock": entry.clock,
    }


def to_csv(entries: Iterable[LedgerEntry]) -> Iterator[str]:
    """RFC 4180, lists as words with blanks between, texts made inert (`guard/inert.py`)."""
    yield _csv_line(NAMES)
    for entry in entries:
        yield _csv_line([_csv_cell(value) for value in flat(entry).values()])


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, str):
        return inert(value, "csv")
    return render_time(value) if isinstance(value, datetime) else _digits(value)


def _digits(value: float) -> str:
    """A number with every digit it has and no exponent."""
    return format(Decimal(repr(value)), "f")


def to_jsonl(entries: Iterable[LedgerEntry]) -> Iterator[str]:
    import msgspec

    for entry in entries:
        row = flat(entry)
        row |= {name: render_time(row[name]) or None for name in ("timestamp", "recorded")}
        yield inert(msgspec.json.encode(row).decode(), "jsonl") + "\n"


_LABELS = ("agent", "model", "kind", "project_type")
_METRICS: tuple[tuple[str, str, str, Callable[[LedgerEntry], float | int | None]], ...] = (
    ("holdfast_sessions", "counter", "Sessions in the ledger", lambda entry: 1),
    ("holdfast_tasks", "counter", "Tasks of these sessions", lambda entry: entry.tasks),
    ("holdfast_failed_tasks", "counter", "Tasks that failed", lambda entry: entry.failed),
    (
        "holdfast_cost_usd",
        "counter",
        "Cost in dollars, of sessions whose cost is known",
        lambda entry: None if entry.cost_usd is None else float(entry.cost_usd),
    ),
    (
        "holdfast_sessions_of_unknown_cost",
        "counter",
        "Sessions whose cost nobody knows",
        lambda entry: int(entry.cost_usd is None),
    ),
    ("holdfast_seconds", "counter", "Seconds of work", lambda entry: entry.duration_s),
    (
        "holdfast_input_tokens",
        "counter",
        "Tokens read that no cache held",
        lambda entry: entry.tokens.input if entry.tokens else None,
    ),
    (
        "holdfast_output_tokens",
        "counter",
        "Tokens written by the model",
        lambda entry: entry.tokens.output if entry.tokens else None,
    ),
    (
        "holdfast_cache_read_tokens",
        "counter",
        "Tokens read from the cache",
        lambda entry: entry.tokens.cache_read if entry.tokens else None,
    ),
    (
        "holdfast_cache_write_tokens",
        "counter",
        "Tokens written to the cache",
        lambda entry: entry.tokens.cache_write if entry.tokens else None,
    ),
)


def to_openmetrics(entries: Sequence[LedgerEntry], project: str) -> Iterator[str]:
    """Counters by project, agent, model, kind and type, as the OpenMetrics text format wants them."""
    for name, kind, about, value_of in _METRICS:
        sums: defaultdict[tuple[str, ...], float] = defaultdict(int)
        for entry in entries:
            value = value_of(entry)
            if value is not None and value >= 0:
                sums[tuple(str(getattr(entry, label) or "unknown") for label in _LABELS)] += value
        yield f"# TYPE {name} {kind}\n# HELP {name} {about}.\n"
        for values, total in sorted(sums.items()):
            labels = {"project": project, **dict(zip(_LABELS, values, strict=True))}
            label_text = ",".join(
                f'{label}="{inert(_portable(value), "openmetrics")}"' for label, value in labels.items()
            )
            yield f"{name}_total{{{label_text}}} {_digits(round(total, 6))}\n"
    yield "# EOF\n"


def exported(rows: Sequence[LedgerEntry], form: str, project: str) -> Iterator[bytes]:
    if form == "parquet":
        yield _parquet(rows)
    elif form == "grafana":
        yield resources.files("holdfast.ledger").joinpath("grafana.json").read_bytes()
    else:
        texts = (
            to_csv(rows)
            if form == "csv"
            else to_jsonl(rows)
            if form == "jsonl"
            else to_openmetrics(rows, project)
        )
        for text in texts:
            yield text.encode("utf-8", "replace")


def write_export(project: Project, path: Path, pieces: Iterable[bytes]) -> None:
    """Writes the export file atomically, so that a scraper never reads half of it."""
    files.replace(path, b"".join(pieces), project.lock("export"), files.ANYTHING)


def _parquet(rows: Sequence[LedgerEntry]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed", fix="Run pip install 'holdfast[parquet]'"
        ) from error
    types: dict[str, Any] = {
        "string": arrow.string(),
        "timestamp": arrow.timestamp("us", tz="UTC"),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "list": arrow.list_(arrow.string()),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind, _ in COLUMNS])
    sink = arrow.BufferOutputStream()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for start in range(0, max(len(rows), 1), 50_000):
            table = arrow.Table.from_pylist(
                [flat(row) for row in rows[start : start + 50_000]], schema=schema
            )
            writer.write_table(table)
    return bytes(sink.getvalue())
