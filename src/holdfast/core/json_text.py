"""Edits JSON as text, so that everything else in a person's file stays the same, byte for byte."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex

_SPACE = lazy_regex(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_NOT_VALUE = lazy_regex(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = lazy_regex(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])', re.DOTALL)


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


def parse(text: str, *, comments: bool = False) -> Span:
    """Parse the whole text as one value. Raises ValueError (json.JSONDecodeError) if it is not JSON.

    With `comments`, also text as people write it for hosts that allow it: `//`, `/* */`, a comma after the last.
    """
    if comments:
        # Spaces replace comments and trailing commas, so that every value keeps its position.
        text = _LAST_COMMA.sub(_blank, _without_comments(text))
    json.loads(text)
    return _span(text, _skip(text, 0))


def _without_comments(text: str) -> str:
    return _NOT_VALUE.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])


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
    """Return the last member of that name, which is the one that counts."""
    return next((candidate for candidate in reversed(span.members) if candidate.key == key), None)


def has_comments(text: str) -> bool:
    without_strings = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return "//" in without_strings or "/*" in without_strings


def append(text: str, container: Span, value: Any, key: str | None = None) -> str:
    """Add a member or element at the end of a container, in the file's own layout."""
    style = _Style(text)
    rendered = f"{json.dumps(key)}: " if key is not None else ""
    multiline = "\n" in text[container.start : container.end] or (style.multiline and not container.members)
    if not multiline:
        rendered += json.dumps(value, ensure_ascii=False)
        if not container.members:
            inside = text[container.start + 1 : container.end - 1].strip()  # at most a comment
            return text[: container.start + 1] + inside + rendered + text[container.end - 1 :]
        last = container.members[-1].span.end
        return f"{text[:last]}, {rendered}{text[last:]}"
    outer = _indentation_of(text, container.start)
    inner = _indentation_of(text, container.members[-1].start) if container.members else outer + style.unit
    block = json.dumps(value, ensure_ascii=False, indent=style.unit).split("\n")
    rendered += (style.newline + inner).join(block)
    if not container.members:
        # The text between the brackets can only be a comment.
        inside = text[container.start + 1 : container.end - 1].rstrip()
        return (
            f"{text[: container.start + 1]}{inside}{style.newline}{inner}{rendered}{style.newline}{outer}"
            f"{text[container.end - 1 :]}"
        )
    last = container.members[-1].span.end
    comma, rest = _past_comma(text, last)
    remark = _remark(text, rest)
    # A comment on the line of the last member stays on that line.
    head = text[:comma] + ("," if comma == rest else "") + text[comma:remark]
    closing = "," if comma != rest else ""  # keep a trailing comma
    return f"{head}{style.newline}{inner}{rendered}{closing}{text[remark:]}"


def remove(text: str, container: Span, number: int) -> str:
    """Remove a member, its comma and the white space around it; comments on other members stay."""
    members = container.members
    gone = members[number]
    if len(members) == 1 and not has_comments(text[container.start : container.end]):
        return text[: container.start + 1] + text[container.end - 1 :]
    comma, end = _past_comma(text, gone.span.end)
    between = text[gone.span.end : comma]
    rest = (between if has_comments(between) else "") + text[end:]
    before = text[: gone.start].rstrip(" \t")
    last = number == len(members) - 1
    # A whole line is removed with its line break; other text might end in a comment that needs it.
    whole = before.endswith("\n") and rest.lstrip(" \t").startswith(("\n", "\r"))
    if whole:
        before = before.removesuffix("\n").removesuffix("\r")
    if not last:
        return (before if whole else text[: gone.start]) + rest.lstrip(" \t")
    if number and comma == end:  # the list has no trailing comma, so the member before must not get one
        at, past = _past_comma(text, members[number - 1].span.end)
        before = before[:at] + before[past:]
    return before + rest


def _past_comma(text: str, position: int) -> tuple[int, int]:
    """Return the start and the end of the comma after a member; twice the member's end if there is none."""
    following = _skip(_without_comments(text), position)
    return (following, following + 1) if text[following : following + 1] == "," else (position, position)


def _remark(text: str, position: int) -> int:
    """Return the end of a comment on the same line, or the position itself."""
    match = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/)").match(text, position)
    return match.end() if match else position


class _Style:
    """The layout of a file, which our additions follow."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.multiline = "\n" in text.strip() or not text.strip(" \t\r\n{}")
        first = re.search(r"\n([ \t]+)\S", text)
        self.unit = first.group(1) if first else "  "


def _indentation_of(text: str, position: int) -> str:
    """The white space at the beginning of the line that a position lies in."""
    start = text.rfind("\n", 0, position) + 1
    match = re.compile(r"[ \t]*").match(text, start)
    return match.group() if match else ""
