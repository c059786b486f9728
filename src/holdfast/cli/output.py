"""How things look: tables drawn by rich on a terminal, aligned plain text in a pipe, JSON when asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from holdfast.guard.visible import visible


class Column(Struct, frozen=True):
    title: str
    align: Literal["left", "right"] = "left"
    style: str = ""
    flexible: bool = False  # may be shortened to fit the terminal


class Table(Struct, frozen=True):
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""


def on_terminal() -> bool:
    return sys.stdout.isatty()


def show(table: Table) -> None:
    if on_terminal():
        _rich(table)
    else:
        sys.stdout.write(plain(table))


def plain(table: Table) -> str:
    """Columns separated by two spaces: easy to read, cut and grep."""
    rows = [[visible(cell) for cell in row] for row in table.rows]
    widths = [
        max([len(column.title), *(len(row[number]) for row in rows)])
        for number, column in enumerate(table.columns)
    ]
    lines = [f"{table.title}\n"] if table.title else []
    for row in [[column.title for column in table.columns], *rows]:
        cells = [
            cell.rjust(width) if column.align == "right" else cell.ljust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False
    )
    for column in table.columns:
        drawn.add_column(
            column.title,
            justify=column.align,
            style=column.style or None,
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if column.flexible else None,
            min_width=None if column.flexible else min(8, max([len(column.title), *_lengths(table, column)])),
        )
    for row in table.rows:
        drawn.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(drawn)


def _lengths(table: Table, column: Column) -> list[int]:
    number = list(table.columns).index(column)
    return [len(row[number]) for row in table.rows]


def heading(text: str) -> None:
    if on_terminal():
        from rich.console import Console
        from rich.text import Text

        Console().print(Text(visible(text), style="bold"))
    else:
        sys.stdout.write(f"{visible(text)}\n")


def line(text: str = "") -> None:
    sys.stdout.write(f"{visible(text)}\n")


def warn(text: str) -> None:
    sys.stderr.write(f"holdfast: warning: {visible(text)}\n")


def show_json(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
