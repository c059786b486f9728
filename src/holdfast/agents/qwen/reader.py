"""Qwen Code: `~/.qwen/projects/<slug>/chats/<id>.jsonl`, subagents in `subagents/<session>/` beside it.

Lines look like Claude Code's (uuid, parentUuid, sessionId, cwd) around contents in Gemini's shape. A branch
copies the history under the same uuids; what the client injects carries another provenance than a person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import usual_folder
from holdfast.agent_kit.jsonl import LineAgent, seconds, text_in, tick
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    first_object,
    object_in,
    record,
    records,
    whole_number,
    with_todos,
)
from holdfast.agent_kit.questions import OpenQuestion, questions_in
from holdfast.agents.gemini.shape import (
    answer_of,
    by_words,
    described,
    judged,
    own_words,
    parts_of,
    spoken,
    stopped,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

_HUMAN = (None, "mid_turn_user_message")
_ENVELOPE = 2048  # of a long line: what stands before the content
_OWN_LINE = lazy_regex(rb'"type":\s*"(?:user|assistant|tool_result|system)"')
_OWN_MESSAGE = lazy_regex(rb'"(?:parts|systemPayload|usageMetadata|toolCallResult)":')


class _Message(Struct):
    role: str | None = None
    parts: Raw = Raw(b"")


class _Tokens(Struct):
    promptTokenCount: int | None = None
    candidatesTokenCount: int | None = None
    thoughtsTokenCount: int | None = None
    totalTokenCount: int | None = None
    cachedContentTokenCount: int | None = None


class _Result(Struct):
    callId: str | None = None
    status: str | None = None
    resultDisplay: Raw = Raw(b"")
    error: Raw = Raw(b"")


class _Line(Struct):
    uuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    type: str | None = None
    subtype: str | None = None
    provenance: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    model: str | None = None
    agentId: str | None = None
    isSidechain: bool | None = None
    message: _Message | None = None
    usageMetadata: _Tokens | None = None
    toolCallResult: _Result | None = None
    systemPayload: Raw = Raw(b"")


class _State(PassState):
    began: tuple[str, str, str, str] = ("", "", "", "")
    subagent: bool = False
    open_calls: dict[str, ev.Action] = field(default_factory=dict)
    asked: dict[str, tuple[OpenQuestion, ...]] = field(default_factory=dict)


class QwenReading(LineReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        for line in self._lines:
            if line.uuid and self._claims.repeated(line.uuid):
                continue
            at = seconds(line.timestamp)
            yield from self._began(line, at)
            if line.type == "assistant":
                yield from self._model(line, at)
            elif line.type == "tool_result":
                yield from self._result(line, at)
            elif line.type == "user":
                yield from self._person(line, at)
            elif line.type == "system":
                yield from self._system(line, at)

    def _began(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        state = self._state
        began = (line.sessionId or "", line.cwd or "", line.gitBranch or "", line.version or "")
        if began == state.began or not began[0]:
            return
        state.began, state.subagent = began, bool(line.isSidechain and line.agentId)
        session, cwd, branch, version = began
        yield ev.Began(
            at,
            session=f"{session}/{line.agentId}" if state.subagent else session,
            parent=session if state.subagent else "",
            cwd=cwd,
            branch=branch,
            version=version,
        )

    def _person(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        text = text_in(object_in(line.systemPayload), "displayText")
        if not text and line.message is not None:
            text = spoken(parts_of(line.message.parts))
        words = own_words(text)
        human = line.provenance in (None, "real_user") and line.subtype in _HUMAN and not self._state.subagent
        if human and words:
            yield ev.UserTurn(at, words)
        else:
            yield from tick(at)

    def _model(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        if line.usageMetadata is not None and (usage := _usage(line.usageMetadata)) != ev.Usage():
            yield ev.UsageReport(at, line.uuid or f"{self._state.began[0]}:{at}", line.model or "", usage)
        parts = parts_of(line.message.parts) if line.message else []
        if (text := spoken(parts).strip()) and not self._state.subagent:
            yield ev.AgentTurn(at, text)
        for part in parts:
            if part.functionCall is not None:
                name, arguments = part.functionCall.name or "", object_in(part.functionCall.args)
                call = described(name, arguments, part.functionCall.id or "", at)
                self._state.open_calls[call.call] = call.action
                if call.action == "ask":
                    self._state.asked[call.call] = questions_in(arguments)
                yield from with_todos(call, arguments)

    def _result(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        result = line.toolCallResult or _Result()
        responses = [
            part.functionResponse
            for part in (parts_of(line.message.parts) if line.message else [])
            if part.functionResponse is not None
        ]
        call = result.callId or next((response.id for response in responses if response.id), "")
        text = "\n".join(filter(None, (answer_of(response.response) for response in responses)))
        text = text or answer_of(result.error)
        action = self._state.open_calls.pop(call, "other")
        display = object_in(result.resultDisplay)
        status = result.status or ""
        yield judged(call, action, status, text, at, whole_number(display.get("exitCode")))
        yield from by_words(at, self._state.asked.pop(call, ()), display)
        if status == "cancelled" and stopped(text):
            yield ev.Interruption(at)

    def _system(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        payload = object_in(line.systemPayload)
        if line.subtype == "chat_compression":
            yield ev.Compaction(at, _summary(payload))
        elif line.subtype == "rewind" or (
            line.subtype == "turn_result" and payload.get("state") == "cancelled"
        ):
            yield ev.Interruption(at)
        elif line.subtype == "parent_session" and (parent := text_in(payload, "parentSessionId")):
            yield ev.Began(at, parent=parent)
        elif line.subtype == "custom_title" and (title := text_in(payload, "customTitle", "title")):
            yield ev.Began(at, title=title)
        elif failure := _failure(line.subtype, payload):
            yield ev.ApiFailure(at, failure)
        else:
            yield from tick(at)


class Qwen(LineAgent):
    agent = "qwen"
    title = "Qwen Code"
    reading = QwenReading

    def roots(self, places: Places) -> Iterable[Path]:
        variable = "QWEN_RUNTIME_DIR" if places.env.get("QWEN_RUNTIME_DIR") else "QWEN_HOME"
        return (usual_folder(places, variable, ".qwen") / "projects",)

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from root.glob("*/chats/*.jsonl")
        yield from root.glob("*/subagents/**/*.jsonl")

    def recognise(self, path: Path, head: bytes) -> bool:
        """Claude Code's envelope with Gemini's contents in it."""
        line = first_object(head)
        if line:
            return (
                "sessionId" in line
                and "uuid" in line
                and ("parts" in record(line, "message") or "systemPayload" in line or "provenance" in line)
            )
        start = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:_ENVELOPE]
        return start.startswith(b'{"uuid":') and bool(_OWN_LINE.search(start) and _OWN_MESSAGE.search(start))


def _usage(tokens: _Tokens) -> ev.Usage:
    """Thoughts are part of the output with some providers and come on top of it with others: the total tells."""
    prompt, output, cached = (
        tokens.promptTokenCount or 0,
        tokens.candidatesTokenCount or 0,
        tokens.cachedContentTokenCount or 0,
    )
    thoughts = tokens.thoughtsTokenCount or 0
    if thoughts and (tokens.totalTokenCount is None or prompt + output + thoughts <= tokens.totalTokenCount):
        output += thoughts
    return ev.Usage(max(prompt - cached, 0), output, cached)


def _summary(payload: dict[str, Any]) -> str:
    turns = records(payload.get("compressedHistory"))
    return spoken(parts_of(Raw(msgspec.json.encode(turns[0].get("parts"))))) if turns else ""


def _failure(subtype: str | None, payload: dict[str, Any]) -> str:
    """What the model's service answered when it failed, where a line reports that; '' elsewhere."""
    event = record(payload, "uiEvent")
    if subtype == "ui_telemetry" and str(event.get("event.name", "")).endswith(".api_error"):
        return text_in(event, "error_message", "error", "error_type") or "the model's service failed"
    if subtype == "turn_result" and payload.get("state") == "error":
        return text_in(record(payload, "error"), "message") or "the turn failed"
    return ""
