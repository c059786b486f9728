"""Edits JSON as text, so that everything else in a person's file stays as they wrote it, to the byte."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Span(Struct, frozen=True):
    """A value in the text, with its members or elements."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()


class Member(Struct, frozen=True):
    """A member of an object, or an element of a list (its key is ''). `start` is where its key begins."""

    key: str
    start: int
    span: Span


def parse(text: str) -> Span:
    """The whole text as one value; ValueError (json.JSONDecodeError) when it is none."""
    json.loads(text)
    return _span(text, _skip(text, 0))


def _span(text: str, start: int) -> Span:
    value, end = _DECODER.raw_decode(text, start)
    if not isinstance(value, dict | list) or not value:
        return Span(start, end, value)
    members = []
    position = _skip(text, start + 1)
    while text[position] not in "]}":
        first, key = position, ""
        if isinstance(value, dict):
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # past the colon
        inner = _span(text, position)
        members.append(Member(key, first, inner))
        position = _skip(text, inner.end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return Span(start, end, value, tuple(members))


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def member(span: Span, key: str) -> Member | None:
    """The last of that name, which is the one that counts."""
    return next((found for found in reversed(span.members) if found.key == key), None)


def has_comments(text: str) -> bool:
    without_strings = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return "//" in without_strings or "/*" in without_strings


def append(text: str, container: Span, value: Any, key: str | None = None) -> str:
    """The text with one more member or element at the container's end, in the file's own manner."""
    style = _Style(text)
    rendered = f"{json.dumps(key)}: " if key is not None else ""
    multiline = "\n" in text[container.start : container.end] or (style.multiline and not container.members)
    if not multiline:
        rendered += json.dumps(value, ensure_ascii=False)
        if not container.members:
            return text[: container.start + 1] + rendered + text[container.end - 1 :]
        last = container.members[-1].span.end
        return f"{text[:last]}, {rendered}{text[last:]}"
    outer = style.indentation_at(container.start)
    inner = _indentation_of(text, container.members[-1].start) if container.members else outer + style.unit
    block = json.dumps(value, ensure_ascii=False, indent=style.unit).split("\n")
    rendered += (style.newline + inner).join(block)
    if not container.members:
        return (
            f"{text[: container.start + 1]}{style.newline}{inner}{rendered}{style.newline}{outer}"
            f"{text[container.end - 1 :]}"
        )
    last = container.members[-1].span.end
    return f"{text[:last]},{style.newline}{inner}{rendered}{text[last:]}"


def remove(text: str, container: Span, number: int) -> str:
    """The text without one member, its comma and the white space that set it apart."""
    members = container.members
    gone = members[number]
    if len(members) == 1:
        return text[: container.start + 1] + text[container.end - 1 :]
    if number == len(members) - 1:
        return text[: members[number - 1].span.end] + text[gone.span.end :]
    return text[: gone.start] + text[members[number + 1].start :]


class _Style:
    """How a file is laid out, as far as what we add has to look alike."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.multiline = "\n" in text.strip() or not text.strip(" \t\r\n{}")
        first = re.search(r"\n([ \t]+)\S", text)
        self.unit = first.group(1) if first else "  "

    def indentation_at(self, position: int) -> str:
        return _indentation_of(self._text, position)


def _indentation_of(text: str, position: int) -> str:
    """The white space at the beginning of the line that a position lies in."""
    start = text.rfind("\n", 0, position) + 1
    match = re.compile(r"[ \t]*").match(text, start)
    return match.group() if match else ""
