"""Converts ledger entries to markdown rows and back, and decides which rows count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any

from msgspec import Struct, field
from msgspec.structs import fields

from holdfast.core import markdown_table
from holdfast.core.errors import UsageError
from holdfast.ledger.cells import COLUMNS, TOKEN_FIELDS, CellReader, LedgerColumn, assign, cell_of_text
from holdfast.ledger.order import LONG_AGO, latest_rows
from holdfast.ledger.tables import FORMAT, MARKER, Header, RowProblem, read_tables, survey
from holdfast.model.ledger import LedgerEntry, Tokens

__all__ = [
    "COLUMNS",
    "FORMAT",
    "Header",
    "LedgerFile",
    "RowProblem",
    "columns_for",
    "current",
    "parse_ledger",
    "render_beginning",
    "render_row",
    "render_table",
    "survey",
]

_NO_COUNTS = (None, None, None, None)
_DEFAULTS = [(field.name, field.default) for field in fields(LedgerEntry)]


def columns_for(entries: Iterable[LedgerEntry], in_force: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns `in_force` when every value has its place there; otherwise those of a new, wider table."""
    unclaimed = _unclaimed(in_force)
    needed = [*unclaimed]
    for names in {tuple(name for name, _ in entry.extra): None for entry in entries if entry.extra}:
        free = [*needed]
        for name in names:
            if name in free:
                free.remove(name)
            else:
                needed.append(name)
    if needed == unclaimed and len(in_force) - len(unclaimed) == len(COLUMNS):
        return tuple(in_force)
    return (*COLUMNS, *needed)


def _unclaimed(columns: Sequence[str]) -> list[str]:
    return [name for name, column in zip(columns, assign(columns), strict=True) if column is None]


def render_row(entry: LedgerEntry, columns: tuple[str, ...] = COLUMNS) -> str:
    """The entry as a table row, without a line end, cells in the order of `columns`."""
    extra = list(entry.extra)
    cells = [write(entry) if write else _take(extra, name) for name, write in _writers(columns)]
    if extra:
        raise UsageError(f"the ledger's table has no column {extra[0][0]!r}", fix="Start a new table for it")
    return markdown_table.render_row(cells)


def _take(extra: list[tuple[str, str]], name: str) -> str:
    for position, (column, text) in enumerate(extra):
        if column == name:
            del extra[position]
            return cell_of_text(text)
    return ""


@lru_cache(maxsize=16)
def _writers(columns: tuple[str, ...]) -> list[tuple[str, Callable[[LedgerEntry], str] | None]]:
    assigned = zip(columns, assign(columns), strict=True)
    return [(name, _writer(column) if column else None) for name, column in assigned]


def _writer(column: LedgerColumn) -> Callable[[LedgerEntry], str]:
    get, write = attrgetter(column.field), column.write
    if column.field in TOKEN_FIELDS:
        return lambda entry: write(get(entry)) if entry.tokens is not None else ""
    return lambda entry: write(get(entry))


class RowReader(CellReader):
    """Turns the raw cells under one header into entries, and adds them to those that there are."""

    def __init__(self, header: Header, entries: list[LedgerEntry]) -> None:
        super().__init__(header)
        self._entries = entries
        # Columns that make up one field share its key; what they hold together is set afterwards.
        self._fields = [column.field.partition(".")[0] if column else "extra" for column in self.assigned]
        self._extra = [place for place, column in enumerate(self.assigned) if column is None]
        places = {column.field: place for place, column in enumerate(self.assigned) if column}
        self._has_tokens = "tokens" in self._fields
        self._counts = [places.get(field, -1) for field in TOKEN_FIELDS]

    def take(self, cells: Sequence[Sequence[str]], rows: int) -> None:
        found = [read(column) for read, column in zip(self.readers, cells)]  # noqa: B905
        columns: dict[str, Iterable[Any]] = dict(zip(self._fields, found))  # noqa: B905
        if self._has_tokens:
            nothing = [None] * rows
            counts = [found[place] if place >= 0 else nothing for place in self._counts]
            columns["tokens"] = _join_tokens(counts)
        if self._extra:
            columns["extra"] = [self._extra_of(found, row) for row in range(rows)]
        self._entries += map(
            LedgerEntry, *[columns.get(name) or repeat(default) for name, default in _DEFAULTS]
        )

    def _extra_of(self, found: Sequence[Sequence[Any]], row: int) -> tuple[tuple[str, str], ...]:
        return tuple(
            [
                (self.columns[place], found[place][row])
                for place in self._extra
                if found[place][row] is not None
            ]
        )


def _join_tokens(counts: Sequence[Sequence[int | None]]) -> Iterable[Tokens | None]:
    if not any(None in column for column in counts):
        return map(Tokens, *counts)
    return [
        None if row == _NO_COUNTS else Tokens(*[count or 0 for count in row])
        for row in zip(*counts, strict=True)
    ]


class LedgerFile(Struct):
    """A ledger as read. `lines[i]` is the line number of `entries[i]`."""

    entries: list[LedgerEntry] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    format: int | None = None
    header: Header | None = None

    @property
    def read_only(self) -> bool:
        """Whether a newer version wrote the file: read it, do not append."""
        return self.format is not None and self.format > FORMAT


def render_beginning(columns: Sequence[str] = COLUMNS) -> str:
    """The first lines of a new ledger."""
    return f"{MARKER}\n# Session ledger\n\n{_render_header(columns)}"


def render_table(columns: Sequence[str] = COLUMNS) -> str:
    """The lines that begin a further table in a file that has others."""
    return f"\n{MARKER}\n\n{_render_header(columns)}"


def _render_header(columns: Sequence[str]) -> str:
    names = markdown_table.render_row([markdown_table.encode_cell(name) for name in columns])
    return f"{names}\n{markdown_table.render_separator(len(columns))}\n"


def parse_ledger(data: bytes, name: str) -> LedgerFile:
    """Parses a ledger. Raises LedgerError only if the file as a whole is not a ledger."""
    entries: list[LedgerEntry] = []
    tables = read_tables(data, name, lambda header: RowReader(header, entries))
    return LedgerFile(entries, tables.lines, tables.problems, tables.format, tables.header)


def current(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """One entry per session: the one with the latest stamp; forgotten is final. By time."""
    every = list(entries)
    keys = ([getattr(entry, name) for entry in every] for name in ("session", "clock", "recorded", "outcome"))
    latest = [every[row] for row in latest_rows(*keys)]
    return sorted(latest, key=lambda entry: entry.timestamp or LONG_AGO)
