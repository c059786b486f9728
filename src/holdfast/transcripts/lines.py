"""What readers of line-based transcripts share: the pass over the file, and how arguments are looked into."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, field

from holdfast.model.session import Action, Began, Event, Todo
from holdfast.transcripts.jsonl import JsonLinesReading, LineCount, decoded, string_in, text_in
from holdfast.transcripts.loose import TODO_STATUSES, checklist

HEAD = 64 * 1024

_objects = msgspec.json.Decoder(dict[str, Any])


class PassState(LineCount):
    # Who and where, kept back until something of this file's own happens.
    opening: list[Began] = field(default_factory=list)
    opened: bool = False


L = TypeVar("L")
S = TypeVar("S", bound=PassState)


class LineReading(JsonLinesReading[L, S]):
    """A pass that keeps back who and where, for files that may only repeat what was counted elsewhere."""

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


def object_in(raw: Raw) -> dict[str, Any]:
    """An object, or a string that holds one as JSON; empty for anything else."""
    start = bytes(memoryview(raw)[:1])
    if start == b'"':
        text = string_in(raw)
        return (
            decoded(_objects, Raw(text.encode("utf-8", "replace")), {})
            if text.lstrip().startswith("{")
            else {}
        )
    return decoded(_objects, raw, {}) if start == b"{" else {}


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
            items.append(Todo(text, TODO_STATUSES.get(str(item.get("status")), "pending")))
    return tuple(items)
