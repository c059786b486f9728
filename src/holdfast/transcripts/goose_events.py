"""Goose's messages as events: content items of camel-cased types, tools named `extension__tool`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.model.session import (
    Action,
    AgentTurn,
    ApiFailure,
    Compaction,
    Event,
    Interruption,
    Tick,
    TodoList,
    ToolCall,
    ToolResult,
    UserTurn,
)
from holdfast.transcripts.jsonl import excerpt, text_in
from holdfast.transcripts.loose import Record, checklist, record, records

ACTIONS: dict[str, Action] = {
    "shell": "shell",
    "bash": "shell",
    "write": "edit",
    "edit": "edit",
    "text_editor": "edit",
    "read_file": "read",
    "read": "read",
    "read_image": "read",
    "tree": "search",
    "analyze": "search",
    "glob": "search",
    "grep": "search",
    "search": "search",
    "web_scrape": "web",
    "web_search": "web",
    "fetch": "web",
    "todo_write": "todo",
    "todo_read": "todo",
    "delegate": "agent",
    "subagent": "agent",
    "create_task": "agent",
    "execute_task": "agent",
}
_DECLINED = "The user has declined to run this tool"
_INTERRUPTED = "Interrupted by the user"
_COMPACTED = "Your context was compacted"
_INJECTED = ("<info-msg>", "<system-reminder>")
_EXIT = re.compile(r"Command exited with code (-?\d+)\s*\Z")
_CODE = re.compile(r"\A-?\d+: ")  # an error is written with its number
_TRY_AGAIN = "Please resend your message to try again"


def message_events(message: Record, at: float | None, *, human: bool) -> Iterator[Event]:
    visible = record(message, "metadata").get("userVisible") is not False
    role = message.get("role")
    items = records(message.get("content"))
    words = "\n".join(text_in(item, "text") for item in items if item.get("type") == "text").strip()
    if role == "user" and words:
        yield from _person(words, at, human=human and visible)
    elif role == "assistant" and words and visible and human:
        yield ApiFailure(at, words) if _TRY_AGAIN in words else AgentTurn(at, words)
    for item in items:
        kind = item.get("type")
        if kind in ("toolRequest", "frontendToolRequest"):
            yield from _call(item, at)
        elif kind == "toolResponse":
            yield from _result(item, at)
        elif kind == "conversationCompacted":
            yield Compaction(at, text_in(item, "msg"))
    if at is not None:
        yield Tick(at)


def _person(words: str, at: float | None, *, human: bool) -> Iterator[Event]:
    if words.startswith(_COMPACTED):
        yield Compaction(at)
    elif human and not words.startswith(_INJECTED):
        yield UserTurn(at, words)


def _call(item: Record, at: float | None) -> Iterator[Event]:
    request = record(item, "toolCall", "value")
    name, arguments = text_in(request, "name"), record(request, "arguments")
    action = _action(name, arguments)
    target = _target(action, arguments)
    paths = (target,) if action in ("edit", "read") and target else ()
    yield ToolCall(at, text_in(item, "id"), name or "invalid", action, target, paths)
    if action == "todo" and (todos := checklist(text_in(arguments, "content"))):
        yield TodoList(at, todos)


def _action(name: str, arguments: Record) -> Action:
    bare = name.rpartition("__")[2]
    if bare == "text_editor" and arguments.get("command") == "view":
        return "read"
    return ACTIONS.get(bare, "other")


def _target(action: Action, arguments: Record) -> str:
    if action == "shell":
        return text_in(arguments, "command")
    if action in ("edit", "read"):
        return text_in(arguments, "path", "file_path")
    return text_in(arguments, "pattern", "query", "url", "path", "instructions", "description")


def _result(item: Record, at: float | None) -> Iterator[Event]:
    result = record(item, "toolResult")
    value = result.get("value")
    output = _CODE.sub("", text_in(result, "error")) or _text_of(value)
    failed = result.get("status") == "error" or record(value).get("isError") is True
    interrupted = output.startswith(_INTERRUPTED)
    declined = output.startswith(_DECLINED)
    stated = record(value, "structuredContent").get("exit_code")
    code = stated if isinstance(stated, int) and not isinstance(stated, bool) else None
    if code is None and (match := _EXIT.search(output[-200:])):
        code = int(match[1])
    yield ToolResult(
        at,
        text_in(item, "id"),
        ok=None if interrupted else not (failed or declined or bool(code)),
        text=excerpt(output),
        exit_code=code,
        rejected=declined,
        own_fault=result.get("status") == "error" and not (declined or interrupted or code),
    )
    if interrupted:
        yield Interruption(at)


def _text_of(value: object) -> str:
    """A tool's answer: content items, once a bare list and now within an object; not those for the agent alone."""
    items = value if isinstance(value, list) else record(value).get("content")
    return "\n".join(text_in(item, "text") for item in records(items) if item.get("type", "text") == "text")
