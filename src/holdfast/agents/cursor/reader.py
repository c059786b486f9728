"""Cursor: `~/.cursor/projects/<slug>/agent-transcripts/<id>/<id>.jsonl`, and the editor's `state.vscdb`.

Transcripts have neither times nor results nor usage; the database has them, for the same conversations. A
conversation is claimed as a whole, so that it counts where it is met first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from holdfast.agent_kit.contract import Claims, Glance, ReadAnew, Warned, editor_folders
from holdfast.agent_kit.jsonl import ANYTHING, Block, JsonLines, blocks_in, decoded, excerpt, text_in
from holdfast.agent_kit.loose import (
    HEAD,
    first_bytes,
    first_object,
    named_paths,
    object_in,
    patch_call,
    record,
    target_of,
    todo_items,
    tool_call,
    whole_number,
    with_todos,
)
from holdfast.agent_kit.sqlite_source import DatabaseAgent
from holdfast.agents.cursor.store import TABLES, Bubble, Composer, conversation, conversations, moment
from holdfast.core.errors import TranscriptError
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

_ABSOLUTE = lazy_regex(rb'(?<![\w.~/])/[^\s"\\<>|*?:,;()\[\]{}\']{2,300}')
_MOST_LISTINGS = 200
_NAMES: tuple[tuple[str, ev.Action], ...] = (
    (r"shell|bash|terminal|run_terminal_(?:cmd|command)\w*", "shell"),
    (r"str_?replace|search_replace|multi_?edit|edit(?:_file\w*|_notebook)?|reapply", "edit"),
    (r"write|create_file|apply_?patch|delete(?:_file)?", "edit"),
    (r"read|read_file\w*|view", "read"),
    (r"grep|ripgrep\w*|glob|glob_file_search|file_search|ls|list_dir\w*", "search"),
    (r"codebase_search|semantic_?search\w*|search_symbols|read_lints", "search"),
    (r"web_?search|web_?fetch|fetch", "web"),
    (r"ask_?question", "ask"),
    (r"create_plan", "plan"),
    (r"todo_?write|update_?todos", "todo"),
    (r"task\w*|subagent", "agent"),
)
_QUERY = lazy_regex(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_INJECTED = lazy_regex(
    r"<(\w*(?:context|reminder|rules|info|files|selection|attached_\w+|timestamp|skills?|instructions))\b[^>]*>.*?</\1>",
    re.DOTALL,
)


class _Message(Struct):
    content: Raw = Raw(b"")


class _Line(Struct):
    role: str | None = None
    message: _Message | None = None


_lines = msgspec.json.Decoder(_Line)


class TranscriptReading:
    """A transcript of the agent. Its lines have no time: the file's is all there is."""

    def __init__(self, path: Path, claims: Claims) -> None:
        self._path = path
        self._claims = claims
        self._lines = JsonLines(path, 0, 0, _lines)
        self._calls = 0
        self.warnings = self._lines.warnings

    def position(self) -> int:
        return self._lines.position

    def state(self) -> bytes:
        return b""

    def events(self) -> Iterator[ev.Event]:
        session, parent = self._path.stem, ""
        if self._path.parent.name == "subagents":
            parent = self._path.parent.parent.name
        if self._claims.foreign(f"cursor:{session}"):
            return
        at = _file_time(self._path)
        yield ev.Began(at, session=session, parent=parent, cwd=folder_of(self._path))
        for line in self._lines:
            blocks = blocks_in(line.message.content) if line.message else []
            if line.role == "user" and not parent:
                yield from _person("\n".join(block.text for block in blocks if block.text), at)
            elif line.role == "assistant":
                yield from self._model(blocks, bool(parent), at)

    def _model(self, blocks: list[Block], subagent: bool, at: float | None) -> Iterator[ev.Event]:
        for block in blocks:
            if block.type == "tool_use":
                self._calls += 1
                call = block.id or f"{self._path.stem}#{self._calls}"
                yield from called(block.name or "", object_in(block.input), call, at)
            elif block.type == "text" and block.text and block.text.strip() and not subagent:
                yield ev.AgentTurn(at, block.text)


class ConversationReading(ReadAnew):
    """One conversation of the editor's database."""

    def __init__(self, path: Path, part: str, claims: Claims) -> None:
        super().__init__(claims)
        self._path = path
        self._part = part

    def events(self) -> Iterator[ev.Event]:
        if self._claims.foreign(f"cursor:{self._part}"):
            return
        try:
            composer, folder, bubbles = conversation(self._path, self._part)
        except TranscriptError as error:
            self.warnings.append(Warned(str(self._path), 0, "unreadable", error.problem))
            return
        self._size = len(bubbles)
        parent = text_in(object_in(composer.subagentInfo), "parentComposerId")
        yield ev.Began(
            composer.started,
            session=self._part,
            parent=parent,
            cwd=folder,
            branch=composer.createdOnBranch or "",
            title=composer.name or "",
        )
        model = text_in(object_in(composer.modelConfig), "modelName")
        at = composer.started
        for bubble in bubbles:
            at = moment(bubble.createdAt) or _sent(bubble) or at
            yield from self._bubble(bubble, "" if model == "default" else model, bool(parent), at)
        yield from _ending(composer)

    def _bubble(self, bubble: Bubble, model: str, subagent: bool, at: float | None) -> Iterator[ev.Event]:
        if bubble.type == 1:
            if not subagent:
                yield from _person(bubble.text or "", at)
            return
        tokens = bubble.tokenCount
        if tokens is not None and (tokens.inputTokens or tokens.outputTokens):
            usage = ev.Usage(tokens.inputTokens or 0, tokens.outputTokens or 0)
            yield ev.UsageReport(at, f"{self._part}:{bubble.bubbleId}", model, usage)
        if bubble.text and bubble.text.strip() and not bubble.isThought and not subagent:
            yield ev.AgentTurn(at, bubble.text)
        if tool := object_in(bubble.toolFormerData):
            yield from used(tool, f"{self._part}:{bubble.bubbleId}", at)
        if failure := text_in(object_in(bubble.errorDetails), "message", "error", "title"):
            yield ev.ApiFailure(at, failure)


class Cursor(DatabaseAgent):
    agent = "cursor"
    title = "Cursor"
    tables = TABLES

    def roots(self, places: Places) -> Iterable[Path]:
        yield places.home / ".cursor" / "projects"
        yield from (base / "Cursor" / "User" / "globalStorage" for base in editor_folders(places))

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from root.glob("state.vscdb")
        yield from sorted(root.glob("*/agent-transcripts/**/*.jsonl"))

    def is_own_file(self, path: Path, head: bytes) -> bool:
        line = first_object(head)
        message = line.get("message")
        return (
            line.get("role") in ("user", "assistant")
            and isinstance(message, dict)
            and "content" in message
            and not line.keys() & {"type", "uuid", "sessionId"}
        )

    def glance(self, path: Path, head: bytes) -> Glance:
        return Glance(folder_of(path, head), _file_time(path))

    def stored(self, path: Path, part: str, claims: Claims) -> ConversationReading:
        return ConversationReading(path, part, claims)

    def file(self, path: Path, claims: Claims) -> TranscriptReading:
        return TranscriptReading(path, claims)

    def stored_sessions(self, path: Path) -> Iterable[Glance]:
        return conversations(path)


def _person(text: str, at: float | None) -> Iterator[ev.Event]:
    """What a person asked, out of the context that was put around it."""
    queries = _QUERY.findall(text)
    words = "\n".join(queries).strip() if queries else _INJECTED.sub("", text).strip()
    if words:
        yield ev.UserTurn(at, words)


def _ending(composer: Composer) -> Iterator[ev.Event]:
    at = composer.changed
    if items := todo_items(decoded(ANYTHING, composer.todos, None)):
        yield ev.TodoList(at, items)
    if composer.status == "aborted":
        yield ev.Interruption(at)


def _sent(bubble: Bubble) -> float | None:
    sent = object_in(bubble.timingInfo).get("clientRpcSendTime")
    return moment(Raw(msgspec.json.encode(sent))) if sent is not None else None


def _file_time(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def folder_of(path: Path, head: bytes | None = None) -> str:
    """The folder, or '' where it cannot be told."""
    spelling = _project_name(path)
    if not spelling:
        return ""
    for folder in named_paths(_ABSOLUTE.finditer(first_bytes(path, HEAD) if head is None else head)):
        if spelt(folder) == spelling:
            return folder
    folders = list(_on_disk(Path(path.anchor or "/"), spelling, [_MOST_LISTINGS]))
    return str(folders[0]) if len(folders) == 1 else ""


def spelt(place: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", place).strip("-").lower()


def _project_name(path: Path) -> str:
    for parent in path.parents:
        if parent.name == "agent-transcripts":
            return parent.parent.name.strip("-").lower()
    return ""


def _on_disk(folder: Path, rest: str, budget: list[int]) -> Iterator[Path]:
    """Folders below this one whose path is spelt like the rest; the budget keeps the search short."""
    if budget[0] <= 0:
        return
    budget[0] -= 1
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in names:
        spelling = spelt(name)
        if spelling and spelling == rest:
            yield folder / name
        elif spelling and rest.startswith(f"{spelling}-"):
            yield from _on_disk(folder / name, rest[len(spelling) + 1 :], budget)


def action_of(name: str) -> ev.Action:
    """Tools have changed their spelling over the years: `Read`, `read_file`, `read_file_v2`."""
    for pattern, action in _NAMES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return action
    return "other"


def called(name: str, arguments: dict[str, Any], call: str, at: float | None) -> Iterator[ev.Event]:
    action = action_of(name)
    target = target_of(action, arguments) or text_in(arguments, "relativeWorkspacePath", "targetFile")
    if action == "edit" and not target:
        call_event = patch_call(at, call, name, text_in(arguments, "patch", "input"))
    else:
        call_event = tool_call(at, call, name, action, arguments, target)
    return with_todos(call_event, arguments)


def used(tool: dict[str, Any], key: str, at: float | None) -> Iterator[ev.Event]:
    call = text_in(tool, "toolCallId") or key
    arguments = _arguments(tool.get("rawArgs")) or _arguments(tool.get("params"))
    name = text_in(tool, "name")
    yield from called(name, arguments, call, at)
    status, decision = text_in(tool, "status"), text_in(tool, "userDecision")
    if status not in ("completed", "success", "error", "failed", "cancelled", "rejected") and not decision:
        return
    result = _arguments(tool.get("result"))
    code = whole_number(result.get("exitCodeV2", result.get("exitCode")))
    rejected = decision == "rejected" or status in ("cancelled", "rejected") or result.get("rejected") is True
    ok = status in ("completed", "success") and not rejected and code in (None, 0)
    output = text_in(result, "output", "contents", "error") or str(tool.get("error") or "")
    action = action_of(name)
    yield ev.ToolResult(
        at,
        call,
        ok=ok,
        text=excerpt(output) if not ok or action == "shell" else "",
        exit_code=code,
        rejected=rejected,
        own_fault=not ok and not rejected and action == "edit",
    )


def _arguments(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return object_in(Raw(value.strip().encode("utf-8", "replace")))
    return record(value)
