"""What memory told the sessions of the demonstration: their prompts and calls go through the hooks."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from holdfast.core.place import Place, find
from holdfast.flows.find_transcripts import SessionSource
from holdfast.hooks import host_protocol, start_lines
from holdfast.hooks.emit import say
from holdfast.hooks.host_protocol import MOMENT, PROMPT, READ, START, Call
from holdfast.hooks.moment import SHELL
from holdfast.hooks.prepared import Prepared
from holdfast.hooks.respond import respond
from holdfast.model.events import Began, ToolCall, UserTurn
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.transcripts.find import Recorded, events_of

WRITTEN_IN = "/home/dev/tidepool"  # where the bundled sessions took place
_TOOLS = {"shell": SHELL, "read": READ, "edit": "Edit"}
_PATIENCE_S = 10.0


def tell_session(machine: Machine, project: Project, source: SessionSource) -> str:
    """Answers each event of a transcript from what is prepared: it must not be imported yet. Returns its session."""
    agent, place = source.importer.agent, find(str(project.root), str(machine.home))
    hooks: _Hooks | None = None
    began = source.glance.started or 0.0
    found = Recorded(session="", row=None, record=None, sources=((agent, source.key),))
    for event in events_of(project, found):
        if isinstance(event, Began) and event.session and hooks is None and place is not None:
            hooks = _Hooks(place, dict(machine.env), event.session, agent)
            hooks.start(began)
        elif hooks is None:
            continue
        elif isinstance(event, UserTurn):
            hooks.answer(PROMPT, event.at or began, {"prompt": event.text})
        elif isinstance(event, ToolCall) and event.action in _TOOLS:
            asked = {"tool_name": _TOOLS[event.action], "tool_input": _input(event, project)}
            hooks.answer(MOMENT, event.at or began, asked)
    return "" if hooks is None else hooks.session


class _Hooks:
    """One session's hooks."""

    def __init__(self, place: Place, env: dict[str, str], session: str, agent: str) -> None:
        self._place, self._env, self.session, self._agent = place, env, session, agent

    def start(self, at: float) -> None:
        """The start as the hook tells it; a real one also leaves a note for the capture, which has nothing to read."""
        call = self._call(START, at, {"source": "startup"})
        prepared = Prepared(self._place.memory)
        told = start_lines.choose(prepared, self._place.memory, call.payload, self._place.branch())
        lines, left_out = start_lines.fitting(told.lines, start_lines.START_TOKENS)
        say(start_lines.Told(lines, told.nothing, told.left_out + left_out), call, self._place, {})

    def answer(self, event: str, at: float, payload: Mapping[str, Any]) -> None:
        call = self._call(event, at, payload)
        respond(call, "", [self._place.root], self._place, self._env, time.monotonic() + _PATIENCE_S)

    def _call(self, event: str, at: float, payload: Mapping[str, Any]) -> Call:
        theirs = next(name for name, ours in host_protocol.EVENTS[self._agent].items() if ours == event)
        said = {"session_id": self.session, "cwd": self._place.root, **payload}
        call = Call(self._agent, theirs, event, said)
        call.now = at
        return call


def _input(call: ToolCall, project: Project) -> dict[str, str]:
    if call.action == "shell":
        return {"command": call.target}
    path = (call.paths or (call.target,))[0]
    return {"file_path": os.path.join(project.root, path.removeprefix(f"{WRITTEN_IN}/"))}
