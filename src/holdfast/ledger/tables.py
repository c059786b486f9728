"""Reads the tables of a ledger file: markdown to columns of cells, with a problem for each bad line.

Each header governs the rows below it up to the next. Tables that follow our marker are read by our escapes;
others (the seed's, a person's) by markdown's own, where only `\\|` is one. A `CellReader` takes the cells. Standard
library only, so that figures do not wait for more to be loaded.
"""

from __future__ import annotations

import codecs
import gc
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from holdfast.core import markdown_table
from holdfast.core.errors import HoldfastError, LedgerError

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.ledger.cells import CellReader

FORMAT = 1
_PIECE = 1 << 17  # bytes that are read together: enough to save time, few enough to take no room
_MOST_HELD = 1000  # lines
_SIGNS = frozenset("-<")
_SEPARATING = frozenset("-:")
MARKER = f"<!-- holdfast ledger, format {FORMAT}: one row per session, append-only -->"
_ANY_MARKER = "<!-- holdfast ledger, format "
_MOST_DIGITS = 9
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_CONFLICT = frozenset({"<<<<<<<", "|||||||", "=======", ">>>>>>>"})
_FIX_ROW = "Fix the row, or run holdfast doctor"
_FIX_CONFLICT = "Keep the rows of both sides and delete this line"
_FIX_FILE = "Move it away, and holdfast starts a new one, or restore it from git"


class RowProblem(namedtuple("RowProblem", ("line", "code", "message"))):
    """A line that could not be read. `message` is the whole sentence, place included."""

    __slots__ = ()
    line: int
    code: str
    message: str


class Header(namedtuple("Header", ("columns", "foreign", "intact"), defaults=(True,))):
    """The columns that govern the rows below; `foreign` when they do not follow our escapes.

    Not `intact`: the separator has another width, so we understand the table and markdown does not.
    """

    __slots__ = ()
    columns: tuple[str, ...]
    foreign: bool
    intact: bool

    @property
    def names_sessions(self) -> bool:
        return "session" in [name.lower() for name in self.columns]


class Tables:
    """The result of reading the tables of a file, except the rows, which the reader has."""

    def __init__(self) -> None:
        self.numbers: list[Sequence[int]] = []  # of the rows that were read, in runs
        self.problems: list[RowProblem] = []
        self.format: int | None = None
        self.header: Header | None = None

    @property
    def lines(self) -> list[int]:
        """The line number of every row that was read."""
        return [number for run in self.numbers for number in run]


class _Region:
    """The lines under one header, or under none, up to the next."""

    def __init__(self, header: Header | None) -> None:
        self.header = header
        self.reader: CellReader | None = None
        self.told = False  # that it is no table of sessions


class Survey:
    """Finds the tables of a file without reading a row."""

    def __init__(self) -> None:
        self.region = _Region(None)
        self.format: int | None = None
        self.first = ""
        self._names_sessions = False

    @property
    def header(self) -> Header | None:
        """The header in force so far."""
        return self.region.header

    @property
    def blank(self) -> bool:
        return not self.first

    def look(self, lines: Sequence[str]) -> list[tuple[int, int, _Region]]:
        """Continues with these lines, and yields the span of each region. The first line is not a separator."""
        spans, start = [], 0
        for place in [place for place, line in enumerate(lines) if line.lstrip("| \t:")[:1] in _SIGNS]:
            line = lines[place]
            if markdown_table.is_separator(line):
                header = _read_header(lines[place - 1] if place else "", line, self)
                spans.append((start, place - 1 if header else place, self.region))
                self.region, start = _Region(header or self.header), place + 1
                self._names_sessions |= header is not None and header.names_sessions
            elif line[:1] == "<" and (number := _format_of(line)) is not None:
                self.format = max(self.format or 0, number)
        self.first = self.first or next((line.strip() for line in lines if line.strip()), "")
        return [*spans, (start, len(lines), self.region)]

    def refuse_tableless(self, name: str) -> None:
        """Refuses a text without a ledger table, unless we began it."""
        if self.blank or self._names_sessions:
            return
        if not (self.format is not None or MARKER.startswith(self.first)):
            raise LedgerError("no table with a Session column", where=name, fix=_FIX_FILE)


def survey(raw_lines: Iterable[bytes], name: str) -> Survey:
    """The tables of a file, some lines at a time, so that a long one need not be held in memory."""
    decoder, tables_found = _Decoder(name), Survey()
    pending: list[str] = []
    for line in decoder.decode(raw_lines):
        if len(pending) > _MOST_HELD and not markdown_table.is_separator(line):
            tables_found.look(pending)
            pending = []
        pending.append(line)
    tables_found.look(pending)
    decoder.refuse_noise()
    tables_found.refuse_tableless(name)
    return tables_found


def regions(raw_lines: Iterable[bytes], name: str) -> list[tuple[int, int, Header | None]]:
    """The lines, counted from 0, that belong to each header."""
    decoder, survey_state = _Decoder(name), Survey()
    spans = survey_state.look(list(decoder.decode(raw_lines)))
    decoder.refuse_noise()
    survey_state.refuse_tableless(name)
    return [(start, stop, region.header) for start, stop, region in spans]


def _format_of(line: str) -> int | None:
    """The number in a line that says what format follows."""
    if not line.startswith(_ANY_MARKER):
        return None
    rest = line[len(_ANY_MARKER) :]
    after = rest.lstrip("0123456789")
    number = rest[: len(rest) - len(after)]
    if not 0 < len(number) <= _MOST_DIGITS or after[:1].isalnum() or after[:1] == "_":
        return None
    return int(number)


def _read_header(line: str, separator: str, found: Survey) -> Header | None:
    """The header above a separator; None for a stray separator."""
    if not markdown_table.is_row(line) or markdown_table.is_separator(line):
        return None
    foreign = found.format is None
    decode = markdown_table.decode_foreign_cell if foreign else markdown_table.decode_cell
    cells, _ = markdown_table.split_row(line, foreign=foreign)
    width = len(markdown_table.split_row(separator)[0])
    header = Header(tuple([decode(cell) for cell in cells]), foreign, intact=width == len(cells))
    in_force = found.header
    if in_force and len(in_force.columns) == len(cells) and not header.names_sessions:
        return None  # a row of the table above, not the head of another
    return header


class _Decoder:
    """Decodes lines of bytes; an undecodable line is a problem and reads as blank."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[RowProblem] = []
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
        """Refuses a file with more undecodable lines than readable ones: it is not text."""
        if len(self.problems) > self._readable:
            raise LedgerError("not UTF-8 text", where=self.name, fix=_FIX_FILE)


def _pieces(data: bytes, name: str, problems: list[RowProblem]) -> Iterator[str]:
    """The text in pieces of whole lines, without the last one's end; no piece begins with a separator.

    In pieces, because memory that is used again costs nothing, and new memory more than what is done in it.
    """
    if b"\r" in data or b"\0" in data or not _is_utf8(data):
        decoder = _Decoder(name)
        lines = list(decoder.decode(data.split(b"\n")))
        decoder.refuse_noise()
        problems += decoder.problems
        yield "\n".join(lines)
        return
    place, size = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0, len(data)
    while place < size:
        end = data.rfind(b"\n", place, place + _PIECE)
        if end < 0:
            end = _line_end(data, place)
        while end < size and markdown_table.is_separator(data[end + 1 : _line_end(data, end + 1)].decode()):
            end = _line_end(data, end + 1)
        yield data[place:end].decode()
        place = end + 1


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return end if end >= 0 else len(data)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read_tables(data: bytes, name: str, reader_for: Callable[[Header], CellReader]) -> Tables:
    """Passes every row to the reader of its table. Raises LedgerError only if the file as a whole is not a ledger."""
    tables, survey_state = Tables(), Survey()
    rows = _RowsOf(name, tables, reader_for)
    number = 0
    with _no_collector():
        for text in _pieces(data, name, tables.problems):
            if read := rows.read_plain(text, survey_state.region, number):
                number += read
                continue
            lines = text.split("\n")
            for start, stop, region in survey_state.look(lines):
                rows.read(lines[start:stop], region, number + start)
            number += len(lines)
    survey_state.refuse_tableless(name)
    tables.format, tables.header = survey_state.format, survey_state.header
    if survey_state.header is None and not survey_state.blank and not tables.problems:
        what = "the ledger breaks off before its table; the next session writes it"
        tables.problems.append(_problem(name, data.count(b"\n") + 1, "torn", what, fix=""))
    tables.problems.sort(key=lambda problem: problem.line)
    return tables


@contextmanager
def _no_collector() -> Iterator[None]:
    """Disables garbage collection: entries form no cycles, and looking for them takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _RowsOf:
    """Reads spans of rows, a problem for each line that is broken."""

    def __init__(self, name: str, tables: Tables, reader_for: Callable[[Header], CellReader]) -> None:
        self._name = name
        self._tables = tables
        self._reader_for = reader_for
        self._in_conflict = False

    def _reader(self, region: _Region) -> CellReader | None:
        if region.reader is None and region.header is not None and region.header.names_sessions:
            region.reader = self._reader_for(region.header)
        return region.reader

    def read(self, lines: Sequence[str], region: _Region, before: int) -> None:
        """Lines of one region; `before` is how many lines of the file precede them."""
        reader = self._reader(region)
        if reader is None or region.header is None:
            self._skip(lines, region, before)
        elif lines and not self.read_plain("\n".join(lines), region, before):
            self._read_with_care(reader, region.header, lines, before)

    def read_plain(self, text: str, region: _Region, before: int) -> int:
        """Reads all lines at once if each is a complete row without an escape; else reads nothing and returns 0."""
        reader = self._reader(region)
        if reader is None or "\\" in text or text[:1] != "|" or text[-1:] != "|":
            return 0
        number, step = text.count("\n") + 1, reader.width + 1
        cells = text.split("|")
        # Each row gives its cells and what stands between it and the next, which must be the line's end alone.
        if len(cells) != number * step + 1 or cells[step:-1:step] != ["\n"] * (number - 1):
            return 0
        # A separator's cells begin with one of these, after blanks or not.
        if not _SEPARATING.isdisjoint([cell.lstrip(markdown_table.BLANKS)[:1] for cell in cells[1::step]]):
            return 0
        try:
            reader.take([cells[place::step] for place in range(1, step)], number)
        except ValueError:
            return 0
        self._tables.numbers.append(range(before + 1, before + number + 1))
        return number

    def _read_with_care(self, reader: CellReader, header: Header, lines: Sequence[str], before: int) -> None:
        plain: list[list[str]] = []
        numbers: list[int] = []
        for number, line in enumerate(lines, before + 1):
            if line[:1] == "|" and line[-1:] == "|" and "\\" not in line:
                cells = line[1:-1].split("|")
            elif (row_cells := self._cells(number, line, foreign=header.foreign)) is not None:
                cells = row_cells
            else:
                continue
            if len(cells) != reader.width:
                self._report(number, "cells", f"{len(cells)} cells where the header has {reader.width}")
                continue
            plain.append(cells)
            numbers.append(number)
        self._read_block(reader, plain, numbers)

    def _read_block(self, reader: CellReader, rows: Sequence[list[str]], numbers: Sequence[int]) -> None:
        """Reads all rows at once, column by column; one by one only if one of them is broken."""
        try:
            reader.take_rows(rows)
            self._tables.numbers.append(numbers)
        except ValueError:
            if len(rows) == 1:
                self._report(numbers[0], "value", reader.unreadable(rows[0]))
                return
            for number, cells in zip(numbers, rows, strict=True):
                self._read_block(reader, [cells], [number])

    def _skip(self, lines: Sequence[str], region: _Region, before: int) -> None:
        """Rows that no ledger header governs: stray ones are reported one by one, another table once."""
        for number, line in enumerate(lines, before + 1):
            if region.told:
                return
            if self._is_conflict_marker(number, line) or not markdown_table.is_row(line):
                continue
            if region.header is not None:
                self._report(number, "no-session-column", "a table without a Session column is not read")
                region.told = True
                return
            self._report(number, "no-header", "a row without a header above it")

    def _cells(self, number: int, line: str, *, foreign: bool) -> list[str] | None:
        """The cells of a line that may not be a row; None for prose and for reported lines."""
        if self._is_conflict_marker(number, line) or not markdown_table.is_row(line):
            return None
        cells, closed = markdown_table.split_row(line, foreign=foreign)
        if closed or foreign:
            return cells
        # Its last cell may be truncated and still look right, so it is not trusted.
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


def _problem(name: str, number: int, code: str, what: str, fix: str = _FIX_ROW) -> RowProblem:
    return RowProblem(number, code, HoldfastError(what, where=f"{name}:{number}", fix=fix).line())
