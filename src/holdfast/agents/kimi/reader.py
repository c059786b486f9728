"""Kimi Code: `~/.kimi-code/sessions/<workspace>/<session>/agents/<agent>/wire.jsonl`, and `state.json` two folders up.

What a person typed stands in `turn.prompt`; `context.append_message` repeats it among reminders of the client. Usage
comes as `usage.record` for each response and again in `step.end`. `agents/main` is the session, others are subagents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import Glance, usual_folder
from holdfast.agent_kit.jsonl import (
    LineAgent,
    excerpt,
    seconds,
    string_in,
    text_in,
    tick,
    words_in,
)
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    Record,
    actions,
    count,
    first_bytes,
    first_object,
    object_in,
    tool_call,
    with_todos,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="Bash",
    edit="Edit Write",
    read="Read ReadMediaFile",
    search="Grep Glob",
    web="FetchURL WebSearch",
    ask="AskUserQuestion",
    plan="EnterPlanMode ExitPlanMode",
    todo="TodoList",
    agent="Agent AgentSwarm",
)
_EXIT_CODE = lazy_regex(r"Command failed with exit code: (\d+)\.?\s*\Z")
_REJECTED = lazy_regex(
    r"was not run because the user rejected|^(?:User rejected the plan|Plan rejected by user)"
)
_MOST_STATE = 1 << 20


class _Step(Struct):
    """An event of the loop: a call, its result, or a part of what the model said."""

    type: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    toolCallId: str | None = None
    name: str | None = None
    args: Raw = Raw(b"")
    result: Raw = Raw(b"")
    part: Raw = Raw(b"")


class _Line(Struct):
    type: str | None = None
    time: float | None = None
    input: Raw = Raw(b"")
    origin: Raw = Raw(b"")
    promptId: str | None = None
    event: _Step | None = None
    model: str | None = None
    usage: Raw = Raw(b"")
    summary: Raw = Raw(b"")
    reason: str | None = None
    turnId: Raw = Raw(b"")


class _State(PassState):
    session: str = ""
    subagent: bool = False
    open_calls: dict[str, ev.Action] = field(default_factory=dict)


class KimiReading(LineReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        for line in self._lines:
            at = seconds(line.time)
            if not self._state.session:
                yield self._began(at)
            step = line.event or _Step()
            key = (
                step.uuid or step.toolCallId or line.promptId or bytes(line.turnId).decode("utf-8", "replace")
            )
            if not self._claims.repeated(f"kimi:{line.time}:{line.type}:{step.type}:{key}:{line.model}"):
                yield from self._line_events(line, step, at)

    def _began(self, at: float | None) -> ev.Began:
        agent, info = self._path.parent.name, stated(self._path)
        session = text_in(info, "id") or self._path.parent.parent.parent.name
        parent = session if agent != "main" and self._path.parent.parent.name == "agents" else ""
        self._state.session = f"{session}/{agent}" if parent else session
        self._state.subagent = bool(parent)
        title = text_in(info, "title") if info.get("isCustomTitle") is True else ""
        return ev.Began(
            at,
            session=self._state.session,
            parent=parent,
            cwd=text_in(info, "cwd"),
            title="" if parent else title,
        )

    def _line_events(self, line: _Line, step: _Step, at: float | None) -> Iterator[ev.Event]:
        if line.type == "turn.prompt":
            words = words_in(line.input).strip()
            if words and not self._state.subagent and object_in(line.origin).get("kind") == "user":
                yield ev.UserTurn(at, words)
        elif line.type == "context.append_loop_event":
            yield from self._step(step, at)
        elif line.type == "usage.record" and (usage := _usage(object_in(line.usage))) != ev.Usage():
            yield ev.UsageReport(
                at, f"{self._state.session}:{line.time}:{self._lines.line}", line.model or "", usage
            )
        elif line.type == "context.apply_compaction":
            yield ev.Compaction(at, string_in(line.summary) or words_in(line.summary))
        elif line.type == "turn.ended" and line.reason in ("cancelled", "canceled", "aborted", "interrupted"):
            yield ev.Interruption(at)
        else:
            yield from tick(at)

    def _step(self, step: _Step, at: float | None) -> Iterator[ev.Event]:
        if step.type == "tool.call":
            name, call = step.name or "", step.toolCallId or ""
            action = self._state.open_calls[call] = ACTIONS.get(name, "other")
            arguments = object_in(step.args)
            yield from with_todos(tool_call(at, call, name, action, arguments), arguments)
        elif step.type == "tool.result":
            yield from self._result(step.toolCallId or "", object_in(step.result), at)
        elif step.type == "content.part" and not self._state.subagent:
            part = object_in(step.part)
            if part.get("type") == "text" and (words := text_in(part, "text")).strip():
                yield ev.AgentTurn(at, words)
        else:
            yield from tick(at)

    def _result(self, call: str, result: Record, at: float | None) -> Iterator[ev.Event]:
        action = self._state.open_calls.pop(call, "other")
        output = result.get("output")
        text = output if isinstance(output, str) else words_in(Raw(msgspec.json.encode(output)))
        failed = result.get("isError") is True
        code = _EXIT_CODE.search(text) if failed and action == "shell" else None
        rejected = failed and bool(_REJECTED.search(text))
        yield ev.ToolResult(
            at,
            call,
            ok=not failed,
            text=excerpt(text) if failed or action in ("shell", "ask") else "",
            exit_code=int(code[1]) if code else None,
            rejected=rejected,
            own_fault=failed and not rejected and action in ("edit", "read", "search"),
        )


class Kimi(LineAgent):
    agent = "kimi"
    title = "Kimi Code"
    reading = KimiReading
    pattern = "*/*/agents/*/wire.jsonl"

    def roots(self, places: Places) -> Iterable[Path]:
        return (usual_folder(places, "KIMI_CODE_HOME", ".kimi-code") / "sessions",)

    def recognise(self, path: Path, head: bytes) -> bool:
        line = first_object(head)
        return line.get("type") == "metadata" and isinstance(line.get("protocol_version"), str)

    def glance(self, path: Path, head: bytes) -> Glance:
        line = first_object(head)
        return Glance(cwd=text_in(stated(path), "cwd"), started=seconds(line.get("created_at")))


def stated(path: Path) -> Record:
    """What `state.json` says of the session; nothing where the transcript was copied away from it."""
    return object_in(first_bytes(path.parent.parent.parent / "state.json", _MOST_STATE))


def _usage(tokens: Record) -> ev.Usage:
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    return ev.Usage(*(count(tokens.get(name)) for name in names))
