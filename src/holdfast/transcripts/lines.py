"""What readers of line-based transcripts share: the pass over the file, and how arguments are looked into."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from holdfast.model.session import Action, Began, Event, Todo, TodoStatus
from holdfast.transcripts.contract import Claims, Warned
from holdfast.transcripts.jsonl import JsonLines, decoded
from holdfast.transcripts.loose import checklist

HEAD = 64 * 1024

_texts = msgspec.json.Decoder(str)
_objects = msgspec.json.Decoder(dict[str, Any])
_STATUSES: dict[object, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "completed": "completed",
    "done": "completed",
    "cancelled": "cancelled",
    "blocked": "pending",
}


class PassState(Struct):
    """What a later pass over a grown file must know; readers add to it."""

    line: int = 0
    opening: list[Began] = []  # who and where, kept back until something of this file's own happens
    opened: bool = False


L = TypeVar("L")
S = TypeVar("S", bound=PassState)


class LineReading(ABC, Generic[L, S]):
    """One pass over a file of JSON lines."""

    def __init__(
        self,
        path: Path,
        offset: int,
        state: bytes,
        claims: Claims,
        lines: msgspec.json.Decoder[L],
        states: type[S],
    ) -> None:
        self._state: S = msgspec.msgpack.decode(state, type=states) if state else states()
        self._lines = JsonLines(path, offset, self._state.line, lines)
        self._claims = claims
        self._path = path
        self.warnings: list[Warned] = self._lines.warnings

    def position(self) -> int:
        return self._lines.position

    def state(self) -> bytes:
        self._state.line = self._lines.line
        return msgspec.msgpack.encode(self._state)

    def events(self) -> Iterator[Event]:
        """What the file tells; nothing at all when it only repeats what was counted elsewhere."""
        state = self._state
        for event in self._events():
            if not state.opened and isinstance(event, Began):
                state.opening.append(event)
                continue
            if not state.opened:
                state.opened = True
                yield from state.opening
                state.opening = []
            yield event

    @abstractmethod
    def _events(self) -> Iterator[Event]:
        """The events of the lines that are new."""


def first_object(head: bytes) -> dict[str, Any]:
    """The object on the first line that is not blank; empty when there is none, or it is not whole."""
    line = head.lstrip(b"\xef\xbb\xbf \r\n\t\x00").split(b"\n", 1)[0]
    return decoded(_objects, Raw(line), {}) if line.startswith(b"{") else {}


def string_after(key: str, head: bytes) -> str:
    """The first string that stands under a key, wherever it is: for a glance at a file that is not parsed."""
    found = re.search(rb'"%s":\s*("(?:[^"\\]|\\.)*")' % key.encode(), head)
    return decoded(_texts, Raw(found[1]), "") if found else ""


def object_in(raw: Raw) -> dict[str, Any]:
    """An object, or a string that holds one as JSON; empty for anything else."""
    start = bytes(memoryview(raw)[:1])
    if start == b'"':
        text = decoded(_texts, raw, "")
        return (
            decoded(_objects, Raw(text.encode("utf-8", "replace")), {})
            if text.lstrip().startswith("{")
            else {}
        )
    return decoded(_objects, raw, {}) if start == b"{" else {}


def text_in(arguments: Mapping[str, Any], *names: str) -> str:
    """The first of the named arguments that is a text."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def target_of(action: Action, arguments: Mapping[str, Any]) -> str:
    """The command line, the path or the query, under the names that agents give them."""
    if action == "shell":
        return text_in(arguments, "command", "cmd")
    if action in ("edit", "read"):
        return text_in(
            arguments, "file_path", "path", "absolute_path", "target_file", "notebook_path", "filePath"
        )
    if action == "plan":
        return text_in(arguments, "plan", "summary", "plan_path", "body")
    if action == "ask":
        return text_in(arguments, "question", "prompt")
    return text_in(
        arguments,
        "pattern",
        "query",
        "search_term",
        "url",
        "prompt",
        "objective",
        "description",
        "path",
        "dir_path",
    )


def todo_items(value: object) -> tuple[Todo, ...]:
    """A to-do list: objects with a text and a status, or a markdown list of check boxes."""
    if isinstance(value, str):
        return checklist(value)
    items: list[Todo] = []
    for item in value if isinstance(value, list) else []:
        text = (
            text_in(item, "content", "description", "title", "text", "step") if isinstance(item, dict) else ""
        )
        if text.strip():
            items.append(Todo(text, _STATUSES.get(item.get("status"), "pending")))
    return tuple(items)
