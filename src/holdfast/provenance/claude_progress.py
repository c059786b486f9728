"""Edits of subagents that older Claude Code wrote into the transcript of their session, as lines of progress.

The reader skips these lines, because the subagent's own file has them too. Where only the session's transcript was kept
they are the only record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from holdfast.agent_kit.jsonl import seconds, text_in
from holdfast.agent_kit.loose import record, records, tool_call
from holdfast.agents.claude_code.reader import ACTIONS
from holdfast.model.events import Event, ToolResult

_MARK = b'"agent_progress"'


def progress_edits(path: Path) -> Iterator[Event]:
    """The edits and commands of subagents with their results, as the reader would give them."""
    with suppress(OSError), open(path, "rb") as file:  # the reader has reported what cannot be read
        for raw in file:
            if _MARK not in raw or not (b'"tool_use"' in raw or b'"tool_result"' in raw):
                continue
            try:
                line: Any = msgspec.json.decode(raw)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            yield from _events(record(line, "data", "message"))


def _events(message: dict[str, Any]) -> Iterator[Event]:
    at = seconds(message.get("timestamp"))
    for block in records(record(message, "message").get("content")):
        if block.get("type") == "tool_use":
            action = ACTIONS.get(text_in(block, "name"), "other")
            if action in ("edit", "shell"):
                yield tool_call(
                    at, text_in(block, "id"), text_in(block, "name"), action, record(block, "input")
                )
        elif block.get("type") == "tool_result":
            yield ToolResult(at, text_in(block, "tool_use_id"), not block.get("is_error"))
