"""How things look: tables drawn by rich on a terminal, aligned plain text in a pipe, JSON when asked."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Iterable, Sequence

from holdfast.cli.places import places
from holdfast.cli.wrapping import on_screen
from holdfast.cli.wrapping import width as _width
from holdfast.guard.visible import visible

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import Any, Literal

GAP = 3  # what stands between two columns on a terminal
LEAST_FLEXIBLE = 14
LEAST_WRAPPED = 36  # a text of a few words a line is no text


NARROW = 100


class Column(
    namedtuple(
        "Column",
        ("title", "align", "style", "flexible", "wrapped", "dispensable"),
        defaults=("left", "", False, False, 0),
    )
):
    __slots__ = ()
    title: str
    align: Literal["left", "right"]
    style: str
    flexible: bool  # may be shortened to fit the terminal
    wrapped: bool  # if flexible: goes on in the next line instead of being cut
    dispensable: int  # left out on a narrow terminal; the highest goes first


class Table(namedtuple("Table", ("columns", "rows", "title", "below"), defaults=("", ()))):
    __slots__ = ()
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str
    below: Sequence[str]  # for each row, what a terminal shows faintly under its wrapped text


def on_terminal() -> bool:
    return sys.stdout.isatty()


def is_narrow() -> bool:
    """Whether a table with a text in it would have little room for the text."""
    if not on_terminal():
        return False
    from rich.console import Console

    return Console().width < NARROW


def show(table: Table) -> None:
    if on_terminal():
        _rich(table)
    else:
        sys.stdout.write(plain(table))


def plain(table: Table) -> str:
    """Columns separated by two spaces: easy to read, cut and grep."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    widths = _widths(table)
    lines = [f"{table.title}\n"] if table.title else []
    for row in [[column.title for column in table.columns], *rows]:
        cells = [
            " " * (width - _width(cell)) + cell
            if column.align == "right"
            else cell + " " * (width - _width(cell))
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
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
    for number, row in enumerate(table.rows):
        cells = [Text(_cell(cell)) for cell in row]
        if below := table.below[number] if table.below else "":
            for cell, column in zip(cells, table.columns, strict=True):
                if column.wrapped:
                    cell.append(f"\n{_cell(below)}", style="dim")
        drawn.add_row(*cells)
    console.print(drawn)


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
    room = width - GAP * (len(columns) - 1) - sum(own for n, own in enumerate(widths) if n not in flexible)
    # Short texts first: what they do not need is left to the long ones.
    for place, number in enumerate(flexible):
        share = room // (len(flexible) - place)
        if not columns[number].wrapped:  # what is cut leaves what is read as much as that needs
            after = [other for other in flexible[place + 1 :] if columns[other].wrapped]
            share = min(share, room - sum(min(widths[other], LEAST_WRAPPED) for other in after))
        allowed = min(widths[number], max(share, 1))
        room -= allowed
        for row in rows if not columns[number].wrapped else ():
            row[number] = cut(_cell(row[number]), allowed)
    return Table(columns, rows, table.title, table.below)


def _least(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    widths = _widths(Table(columns, rows))
    least = [
        min(own, LEAST_WRAPPED if column.wrapped else LEAST_FLEXIBLE) if column.flexible else own
        for column, own in zip(columns, widths, strict=True)
    ]
    return sum(least) + GAP * (len(columns) - 1)


def cut(text: str, limit: int) -> str:
    """The text, or as much of it as fits with a sign that there is more."""
    if _width(text) <= limit:
        return text
    while text and _width(text) > limit - 1:
        text = text[:-1] if len(text) < 2 * limit else text[: 2 * limit - 1]
    return text + "…"


def _cell(text: str) -> str:
    """A text as a cell can hold it: one line, nothing that a terminal would obey."""
    return visible(text.replace("\n", "\\n").replace("\t", " "))


def _widths(table: Table) -> list[int]:
    return [
        max([len(column.title), *(_width(_cell(row[number])) for row in table.rows)])
        for number, column in enumerate(table.columns)
    ]


def heading(text: str) -> None:
    if on_terminal():
        from rich.console import Console
        from rich.text import Text

        Console().print(Text(visible(text), style="bold"))
    else:
        sys.stdout.write(f"{visible(text)}\n")


def line(text: str = "", under: int | None = None) -> None:
    """What does not fit goes on below, `under` that column where it is said."""
    shown = visible(text)
    sys.stdout.write(f"{on_screen(shown, under=under) if on_terminal() else shown}\n")


def item(text: str, indent: int = 2) -> None:
    """A line that may be long: on a terminal it goes on below its own beginning."""
    if not on_terminal():
        sys.stdout.write(f"{' ' * indent}{visible(text)}\n")
        return
    from shutil import get_terminal_size
    from textwrap import fill

    width = max(get_terminal_size().columns, LEAST_WRAPPED)
    start, below = " " * indent, " " * (indent + 2)
    shown = visible(text)
    if _width(shown) + indent > width:  # or else blanks that align it would be lost
        shown = fill(shown, width, initial_indent=start, subsequent_indent=below, break_on_hyphens=False)
        sys.stdout.write(f"{shown}\n")
    else:
        sys.stdout.write(f"{start}{shown}\n")


def write(text: str) -> None:
    """A whole document, whose escaping is its own."""
    sys.stdout.write(text)


def note(text: str) -> None:
    """For a person, beside the result: a pipe gets the result alone."""
    _tell(text)


def aside(text: str, indent: int = 0) -> None:
    """What explains the line before it: faint on a terminal, and wrapped to it."""
    wrapped(text, indent, style="dim")


def wrapped(text: str, indent: int = 0, style: str = "") -> None:
    """A text that may be long: on a terminal its lines end between words, and begin at the indent."""
    if on_terminal():
        from rich.console import Console
        from rich.text import Text

        shown = on_screen(f"{' ' * indent}{visible(text)}", under=indent)
        Console(soft_wrap=True).print(Text(shown, style=style))
    else:
        sys.stdout.write(f"{' ' * indent}{visible(text)}\n")


def show_diff(text: str) -> None:
    """A unified diff, coloured on a terminal."""
    shown = visible(text).rstrip("\n").split("\n")
    if not on_terminal():
        sys.stdout.write("".join(f"{line}\n" for line in shown))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    for line in shown:
        console.print(Text(line, style=_diff_style(line)))


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def warn(text: str) -> None:
    _tell(f"holdfast: warning: {text}")


def _tell(text: str) -> None:
    shown = visible(places(text))
    sys.stderr.write(f"{on_screen(shown) if sys.stderr.isatty() else shown}\n")


def warn_all(messages: Iterable[str]) -> None:
    for message in messages:
        warn(message)


def show_json(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
