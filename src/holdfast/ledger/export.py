"""Exports ledger rows as csv, jsonl and OpenMetrics, with stable column names."""

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
from holdfast.guard.inert import inert
from holdfast.ledger.cells import render_time
from holdfast.ledger.export_columns import NAMES, flat, portable
from holdfast.model.ledger import LedgerEntry
from holdfast.store.project import Project


def to_csv(entries: Iterable[LedgerEntry]) -> Iterator[str]:
    """RFC 4180, lists as words with blanks between, texts made inert (`guard/inert.py`)."""
    yield csv_line(NAMES)
    for entry in entries:
        yield csv_line([csv_cell(value) for value in flat(entry).values()])


def csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue()


def csv_cell(value: Any) -> str:
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
        "Sessions of unknown cost",
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
                f'{label}="{inert(portable(value), "openmetrics")}"' for label, value in labels.items()
            )
            yield f"{name}_total{{{label_text}}} {_digits(round(total, 6))}\n"
    yield "# EOF\n"


def exported(rows: Sequence[LedgerEntry], form: str, project: str) -> Iterator[bytes]:
    if form == "parquet":
        from holdfast.ledger.parquet import parquet_bytes  # loads numpy

        yield parquet_bytes(rows)
    elif form == "grafana":
        yield _dashboard()
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


def _dashboard() -> bytes:
    """The dashboard; its panels over Parquet have the SQL that says which row of a session counts."""
    import json

    from holdfast.ledger.latest import latest_sql

    exports = "read_parquet('${parquet}/**/*.parquet', union_by_name=true, hive_partitioning=true)"
    source = f"(SELECT *, filename || lpad(file_row_number::VARCHAR, 12, '0') AS place FROM {exports})"
    query = json.dumps(" ".join(latest_sql(source, "*").split()))[1:-1]
    text = resources.files("holdfast.ledger").joinpath("grafana.json").read_text(encoding="utf-8")
    return text.replace("LEDGER", query).encode()


def write_export(project: Project, path: Path, pieces: Iterable[bytes]) -> None:
    """Writes the export file atomically, so that a scraper never reads half of it."""
    files.replace(path, b"".join(pieces), project.lock("export"), files.ANYTHING)
