"""Grok Build: `~/.grok/sessions/<folder>/<session>/updates.jsonl`, session updates of the Agent Client Protocol.

`summary.json` beside it names the folder and the title. An answer comes in pieces, which are one turn until another
kind of update follows. Usage comes once for each turn, by model. A command that failed is a
completed call with an exit code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import Glance, usual_folder
from holdfast.agent_kit.jsonl import LineAgent, excerpt, seconds, string_after, text_in, tick
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    Record,
    actions,
    count,
    first_bytes,
    object_in,
    record,
    records,
    tool_call,
    whole_number,
    with_todos,
)
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="run_terminal_command",
    edit="search_replace write",
    read="read_file",
    search="grep list_dir search_tool",
    web="web_search web_fetch",
    ask="ask_user_question",
    plan="enter_plan_mode exit_plan_mode",
    todo="todo_write",
    agent="spawn_subagent",
)
_METHODS = ("session/update", "_x.ai/session/update")
_MOST_SUMMARY = 1 << 20


class _Line(Struct):
    timestamp: float | None = None
    method: str | None = None
    params: Raw = Raw(b"")


class _State(PassState):
    session: str = ""
    subagent: bool = False
    spoken: str = ""  # pieces of an answer that is not at its end
    spoken_at: float | None = None
    open_calls: dict[str, ev.Action] = field(default_factory=dict)


class GrokReading(LineReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        for line in self._lines:
            if line.method not in _METHODS:
                continue
            params = object_in(line.params)
            update, meta = record(params, "update"), record(params, "_meta")
            at = seconds(meta.get("agentTimestampMs")) or seconds(line.timestamp)
            if not self._state.session:
                yield self._began(text_in(params, "sessionId"), at)
            if (event := text_in(meta, "eventId")) and self._claims.repeated(f"grok:{event}"):
                continue
            kind = text_in(update, "sessionUpdate")
            if kind == "agent_message_chunk":
                self._state.spoken += text_in(record(update, "content"), "text")
                self._state.spoken_at = at
                continue
            yield from self._said()
            yield from self._update(kind, update, event, at)

    def _said(self) -> Iterator[ev.Event]:
        state = self._state
        if state.spoken.strip() and not state.subagent:
            yield ev.AgentTurn(state.spoken_at, state.spoken)
        state.spoken = ""

    def _began(self, session: str, at: float | None) -> ev.Began:
        summary = summary_of(self._path)
        parent = text_in(summary, "parent_session_id") if summary.get("session_kind") == "subagent" else ""
        self._state.session, self._state.subagent = session or self._path.parent.name, bool(parent)
        return ev.Began(
            at,
            session=self._state.session,
            parent=parent,
            cwd=folder_of(self._path, summary),
            provider="xai",
            headless=summary.get("session_kind") == "headless",
            title="" if parent else text_in(summary, "generated_title"),
        )

    def _update(self, kind: str, update: Record, event: str, at: float | None) -> Iterator[ev.Event]:
        if kind == "user_message_chunk":
            words = text_in(record(update, "content"), "text").strip()
            if words and not self._state.subagent:
                yield ev.UserTurn(at, words)
        elif kind == "tool_call":
            yield from self._call(update, at)
        elif kind == "tool_call_update" and update.get("status") in ("completed", "failed", "cancelled"):
            yield from self._result(update, at)
        elif kind == "turn_completed":
            yield from _usage(record(update, "usage"), f"{self._state.session}:{event}", at)
            if update.get("stop_reason") == "cancelled":
                yield ev.Interruption(at)
        else:
            yield from tick(at)

    def _call(self, update: Record, at: float | None) -> Iterator[ev.Event]:
        call = text_in(update, "toolCallId")
        name = text_in(record(update, "_meta", "x.ai/tool"), "name") or text_in(update, "title")
        action = self._state.open_calls[call] = ACTIONS.get(name, "other")
        arguments = record(update, "rawInput")
        return with_todos(tool_call(at, call, name, action, arguments), arguments)

    def _result(self, update: Record, at: float | None) -> Iterator[ev.Event]:
        call, output = text_in(update, "toolCallId"), record(update, "rawOutput")
        action = self._state.open_calls.pop(call, "other")
        code = whole_number(output.get("exit_code"))
        status = update.get("status")
        ok = status == "completed" and not code
        texts = (text_in(record(part, "content"), "text") for part in records(update.get("content")))
        text = "\n".join(part for part in texts if part)
        yield ev.ToolResult(
            at,
            call,
            ok=ok,
            text=excerpt(text) if not ok or action in ("shell", "ask") else "",
            exit_code=code,
            rejected=status == "cancelled",
            own_fault=status == "failed" and action in ("edit", "read", "search"),
        )


class Grok(LineAgent):
    agent = "grok"
    title = "Grok Build"
    reading = GrokReading
    pattern = "*/*/updates.jsonl"

    def roots(self, places: Places) -> Iterable[Path]:
        return (usual_folder(places, "GROK_HOME", ".grok") / "sessions",)

    def recognise(self, path: Path, head: bytes) -> bool:
        start = head[:4096]
        return b'"sessionUpdate"' in start and string_after("method", start) in _METHODS

    def glance(self, path: Path, head: bytes) -> Glance:
        first = head.split(b"\n", 1)[0]
        stamp = object_in(first).get("timestamp") if first.startswith(b"{") else None
        return Glance(cwd=folder_of(path, summary_of(path)), started=seconds(stamp))


def summary_of(path: Path) -> Record:
    return object_in(first_bytes(path.with_name("summary.json"), _MOST_SUMMARY))


def folder_of(path: Path, summary: Record) -> str:
    """The folder of the session, as `summary.json` says it, else as the name of the group spells it."""
    name = path.parent.parent.name
    return text_in(record(summary, "info"), "cwd") or (unquote(name) if name.startswith("%2F") else "")


def _usage(usage: Record, key: str, at: float | None) -> Iterator[ev.Event]:
    for model, figures in record(usage, "modelUsage").items():
        tokens = record(figures)
        cached, written = count(tokens.get("cachedReadTokens")), count(tokens.get("cacheCreationTokens"))
        found = ev.Usage(
            max(count(tokens.get("inputTokens")) - cached - written, 0),
            count(tokens.get("outputTokens")),
            cached,
            written,
        )
        if found != ev.Usage():
            yield ev.UsageReport(at, f"{key}:{model}", model, found)
