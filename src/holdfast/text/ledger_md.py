"""The ledger file: rows and problems out of markdown, headers and rows into it, and which rows count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from holdfast.model.ledger import LedgerEntry
from holdfast.text import table
from holdfast.text.ledger_cells import COLUMNS
from holdfast.text.ledger_columns import LONG_AGO
from holdfast.text.ledger_row import RowReader, columns_for, render_row
from holdfast.text.ledger_tables import FORMAT, MARKER, Header, Problem, read_tables, survey

__all__ = [
    "COLUMNS",
    "FORMAT",
    "Header",
    "LedgerFile",
    "Problem",
    "columns_for",
    "current",
    "parse_ledger",
    "render_beginning",
    "render_row",
    "render_table",
    "survey",
]


class LedgerFile(Struct):
    """A ledger as read. `lines[i]` is the line number of `entries[i]`."""

    entries: list[LedgerEntry] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    format: int | None = None
    header: Header | None = None

    @property
    def foreign(self) -> bool:
        """There are tables, and no holdfast has written any of them."""
        return self.format is None and self.header is not None

    @property
    def read_only(self) -> bool:
        """A newer holdfast has written here: read it, do not append."""
        return self.format is not None and self.format > FORMAT


# --- writing -------------------------------------------------------------------------------------------


def render_beginning(columns: Sequence[str] = COLUMNS) -> str:
    """The first lines of a new ledger."""
    return f"{MARKER}\n# Session ledger\n\n{_render_header(columns)}"


def render_table(columns: Sequence[str] = COLUMNS) -> str:
    """The lines that begin a further table in a file that has others."""
    return f"\n{MARKER}\n\n{_render_header(columns)}"


def _render_header(columns: Sequence[str]) -> str:
    names = table.render_row([table.encode_cell(name) for name in columns])
    return f"{names}\n{table.render_separator(len(columns))}\n"


# --- reading -------------------------------------------------------------------------------------------


def parse_ledger(data: bytes, name: str) -> LedgerFile:
    """Everything a ledger holds. LedgerError only when the file as a whole is no ledger."""
    entries: list[LedgerEntry] = []
    found = read_tables(data, name, lambda header: RowReader(header, entries))
    return LedgerFile(entries, found.lines, found.problems, found.format, found.header)


# --- what counts ---------------------------------------------------------------------------------------


def current(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """One entry per session: the latest recorded, later lines winning ties; forgotten is final. By time."""
    latest: dict[str, LedgerEntry] = {}
    forgotten: set[str] = set()
    for entry in entries:
        if entry.forgotten:
            forgotten.add(entry.session)
        known = latest.get(entry.session)
        if known is None or (entry.recorded or LONG_AGO) >= (known.recorded or LONG_AGO):
            latest[entry.session] = entry
    kept = [entry for session, entry in latest.items() if session not in forgotten]
    return sorted(kept, key=lambda entry: entry.timestamp or LONG_AGO)
