"""OpenCode's messages and parts as events; the same in all three forms in which a session is stored."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.guard.fence import MARK, strip_ours
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
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.transcripts.jsonl import excerpt, seconds, text_in
from holdfast.transcripts.loose import Record, count, money, patched_paths, record, records, todo_items
from holdfast.transcripts.written import written_by

ACTIONS: dict[str, Action] = {
    "bash": "shell",
    "shell": "shell",
    "edit": "edit",
    "multiedit": "edit",
    "write": "edit",
    "patch": "edit",
    "apply_patch": "edit",
    "read": "read",
    "grep": "search",
    "glob": "search",
    "list": "search",
    "ls": "search",
    "lsp": "search",
    "webfetch": "web",
    "websearch": "web",
    "codesearch": "web",
    "question": "ask",
    "plan_enter": "plan",
    "plan_exit": "plan",
    "todowrite": "todo",
    "todoread": "todo",
    "task": "agent",
}
_REJECTED = ("The user rejected permission", "The user dismissed this question")
_FEEDBACK = "with the following feedback: "
_ABORTED = "Tool execution aborted"


def message_events(info: Record, parts: list[Record], *, subagent: bool, headless: bool) -> Iterator[Event]:
    at = seconds(record(info, "time").get("created"))
    if info.get("role") == "user":
        if not subagent:
            yield from _person(parts, at, quoted=headless)
        elif at is not None:
            yield Tick(at)
    elif info.get("role") == "assistant":
        yield from _assistant(info, parts, at, subagent)


def _person(parts: list[Record], at: float | None, *, quoted: bool) -> Iterator[Event]:
    """Words that were typed; what the client read or a plugin said on its own account is marked."""
    spoken = [
        text_in(part, "text")
        for part in parts
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
    ]
    words = "\n".join(spoken).strip()
    if quoted and len(words) > 1 and words[0] == words[-1] == '"':
        words = words[1:-1].replace('\\"', '"')  # arguments of `opencode run` are stored with their quotes
    command = next((part for part in parts if part.get("type") == "subtask"), None)
    if command is not None:
        name = text_in(command, "command")
        yield UserTurn(at, words or text_in(command, "description"), command=f"/{name}" if name else "")
    elif words:
        yield UserTurn(at, words)


def _assistant(info: Record, parts: list[Record], at: float | None, subagent: bool) -> Iterator[Event]:
    ended = seconds(record(info, "time").get("completed"))
    if (report := _usage(info, ended or at)) is not None:
        yield report
    if info.get("summary") is True:
        spoken = (text_in(part, "text") for part in parts if part.get("type") == "text")
        yield Compaction(ended or at, strip_ours("\n".join(part for part in spoken if part)))
        return
    for part in parts:
        kind = part.get("type")
        if kind == "tool":
            yield from _tool(part, at)
        elif (
            kind == "text" and not subagent and not part.get("synthetic") and (words := text_in(part, "text"))
        ):
            yield AgentTurn(seconds(record(part, "time").get("end")) or at, words)
        elif kind == "retry":
            yield ApiFailure(at, _problem(record(part, "error")))
    yield from _ending(record(info, "error"), ended or at)
    if ended is not None:
        yield Tick(ended)


def _ending(error: Record, at: float | None) -> Iterator[Event]:
    if error.get("name") == "MessageAbortedError":
        yield Interruption(at)
    elif error:
        yield ApiFailure(at, _problem(error))


def _problem(error: Record) -> str:
    return text_in(record(error, "data"), "message") or text_in(error, "message", "name")


def _usage(info: Record, at: float | None) -> UsageReport | None:
    tokens = record(info, "tokens")
    usage = Usage(
        count(tokens.get("input")),
        # Thinking is billed as output and counted apart from it.
        count(tokens.get("output")) + count(tokens.get("reasoning")),
        count(record(tokens, "cache").get("read")),
        count(record(tokens, "cache").get("write")),
    )
    if usage == Usage():
        return None  # stopped or refused before the model said what it used
    return UsageReport(at, text_in(info, "id"), text_in(info, "modelID"), usage, money(info.get("cost")))


def _tool(part: Record, at: float | None) -> Iterator[Event]:
    name, call, state = text_in(part, "tool"), text_in(part, "callID", "id"), record(part, "state")
    action: Action = ACTIONS.get(name, "other")
    arguments = record(state, "input")
    started = seconds(record(state, "time").get("start")) or at
    paths = _paths(action, arguments)
    written = written_by(action, arguments, paths)
    yield ToolCall(started, call, name, action, _target(action, arguments, paths), paths, written)
    if name == "todowrite" and (items := todo_items(arguments.get("todos"))):
        yield TodoList(started, items)
    ended = seconds(record(state, "time").get("end")) or started
    if state.get("status") == "error":
        yield from _failed(call, action, text_in(state, "error"), ended)
    elif state.get("status") == "completed":
        code = record(state, "metadata").get("exit")
        known = isinstance(code, int) and not isinstance(code, bool)
        yield ToolResult(
            ended,
            call,
            ok=not (known and code),
            text=excerpt(_result(state)) if action in ("shell", "ask") else "",
            exit_code=code if known else None,
        )


def _result(state: Record) -> str:
    """What a tool said. A remedy of ours stands below it, and must go before a long output is cut."""
    said = text_in(state, "output")
    return strip_ours(said).rstrip("\n") if MARK in said else said


def _failed(call: str, action: Action, problem: str, at: float | None) -> Iterator[Event]:
    if problem.startswith(_ABORTED):
        yield ToolResult(at, call, ok=None, text=problem)
        return
    rejected = problem.startswith(_REJECTED)
    yield ToolResult(
        at,
        call,
        ok=False,
        text=excerpt(problem),
        rejected=rejected,
        own_fault=not rejected and action in ("edit", "read", "search", "todo"),
    )
    if rejected and _FEEDBACK in problem:
        yield UserTurn(at, problem.split(_FEEDBACK, 1)[1].strip(), feedback=True)


def _paths(action: Action, arguments: Record) -> tuple[str, ...]:
    if action not in ("edit", "read"):
        return ()
    if path := text_in(arguments, "filePath", "path"):
        return (path,)
    return patched_paths(text_in(arguments, "patchText", "patch"))


def _target(action: Action, arguments: Record, paths: tuple[str, ...]) -> str:
    if action == "shell":
        return text_in(arguments, "command")
    if action in ("edit", "read"):
        return paths[0] if paths else ""
    if action == "ask":
        return " ".join(text_in(item, "question") for item in records(arguments.get("questions")))
    return text_in(arguments, "pattern", "url", "query", "description", "path", "name")
