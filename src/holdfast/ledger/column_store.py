"""An in-memory DuckDB with ledger rows as a table, for Parquet and for SQL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.core.errors import UsageError
from holdfast.core.stamp import EPOCH
from holdfast.ledger.export_columns import COLUMNS, flat
from holdfast.model.ledger import LedgerEntry
from holdfast.store.installation import how_to_add

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "1200MB"  # what does not fit is spilled into the private folder
SQL_TYPES = {
    "string": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "list": "VARCHAR[]",
}
_ROWS = 50_000  # passed at a time
_NO_INTEGER = -(2**63)
# How a column comes out of the arrays below: a value that cannot occur stands for NULL.
_SQL_VALUES = {
    "string": "{}",
    "timestamp": f"make_timestamp(nullif({{}}, {_NO_INTEGER}))::TIMESTAMPTZ",
    "integer": f"nullif({{}}, {_NO_INTEGER})",
    "number": "CASE WHEN isnan({0}) THEN NULL ELSE {0} END",
    "list": """from_json({}, '["VARCHAR"]')""",
}


@contextmanager
def open_database() -> Iterator[tuple[DuckDBPyConnection, Path]]:
    """The database, and the private folder that goes with it."""
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(
            "Parquet and SQL need duckdb, which is not installed",
            fix=f"Run `{how_to_add('analytics')}`",
        ) from error
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as folder,
        duckdb.connect(":memory:") as database,
    ):
        spill = Path(folder, "spill").as_posix()
        settings = {
            "temp_directory": spill,
            "memory_limit": MEMORY,
            "TimeZone": "UTC",
            "enable_progress_bar": False,
            "pandas_analyze_sample": 0,  # arrays of objects are text, whatever the first of them look like
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,  # a table's name never means a variable of this process
        }
        for name, value in settings.items():
            database.execute(f"SET {name} = {literal(value) if isinstance(value, str) else value}")
        yield database, Path(folder)


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def create_table(database: DuckDBPyConnection, name: str) -> None:
    """An empty table with the columns of an export, the project, and where a row stood."""
    columns = ", ".join(f"{column} {SQL_TYPES[kind]}" for column, kind, _ in COLUMNS)
    database.execute(f"CREATE TABLE {name} ({columns}, project VARCHAR, place BIGINT)")


def add_rows(
    database: DuckDBPyConnection, table: str, entries: Sequence[LedgerEntry], project: str, first: int = 0
) -> None:
    """Rows of a project, in their order; `first` is the place of the first."""
    values = ", ".join(_SQL_VALUES[kind].format(name) for name, kind, _ in COLUMNS)
    for start in range(0, len(entries), _ROWS):
        rows = [flat(entry) for entry in entries[start : start + _ROWS]]
        arrays: Any = {name: _ARRAYS[kind]([row[name] for row in rows]) for name, kind, _ in COLUMNS}
        arrays["place"] = np.arange(first + start, first + start + len(rows))
        database.register("arriving", arrays)
        database.execute(f"INSERT INTO {table} SELECT {values}, ?, place FROM arriving", [project])
        database.unregister("arriving")


def _texts(values: list[Any]) -> Any:
    return np.array(values, dtype=object)


def _lists(values: list[Any]) -> Any:
    from msgspec.json import encode

    return np.array([encode(value).decode() for value in values], dtype=object)


def _moments(values: list[datetime | None]) -> Any:
    return _integers([None if value is None else _microseconds(value) for value in values])


def _microseconds(moment: datetime) -> int:
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _integers(values: list[int | None]) -> Any:
    return np.array([_NO_INTEGER if value is None else value for value in values], dtype=np.int64)


def _numbers(values: list[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


_ARRAYS: dict[str, Callable[[list[Any]], Any]] = {
    "string": _texts,
    "timestamp": _moments,
    "integer": _integers,
    "number": _numbers,
    "list": _lists,
}
