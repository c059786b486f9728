"""Writes ledger rows in the form that another program reads; Parquet needs an extra, which is asked for by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from holdfast.errors import UsageError
from holdfast.model.ledger import LedgerEntry
from holdfast.store import files
from holdfast.store.layout import Project
from holdfast.text.ledger_export import COLUMNS, flat, to_csv, to_jsonl, to_openmetrics


def exported(rows: Sequence[LedgerEntry], form: str, project: str) -> Iterator[bytes]:
    if form == "parquet":
        yield _parquet(rows)
    elif form == "grafana":
        yield resources.files("holdfast.app").joinpath("grafana.json").read_bytes()
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
    """A file that a person named: replaced as a whole, so that a scraper never reads half of it."""
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
