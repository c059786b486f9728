"""Reads a ledger as columns, for figures that need no single row.

What `ledger_md` says of entries is said here of columns: which rows count, and which of two ledgers are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.ledger.cells import TOKEN_FIELDS, CellReader
from holdfast.ledger.order import FORGOTTEN, latest_rows, lowest_cells, missing, row_key
from holdfast.ledger.tables import RowProblem, read_tables

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ledger.order import RowKey
    from holdfast.ledger.tables import Header

    Columns = dict[str, list[Any]]

_NOTHING: dict[str, tuple[str, ...]] = {"goal": (), "failures": ()}
# The fields that figures need, and those that decide which rows count.
FIGURES = (
    *(
        "session",
        "clock",
        "recorded",
        "outcome",
        "model",
        "tasks",
        "failed",
        "cost_usd",
        "duration_s",
        "framework",
    ),
    *("failures", "skipped", "project_type", "agent", "kind", "complexity", "usage", *TOKEN_FIELDS),
)


class _ColumnReader(CellReader):
    """Adds the values under one header to the requested columns."""

    def __init__(self, header: Header, columns: Columns) -> None:
        super().__init__(header)
        self._columns = columns
        fields = [column.field if column else "" for column in self.assigned]
        self._absent = [field for field in columns if field not in fields]
        # An unreadable cell invalidates its row, even in another column; text is always readable.
        self._needed = [
            (place, read, columns.get(fields[place]))
            for place, (column, read) in enumerate(zip(self.assigned, self.readers, strict=True))
            if fields[place] in columns or (column and not column.sure)
        ]

    def take(self, cells: Sequence[Sequence[str]], rows: int) -> None:
        for into, values in [(into, read(cells[place])) for place, read, into in self._needed]:
            if into is not None:
                into += values
        for field in self._absent:
            self._columns[field] += [_NOTHING.get(field)] * rows


def read_columns(data: bytes, name: str, fields: Iterable[str] = FIGURES) -> tuple[Columns, list[RowProblem]]:
    """The fields of every row that can be read, tombstones too. LedgerError when the file is no ledger."""
    columns: Columns = {field: [] for field in fields}
    tables = read_tables(data, name, lambda header: _ColumnReader(header, columns))
    return columns, tables.problems


def joined(shown: Columns, own: Columns) -> Columns:
    """The rows of two ledgers, each once: those of the second that the first does not have are added to it."""
    if not own["session"]:
        return shown
    shown_sessions = set(shown["session"])
    if shown_sessions.isdisjoint(own["session"]) and len(set(own["session"])) == len(own["session"]):
        more = own
    else:
        rows = missing(_keys(own), own["clock"], lowest_cells(_keys(shown), shown["clock"]))
        more = {field: [values[row] for row in rows] for field, values in own.items()}
    for field, values in shown.items():
        values += more[field]
    return shown


def _keys(columns: Columns) -> list[RowKey]:
    return list(map(row_key, columns["session"], columns["clock"], columns["recorded"], columns["outcome"]))


def counted(columns: Columns) -> Columns:
    """One row per session, the one that counts."""
    sessions = columns["session"]
    if len(set(sessions)) == len(sessions) and FORGOTTEN not in columns["outcome"]:
        return columns
    latest = latest_rows(sessions, columns["clock"], columns["recorded"], columns["outcome"])
    return {field: [values[row] for row in latest] for field, values in columns.items()}
