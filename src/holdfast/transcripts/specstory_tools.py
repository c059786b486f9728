"""Tool uses as SpecStory writes them down: a kind, a name, a summary, and what the tool answered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.model.session import (
    Action,
    Event,
    Interruption,
    Todo,
    TodoList,
    TodoStatus,
    ToolCall,
    ToolResult,
    UserTurn,
)
from holdfast.transcripts.claude_code import ACTIONS
from holdfast.transcripts.jsonl import excerpt
from holdfast.transcripts.loose import patched_paths

_OPENING = re.compile(r'<tool-use(?: data-tool-type="([^"]*)")?(?: data-tool-name="([^"]*)")?')
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_FENCED = re.compile(r"^(`{3,}|~{3,})([\w+-]*)[^\n]*\n(.*?)(?:\n\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_WRITTEN = re.compile(r"(?:File created successfully at: |The file )(/\S+|[A-Za-z]:\\\S+)")
_TITLED = re.compile(r"• \w+ file: ([^\n<]+)")  # as the IDE's tools are summed up
_EXIT = re.compile(r"\A(?:Exit code:? (\d+)|.{0,200}?Process exited with code (\d+))", re.DOTALL)
_TODO = re.compile(r"^- \[(.{1,2})\] (?:[🔥🌡❄]\ufe0f? )?(.+?)\s*$", re.MULTILINE)
_REJECTED = "The user doesn't want to proceed with this tool use"
_USER_SAID = "the user said:\n"
_KINDS: dict[str, Action] = {"shell": "shell", "read": "read", "write": "edit", "search": "search"}
_NAMES: dict[str, Action] = {
    "shell": "shell",
    "exec_command": "shell",
    "update_plan": "todo",
    "apply_patch": "edit",
}
_MARKS: dict[str, TodoStatus] = {"X": "completed", "x": "completed", "⚡": "in_progress"}


def tool_events(block: str, call: str, at: float | None, agent: str) -> Iterator[Event]:
    opening = _OPENING.match(block)
    kind, name = (opening[1] or "", opening[2] or "") if opening else ("", "")
    if not name and (bold := re.search(r"\*\*([^*]+)\*\*", block)):
        name = bold[1]
    action = ACTIONS.get(name) or _KINDS.get(kind) or _NAMES.get(name, "other")
    body = _SUMMARY.sub(lambda found: found[1], block.partition(">")[2], count=1)
    fences = [(found[2], found[3]) for found in _FENCED.finditer(body)]
    output = fences[-1][1] if fences and fences[-1][0] in ("", "text") else ""
    paths = _paths(action, body, output)
    yield ToolCall(at, call, name, action, _target(action, body, fences, paths), paths)
    if action == "todo" and (items := _todos(body)):
        yield TodoList(at, items)
    yield from _ended(output, "**Error:**" in body, call, at, says_so=agent == "claude-code")


def _ended(output: str, stated: bool, call: str, at: float | None, *, says_so: bool) -> Iterator[Event]:
    """Claude prefixes what went wrong; of the others only a stated exit code or error is known."""
    found = _EXIT.match(output)
    code = int(found[1] or found[2]) if found else None
    rejected = output.startswith(_REJECTED)
    refused = output.startswith("<tool_use_error>")
    failed = rejected or refused or stated or bool(code)
    ok = False if failed else True if says_so or code == 0 else None
    yield ToolResult(
        at, call, ok=ok, text=excerpt(output), exit_code=code, rejected=rejected, own_fault=refused
    )
    if rejected and _USER_SAID in output:
        yield UserTurn(at, output.split(_USER_SAID, 1)[1].strip(), feedback=True)
    if output.startswith("[Request interrupted by user"):
        yield Interruption(at)


def _before_output(body: str) -> str:
    return body[: found.start()] if (found := _FENCED.search(body)) else body


def _paths(action: Action, body: str, output: str) -> tuple[str, ...]:
    if action not in ("edit", "read"):
        return ()
    if patched := patched_paths(body):
        return patched
    before = _before_output(body)
    if named := _TITLED.search(before) or _INLINE.search(before):
        return (named[1].strip().removeprefix("./"),)
    written = _WRITTEN.search(output[:500])
    return (written[1].rstrip(".,"),) if written else ()


def _target(action: Action, body: str, fences: list[tuple[str, str]], paths: tuple[str, ...]) -> str:
    if action in ("edit", "read"):
        return paths[0] if paths else ""
    if action == "shell" and fences and fences[0][0] in ("bash", "sh", "shell", "powershell"):
        return fences[0][1]
    if action == "todo":
        return ""
    named = _INLINE.findall(_before_output(body))
    if action == "shell":
        return named[-1] if named else ""
    return " ".join(named)


def _todos(body: str) -> tuple[Todo, ...]:
    return tuple(
        Todo(words, _MARKS.get(mark.rstrip("\ufe0f"), "pending")) for mark, words in _TODO.findall(body)
    )
