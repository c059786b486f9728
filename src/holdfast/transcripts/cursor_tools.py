"""Cursor's tools: what each does under the names it has had, and how the database tells how a call ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Raw

from holdfast.model.session import Action, Event, TodoList, ToolCall, ToolResult
from holdfast.transcripts.jsonl import excerpt, text_in
from holdfast.transcripts.lines import object_in, target_of, todo_items
from holdfast.transcripts.loose import patched_paths
from holdfast.transcripts.written import written_by, written_in_patch

_NAMES: tuple[tuple[str, Action], ...] = (
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


def action_of(name: str) -> Action:
    """Tools have changed their spelling over the years: `Read`, `read_file`, `read_file_v2`."""
    for pattern, action in _NAMES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return action
    return "other"


def called(name: str, arguments: dict[str, Any], call: str, at: float | None) -> Iterator[Event]:
    action = action_of(name)
    target = target_of(action, arguments) or text_in(arguments, "relativeWorkspacePath", "targetFile")
    paths: tuple[str, ...] = (target,) if action in ("edit", "read") and target else ()
    written = written_by(action, arguments, paths)
    if action == "edit" and not paths:
        patch = text_in(arguments, "patch", "input")
        paths = patched_paths(patch)
        target = paths[0] if paths else ""
        written = written_in_patch(patch, paths)
    yield ToolCall(at, call, name, action, target, paths, written)
    if action == "todo" and (items := todo_items(arguments.get("todos"))):
        yield TodoList(at, items)


def used(tool: dict[str, Any], key: str, at: float | None) -> Iterator[Event]:
    call = text_in(tool, "toolCallId") or key
    arguments = _arguments(tool.get("rawArgs")) or _arguments(tool.get("params"))
    name = text_in(tool, "name")
    yield from called(name, arguments, call, at)
    status, decision = text_in(tool, "status"), text_in(tool, "userDecision")
    if status not in ("completed", "success", "error", "failed", "cancelled", "rejected") and not decision:
        return
    result = _arguments(tool.get("result"))
    code = result.get("exitCodeV2", result.get("exitCode"))
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    rejected = decision == "rejected" or status in ("cancelled", "rejected") or result.get("rejected") is True
    ok = status in ("completed", "success") and not rejected and code in (None, 0)
    shown = text_in(result, "output", "contents", "error") or str(tool.get("error") or "")
    action = action_of(name)
    yield ToolResult(
        at,
        call,
        ok=ok,
        text=excerpt(shown) if not ok or action == "shell" else "",
        exit_code=code,
        rejected=rejected,
        own_fault=not ok and not rejected and action == "edit",
    )


def _arguments(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return object_in(Raw(value.strip().encode("utf-8", "replace")))
    return value if isinstance(value, dict) else {}
