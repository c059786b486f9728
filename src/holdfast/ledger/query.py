"""Answers SQL over ledgers and exported Parquet, with DuckDB.

Two views: `rows` has every row, `ledger` the one that counts of each session. A query can read these and nothing else:
no other file, no network, no variable of this process; and it changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from holdfast.core.errors import LedgerError, UsageError
from holdfast.ledger.column_store import SQL_TYPES, add_rows, create_table, literal, open_database
from holdfast.ledger.export import csv_cell, csv_line
from holdfast.ledger.export_columns import COLUMNS
from holdfast.ledger.latest import latest_places
from holdfast.ledger.parquet import MONTH
from holdfast.ledger.rows import NamedLedger, named_ledgers
from holdfast.store.machine import Machine

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FETCHED = 2_000  # rows at a time
_FIX = (
    "The views are ledger (a row for each session) and rows (every row); DESCRIBE ledger shows their columns"
)
_FORBIDDEN = ("COPY", "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ATTACH")
_ZONED = "WITH TIME ZONE"


class Answer(Struct, frozen=True):
    """The result of a query. Rows are read once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]

    def objects(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, map(plain, row), strict=True)) for row in self.rows]

    def side(self, column: str, objects: Sequence[dict[str, Any]]) -> Literal["left", "right"]:
        """Where a column of a table is aligned."""
        values = [row[column] for row in objects if row[column] is not None]
        numbers = all(isinstance(value, int | float) for value in values)
        return "right" if values and numbers else "left"

    def cells(self, objects: Sequence[dict[str, Any]]) -> list[list[str]]:
        return [[_shown(value) for value in row.values()] for row in objects]

    def csv(self) -> Iterator[str]:
        yield csv_line(list(map(csv_cell, self.columns)))
        for row in self.rows:
            yield csv_line([csv_cell(_csv_value(value)) for value in row])


@contextmanager
def answered(machine: Machine, sql: str, places: Sequence[str]) -> Iterator[tuple[Answer, list[str]]]:
    """The answer to a query over these ledgers and exports, or this project's ledger; and what could not be read."""
    named, exports, problems = _sources(machine, places)
    with open_database() as (database, _):
        import duckdb

        try:
            _create_views(database, named, exports, latest="ledger" in sql.casefold())
            _close_off(database, exports)
            yield _run(database, sql), problems
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {_first_lines(str(error))}", fix=_FIX) from error


def _sources(machine: Machine, places: Sequence[str]) -> tuple[list[NamedLedger], list[Path], list[str]]:
    """Ledgers, Parquet files, and what could not be read. A folder without a ledger may hold an export."""
    exports: list[Path] = []
    named: list[str] = []
    for place in places:
        path = (machine.cwd / Path(place).expanduser()).absolute()
        within = sorted(path.rglob("*.parquet")) if path.is_dir() and not _has_ledger(path) else []
        exports += [path] if path.suffix == ".parquet" and path.is_file() else within
        if not within and path.suffix != ".parquet":
            named.append(place)
        elif path.suffix == ".parquet" and not path.exists():
            raise UsageError("there is no such file", where=str(path), fix="Name what ledger export wrote")
    if places and not named:
        return [], exports, []
    found, problems = named_ledgers(machine, named)
    return found, exports, problems


def _has_ledger(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (".holdfast/ledger.md", "ledger.md"))


def _create_views(
    database: DuckDBPyConnection, named: Sequence[NamedLedger], exports: Sequence[Path], *, latest: bool
) -> None:
    create_table(database, "_ledgers")
    first = 0
    for ledger in named:
        add_rows(database, "_ledgers", ledger.entries, ledger.project, first)
        first += len(ledger.entries)
    parts = [f"SELECT {_columns({})}, project, {MONTH} AS month, place FROM _ledgers"]
    for number, group in enumerate(_by_shape(exports)):
        parts.append(_parquet_rows(database, group, (number + 1) << 56))
    database.execute(f"CREATE VIEW _every AS {' UNION ALL '.join(parts[bool(exports and not named) :])}")
    names = ", ".join(
        [
            *(f"{_as_utc(name) if kind == 'timestamp' else name}" for name, kind, _ in COLUMNS),
            "project",
            "month",
        ]
    )
    database.execute(f"CREATE VIEW rows AS SELECT {names} FROM _every")
    counting = latest_places(database, "_every") if latest else "true"
    database.execute(f"CREATE VIEW ledger AS SELECT {names} FROM _every WHERE {counting}")


def _as_utc(name: str) -> str:
    return f"{name}::TIMESTAMP AS {name}"


def _columns(types: dict[str, str]) -> str:
    """The columns of an export; what a file of an older version lacks is unknown."""
    return ", ".join(
        name if not types or types.get(name) == SQL_TYPES[kind]
        else f"{name if name in types else 'NULL'}::{SQL_TYPES[kind]} AS {name}"
        for name, kind, _ in COLUMNS
    )  # fmt: skip


def _by_shape(exports: Sequence[Path]) -> list[list[Path]]:
    """Files in folders of month and project, and others: DuckDB does not read both as one."""
    partitioned = [path for path in exports if path.parent.name.startswith("project=")]
    return [
        group for group in (partitioned, [path for path in exports if path not in set(partitioned)]) if group
    ]


def _parquet_rows(database: DuckDBPyConnection, paths: Sequence[Path], first: int) -> str:
    import duckdb

    hive = paths[0].parent.name.startswith("project=")
    source = (
        f"read_parquet([{', '.join(literal(str(path)) for path in paths)}], union_by_name=true, "
        f"hive_partitioning={str(hive).lower()}, hive_types_autocast=false)"
    )
    try:
        described = database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    except duckdb.Error as error:
        raise LedgerError(
            f"Parquet that cannot be read: {_first_lines(str(error))}",
            where=str(paths[0]) if len(paths) == 1 else str(paths[0].parents[2 if hive else 0]),
            fix="Export it again with holdfast ledger export --format parquet",
        ) from error
    types = {name: kind.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ") for name, kind, *_ in described}
    if "session" not in types:
        raise LedgerError(
            "no export of a ledger: it has no column session",
            where=str(paths[0]),
            fix="Name what holdfast ledger export --format parquet wrote",
        )
    place = f"{first} + (file_index::BIGINT << 36) + file_row_number AS place"
    project, month = ("project", "month") if hive else ("NULL::VARCHAR AS project", f"{MONTH} AS month")
    return f"SELECT {_columns(types)}, {project}, {month}, {place} FROM {source}"


def _close_off(database: DuckDBPyConnection, exports: Sequence[Path]) -> None:
    """From here on nothing but the views can be read, and no setting changes that."""
    allowed = ", ".join(literal(str(path)) for path in exports)
    database.execute(f"SET allowed_paths = [{allowed}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def _run(database: DuckDBPyConnection, sql: str) -> Answer:
    import duckdb

    statements = database.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("only one SELECT can be asked", fix=_FIX)
    # `WITH a AS (COPY …) SELECT …` is a SELECT too, and could overwrite an export that it may read: the plan shows it.
    plan = database.execute(f"EXPLAIN (FORMAT json) {statements[0].query}").fetchall()
    if any(word in name for name in _operators(json.loads(plan[0][1])) for word in _FORBIDDEN):
        raise UsageError("a query must not write", fix=_FIX)
    database.execute(_without_zones(database, statements[0].query))
    columns = _distinct([column[0] for column in database.description or ()])
    return Answer(columns, _fetched(database))


def _operators(nodes: list[dict[str, Any]]) -> Iterator[str]:
    for node in nodes:
        yield str(node["name"]).upper()
        yield from _operators(node["children"])


def _without_zones(database: DuckDBPyConnection, sql: str) -> str:
    """Times with a zone come to Python only through another package; in UTC they are plain times."""
    described = database.execute(f"DESCRIBE {sql}").fetchall()
    if not any(_ZONED in kind for _, kind, *_ in described):
        return sql
    cells = (
        f"#{number}::{kind.replace(_ZONED, '')} AS {_quoted(name)}" if _ZONED in kind else f"#{number}"
        for number, (name, kind, *_) in enumerate(described, 1)
    )
    return f"SELECT {', '.join(cells)} FROM ({sql.rstrip().rstrip(';')})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Every column with a name of its own."""
    seen: dict[str, None] = {}
    for name in names:
        new, number = name, 0
        while new in seen:
            number += 1
            new = f"{name}_{number}"
        seen[new] = None
    return tuple(seen)


def _fetched(database: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := database.fetchmany(_FETCHED):
        yield from rows


def plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601 and UTC, a number that is none as null."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else float(value)
        case float() | Decimal():
            return float(value) if isfinite(value) else None
        case datetime():
            return f"{value.isoformat()}Z"
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case list() | tuple():
            return [plain(one) for one in value]
        case dict():
            return {str(key): plain(one) for key, one in value.items()}
    return str(value)


def _csv_value(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    value = plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else value


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.2f}"
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first_lines(text: str) -> str:
    """What DuckDB says, without the picture of the query below it."""
    return text.partition("\n\n")[0].partition("\nLINE ")[0]
