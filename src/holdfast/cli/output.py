"""How things look: tables drawn by rich on a terminal, aligned plain text in a pipe, JSON when asked."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Iterable, Sequence
from decimal import Decimal
from unicodedata import combining, east_asian_width

from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible

TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any, Literal


# Lines that are longer than a terminal go on in the next one, between words and under where their text began.

_LABEL = lazy_regex(r" *(?:[-•*] |\d+\. |(?:\S+ )?\S+ {2,})?")
_PIECE = lazy_regex(r" *[^ ]+")
LEAST = 24  # a column of text that is narrower is none


def text_width(text: str) -> int:
    """Columns on a screen: letters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrap_line(line: str, columns: int, under: int | None = None) -> str:
    """The line, broken where it would not fit; a word that is too long stays whole, so that it can be copied."""
    if columns <= LEAST or text_width(line) <= columns:
        return line
    label = _LABEL.match(line)
    begun = label[0] if label else ""
    if under is None:
        under = text_width(begun) + (
            0 if begun.strip() else 2
        )  # what begins with its text is told apart by two
    if columns - under < LEAST:
        under = len(line) - len(line.lstrip(" ")) + 2
    indent = " " * under
    lines, now = [], ""
    for piece in _PIECE.findall(line):
        if now.strip() and text_width(now) + text_width(piece) > columns:
            lines.append(now)
            now = indent + piece.lstrip(" ")
        else:
            now += piece
    return "\n".join([*lines, now])


def on_screen(text: str, columns: int | None = None, under: int | None = None) -> str:
    """Every line of a text, wrapped to the terminal."""
    if columns is None:
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
    return "\n".join(wrap_line(line, columns, under) for line in text.split("\n"))


# Paths as people write them: from `~`. JSON, diffs and what is quoted from a memory keep them whole.

_home = ""  # whose `~` it is: said once by whoever runs the command, as its streams are


def begin_at(home: object) -> None:
    global _home
    _home = str(home).rstrip("/\\")


def place(path: object) -> str:
    """One path."""
    return places(str(path))


def places(text: str) -> str:
    """Every path in words of our own."""
    if not _home or _home not in text:
        return text
    import re  # only where there is something to shorten

    return re.sub(rf"(?<![\w./\\~-]){re.escape(_home)}(?![\w.-])", "~", text)


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
            " " * (width - text_width(cell)) + cell
            if column.align == "right"
            else cell + " " * (width - text_width(cell))
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
    if text_width(text) <= limit:
        return text
    while text and text_width(text) > limit - 1:
        text = text[:-1] if len(text) < 2 * limit else text[: 2 * limit - 1]
    return text + "…"


def _cell(text: str) -> str:
    """A text as a cell can hold it: one line, nothing that a terminal would obey."""
    return visible(text.replace("\n", "\\n").replace("\t", " "))


def _widths(table: Table) -> list[int]:
    return [
        max([len(column.title), *(text_width(_cell(row[number])) for row in table.rows)])
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


def lines(*texts: str) -> None:
    for text in texts:
        line(text)


def section(title: str) -> None:
    """A heading apart from what stands above it."""
    line()
    heading(title)


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
    if text_width(shown) + indent > width:  # or else blanks that align it would be lost
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


def answer(options: Namespace, value: Any, text: str) -> None:
    """The value as JSON where that was asked for, else the line that says it."""
    if options.json:
        show_json(value)
    else:
        line(text)


# How numbers of the ledger read: dollars, minutes, shares, the names of models; `?` for what nobody knows.

NONE_CHOSEN = "No session is as the filters say. holdfast ledger shows all."
EMPTY = "No sessions yet. holdfast import reads what your agents recorded; holdfast demo shows how it looks."

TELLING = 25  # percent; a smaller chance is said in words
_CHANCE = lazy_regex(r"\b(\d+)% likely\b")


def short_model(model: str | None) -> str:
    """A model without the date of its release, which tells a reader nothing."""
    name, dash, released = (model or "?").rpartition("-")
    dated = (
        dash and len(released) == 8 and released.isdecimal() and released.isascii() and released[:2] == "20"
    )
    return cut(name if dated else model or "?", 28)


def counted(count: int, word: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def decimal(value: float | None, places: int = 1) -> str:
    return "?" if value is None else f"{value:.{places}f}"


def minutes(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}min"


def percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"


def in_words(reason: str) -> str:
    """A reason for a person: `9% likely` reads as noise, though one such file in eleven is worth a line to an agent."""
    return _CHANCE.sub(lambda said: said[0] if int(said[1]) >= TELLING else "worth a look", reason)


def dollars(value: Decimal | float | None) -> str:
    """Cents, which is what a person reads (JSON has every digit); small amounts never read as nothing."""
    if value is None:
        return "?"
    if 0 < value < Decimal("0.0001"):
        return "<$0.0001"
    return f"${value:.4f}" if 0 < value < Decimal("0.01") else f"${value:,.2f}"


def short_duration(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds}s"
    minutes = round(seconds / 60)
    return f"{minutes}min" if minutes < 60 else f"{minutes // 60}h {minutes % 60}min"
