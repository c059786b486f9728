"""Edits TOML as text: adds a table at the end or removes one; everything else stays as the person wrote it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex

# Text between two relevant positions. Strings and comments come first: brackets in them do not count.
_PART = lazy_regex(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_BARE = lazy_regex(r"[A-Za-z0-9_-]+")


class Section(Struct, frozen=True):
    """A table with its header: where it begins, where its last statement's line ends, and its name."""

    path: tuple[str, ...]
    start: int
    end: int


def sections(text: str) -> Iterator[Section]:
    """Return the tables of valid TOML, in order. Comments after the last statement do not belong to a table."""
    section: Section | None = None
    for start, end in _statements(text):
        if text[start] == "[":
            if section is not None:
                yield section
            section = Section(_path(text[start : _line_end(text, start)].rstrip("\r")), start, end)
        elif section is not None:
            section = Section(section.path, section.start, end)
    if section is not None:
        yield section


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Add a table at the end. Values are strings, booleans, numbers, and lists of strings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    header = "[" + ".".join(_key(part) for part in path) + "]"
    lines = [header, *(f"{_key(name)} = {_value(value)}" for name, value in values.items())]
    before = text if not text or text.endswith("\n") else text + newline
    apart = newline if before.strip() else ""
    return before + apart + newline.join(lines) + newline


def without_table(text: str, path: Sequence[str], *, below: bool = True) -> str:
    """Remove a table, its subtables, and the blank line before each."""
    wanted = tuple(path)
    for section in reversed(list(sections(text))):
        if (section.path[: len(wanted)] if below else section.path) != wanted:
            continue
        before, after = text[: section.start], text[section.end :]
        blank = re.search(r"(?:^|(?<=\n))[ \t]*\r?\n\Z", before)
        if blank is not None:
            before = before[: blank.start()]
        elif not before:
            after = re.sub(r"\A(?:[ \t]*\r?\n)+", "", after)
        text = before + after
    return text


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start of each statement and the end of its last line, including the line break."""
    position = 0
    while position < len(text):
        start = position = _past_blanks(text, position)
        depth = 0
        if text[start : start + 1] == "[":  # brackets of a header are balanced on its line
            position = _line_end(text, start)
        while (part := _PART.search(text, position)) is not None:
            position = part.end()
            if part[0] in ("[", "{"):
                depth += 1
            elif part[0] in ("]", "}"):
                depth -= 1
            elif part[0] == "\n" and depth == 0:
                break
        else:
            position = len(text)
        if text[start : start + 1] not in ("", "\r", "\n", "#"):
            yield start, position


def _path(header: str) -> tuple[str, ...]:
    node: Any = tomllib.loads(header)
    names = []
    while node:
        ((name, node),) = node.items()
        names.append(name)
        if isinstance(node, list):
            node = node[0]
    return tuple(names)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _past_blanks(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    return position


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return repr(value)
    return "[" + ", ".join(_string(item) for item in value) + "]"


def _string(value: str) -> str:
    """Write a string. JSON strings are valid TOML, except for two characters and surrogate pairs."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
