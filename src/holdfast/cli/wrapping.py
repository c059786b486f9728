"""Lines that are longer than a terminal go on in the next one, between words and under where their text began."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from holdfast.text.late import late

_LABEL = late(r" *(?:[-•*] |\d+\. |(?:\S+ )?\S+ {2,})?")
_PIECE = late(r" *[^ ]+")
LEAST = 24  # a column of text that is narrower is none


def width(text: str) -> int:
    """Columns on a screen: letters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(line: str, columns: int, under: int | None = None) -> str:
    """The line, broken where it would not fit; a word that is too long stays whole, so that it can be copied."""
    if columns <= LEAST or width(line) <= columns:
        return line
    label = _LABEL.match(line)
    begun = label[0] if label else ""
    if under is None:
        under = width(begun) + (0 if begun.strip() else 2)  # what begins with its text is told apart by two
    if columns - under < LEAST:
        under = len(line) - len(line.lstrip(" ")) + 2
    indent = " " * under
    lines, now = [], ""
    for piece in _PIECE.findall(line):
        if now.strip() and width(now) + width(piece) > columns:
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
    return "\n".join(wrapped(line, columns, under) for line in text.split("\n"))
