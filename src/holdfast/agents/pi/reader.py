"""Pi: `~/.pi/agent/sessions/<slug>/<time>_<id>.jsonl`: a header line, then entries that form a tree.

A fork copies the entries it starts from into a new file, ids and times included, so an entry is claimed by both.
Prices that Pi does not know it writes as zero: only a cost above zero is a stated one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import Glance, usual_folder
from holdfast.agent_kit.jsonl import Block, LineAgent, blocks_in, excerpt, seconds, text_in, tick, words_in
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    actions,
    first_object,
    object_in,
    tool_call,
    with_todos,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="bash",
    edit="edit write",
    read="read",
    search="grep find ls",
    web="web_search fetch",
    ask="question",
    todo="todo",
    agent="subagent",
)
_EXIT_CODE = lazy_regex(r"Command exited with code (\d+)\s*\Z")
_STOPPED = lazy_regex(r"(?:Operation|Command) aborted\s*\Z")


class _Cost(Struct):
    total: float | None = None


class _Tokens(Struct):
    input: int | None = None
    output: int | None = None
    cacheRead: int | None = None
    cacheWrite: int | None = None
    cost: _Cost | None = None


class _Message(Struct):
    role: str | None = None
    content: Raw = Raw(b"")
    provider: str | None = None
    model: str | None = None
    usage: _Tokens | None = None
    stopReason: str | None = None
    errorMessage: str | None = None
    toolCallId: str | None = None
    isError: bool | None = None


class _Line(Struct):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    provider: str | None = None
    summary: str | None = None
    name: str | None = None
    message: _Message | None = None


class _State(PassState):
    session: str = ""
    open_calls: dict[str, ev.Action] = field(default_factory=dict)


class PiReading(LineReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        for line in self._lines:
            at = seconds(line.timestamp)
            if line.type == "session":
                if line.id and not self._state.session:
                    self._state.session = line.id
                    yield ev.Began(at, session=line.id, cwd=line.cwd or "", provider=line.provider or "")
                continue
            identity = line.id or f"{self._state.session}#{self._lines.line}"
            if self._claims.repeated(f"pi:{identity}:{line.timestamp}"):
                continue
            if line.type == "message" and line.message is not None:
                yield from self._message(line.message, f"pi:{identity}:{line.timestamp}", at)
            elif line.type == "compaction":
                yield ev.Compaction(at, line.summary or "")
            elif line.type == "model_change" and line.provider:
                yield ev.Began(at, provider=line.provider)
            elif line.type == "session_info" and line.name:
                yield ev.Began(at, title=line.name)
            else:
                yield from tick(at)

    def _message(self, message: _Message, key: str, at: float | None) -> Iterator[ev.Event]:
        if message.role == "assistant":
            yield from self._model(message, key, at)
        elif message.role == "toolResult":
            yield from self._result(message, at)
        elif message.role == "user" and (words := words_in(message.content).strip()):
            yield ev.UserTurn(at, words)
        else:
            yield from tick(at)

    def _model(self, message: _Message, key: str, at: float | None) -> Iterator[ev.Event]:
        if message.usage is not None and (usage := _usage(message.usage)) != ev.Usage():
            stated = message.usage.cost.total if message.usage.cost else None
            yield ev.UsageReport(at, key, message.model or "", usage, stated or None)
        for block in blocks_in(message.content):
            if block.type == "text" and block.text and block.text.strip():
                yield ev.AgentTurn(at, block.text)
            elif block.type == "toolCall":
                yield from self._call(block, at)
        if message.stopReason == "aborted":
            yield ev.Interruption(at)
        elif message.stopReason == "error":
            yield ev.ApiFailure(at, message.errorMessage or "the model's service failed")
        else:
            yield from tick(at)

    def _call(self, block: Block, at: float | None) -> Iterator[ev.Event]:
        name, call = block.name or "", block.id or ""
        action = self._state.open_calls[call] = ACTIONS.get(name, "other")
        arguments = object_in(block.arguments)
        return with_todos(tool_call(at, call, name, action, arguments), arguments)

    def _result(self, message: _Message, at: float | None) -> Iterator[ev.Event]:
        call = message.toolCallId or ""
        action = self._state.open_calls.pop(call, "other")
        failed = bool(message.isError)
        text = words_in(message.content) if failed or action == "shell" else ""
        code = _EXIT_CODE.search(text) if failed else None
        aborted = failed and bool(_STOPPED.search(text))
        yield ev.ToolResult(
            at,
            call,
            ok=not failed,
            text=excerpt(text),
            exit_code=int(code[1]) if code else None,
            rejected=aborted,
            own_fault=failed and action == "edit" and not aborted,
        )
        if aborted:
            yield ev.Interruption(at)


class Pi(LineAgent):
    agent = "pi"
    title = "Pi"
    reading = PiReading

    def roots(self, places: Places) -> Iterable[Path]:
        if sessions := places.env.get("PI_CODING_AGENT_SESSION_DIR", "").strip():
            return (Path(sessions),)
        return (usual_folder(places, "PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions",)

    def recognise(self, path: Path, head: bytes) -> bool:
        line = first_object(head)
        return (
            line.get("type") == "session"
            and "format" not in line
            and all(isinstance(line.get(name), str) for name in ("id", "timestamp", "cwd"))
        )

    def glance(self, path: Path, head: bytes) -> Glance:
        line = first_object(head)
        return Glance(cwd=text_in(line, "cwd"), started=seconds(line.get("timestamp")))


def _usage(tokens: _Tokens) -> ev.Usage:
    return ev.Usage(tokens.input or 0, tokens.output or 0, tokens.cacheRead or 0, tokens.cacheWrite or 0)
