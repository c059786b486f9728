"""Reads values of unknown shape from the JSON of other programs, without trusting any of it.

Agents that keep whole JSON documents rewrite them in place, so a document may be torn at its end: the complete part
before the tear is still read.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Raw, field

from holdfast.agent_kit.contract import Warned
from holdfast.agent_kit.jsonl import (
    OBJECTS,
    JsonLinesReading,
    LineCount,
    clean_strings,
    decoded,
    string_in,
    text_in,
    unreadable,
)
from holdfast.core.errors import TranscriptError
from holdfast.core.json_depth import nested_too_deeply, too_deep
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Action, Began, Event, Todo, TodoList, TodoStatus, ToolCall

LARGEST_DOCUMENT = 512 * 1024 * 1024
_LARGEST_COUNT = 2**53
_plain = json.JSONDecoder()
PATCHED = lazy_regex(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
TODO_STATUSES: dict[object, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "completed": "completed",
    "done": "completed",
    "cancelled": "cancelled",
}
_CHECK_MARKS: dict[str, TodoStatus] = {
    "x": "completed",
    "X": "completed",
    "-": "in_progress",
    "~": "in_progress",
}

HEAD = 64 * 1024  # of a file: enough to recognise it
LONGEST_WRITTEN = 800
_WRITTEN = (
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "old_str",
    "new_str",
    "content",
    "file_text",
    "new_source",
    "insert_text",
)
# The arguments that name the file of an edit or a read, the command line, and so on, as agents call them.
_TARGETS: dict[Action, tuple[str, ...]] = {
    "shell": ("command", "cmd"),
    "plan": ("plan", "summary", "plan_path", "body"),
    "ask": ("question", "prompt"),
    **dict.fromkeys(
        ("edit", "read"),
        ("file_path", "path", "absolute_path", "target_file", "notebook_path", "filePath"),
    ),
}
_OTHER_TARGETS = (
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

Record = dict[str, Any]


def actions(**tools: str) -> dict[str, Action]:
    """What each tool does, from the names of the tools for each action."""
    return {tool: action for action in get_args(Action) for tool in tools.get(action, "").split()}


def record(value: object, *keys: str) -> Record:
    """Return the object at the end of the keys; an empty one if it is something else."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def records(value: object) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(value: object) -> int:
    """Return a count, such as tokens: whole, not negative, of a plausible size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < _LARGEST_COUNT else 0


def whole_number(value: object) -> int | None:
    """An exit code or the like, of a plausible size; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -_LARGEST_COUNT < value < _LARGEST_COUNT else None


def money(value: object) -> float | None:
    """Return a stated price. Agents write 0 for models whose price they do not know, so 0 counts as unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 1e9 else None


def patched_paths(patch: str) -> tuple[str, ...]:
    """The files that a patch in the `*** Update File:` notation names."""
    return tuple(PATCHED.findall(patch))


def checklist(markdown: str) -> tuple[Todo, ...]:
    """A to-do list as some agents write it: `- [x] done`, `- [ ] open`, `- [-] under way`."""
    items = re.findall(r"^\s*[-*] \[([ xX~-])\] +(\S.*?)\s*$", markdown, re.MULTILINE)
    return tuple(Todo(words, _CHECK_MARKS.get(mark, "pending")) for mark, words in items)


def object_in(source: Raw | str | bytes) -> Record:
    """Decode the object in a text, or in a JSON string in it; an empty one if there is none."""
    if isinstance(source, Raw):
        if bytes(memoryview(source)[:1]) == b'"':
            source = Raw(string_in(source).lstrip().encode("utf-8", "replace"))
        return decoded(OBJECTS, source, {}) if bytes(memoryview(source)[:1]) == b"{" else {}
    raw = source.encode("utf-8", "replace") if isinstance(source, str) else source
    if too_deep(raw):
        return {}
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = clean_strings(_plain.decode(raw.decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


class Document:
    """A file that is one JSON value. `items` are the complete objects of its list."""

    def __init__(self, path: Path, list_name: str = "") -> None:
        self.path = path
        self.size = 0
        self.warnings: list[Warned] = []
        self._list = list_name

    def load(self) -> Any:
        """Return the whole value; None, with a warning, if it is incomplete."""
        raw = self._bytes()
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if not too_deep(raw):
                return self._repaired(raw.decode("utf-8-sig", "replace"))
        else:
            if not nested_too_deeply(value):
                return value
        self._warn("nested too deeply, left out")
        return None

    def load_or_warn(self) -> Any:
        """The value; None, with a warning, also when the file cannot be read."""
        try:
            return self.load()
        except TranscriptError as error:
            self.warnings.append(Warned(str(self.path), 0, "unreadable", error.problem))
            return None

    def _repaired(self, source: str) -> Any:
        try:
            return clean_strings(_plain.decode(source.strip(" \t\r\n\x00")))
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                self._warn(f"not whole JSON ({error.msg}): read as far as it goes", error.lineno)
            else:
                self._warn(f"not JSON, left out: {error}")
                return None
        items = [clean_strings(item) for item in self._whole_items(source)]
        if not self._list:
            return items
        return {"info": self._head(source), self._list: items}

    def _head(self, source: str) -> Record:
        """The object that stands before the list, which is what names the document."""
        at = source.find('"info"')
        try:
            value, _ = _plain.raw_decode(source, source.index("{", at + 6)) if at >= 0 else ({}, 0)
        except (ValueError, RecursionError):
            return {}
        return record(clean_strings(value))

    def _whole_items(self, source: str) -> Iterator[Any]:
        start = re.search(rf'"{self._list}"\s*:\s*\[' if self._list else r"\A\s*\[", source)
        at = start.end() if start else len(source)
        while (brace := source.find("{", at)) >= 0:
            try:
                value, at = _plain.raw_decode(source, brace)
            except (ValueError, RecursionError):
                return
            yield value

    def _bytes(self) -> bytes:
        try:
            self.size = self.path.stat().st_size
            if self.size > LARGEST_DOCUMENT:
                raise TranscriptError(
                    f"{self.size:,} bytes in one JSON document are more than can be held",
                    where=str(self.path),
                    fix="Import the session from the agent's own store instead",
                )
            return self.path.read_bytes()
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _warn(self, message: str, line: int = 1) -> None:
        self.warnings.append(Warned(str(self.path), line, "bad-json", message[:200]))


def written_by(action: Action, arguments: Mapping[str, Any], paths: tuple[str, ...]) -> tuple[str, ...]:
    """What a call writes into its one file; nothing of calls that do not edit."""
    if action != "edit" or len(paths) != 1:
        return ()
    parts = [arguments, *records(arguments.get("edits")), *records(arguments.get("replacements"))]
    texts = (part.get(name) for part in parts for name in _WRITTEN)
    return (_beginning("\n".join(text for text in texts if isinstance(text, str))),)


def written_in_patch(patch: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """For each file of a patch what stands under its name; what a moved file gets belongs to where it went."""
    parts = PATCHED.split(patch)
    under: dict[str, str] = {}
    for path, text in zip(parts[1::2], parts[2::2], strict=True):
        under[path] = under.get(path, "") + text
    return tuple(_beginning(under.get(path, "")) for path in paths)


def _beginning(text: str) -> str:
    """Cut a text to whole lines, so that no name is cut in half."""
    if len(text) <= LONGEST_WRITTEN:
        return text
    return text[:LONGEST_WRITTEN].rpartition("\n")[0]


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


def first_line(head: bytes) -> bytes:
    """The first line that is not blank."""
    return head.lstrip(b"\xef\xbb\xbf \r\n\t\x00").split(b"\n", 1)[0]


def first_bytes(path: Path, size: int = -1) -> bytes:
    """Return the first bytes of a file; b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def first_object(head: bytes) -> dict[str, Any]:
    """The object on the first line that is not blank; empty when there is none, or it is not whole."""
    line = first_line(head)
    return decoded(OBJECTS, Raw(line), {}) if line.startswith(b"{") else {}


def named_paths(found: Iterable[re.Match[bytes]]) -> Iterator[str]:
    """The absolute paths among the matches, each followed by the folders above it, all of them once."""
    seen: set[str] = set()
    for match in found:
        path = match[0].decode("utf-8", "replace").replace("\\\\", "\\").rstrip("/\\.")
        while path not in seen and len(path) > 1:
            seen.add(path)
            yield path
            path = path[: max(path.rfind("/"), path.rfind("\\"))]


def target_of(action: Action, arguments: Mapping[str, Any]) -> str:
    """The command line, the path or the query, under the names that agents give them."""
    return text_in(arguments, *_TARGETS.get(action, _OTHER_TARGETS))


def paths_of(action: Action, target: str) -> tuple[str, ...]:
    """The files of a call that works on one file at most."""
    return (target,) if action in ("edit", "read") and target else ()


def tool_call(
    at: float | None,
    call: str,
    name: str,
    action: Action,
    arguments: Mapping[str, Any],
    target: str | None = None,
    paths: tuple[str, ...] | None = None,
) -> ToolCall:
    """Return a call with the target and the written text from its arguments."""
    target = target_of(action, arguments) if target is None else target
    paths = paths_of(action, target) if paths is None else paths
    given = arguments if action == "edit" else ""
    return ToolCall(at, call, name, action, target, paths, written_by(action, arguments, paths), given)


def patch_call(at: float | None, call: str, name: str, patch: str) -> ToolCall:
    """A call that edits the files which a patch names."""
    paths = patched_paths(patch)
    target = paths[0] if paths else ""
    return ToolCall(at, call, name, "edit", target, paths, written_in_patch(patch, paths), patch)


def with_todos(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[ToolCall | TodoList]:
    """A call, and the to-do list that it writes in `todos`."""
    yield call
    if call.action == "todo" and (items := todo_items(arguments.get("todos"))):
        yield TodoList(call.at, items)


def todo_items(value: object) -> tuple[Todo, ...]:
    """A to-do list: objects with a text and a status, or a markdown list of check boxes."""
    if isinstance(value, str):
        return checklist(value)
    return tuple(
        Todo(text, TODO_STATUSES.get(str(item.get("status")), "pending"))
        for item in records(value)
        if (text := text_in(item, "content", "description", "title", "text", "step")).strip()
    )
