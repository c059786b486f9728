"""The columns of the ledger: how to write a cell, and how to read whole columns of cells.

Standard library only: figures over a ledger are to be had before anything larger could be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from operator import attrgetter

from holdfast.core import markdown_table
from holdfast.core.patterns import lazy_regex

TYPE_CHECKING = False


MOST_DIGITS = 24  # no count has so many; arithmetic on a longer one would have no end
_UNKNOWN = frozenset({"", "?", "-", "unknown"})
_COST = lazy_regex(r"(?a)(-?)\$? ?(\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)")
_AMOUNT = r"(?:(\d+(?:\.\d+)?) ?{unit} ?)?"
_DURATION = lazy_regex(
    "(?a)(-?)"
    + _AMOUNT.format(unit="d(?:ays?)?")
    + _AMOUNT.format(unit="h(?:rs?|ours?)?")
    + _AMOUNT.format(unit="m(?:ins?|inutes?)?")
    + _AMOUNT.format(unit="s(?:ecs?|econds?)?")
)
_SECONDS = (86_400, 3_600, 60, 1)


def is_unknown(cell: str) -> bool:
    """Whether a number's cell says that the value is unknown."""
    return cell in _UNKNOWN or cell.lower() in _UNKNOWN


def render_cost(cost: Decimal | None) -> str:
    """`$0.12`, `$0.004`: every digit there is, two decimals at least, never an exponent."""
    if cost is None or not cost.is_finite():
        return "?"
    whole, _, fraction = format(cost.copy_abs(), "f").partition(".")
    sign = "-" if cost < 0 else ""
    return f"{sign}${whole}.{fraction.rstrip('0'):0<2}"


def parse_cost(cell: str) -> Decimal | None:
    if len(cell) > 60:
        raise ValueError(cell[:24])
    match = _COST.fullmatch(cell)
    if match is None:
        if is_unknown(cell):
            return None
        raise ValueError(cell)
    return Decimal(match[1] + match[2].replace(",", ""))


def render_duration(seconds: int | None) -> str:
    """`45s`, `8min`, `8min 12s`, `1h 5min`."""
    if seconds is None:
        return ""
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return ("-" if seconds < 0 else "") + (" ".join(parts) or "0s")


def parse_duration(cell: str) -> int | None:
    """Seconds, from our form or Go's (`8m12s`); a fraction of a second is rounded away."""
    if is_unknown(cell):
        return None
    match = _DURATION.fullmatch(cell.lower())
    amounts = match.groups()[1:] if match else ()
    if match is None or not any(amounts):
        raise ValueError(cell)
    seconds = 0
    for amount, unit in zip(amounts, _SECONDS, strict=True):
        if amount:
            seconds += int(amount) * unit if "." not in amount else round(Decimal(amount) * unit)
    return -seconds if match[1] else seconds


def render_time(time: datetime | None) -> str:
    """ISO-8601 in UTC with `Z`, as fine as the time is. A time without a zone is taken as UTC."""
    if time is None:
        return ""
    time = _in_utc(time)
    if not time.microsecond:
        text = time.isoformat(timespec="seconds")
    elif time.microsecond % 1000:
        text = time.isoformat(timespec="microseconds")
    else:
        text = time.isoformat(timespec="milliseconds")
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def parse_time(cell: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(cell)
    except ValueError:
        if is_unknown(cell):
            return None
        raise
    return time if time.tzinfo is UTC else _in_utc(time)


def _in_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        # Within hours of year 1 or 9999 the offset cannot be undone; the instant is the same.
        return time


def render_number(number: int | None) -> str:
    return "" if number is None else str(number)


def parse_number(cell: str) -> int | None:
    if is_unknown(cell):
        return None
    if len(cell) > MOST_DIGITS:
        raise ValueError(cell[:MOST_DIGITS])
    return int(cell.replace(",", ""))


if TYPE_CHECKING:
    from typing import Any

    from holdfast.ledger.tables import Header

    Decode = Callable[[str], str]
    Read = Callable[[str], Any]
    ReadAll = Callable[[Sequence[str]], list[Any]]

_REMEMBERED = 50_000
_BLANK = "  "  # how an empty cell stands in a row of ours
_ZONE, _IN_UTC = attrgetter("tzinfo"), frozenset({UTC})
_LONGEST_COST = 40
_AMOUNTS = " $.0123456789|"
_DIGITS = dict.fromkeys(range(48, 58))
# What is left of a duration without its digits, in the order in which we write it.
_UNITS = frozenset({_BLANK, " h ", " min ", " s ", " h min ", " h s ", " min s ", " h min s "})


class LedgerColumn:
    """How to write and read a column. Readers get the raw cell, with its blanks."""

    __slots__ = ("field", "name", "reader", "repeats", "sure", "write")

    def __init__(
        self,
        name: str,
        field: str,
        write: Callable[[Any], str],
        reader: Callable[[Decode], Read],
        *,
        repeats: bool = True,  # few distinct cells: worth remembering what each means
        sure: bool = False,  # any cell can be read
    ) -> None:
        self.name = name
        self.field = field
        self.write = write
        self.reader = reader
        self.repeats = repeats
        self.sure = sure


def cell_of_text(text: str | None) -> str:
    return "" if text is None else markdown_table.encode_cell(text) or markdown_table.EMPTY


def text_reader(decode: Decode) -> Read:
    # A stranger's `?` or `-` says unknown; in our own tables an empty cell does, and `?` is a name.
    unknown = {"", "?", "-"} if decode is markdown_table.decode_foreign_cell else {""}

    def read(cell: str) -> str | None:
        cell = cell.strip(markdown_table.BLANKS)
        return None if cell in unknown else decode(cell)

    return read


def _session_reader(decode: Decode) -> Read:
    def read(cell: str) -> str:
        cell = cell.strip(markdown_table.BLANKS)
        if not cell:
            raise ValueError("empty")
        return decode(cell) if "\\" in cell else cell

    return read


def _number_reader(decode: Decode) -> Read:
    def read(cell: str) -> int | None:
        if len(cell) <= MOST_DIGITS:
            try:
                return int(cell)
            except ValueError:
                pass
        return parse_number(decode(cell))

    return read


def _time_reader(decode: Decode) -> Read:
    def read(cell: str) -> datetime | None:
        return parse_time(cell.strip(markdown_table.BLANKS))

    return read


def _list_reader(decode: Decode, *, sep: str) -> Read:
    return lambda cell: markdown_table.decode_list(cell, sep, decode)


def _parsed(parse: Read, decode: Decode) -> Read:
    return lambda cell: parse(decode(cell))


_text = partial(LedgerColumn, write=cell_of_text, reader=text_reader, sure=True)
_number = partial(LedgerColumn, write=render_number, reader=_number_reader)
_time = partial(LedgerColumn, write=render_time, reader=_time_reader, repeats=False)
_words = partial(
    LedgerColumn, write=markdown_table.encode_list, reader=partial(_list_reader, sep=" "), sure=True
)

# The seed's eight come first, so that its readers find what they know.
_COLUMNS = (
    LedgerColumn("Session", "session", cell_of_text, _session_reader, repeats=False),
    _text("Model", "model"),
    _number("Tasks", "tasks"),
    _number("Failed", "failed"),
    LedgerColumn("Cost", "cost_usd", render_cost, partial(_parsed, parse_cost), repeats=False),
    LedgerColumn(
        "Duration",
        "duration_s",
        render_duration,
        partial(_parsed, parse_duration),
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
    LedgerColumn(
        "Failures",
        "failures",
        partial(markdown_table.encode_list, sep=", "),
        partial(_list_reader, sep=", "),
        sure=True,
    ),
    _text("Complexity", "complexity"),
    _number("Input", "tokens.input", repeats=False),
    _number("Output", "tokens.output", repeats=False),
    _number("Cache read", "tokens.cache_read", repeats=False),
    _number("Cache write", "tokens.cache_write", repeats=False),
    _number("Commits", "commits"),
    _text("Outcome", "outcome"),
    _time("Recorded", "recorded"),
    _text("Usage", "usage"),
    _text("Clock", "clock", repeats=False),  # read when two rows of a session are compared, see `order`
)
COLUMNS = tuple(column.name for column in _COLUMNS)
TOKEN_FIELDS = ("tokens.input", "tokens.output", "tokens.cache_read", "tokens.cache_write")


def assign(columns: Iterable[str]) -> list[LedgerColumn | None]:
    """Maps header cells to our columns; only the first of two equal names counts."""
    left = {column.name.lower(): column for column in _COLUMNS}
    return [left.pop(name.lower(), None) for name in columns]


class CellReader:
    """Parses the raw cells under one header; a subclass says what becomes of the values."""

    def __init__(self, header: Header) -> None:
        decode = markdown_table.decode_foreign_cell if header.foreign else markdown_table.decode_cell
        self.columns = header.columns
        self.width = len(header.columns)
        self.assigned = assign(header.columns)
        self.readers = [reader_of(column, decode) for column in self.assigned]

    def take_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """All of them, or ValueError when a cell cannot be read. How many cells there are is checked before."""
        if rows:
            self.take(list(zip(*rows)), len(rows))  # noqa: B905 - checked, and hot

    def take(self, cells: Sequence[Sequence[str]], rows: int) -> None:
        """Reads column by column: reading cell by cell is most of the time for a million rows."""
        raise NotImplementedError

    def unreadable(self, cells: Sequence[str]) -> str:
        """Describes the first cell that cannot be read, safe to show."""
        for name, read, cell in zip(self.columns, self.readers, cells, strict=True):
            try:
                read((cell,))
            except ValueError:
                return _complaint(name, cell.strip(markdown_table.BLANKS))
        return "a value cannot be read"


def _complaint(name: str, cell: str) -> str:
    if not cell:
        return f"no {name.lower()}"
    excerpt = markdown_table.encode_cell(cell[:40]) + ("…" if len(cell) > 40 else "")
    return f'{markdown_table.encode_cell(name)} "{excerpt}" cannot be read'


class _Remembered(dict):  # type: ignore[type-arg]
    """Values by cell, parsed once for each distinct cell; cleared before it grows large."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, cell: str) -> Any:
        if len(self) >= _REMEMBERED:
            self.clear()
        value = self[cell] = self._read(cell)
        return value


def reader_of(column: LedgerColumn | None, decode: Decode) -> ReadAll:
    read = column.reader(decode) if column else text_reader(decode)
    if column and column.repeats:
        return partial(_repeated, _Remembered(read).__getitem__)
    return (
        partial(_quickly, _QUICK[column.name], read)
        if column and column.name in _QUICK
        else partial(_each, read)
    )


def _repeated(read: Read, cells: Sequence[str]) -> list[Any]:
    """A column often has one value in a whole block, and comparing is quicker than a lookup for each cell."""
    first = cells[0]
    return [read(first)] * len(cells) if cells.count(first) == len(cells) else list(map(read, cells))


def _each(read: Read, cells: Iterable[str]) -> list[Any]:
    return list(map(read, cells))


def _quickly(quick: ReadAll, read: Read, cells: Sequence[str]) -> list[Any]:
    """The quick way reads what holdfast writes; other cells are read one by one."""
    try:
        return quick(cells)
    except ValueError:
        return list(map(read, cells))


def _quick_counts(cells: Sequence[str]) -> list[Any]:
    if max(map(len, cells), default=0) > MOST_DIGITS:
        raise ValueError("long")
    if _BLANK in cells:
        return [None if cell == _BLANK else int(cell) for cell in cells]
    return list(map(int, cells))


def _quick_words(cells: Sequence[str]) -> list[Any]:
    """Words of visible letters, with blanks between them."""
    text = "".join(cells)
    if not (text.isascii() and text.isprintable()) or "\\" in text:
        raise ValueError("not plain")
    return list(map(tuple, map(str.split, cells)))


def _quick_names(cells: Sequence[str]) -> list[Any]:
    names = [cell.strip(markdown_table.BLANKS) for cell in cells]
    if "" in names or "\\" in "".join(names):
        raise ValueError("not plain")
    return names


def _quick_costs(cells: Sequence[str]) -> list[Any]:
    """`$0.12`, and `?` for unknown; ValueError for any other form."""
    if " ? " in cells:
        some = [cell for cell in cells if cell != " ? "]
        known = iter(_quick_costs(some) if some else ())
        return [None if cell == " ? " else next(known) for cell in cells]
    text, between = "|".join(cells), len(cells) - 1
    if (
        text.strip(_AMOUNTS)
        or text[:2] != " $"
        or text[-1:] != " "
        or text.count("| $") != between
        or text.count(" |") != between
        or max(map(len, cells)) > _LONGEST_COST
    ):
        raise ValueError("not plain")
    try:
        return list(map(Decimal, [cell[2:-1] for cell in cells]))
    except InvalidOperation as error:
        raise ValueError("not plain") from error


def _quick_durations(cells: Sequence[str]) -> list[Any]:
    """`8min 12s`, by its parts, whose number is small; an empty cell is unknown."""
    if not _UNITS.issuperset("|".join(cells).translate(_DIGITS).split("|")):
        raise ValueError("not plain")
    try:
        return list(map(_durations().__getitem__, cells))
    except KeyError as error:
        raise ValueError("not plain") from error


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


def _quick_times(cells: Sequence[str]) -> list[Any]:
    if _BLANK in cells:
        known = iter(_quick_times([cell for cell in cells if cell != _BLANK]))
        return [None if cell == _BLANK else next(known) for cell in cells]
    found = list(map(datetime.fromisoformat, map(str.strip, cells)))
    if not _IN_UTC.issuperset(map(_ZONE, found)):
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
