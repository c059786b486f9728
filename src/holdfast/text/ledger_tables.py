"""Which tables a ledger file has and which rows they hold: markdown to columns of cells, a problem for each bad line.

Each header governs the rows below it up to the next. Tables that follow our marker are read by our escapes;
others (the seed's, a person's) by markdown's own, where only `\\|` is one. What becomes of the cells is the reader's
affair (`ledger_cells.CellReader`). Standard library only, so that figures need not wait for more to be loaded.
"""

from __future__ import annotations

import codecs
import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import HoldfastError, LedgerError
from holdfast.text import table
from holdfast.text.late import late

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.text.ledger_cells import CellReader

FORMAT = 1
_BLOCK = 500  # rows that are read together: enough to save time, few enough to take no room
MARKER = f"<!-- holdfast ledger, format {FORMAT}: one row per session, append-only -->"
_ANY_MARKER = late(r"<!-- holdfast ledger, format (\d{1,9})\b")
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_CONFLICT = frozenset({"<<<<<<<", "|||||||", "=======", ">>>>>>>"})
_FIX_ROW = "Fix the row, or run holdfast doctor"
_FIX_CONFLICT = "Keep the rows of both sides and delete this line"
_FIX_FILE = "Move it away, and holdfast starts a new one, or restore it from git"


class Problem(NamedTuple):
    """A line that could not be read. `message` is the whole sentence, place included."""

    line: int
    code: str
    message: str


class Header(NamedTuple):
    """The columns that govern the rows below; `foreign` when they do not follow our escapes.

    Not `intact`: the separator has another width, so we understand the table and markdown does not.
    """

    columns: tuple[str, ...]
    foreign: bool
    intact: bool = True

    @property
    def names_sessions(self) -> bool:
        return "session" in [name.lower() for name in self.columns]


class Tables:
    """What reading the tables of a file found, beside the rows, which their reader has."""

    def __init__(self, format: int | None, header: Header | None) -> None:
        self.lines: list[int] = []  # of every row that was read, its number
        self.problems: list[Problem] = []
        self.format = format
        self.header = header


# --- which tables there are ----------------------------------------------------------------------------


class _Span:
    """Lines `start` up to `stop`, counted from 0, that stand under `header`, or under none."""

    def __init__(self, start: int, header: Header | None) -> None:
        self.start = start
        self.stop = start
        self.header = header


class Survey:
    """Which tables a file has, found without reading a row."""

    def __init__(self) -> None:
        self.spans = [_Span(0, None)]
        self.format: int | None = None
        self.first = ""

    @property
    def header(self) -> Header | None:
        """The header in force at the end."""
        return self.spans[-1].header

    @property
    def blank(self) -> bool:
        return not self.first

    def refuse_tableless(self, name: str) -> None:
        """A text without a ledger's table is not ours to read or to continue, unless we began it."""
        if self.blank or any(span.header and span.header.names_sessions for span in self.spans):
            return
        torn_beginning = self.format is not None or MARKER.startswith(self.first)
        if not torn_beginning:
            raise LedgerError("no table with a Session column", where=name, fix=_FIX_FILE)


def survey(raw_lines: Iterable[bytes], name: str) -> Survey:
    """The tables of a file, line by line, so that a long one need not be held in memory."""
    decoder = _Decoder(name)
    found = _survey(decoder.decode(raw_lines))
    decoder.refuse_noise()
    found.refuse_tableless(name)
    return found


def _survey(lines: Iterable[str]) -> Survey:
    """Find markers and headers: a table line directly followed by a separator."""
    found = Survey()
    above, place = "", -1
    for place, line in enumerate(lines):
        if table.is_separator(line):
            header = _read_header(above, line, found)
            found.spans[-1].stop = place - 1 if header else place
            found.spans.append(_Span(place + 1, header or found.header))
        elif line[:1] == "<" and (marker := _ANY_MARKER.match(line)):
            found.format = max(found.format or 0, int(marker[1]))
        above = line
        found.first = found.first or line.strip()
    found.spans[-1].stop = place + 1
    return found


def _read_header(line: str, separator: str, found: Survey) -> Header | None:
    """The header that a separator stands under; None when the separator is a stray one."""
    if not table.is_row(line) or table.is_separator(line):
        return None
    foreign = found.format is None
    decode = table.decode_foreign_cell if foreign else table.decode_cell
    cells, _ = table.split_row(line, foreign=foreign)
    width = len(table.split_row(separator)[0])
    header = Header(tuple([decode(cell) for cell in cells]), foreign, intact=width == len(cells))
    in_force = found.header
    if in_force and len(in_force.columns) == len(cells) and not header.names_sessions:
        return None  # a row of the table above, not the head of another
    return header


# --- bytes to lines ------------------------------------------------------------------------------------


class _Decoder:
    """Lines of text out of lines of bytes; a spoilt line is a problem and reads as blank."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self._readable = 0

    def decode(self, raw_lines: Iterable[bytes]) -> Iterator[str]:
        for number, raw in enumerate(raw_lines, 1):
            if number == 1:
                if raw.startswith(_WIDE_BOMS):
                    raise LedgerError("UTF-16, not UTF-8 text", where=self.name, fix=_FIX_FILE)
                raw = raw.removeprefix(codecs.BOM_UTF8)
            line = self._line(number, raw.removesuffix(b"\n").removesuffix(b"\r"))
            self._readable += bool(line)
            yield line

    def _line(self, number: int, raw: bytes) -> str:
        if b"\0" in raw:
            self.problems.append(_problem(self.name, number, "nul", "NUL bytes"))
            return ""
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} is not valid UTF-8"
            self.problems.append(_problem(self.name, number, "utf8", what))
            return ""

    def refuse_noise(self) -> None:
        """More spoilt lines than readable ones: that is no text."""
        if len(self.problems) > self._readable:
            raise LedgerError("not UTF-8 text", where=self.name, fix=_FIX_FILE)


def _decode(data: bytes, name: str, problems: list[Problem]) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text and "\r" not in text:
        return text.removeprefix("\ufeff").split("\n")
    decoder = _Decoder(name)
    lines = list(decoder.decode(data.split(b"\n")))
    decoder.refuse_noise()
    problems += decoder.problems
    return lines


# --- reading -------------------------------------------------------------------------------------------


def read_tables(data: bytes, name: str, reader_for: Callable[[Header], CellReader]) -> Tables:
    """Hands every row to the reader of its table. LedgerError only when the file as a whole is no ledger."""
    problems: list[Problem] = []
    lines = _decode(data, name, problems)
    found = _survey(lines)
    found.refuse_tableless(name)
    tables = Tables(found.format, found.header)
    tables.problems = problems
    rows = _RowsOf(lines, name, tables, reader_for)
    with _no_collector():
        for span in found.spans:
            rows.read(span)
    if found.header is None and not found.blank and not problems:
        what = "the ledger breaks off before its table; the next session writes it"
        problems.append(_problem(name, len(lines), "torn", what, fix=""))
    problems.sort(key=lambda problem: problem.line)
    return tables


@contextmanager
def _no_collector() -> Iterator[None]:
    """Entries form no cycles, and looking for some among a million takes a fifth of the reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _RowsOf:
    """Reads spans of rows, a problem for each line that is broken."""

    def __init__(
        self, lines: Sequence[str], name: str, tables: Tables, reader_for: Callable[[Header], CellReader]
    ) -> None:
        self._lines = lines
        self._name = name
        self._tables = tables
        self._reader_for = reader_for
        self._in_conflict = False

    def read(self, span: _Span) -> None:
        if span.header is None or not span.header.names_sessions:
            self._skip(span)
            return
        reader = self._reader_for(span.header)
        for start in range(span.start, span.stop, _BLOCK):
            stop = min(start + _BLOCK, span.stop)
            if not self._read_plain(reader, start, stop):
                self._read_with_care(reader, span.header, start, stop)

    def _read_plain(self, reader: CellReader, start: int, stop: int) -> bool:
        """All at once, where every line is a whole row without an escape; False where one is not, and nothing read."""
        text = "\n".join(self._lines[start:stop])
        if "\\" in text or text[:1] != "|" or text[-1:] != "|":
            return False
        number, step = stop - start, reader.width + 1
        cells = text.split("|")
        # Each row gives its cells and what stands between it and the next, which must be the line's end alone.
        if len(cells) != number * step + 1 or cells[step:-1:step] != ["\n"] * (number - 1):
            return False
        try:
            reader.take([cells[place::step] for place in range(1, step)], number)
        except ValueError:
            return False
        self._tables.lines += range(start + 1, stop + 1)
        return True

    def _read_with_care(self, reader: CellReader, header: Header, start: int, stop: int) -> None:
        plain: list[list[str]] = []
        numbers: list[int] = []
        for number, line in enumerate(self._lines[start:stop], start + 1):
            if line[:1] == "|" and line[-1:] == "|" and "\\" not in line:
                cells = line[1:-1].split("|")
            elif (found := self._cells(number, line, foreign=header.foreign)) is not None:
                cells = found
            else:
                continue
            if len(cells) != reader.width:
                what = f"{len(cells)} cells where the header has {reader.width}"
                self._report(number, "cells", what)
                continue
            plain.append(cells)
            numbers.append(number)
        self._read_block(reader, plain, numbers)

    def _read_block(self, reader: CellReader, rows: Sequence[list[str]], numbers: Sequence[int]) -> None:
        """All rows at once, column by column; one by one only where one of them is broken."""
        try:
            reader.take_rows(rows)
        except ValueError:
            for number, cells in zip(numbers, rows, strict=True):
                self._read_row(reader, number, cells)
        else:
            self._tables.lines += numbers

    def _read_row(self, reader: CellReader, number: int, cells: list[str]) -> None:
        try:
            reader.take_rows([cells])
        except ValueError:
            self._report(number, "value", reader.unreadable(cells))
        else:
            self._tables.lines.append(number)

    def _skip(self, span: _Span) -> None:
        """Rows that no ledger header governs: stray ones are reported one by one, another table once."""
        for number, line in enumerate(self._lines[span.start : span.stop], span.start + 1):
            if self._is_conflict_marker(number, line) or not table.is_row(line):
                continue
            if span.header is not None:
                self._report(number, "no-session-column", "a table without a Session column is not read")
                return
            self._report(number, "no-header", "a row without a header above it")

    def _cells(self, number: int, line: str, *, foreign: bool) -> list[str] | None:
        """The cells of a line that is not plainly a row; None for prose and for what was reported."""
        if self._is_conflict_marker(number, line) or not table.is_row(line):
            return None
        cells, closed = table.split_row(line, foreign=foreign)
        if closed or foreign:
            return cells
        # Its last cell may be cut short and still look right, so it must not be believed.
        self._report(number, "torn", f"a row of {len(cells)} cells that breaks off")
        return None

    def _is_conflict_marker(self, number: int, line: str) -> bool:
        mark = line[:7]
        if mark not in _CONFLICT or line[7:8] not in {"", " "}:
            return False
        # A row of equal signs is also how markdown underlines a title.
        if mark != "<<<<<<<" and not self._in_conflict:
            return False
        self._in_conflict = mark != ">>>>>>>"
        self._report(number, "conflict", f"git conflict marker {mark}", _FIX_CONFLICT)
        return True

    def _report(self, number: int, code: str, what: str, fix: str = _FIX_ROW) -> None:
        self._tables.problems.append(_problem(self._name, number, code, what, fix))


def _problem(name: str, number: int, code: str, what: str, fix: str = _FIX_ROW) -> Problem:
    return Problem(number, code, HoldfastError(what, where=f"{name}:{number}", fix=fix).line())
