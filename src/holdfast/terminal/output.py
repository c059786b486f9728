"""Formats output: rich tables on a terminal, aligned plain text in a pipe, JSON on request."""

from __future__ import annotations

import os
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence

from holdfast.core.place import user_home
from holdfast.core.wording import counted as counted
from holdfast.core.wording import cut as cut
from holdfast.core.wording import decimal as decimal
from holdfast.core.wording import dollars as dollars
from holdfast.core.wording import minutes as minutes
from holdfast.core.wording import number as number
from holdfast.core.wording import percent as percent
from holdfast.core.wording import plural as plural
from holdfast.core.wording import short_duration as short_duration
from holdfast.core.wording import short_model as short_model
from holdfast.core.wording import text_width as text_width
from holdfast.guard.hidden_text import visible

TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any, Literal, TypeVar

    Item = TypeVar("Item")

NONE_CHOSEN = "No session matches. holdfast ledger shows all."
EMPTY = "No sessions yet. holdfast import reads what your agents recorded; holdfast demo shows how it looks."

NARROW = 100  # columns of a terminal on which a table has little room for text
GAP = 3  # columns between two columns of a table on a terminal
LEAST = 24  # columns that text needs to be wrapped at all
LEAST_FLEXIBLE = 14
LEAST_WRAPPED = 36
LEAST_CHANCE = 25  # percent; a smaller chance is put into words
# Patterns are compiled where they are used: `re` takes longer to load than the figures of a ledger to show.
_CHANCE = r"\b(\d+)% likely\b"
_LABEL = r" *(?:[-•*] |\d+\. |(?:\S+ )?\S+ {2,})?"
_PIECE = r" *[^ ]+"


class Column(
    namedtuple(
        "Column",
        ("title", "align", "style", "flexible", "wrapped", "dispensable", "least"),
        defaults=("left", "", False, False, 0, LEAST_FLEXIBLE),
    )
):
    __slots__ = ()
    title: str
    align: Literal["left", "right"]
    style: str
    flexible: bool  # may be shortened to fit the terminal
    wrapped: bool  # if flexible: continues on the next line instead of being cut
    dispensable: int  # left out on a narrow terminal; the highest goes first
    least: int  # if flexible: columns that it keeps as long as others can be left out


class Table(namedtuple("Table", ("columns", "rows", "title", "below"), defaults=("", ()))):
    __slots__ = ()
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str
    below: Sequence[str]  # for each row, what a terminal shows faintly under its wrapped text


def table_of(items: Iterable[Item], *columns: tuple[Column, Callable[[Item], str]]) -> Table:
    """A row for each item; a column comes with the function that makes its cells."""
    return Table([column for column, _ in columns], [[cell(item) for _, cell in columns] for item in items])


def answer(options: Namespace, value: Any, shown: str | Table | Callable[[], object]) -> None:
    """The value as JSON if --json is given; else the line, the table, or what the function prints."""
    if options.json:
        show_json(value)
    elif isinstance(shown, str):
        line(shown)
    elif isinstance(shown, Table):
        show(shown)
    else:
        shown()


def show_json(value: Any) -> None:
    import msgspec

    from holdfast.guard.inert import inert  # figures of the ledger must not load `re`

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(inert(text, "json") + "\n")


def write(text: str) -> None:
    """A text of several lines as it is, made inert. Nothing else in `cli` writes stored text to standard output."""
    sys.stdout.write(visible(text))


def on_terminal() -> bool:
    return sys.stdout.isatty()


def line(text: str = "", under: int | None = None) -> None:
    """A line; on a terminal, what does not fit continues below, from the column `under`."""
    visible_text = visible(text)
    sys.stdout.write(f"{on_screen(visible_text, under=under) if on_terminal() else visible_text}\n")


def lines(*texts: str) -> None:
    for text in texts:
        line(text)


def item(text: str, indent: int = 2) -> None:
    """A line of a list; on a terminal it continues below its own beginning."""
    visible_text = " " * indent + visible(text)
    if on_terminal():
        visible_text = wrap_line(visible_text, max(_columns(), LEAST_WRAPPED), indent + 2)
    sys.stdout.write(f"{visible_text}\n")


def heading(text: str) -> None:
    _write_styled(visible(text), "bold", soft_wrap=False)


def section(title: str) -> None:
    """A heading with an empty line above it."""
    line()
    heading(title)


def aside(text: str, indent: int = 0) -> None:
    """An explanation of the line before it: faint on a terminal, and wrapped to it."""
    wrapped(text, indent, style="dim")


def wrapped(text: str, indent: int = 0, style: str = "") -> None:
    """A long text: on a terminal, its lines end between words and begin at the indent."""
    visible_text = " " * indent + visible(text)
    _write_styled(on_screen(visible_text, under=indent) if on_terminal() else visible_text, style)


def show_diff(text: str) -> None:
    """A unified diff, coloured on a terminal."""
    for changed in visible(text).rstrip("\n").split("\n"):
        marked = {"+": "green", "-": "red", "@": "cyan"}.get(changed[:1], "")
        _write_styled(changed, "bold" if changed.startswith(("+++", "---")) else marked)


def _write_styled(text: str, style: str, *, soft_wrap: bool = True) -> None:
    if not on_terminal():
        sys.stdout.write(f"{text}\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=soft_wrap).print(Text(text, style=style))


def note(text: str) -> None:
    """For a person, beside the result: a pipe gets only the result."""
    visible_text = visible(places(text))
    sys.stderr.write(f"{on_screen(visible_text) if sys.stderr.isatty() else visible_text}\n")


def warn(text: str) -> None:
    note(f"holdfast: warning: {text}")


def warn_all(messages: Iterable[str]) -> None:
    for message in messages:
        warn(message)


def place(path: object) -> str:
    """A path as people write it: from `~`. JSON, diffs and quotations from memory keep paths whole."""
    return places(str(path))


def places(text: str) -> str:
    """Our own text, with every path in it shortened."""
    home = os.path.normpath(user_home(dict(os.environ))).rstrip("/\\")
    if not home or home not in text:
        return text
    import re  # only where there is something to shorten

    return re.sub(rf"(?<![\w./\\~-]){re.escape(home)}(?![\w.-])", "~", text)


def on_screen(text: str, columns: int | None = None, under: int | None = None) -> str:
    """Every line of a text, wrapped to the terminal."""
    width = _columns() if columns is None else columns
    return "\n".join(wrap_line(line, width, under) for line in text.split("\n"))


def _columns() -> int:
    from shutil import get_terminal_size

    return get_terminal_size().columns


def wrap_line(line: str, columns: int, under: int | None = None) -> str:
    """The line, broken where it does not fit. A word that is too long stays whole, so that it can be copied."""
    if columns <= LEAST or text_width(line) <= columns:
        return line
    import re

    if under is None:
        label = re.match(_LABEL, line)
        begins = label[0] if label else ""
        # Without a label, two columns tell the continuation from the next line.
        under = text_width(begins) + (0 if begins.strip() else 2)
    if columns - under < LEAST:
        under = len(line) - len(line.lstrip(" ")) + 2
    lines, now = [], ""
    for piece in re.findall(_PIECE, line):
        if now.strip() and text_width(now) + text_width(piece) > columns:
            lines.append(now)
            now = " " * under + piece.lstrip(" ")
        else:
            now += piece
    return "\n".join([*lines, now])


def is_narrow() -> bool:
    """Whether a table on this terminal has little room for text."""
    if not on_terminal():
        return False
    from rich.console import Console

    return Console().width < NARROW


def show(table: Table) -> None:
    if on_terminal():
        _draw(table)
    else:
        write(plain(table))


def plain(table: Table) -> str:
    """Columns separated by two spaces: easy to read, cut and grep."""
    widths = _widths(table)
    lines = [f"{table.title}\n"] if table.title else []
    for row in [[column.title for column in table.columns], *table.rows]:
        cells = []
        for text, width, column in zip(map(_cell, row), widths, table.columns, strict=True):
            blanks = " " * (width - text_width(text))
            cells.append(blanks + text if column.align == "right" else text + blanks)
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _draw(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    titles = [column.title for column in table.columns]
    table = fitted(table, console.width)
    drawn = RichTable(
        title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False
    )
    for column, width in zip(table.columns, _widths(table), strict=True):
        drawn.add_column(
            column.title,
            justify=column.align,
            style=column.style or None,
            no_wrap=not column.wrapped,
            width=None if column.wrapped else width,
            overflow="fold",
        )
    for place_of_row, row in enumerate(table.rows):
        cells = [Text(_cell(cell)) for cell in row]
        if below := table.below[place_of_row] if table.below else "":
            for cell, column in zip(cells, table.columns, strict=True):
                if column.wrapped:
                    cell.append(f"\n{_cell(below)}", style="dim")
        drawn.add_row(*cells)
    console.print(drawn)
    shown = {column.title for column in table.columns}
    if hidden := [title for title in titles if title and title not in shown]:
        aside(f"Not shown here: {', '.join(hidden)}. A wider terminal shows them, as does --json.")


def fitted(table: Table, width: int) -> Table:
    """The table as a terminal of this width can show it: without dispensable columns, with long texts cut."""
    columns, rows = list(table.columns), [list(row) for row in table.rows]
    while _least(columns, rows) > width and (spare := max(columns, key=lambda c: c.dispensable)).dispensable:
        number = columns.index(spare)
        del columns[number]
        for row in rows:
            del row[number]
    widths = _widths(Table(columns, rows))
    flexible = sorted((n for n, column in enumerate(columns) if column.flexible), key=lambda n: widths[n])
    room = (
        width
        - GAP * (len(columns) - 1)
        - sum(column_width for n, column_width in enumerate(widths) if n not in flexible)
    )
    # Short texts first: the room they do not need goes to the long ones.
    for place, number in enumerate(flexible):
        share = room // (len(flexible) - place)
        if not columns[number].wrapped:  # text that is cut leaves to wrapped text as much as that needs
            after = [later for later in flexible[place + 1 :] if columns[later].wrapped]
            share = min(share, room - sum(min(widths[later], LEAST_WRAPPED) for later in after))
        allowed = min(widths[number], max(share, 1))
        room -= allowed
        for row in rows if not columns[number].wrapped else ():
            row[number] = cut(_cell(row[number]), allowed)
    return Table(columns, rows, table.title, table.below)


def _least(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    least = [
        min(width, LEAST_WRAPPED if column.wrapped else column.least) if column.flexible else width
        for column, width in zip(columns, _widths(Table(columns, rows)), strict=True)
    ]
    return sum(least) + GAP * (len(columns) - 1)


def flat(text: str) -> str:
    """A text on one line: its content must not look like a line of ours."""
    return " ".join(text.split())


def _cell(text: str) -> str:
    """A text for a cell: one line, without control characters."""
    return visible(text.replace("\n", "\\n").replace("\t", " "))


def _widths(table: Table) -> list[int]:
    return [
        max([len(column.title), *(text_width(_cell(row[number])) for row in table.rows)])
        for number, column in enumerate(table.columns)
    ]


def in_words(reason: str) -> str:
    """A reason for a person: `9% likely` reads as noise, though to an agent one such file in eleven is worth a line."""
    import re

    return re.sub(
        _CHANCE, lambda match: match[0] if int(match[1]) >= LEAST_CHANCE else "worth a look", reason
    )
