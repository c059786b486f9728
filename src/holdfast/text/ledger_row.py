"""One ledger row: which columns there are, how each is written and read, an entry to cells and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import fields

from holdfast.errors import UsageError
from holdfast.model.ledger import LedgerEntry, Tokens
from holdfast.text import ledger_values as values
from holdfast.text import table

Decode = Callable[[str], str]
Read = Callable[[str], Any]
ReadAll = Callable[[Sequence[str]], list[Any]]
_REMEMBERED = 50_000
_DURATION = r"(?: | (?:\d\d?h(?: \d\d?min)?(?: \d\d?s)?|\d\d?min(?: \d\d?s)?|\d\d?s)) "
_COST = r" \$\d{1,20}(?:\.\d{1,20})? "
# Cells of a whole column, with a pipe between them as no cell has one.
_PLAIN_DURATIONS = re.compile(rf"{_DURATION}(?:\|{_DURATION})*", re.ASCII)
_PLAIN_COSTS = re.compile(rf"{_COST}(?:\|{_COST})*", re.ASCII)


class _Column(NamedTuple):
    """A column's two directions. Readers get the cell as it stands in the row, blanks and all."""

    name: str
    field: str
    write: Callable[[Any], str]
    reader: Callable[[Decode], Read]
    repeats: bool = True  # few distinct cells: worth remembering what each means


def _write_text(text: str | None) -> str:
    if text is None:
        return ""
    return table.encode_cell(text) or table.EMPTY


def _text_reader(decode: Decode) -> Read:
    # A stranger's `?` or `-` says unknown; in our own tables an empty cell does, and `?` is a name.
    unknown = {"", "?", "-"} if decode is table.decode_foreign_cell else {""}

    def read(cell: str) -> str | None:
        cell = cell.strip(table.BLANKS)
        return None if cell in unknown else decode(cell)

    return read


def _session_reader(decode: Decode) -> Read:
    def read(cell: str) -> str:
        cell = cell.strip(table.BLANKS)
        if not cell:
            raise ValueError("empty")
        return decode(cell) if "\\" in cell else cell

    return read


def _number_reader(decode: Decode) -> Read:
    def read(cell: str) -> int | None:
        if len(cell) <= values.MOST_DIGITS:
            try:
                return int(cell)
            except ValueError:
                pass
        return values.parse_number(decode(cell))

    return read


def _time_reader(decode: Decode) -> Read:
    def read(cell: str) -> datetime | None:
        return values.parse_time(cell.strip(table.BLANKS))

    return read


def _list_reader(decode: Decode, *, sep: str) -> Read:
    return lambda cell: table.decode_list(cell, sep, decode)


def _reader_of(parse: Read, decode: Decode) -> Read:
    return lambda cell: parse(decode(cell))


_text = partial(_Column, write=_write_text, reader=_text_reader)
_number = partial(_Column, write=values.render_number, reader=_number_reader)
_time = partial(_Column, write=values.render_time, reader=_time_reader, repeats=False)
_words = partial(_Column, write=table.encode_list, reader=partial(_list_reader, sep=" "))

# The seed's eight come first, so that its readers find what they know.
_COLUMNS = (
    _Column("Session", "session", _write_text, _session_reader, repeats=False),
    _text("Model", "model"),
    _number("Tasks", "tasks"),
    _number("Failed", "failed"),
    _Column("Cost", "cost_usd", values.render_cost, partial(_reader_of, values.parse_cost), repeats=False),
    _Column(
        "Duration",
        "duration_s",
        values.render_duration,
        partial(_reader_of, values.parse_duration),
        repeats=False,
    ),
    _text("Framework", "framework"),
    _words("Goal", "goal", repeats=False),
    _time("Time", "timestamp"),
    _text("Agent", "agent"),
    _text("Provider", "provider"),
    _text("Kind", "kind"),
    _number("Skipped", "skipped"),
    _text("Type", "project_type"),
    _Column("Failures", "failures", partial(table.encode_list, sep=", "), partial(_list_reader, sep=", ")),
    _text("Complexity", "complexity"),
    _number("Input", "tokens.input", repeats=False),
    _number("Output", "tokens.output", repeats=False),
    _number("Cache read", "tokens.cache_read", repeats=False),
    _number("Cache write", "tokens.cache_write", repeats=False),
    _number("Commits", "commits"),
    _text("Outcome", "outcome"),
    _time("Recorded", "recorded"),
)
COLUMNS = tuple(column.name for column in _COLUMNS)
_TOKEN_FIELDS = ("tokens.input", "tokens.output", "tokens.cache_read", "tokens.cache_write")
_NO_COUNTS = (None, None, None, None)
_DEFAULTS = [(field.name, field.default) for field in fields(LedgerEntry)]


def _assign(columns: Iterable[str]) -> list[_Column | None]:
    """Which of our columns each header cell is; a name that comes twice is ours the first time only."""
    left = {column.name.lower(): column for column in _COLUMNS}
    return [left.pop(name.lower(), None) for name in columns]


def columns_for(entries: Iterable[LedgerEntry], in_force: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns `in_force` when every value has its place there; otherwise those of a new, wider table."""
    own = _unclaimed(in_force)
    needed = [*own]
    for names in {tuple(name for name, _ in entry.extra): None for entry in entries if entry.extra}:
        free = [*needed]
        for name in names:
            if name in free:
                free.remove(name)
            else:
                needed.append(name)
    if needed == own and len(in_force) - len(own) == len(COLUMNS):
        return tuple(in_force)
    return (*COLUMNS, *needed)


def _unclaimed(columns: Sequence[str]) -> list[str]:
    return [name for name, column in zip(columns, _assign(columns), strict=True) if column is None]


# --- writing -------------------------------------------------------------------------------------------


def render_row(entry: LedgerEntry, columns: tuple[str, ...] = COLUMNS) -> str:
    """The entry as a table row, without a line end, cells in the order of `columns`."""
    extra = list(entry.extra)
    cells = [write(entry) if write else _take(extra, name) for name, write in _writers(columns)]
    if extra:
        raise UsageError(f"the ledger's table has no column {extra[0][0]!r}", fix="Start a new table for it")
    return table.render_row(cells)


def _take(extra: list[tuple[str, str]], name: str) -> str:
    for position, (column, text) in enumerate(extra):
        if column == name:
            del extra[position]
            return _write_text(text)
    return ""


@lru_cache(maxsize=16)
def _writers(columns: tuple[str, ...]) -> list[tuple[str, Callable[[LedgerEntry], str] | None]]:
    assigned = zip(columns, _assign(columns), strict=True)
    return [(name, _writer(column) if column else None) for name, column in assigned]


def _writer(column: _Column) -> Callable[[LedgerEntry], str]:
    get, write = attrgetter(column.field), column.write
    if column.field in _TOKEN_FIELDS:
        return lambda entry: write(get(entry)) if entry.tokens is not None else ""
    return lambda entry: write(get(entry))


# --- reading -------------------------------------------------------------------------------------------


class _Remembered(dict[str, Any]):
    """What a cell means, worked out once for each distinct cell and forgotten before it grows large."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, cell: str) -> Any:
        if len(self) >= _REMEMBERED:
            self.clear()
        value = self[cell] = self._read(cell)
        return value


class RowReader:
    """Turns the raw cells under one header into entries."""

    def __init__(self, columns: Sequence[str], *, foreign: bool) -> None:
        decode = table.decode_foreign_cell if foreign else table.decode_cell
        assigned = _assign(columns)
        self.columns = columns
        self.width = len(columns)
        self._readers = [_reader(column, decode) for column in assigned]
        # Columns that make up one field share its key; what they hold together is set afterwards.
        self._fields = [column.field.partition(".")[0] if column else "extra" for column in assigned]
        self._extra = [place for place, column in enumerate(assigned) if column is None]
        places = {column.field: place for place, column in enumerate(assigned) if column}
        self._has_tokens = "tokens" in self._fields
        self._counts = [places.get(field, -1) for field in _TOKEN_FIELDS]

    def read_block(self, rows: Sequence[Sequence[str]]) -> list[LedgerEntry]:
        """An entry for each row; ValueError when a cell cannot be read. How many cells there are is checked before."""
        return self.read_columns(list(zip(*rows)), len(rows)) if rows else []  # noqa: B905 - checked, and hot

    def read_columns(self, cells: Sequence[Sequence[str]], rows: int) -> list[LedgerEntry]:
        """Column by column: a million rows spend most of their time on being taken apart cell by cell."""
        found = [read(column) for read, column in zip(self._readers, cells)]  # noqa: B905
        columns: dict[str, Iterable[Any]] = dict(zip(self._fields, found))  # noqa: B905
        if self._has_tokens:
            nothing = [None] * rows
            counts = [found[place] if place >= 0 else nothing for place in self._counts]
            columns["tokens"] = _join_tokens(counts)
        if self._extra:
            columns["extra"] = [self._extra_of(found, row) for row in range(rows)]
        return list(map(LedgerEntry, *[columns.get(name) or repeat(default) for name, default in _DEFAULTS]))

    def _extra_of(self, found: Sequence[Sequence[Any]], row: int) -> tuple[tuple[str, str], ...]:
        return tuple(
            [
                (self.columns[place], found[place][row])
                for place in self._extra
                if found[place][row] is not None
            ]
        )

    def unreadable(self, cells: Sequence[str]) -> str:
        """What is wrong with the first cell that cannot be read, safe to show."""
        for name, read, cell in zip(self.columns, self._readers, cells, strict=True):
            try:
                read((cell,))
            except ValueError:
                return _complaint(name, cell.strip(table.BLANKS))
        return "a value cannot be read"


def _complaint(name: str, cell: str) -> str:
    if not cell:
        return f"no {name.lower()}"
    shown = table.encode_cell(cell[:40]) + ("…" if len(cell) > 40 else "")
    return f'{table.encode_cell(name)} "{shown}" cannot be read'


def _reader(column: _Column | None, decode: Decode) -> ReadAll:
    read = column.reader(decode) if column else _text_reader(decode)
    if column and column.repeats:
        return partial(_each, _Remembered(read).__getitem__)
    return (
        partial(_quickly, _QUICK[column.name], read)
        if column and column.name in _QUICK
        else partial(_each, read)
    )


def _each(read: Read, cells: Iterable[str]) -> list[Any]:
    return list(map(read, cells))


def _quickly(quick: ReadAll, read: Read, cells: Sequence[str]) -> list[Any]:
    """The quick way understands what we write ourselves; whatever it does not is read with care."""
    try:
        return quick(cells)
    except ValueError:
        return list(map(read, cells))


def _quick_counts(cells: Iterable[str]) -> list[Any]:
    if max(map(len, cells), default=0) > values.MOST_DIGITS:
        raise ValueError("long")
    return list(map(int, cells))


def _quick_words(cells: Sequence[str]) -> list[Any]:
    """Words of letters that everybody can see, with blanks between them."""
    text = "".join(cells)
    if not (text.isascii() and text.isprintable()) or "\\" in text:
        raise ValueError("not plain")
    return list(map(tuple, map(str.split, cells)))


def _quick_names(cells: Sequence[str]) -> list[Any]:
    found = [cell.strip(table.BLANKS) for cell in cells]
    if "" in found or "\\" in "".join(found):
        raise ValueError("not plain")
    return found


def _quick_costs(cells: Sequence[str]) -> list[Any]:
    """`$0.12` and the like; whatever else a person writes is not one of them."""
    if not _PLAIN_COSTS.fullmatch("|".join(cells)):
        raise ValueError("not plain")
    return list(map(Decimal, [cell[2:-1] for cell in cells]))


def _quick_durations(cells: Sequence[str]) -> list[Any]:
    """`8min 12s`, by its parts, of which there are few; an empty cell is unknown."""
    if not _PLAIN_DURATIONS.fullmatch("|".join(cells)):
        raise ValueError("not plain")
    return list(map(_durations().__getitem__, cells))


@cache
def _durations() -> _Remembered:
    size = _seconds().__getitem__
    return _Remembered(lambda cell: sum(map(size, cell.split(" "))) if cell.strip() else None)


@cache
def _seconds() -> dict[str, int]:
    parts = {
        f"{n}{unit}": n * size for unit, size in (("s", 1), ("min", 60), ("h", 3600)) for n in range(100)
    }
    return {**parts, "": 0}


def _quick_times(cells: Iterable[str]) -> list[Any]:
    found = list(map(datetime.fromisoformat, map(str.strip, cells)))
    if any(time.tzinfo is not UTC for time in found):
        raise ValueError("zone")
    return found


_QUICK: dict[str, ReadAll] = {
    "Input": _quick_counts,
    "Output": _quick_counts,
    "Cache read": _quick_counts,
    "Cache write": _quick_counts,
    "Session": _quick_names,
    "Duration": _quick_durations,
    "Goal": _quick_words,
    "Cost": _quick_costs,
    "Time": _quick_times,
    "Recorded": _quick_times,
}


def _join_tokens(counts: Sequence[Sequence[int | None]]) -> Iterable[Tokens | None]:
    if not any(None in column for column in counts):
        return map(Tokens, *counts)
    return [
        None if row == _NO_COUNTS else Tokens(*[count or 0 for count in row])
        for row in zip(*counts, strict=True)
    ]
