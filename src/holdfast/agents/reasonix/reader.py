"""Reasonix: `~/.reasonix/sessions/<name>.events.jsonl`, the log of typed events beside each session's messages.

Ids of calls restart with every run; the directory and branch stand in `<name>.meta.json`; a cost of zero
means that the client knew no usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import Glance
from holdfast.agent_kit.jsonl import LineAgent, excerpt, seconds, text_in, tick
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    actions,
    first_bytes,
    first_object,
    object_in,
    paths_of,
    target_of,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="run_command run_background",
    edit="edit_file multi_edit write_file",
    read="read_file",
    search="search_content search_files list_directory directory_tree glob",
    web="web_search web_fetch",
    ask="ask_choice",
    plan="submit_plan revise_plan",
    todo="mark_step_complete todo_write",
    agent="spawn_subagent run_skill",
)
SUFFIX = ".events.jsonl"
_TYPES = (
    "user.message",
    "slash.invoked",
    "model.",
    "tool.",
    "session.",
    "capability.",
    "effect.",
    "checkpoint.",
)
_EXIT_CODE = lazy_regex(r"\A\$ .*\n\[exit (-?\d+)\]")
_LARGEST_META = 1024 * 1024


class _Tokens(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None


class _Step(Struct):
    id: str | None = None
    title: str | None = None


class _Line(Struct):
    type: str | None = None
    id: int | None = None
    ts: str | None = None
    text: str | None = None
    model: str | None = None
    content: str | None = None
    usage: _Tokens | None = None
    costUsd: float | None = None
    callId: str | None = None
    name: str | None = None
    args: Raw = Raw(b"")
    ok: bool | None = None
    output: str | None = None
    reason: str | None = None
    steps: list[_Step] | None = None
    stepId: str | None = None
    message: str | None = None
    recoverable: bool | None = None


class _State(PassState):
    session: str = ""
    run: int = 0
    model: str = ""
    open_calls: dict[str, ev.Action] = field(default_factory=dict)
    plan: dict[str, tuple[str, bool]] = field(default_factory=dict)


class ReasonixReading(LineReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        state = self._state
        for line in self._lines:
            if line.type is None or line.ts is None:
                continue
            at = seconds(line.ts)
            if not state.session:
                yield self._began(at)
            if line.type == "session.opened":
                state.run += 1
            if self._claims.repeated(f"reasonix:{state.session}:{line.ts}:{line.id}:{line.type}"):
                continue
            yield from self._event(line, line.type, at)

    def _began(self, at: float | None) -> ev.Event:
        """Names are reused on other machines and in other projects: the first moment makes them one session's."""
        name, meta = session_name(self._path), _meta(self._path)
        suffix = datetime.fromtimestamp(at, UTC).strftime("-%Y%m%d%H%M%S") if at is not None else ""
        self._state.session = name + suffix
        return ev.Began(
            at,
            session=self._state.session,
            cwd=text_in(meta, "workspace"),
            branch=text_in(meta, "branch"),
            provider="deepseek",
        )

    def _event(self, line: _Line, kind: str, at: float | None) -> Iterator[ev.Event]:
        if kind == "user.message" and line.text and line.text.strip():
            yield ev.UserTurn(at, line.text.strip())
        elif kind == "model.turn.started":
            self._state.model = line.model or self._state.model
        elif kind == "model.final":
            yield from self._model(line, at)
        elif kind == "tool.intent":
            yield self._call(line, at)
        elif kind in ("tool.result", "tool.denied"):
            yield self._result(line, kind == "tool.denied", at)
        elif kind in ("plan.submitted", "plan.step.completed"):
            yield from self._planned(line, at)
        elif kind == "session.compacted":
            yield ev.Compaction(at)
        elif kind == "error" and not line.recoverable:
            yield ev.ApiFailure(at, line.message or "")
        else:
            yield from tick(at)

    def _model(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        usage = _usage(line.usage) if line.usage is not None else ev.Usage()
        if usage != ev.Usage():
            key = f"{self._state.session}:{line.ts}:{line.id}"
            yield ev.UsageReport(at, key, self._state.model, usage, line.costUsd or None)
        if line.content and line.content.strip():
            yield ev.AgentTurn(at, line.content)
        else:
            yield from tick(at)

    def _call(self, line: _Line, at: float | None) -> ev.Event:
        name, call, arguments = line.name or "", f"{self._state.run}:{line.callId}", object_in(line.args)
        action = ACTIONS.get(name, "other")
        target = target_of(action, arguments)
        self._state.open_calls[call] = action
        given = arguments if action == "edit" else ""
        return ev.ToolCall(at, call, name, action, target, paths_of(action, target), given=given)

    def _result(self, line: _Line, denied: bool, at: float | None) -> ev.Event:
        call = f"{self._state.run}:{line.callId}"
        action = self._state.open_calls.pop(call, "other")
        text = line.output or line.reason or ""
        code = _EXIT_CODE.match(text) if action == "shell" else None
        ok = False if denied else line.ok
        if ok and code:
            ok = code[1] == "0"
        return ev.ToolResult(
            at,
            call,
            ok=ok,
            text=excerpt(text) if not ok or action == "shell" else "",
            exit_code=int(code[1]) if code else None,
            rejected=denied and line.reason == "permission",
            own_fault=(denied and line.reason != "permission") or (not ok and action == "edit"),
        )

    def _planned(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        plan = self._state.plan
        if line.steps is not None:
            plan.clear()
            plan.update({step.id or str(n): (step.title or "", False) for n, step in enumerate(line.steps)})
        elif line.stepId in plan:
            plan[line.stepId] = (plan[line.stepId][0], True)
        items = tuple(
            ev.Todo(title, "completed" if done else "pending") for title, done in plan.values() if title
        )
        if items:
            yield ev.TodoList(at, items)


class Reasonix(LineAgent):
    agent = "reasonix"
    title = "Reasonix"
    reading = ReasonixReading
    pattern = f"**/*{SUFFIX}"

    def roots(self, places: Places) -> Iterable[Path]:
        return (places.home / ".reasonix" / "sessions",)

    def recognise(self, path: Path, head: bytes) -> bool:
        line = first_object(head)
        kind = line.get("type")
        return (
            isinstance(kind, str)
            and kind.startswith(_TYPES)
            and isinstance(line.get("ts"), str)
            and isinstance(line.get("turn"), int)
            and isinstance(line.get("id"), int)
        )

    def glance(self, path: Path, head: bytes) -> Glance:
        return Glance(cwd=text_in(_meta(path), "workspace"), started=seconds(first_object(head).get("ts")))


def session_name(path: Path) -> str:
    return path.name.removesuffix(SUFFIX).removesuffix(".jsonl")


def _usage(tokens: _Tokens) -> ev.Usage:
    hit = tokens.prompt_cache_hit_tokens or 0
    return ev.Usage(max((tokens.prompt_tokens or 0) - hit, 0), tokens.completion_tokens or 0, hit)


def _meta(path: Path) -> dict[str, Any]:
    return object_in(first_bytes(path.with_name(f"{session_name(path)}.meta.json"), _LARGEST_META))
