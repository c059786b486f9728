"""OpenCode's messages and parts as events; the same in all three forms in which a session is stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.agent_kit.contract import Claims, Glance, usual_folder
from holdfast.agent_kit.jsonl import excerpt, seconds, string_after, text_in, tick
from holdfast.agent_kit.loose import (
    Record,
    actions,
    count,
    first_bytes,
    money,
    object_in,
    patched_paths,
    record,
    records,
    tool_call,
    whole_number,
    with_todos,
)
from holdfast.agent_kit.sqlite_source import DatabaseAgent, StoreReading, has_tables, is_sqlite
from holdfast.agents.opencode.stores import (
    KILO,
    TABLES,
    DatabaseSession,
    ExportedSession,
    Message,
    SessionTree,
    forbids_questions,
    stored_sessions,
    tree_stamp,
)
from holdfast.core.fence import MARK, strip_ours
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="bash shell",
    edit="edit multiedit write patch apply_patch",
    read="read",
    search="grep glob list ls lsp",
    web="webfetch websearch codesearch",
    ask="question",
    plan="plan_enter plan_exit",
    todo="todowrite todoread",
    agent="task",
)
_REJECTED = ("The user rejected permission", "The user dismissed this question")
_FEEDBACK = "with the following feedback: "
_UNTITLED = lazy_regex(r"(?:New|Child) session - \d{4}-")
_ABORTED = "Tool execution aborted"
_SESSION_ID = lazy_regex(rb'"id"\s*:\s*"(ses_[A-Za-z0-9]+)"')
_EXPORT = lazy_regex(rb'\A[\xef\xbb\xbf\s]*\{\s*"info"\s*:\s*\{')
_INFO = lazy_regex(rb'\A[\xef\xbb\xbf\s]*\{\s*"id"\s*:\s*"ses_[A-Za-z0-9]+"\s*,')


def message_events(
    info: Record, parts: list[Record], *, subagent: bool, headless: bool
) -> Iterator[ev.Event]:
    at = seconds(record(info, "time").get("created"))
    if info.get("role") == "user":
        if not subagent:
            yield from _person(parts, at, quoted=headless)
        else:
            yield from tick(at)
    elif info.get("role") == "assistant":
        yield from _assistant(info, parts, at, subagent)


def _person(parts: list[Record], at: float | None, *, quoted: bool) -> Iterator[ev.Event]:
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
        yield ev.UserTurn(at, words or text_in(command, "description"), command=f"/{name}" if name else "")
    elif words:
        yield ev.UserTurn(at, words)


def _assistant(info: Record, parts: list[Record], at: float | None, subagent: bool) -> Iterator[ev.Event]:
    ended = seconds(record(info, "time").get("completed"))
    if (report := _usage(info, ended or at)) is not None:
        yield report
    if info.get("summary") is True:
        spoken = (text_in(part, "text") for part in parts if part.get("type") == "text")
        yield ev.Compaction(ended or at, strip_ours("\n".join(part for part in spoken if part)))
        return
    for part in parts:
        kind = part.get("type")
        if kind == "tool":
            yield from _tool(part, at)
        elif (
            kind == "text" and not subagent and not part.get("synthetic") and (words := text_in(part, "text"))
        ):
            yield ev.AgentTurn(seconds(record(part, "time").get("end")) or at, words)
        elif kind == "retry":
            yield ev.ApiFailure(at, _problem(record(part, "error")))
    yield from _ending(record(info, "error"), ended or at)
    yield from tick(ended)


def _ending(error: Record, at: float | None) -> Iterator[ev.Event]:
    if error.get("name") == "MessageAbortedError":
        yield ev.Interruption(at)
    elif error:
        yield ev.ApiFailure(at, _problem(error))


def _title(info: Record) -> str:
    title = text_in(info, "title")
    return "" if _UNTITLED.match(title) else title


def _problem(error: Record) -> str:
    return text_in(record(error, "data"), "message") or text_in(error, "message", "name")


def _usage(info: Record, at: float | None) -> ev.UsageReport | None:
    tokens = record(info, "tokens")
    usage = ev.Usage(
        count(tokens.get("input")),
        # Thinking is billed as output and counted apart from it.
        count(tokens.get("output")) + count(tokens.get("reasoning")),
        count(record(tokens, "cache").get("read")),
        count(record(tokens, "cache").get("write")),
    )
    if usage == ev.Usage():
        return None  # stopped or refused before the model said what it used
    return ev.UsageReport(at, text_in(info, "id"), text_in(info, "modelID"), usage, money(info.get("cost")))


def _tool(part: Record, at: float | None) -> Iterator[ev.Event]:
    name, call, state = text_in(part, "tool"), text_in(part, "callID", "id"), record(part, "state")
    action: ev.Action = ACTIONS.get(name, "other")
    arguments = record(state, "input")
    started = seconds(record(state, "time").get("start")) or at
    paths = _paths(action, arguments)
    target = _target(action, arguments, paths)
    yield from with_todos(
        tool_call(started, call, name, action, arguments, target, paths),
        arguments if name == "todowrite" else {},
    )
    ended = seconds(record(state, "time").get("end")) or started
    if state.get("status") == "error":
        yield from _failed(call, action, text_in(state, "error"), ended)
    elif state.get("status") == "completed":
        code = whole_number(record(state, "metadata").get("exit"))
        text = excerpt(_result(state)) if action in ("shell", "ask") else ""
        yield ev.ToolResult(ended, call, ok=not code, text=text, exit_code=code)


def _result(state: Record) -> str:
    """What a tool said. A remedy of ours stands below it, and must go before a long output is cut."""
    output = text_in(state, "output")
    return strip_ours(output).rstrip("\n") if MARK in output else output


def _failed(call: str, action: ev.Action, problem: str, at: float | None) -> Iterator[ev.Event]:
    if problem.startswith(_ABORTED):
        yield ev.ToolResult(at, call, ok=None, text=problem)
        return
    rejected = problem.startswith(_REJECTED)
    yield ev.ToolResult(
        at,
        call,
        ok=False,
        text=excerpt(problem),
        rejected=rejected,
        own_fault=not rejected and action in ("edit", "read", "search", "todo"),
    )
    if rejected and _FEEDBACK in problem:
        yield ev.UserTurn(at, problem.split(_FEEDBACK, 1)[1].strip(), feedback=True)


def _paths(action: ev.Action, arguments: Record) -> tuple[str, ...]:
    if action not in ("edit", "read"):
        return ()
    if path := text_in(arguments, "filePath", "path"):
        return (path,)
    return patched_paths(text_in(arguments, "patchText", "patch"))


def _target(action: ev.Action, arguments: Record, paths: tuple[str, ...]) -> str:
    if action == "shell":
        return text_in(arguments, "command")
    if action in ("edit", "read"):
        return paths[0] if paths else ""
    if action == "ask":
        return " ".join(text_in(item, "question") for item in records(arguments.get("questions")))
    return text_in(arguments, "pattern", "url", "query", "description", "path", "name")


class OpenCodeReading(StoreReading[Message]):
    def _events(self) -> Iterator[ev.Event]:
        info = self._store.info()
        subagent, headless = bool(text_in(info, "parentID")), forbids_questions(info)
        last_provider: str | None = None
        for message, parts in self._store.messages():
            if self._counted(message):
                continue
            cwd = text_in(record(message, "path"), "cwd") or text_in(info, "directory")
            provider = text_in(message, "providerID") or text_in(record(message, "model"), "providerID")
            if provider != last_provider:
                last_provider = provider
                yield ev.Began(
                    seconds(record(message, "time").get("created")),
                    session=text_in(info, "id") or text_in(message, "sessionID"),
                    parent=text_in(info, "parentID"),
                    cwd=cwd,
                    version=text_in(info, "version"),
                    provider=provider,
                    headless=headless and not subagent,
                    title=_title(info),
                )
            yield from message_events(message, parts, subagent=subagent, headless=headless)

    def _counted(self, message: Record) -> bool:
        """Whether another copy of the message was read: under its id, or as what it was before a fork."""
        identity = text_in(message, "id")
        if identity and self._claims.repeated(identity):
            return True
        time, tokens = record(message, "time"), record(message, "tokens")
        if message.get("role") == "assistant" and time.get("completed"):
            origin = f"opencode:{time.get('created')}:{time['completed']}:{tokens}:{message.get('modelID')}"
            return self._claims.repeated(origin)
        if message.get("role") == "user" and time.get("created"):
            return self._claims.repeated(f"opencode:user:{time['created']}:{message.get('agent')}")
        return False


class OpenCode(DatabaseAgent):
    agent = "opencode"
    title = "OpenCode"
    tables = TABLES

    def roots(self, places: Places) -> Iterable[Path]:
        yield usual_folder(places, "XDG_DATA_HOME", ".local", "share") / "opencode"

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from sorted(root.glob("opencode*.db"))
        yield from sorted(root.glob("storage/session/*/*.json"))
        yield from sorted(root.glob("project/*/storage/session/info/*.json"))

    def recognise(self, path: Path, head: bytes) -> bool:
        """Kilo Code's database has the same tables and more."""
        if not super().recognise(path, head):
            return False
        return self.tables is not TABLES or not is_sqlite(head) or not has_tables(path, head, KILO)

    def is_own_file(self, path: Path, head: bytes) -> bool:
        if _EXPORT.match(head):
            return bool(_SESSION_ID.search(head[:4096]))
        if not _INFO.match(head):
            return False
        info = object_in(head)
        return not info or (isinstance(info.get("time"), dict) and "messages" not in info)

    def glance(self, path: Path, head: bytes) -> Glance:
        stamp = re.search(rb'"created"\s*:\s*(\d{10,14})', head)
        directory = string_after("directory", head)
        started = seconds(int(stamp[1])) if stamp else None
        if _EXPORT.match(head):
            return Glance(directory, started)
        size, changed = tree_stamp(path, path.stem)
        status = path.stat()
        return Glance(
            directory, started, size=status.st_size + size, changed=max(status.st_mtime_ns, changed)
        )

    def stored(self, path: Path, part: str, claims: Claims) -> OpenCodeReading:
        return OpenCodeReading(DatabaseSession(path, part), claims)

    def file(self, path: Path, claims: Claims) -> OpenCodeReading:
        is_export = _EXPORT.match(first_bytes(path, 4096))
        return OpenCodeReading(ExportedSession(path) if is_export else SessionTree(path), claims)

    def stored_sessions(self, path: Path) -> Iterable[Glance]:
        return stored_sessions(path)
