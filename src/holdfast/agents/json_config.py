"""Edits JSON as text, so that everything else in a person's file stays the same, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agents.host_contract import Change, Scope, Where
from holdfast.core.errors import ConfigError
from holdfast.core.patterns import lazy_regex

_SPACE = lazy_regex(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
FIX = "Correct the file and run the command again; nothing was changed"
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


class JsonFile(Struct, frozen=True, kw_only=True):
    """A host's configuration that is one JSON object, edited as text.

    `title` is the host's name for messages, `comments` whether it reads a file with comments itself.
    """

    where: Where
    path: Path
    title: str
    comments: bool = False
    linked: bool = False  # a link in a repository could lead anywhere: refused, and never read

    def data(self) -> bytes | None:
        return None if self.linked else self.where.read(self.path)

    def text(self, data: bytes | None) -> str:
        """Return the file as text that holds one JSON object; otherwise raise an error that says why not."""
        if self.linked:
            raise self.error("is a link, and what a repository links to is not followed")
        if data is None or not data.strip():
            return "{}\n"
        try:
            text = data.decode("utf-8").removeprefix("\ufeff")
            span = self.span(text)
        except UnicodeDecodeError as error:
            raise self.error("is not UTF-8") from error
        except (json.JSONDecodeError, RecursionError) as error:
            raise self._unreadable(error, data) from error
        if not isinstance(span.value, dict):
            raise self.error("is not a JSON object")
        return text

    def _unreadable(self, error: Exception, data: bytes) -> ConfigError:
        if (
            not self.comments
            and isinstance(error, json.JSONDecodeError)
            and has_comments(data.decode("utf-8", "replace"))
        ):
            return self.error(f"has comments, which {self.title} does not read either")
        problem = f"is not valid JSON: {getattr(error, 'msg', 'nested too deeply')}"
        return self.error(problem, f":{getattr(error, 'lineno', 1)}")

    def error(self, problem: str, place: str = "") -> ConfigError:
        return ConfigError(problem, where=f"{self.path}{place}", fix=FIX)

    def span(self, text: str) -> Span:
        return parse(text, comments=self.comments)

    def value(self, data: bytes | None) -> dict[str, Any]:
        """Return the content of the file, or an empty object."""
        content = self.span(self.text(data)).value
        return content if isinstance(content, dict) else {}

    def change(self, data: bytes | None, text: str) -> Change:
        mark = b"\xef\xbb\xbf" if data is not None and data.startswith(b"\xef\xbb\xbf") else b""
        return Change(path=self.path, before=data, after=mark + text.encode())

    def unchanged(self, data: bytes | None) -> Change:
        return Change(path=self.path, before=data, after=data)

    def require(self, span: Span, kind: type, name: str) -> None:
        if not isinstance(span.value, kind):
            word = "an object" if kind is dict else "a list"
            raise self.error(f"{name} is not {word}, as {self.title} wants it")

    def with_member(self, text: str, keys: Sequence[str], value: Any) -> str:
        """Set the value at a path of names; missing objects are created, an existing value is replaced."""
        text = self.without_member(text, keys) if self.at(text, keys) is not None else text
        span = self.span(text)
        for depth, key in enumerate(keys[:-1]):
            inner = member(span, key)
            if inner is None:
                for rest in reversed(keys[depth + 1 :]):
                    value = {rest: value}
                return append(text, span, value, key)
            self.require(inner.span, dict, ".".join(keys[: depth + 1]))
            span = inner.span
        return append(text, span, value, keys[-1])

    def at(self, text: str, keys: Sequence[str]) -> Any:
        """Return the value at a path of names, or None."""
        node: Any = self.span(text).value
        for key in keys:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def without_member(self, text: str, keys: Sequence[str]) -> str:
        """Remove the value, and the objects that held nothing else."""
        trail: list[tuple[Span, int]] = []
        span = self.span(text)
        for key in keys:
            child = member(span, key)
            if child is None:
                return text
            trail.append((span, span.members.index(child)))
            span = child.span
        while len(trail) > 1 and len(trail[-1][0].members) == 1:
            trail.pop()
        container, number = trail[-1]
        return remove(text, container, number)

    def with_entry(self, keys: Sequence[str], wanted: Mapping[str, Any], *ours: str) -> Change:
        """Add the entry of our tools, keeping what a person set there."""
        data = self.data()
        text = self.text(data)
        existing = self.at(text, keys)
        entry = kept(existing, wanted, *ours)
        return (
            self.unchanged(data)
            if existing == entry
            else self.change(data, self.with_member(text, keys, entry))
        )

    def without_entry(self, keys: Sequence[str]) -> Change:
        data = self.data()
        if data is not None and b"holdfast" in data and self.at(self.text(data), keys) is not None:
            return self.change(data, self.without_member(self.text(data), keys))
        return self.unchanged(data)


def host_file(where: Where, scope: Scope, path: Path, title: str, *, comments: bool = False) -> JsonFile:
    """A host's file. The user's may be a link, a repository's is not followed."""
    path = followed(path) if scope == "user" else path
    linked = leads_elsewhere(where, path, scope)
    return JsonFile(where=where, path=path, title=title, comments=comments, linked=linked)


def kept(known: Any, wanted: Mapping[str, Any], *ours: str) -> dict[str, Any]:
    """The entry of our tools with what a person set there, such as variables, or that it is switched off."""
    theirs = known if isinstance(known, dict) and "command" in known else {}
    return {**wanted, **theirs, **{name: wanted[name] for name in ours if name in wanted}}


def leads_elsewhere(where: Where, path: Path, scope: Scope) -> bool:
    """Whether the file, or a folder on the way to it, is a link: one from a repository could point anywhere."""
    if scope != "project" or not path.is_relative_to(where.project):
        return False  # the user's own file
    below = path.relative_to(where.project).parts
    return any(where.project.joinpath(*below[:depth]).is_symlink() for depth in range(1, len(below) + 1))


def followed(path: Path) -> Path:
    """Resolve the user's settings, which may be a link into a folder of dotfiles."""
    return path.resolve() if path.is_symlink() else path
