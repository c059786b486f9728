"""GitHub Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`, lines of `{type, data, id, timestamp}`.

Newer versions record the usage of each response; older ones only the sums of a run, when it ends, and a run
that was killed leaves none: its usage is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import field

from holdfast.model.session import (
    Action,
    AgentTurn,
    ApiFailure,
    Began,
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
from holdfast.transcripts.contract import Claims, Glance, OneSessionPerFile, Places
from holdfast.transcripts.copilot_lines import ACTIONS, Context, Data, Line, Tokens, usage_of
from holdfast.transcripts.copilot_questions import Field, answered, fields_in, told
from holdfast.transcripts.copilot_shell import ShellOutput, read_shell
from holdfast.transcripts.jsonl import decoded, excerpt, glance_at, seconds, string_after, string_in, text_in
from holdfast.transcripts.lines import (
    LineReading,
    PassState,
    first_object,
    object_in,
    target_of,
    todo_items,
)
from holdfast.transcripts.loose import patched_paths
from holdfast.transcripts.written import written_by, written_in_patch

_INJECTED = ("<skill-context", "<system_reminder>", "<system_notification>", "<reminder>")
_LOOK_AFTER = (
    "read_bash",
    "stop_bash",
    "write_bash",
    "read_powershell",
    "stop_powershell",
    "write_powershell",
)
_BEGINNINGS = ("session.start", "session.resume")
_REFUSED = ("rejected", "denied")
_FEEDBACK = re.compile(r"(?:feedback|the user said):\s*(\S.*)\Z", re.DOTALL | re.IGNORECASE)
# What hooks say to a result stands below it.
_GUIDANCE = re.compile(r'\n\nTool "[^"\n]+" \w+\. Additional guidance from \w+ hooks:\n.*\Z', re.DOTALL)


class _State(PassState):
    session: str = ""
    recorded: bool = False  # this run's responses are recorded one by one
    open_calls: dict[str, Action] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)  # shell -> the call whose command runs on in it
    polling: dict[str, str] = field(default_factory=dict)  # call that looks after a shell -> the shell
    declined: list[str] = field(default_factory=list)
    questions: dict[str, list[Field]] = field(default_factory=dict)  # call -> what it asks a person


_lines = msgspec.json.Decoder(Line)
_contexts = msgspec.json.Decoder(Context)
_tokens = msgspec.json.Decoder(Tokens)


class CopilotReading(LineReading[Line, _State]):
    def _events(self) -> Iterator[Event]:
        takers = {
            "session.start": self._began,
            "session.resume": self._began,
            "system.message": self._told,
            "user.message": self._person,
            "assistant.message": self._model,
            "tool.execution_start": self._call,
            "tool.execution_complete": self._result,
            "permission.completed": self._decided,
            "human_response.recorded": self._answered,
            "system.notification": self._notified,
            "session.usage_record": self._response,
            "session.shutdown": self._shutdown,
            "session.compaction_complete": self._compaction,
            "session.error": self._error,
            "abort": self._abort,
        }
        for line in self._lines:
            if line.id and self._claims.repeated(line.id) and line.type not in _BEGINNINGS:
                continue  # a copy; where it goes on by itself, its beginning still says whose it is
            at = seconds(line.timestamp)
            taker = takers.get(line.type or "")
            if taker is not None and line.data is not None:
                yield from taker(line, line.data, at)
            elif at is not None:
                yield Tick(at)

    def _began(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        state, context = self._state, decoded(_contexts, data.context, Context())
        state.recorded = False
        state.session = state.session or data.sessionId or ""
        yield Began(
            at,
            session=state.session,
            cwd=context.cwd or "",
            branch=context.branch or "",
            version=data.copilotVersion or "",
        )

    def _told(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        if b"running in non-interactive mode" in bytes(memoryview(data.content)[:400]):
            yield Began(at, headless=True)
        elif at is not None:
            yield Tick(at)

    def _person(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        words = string_in(data.content).strip()
        injected = (data.source or "user") != "user" or words.startswith(_INJECTED)
        if words and not (injected or line.agentId or data.parentToolCallId):
            yield UserTurn(at, words)
        elif at is not None:
            yield Tick(at)

    def _model(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        text = string_in(data.content).strip()
        if text and not (line.agentId or data.parentToolCallId):
            yield AgentTurn(at, text)
        elif at is not None:
            yield Tick(at)

    def _call(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        name, call, arguments = data.toolName or "", data.toolCallId or "", object_in(data.arguments)
        action = ACTIONS.get(name, "other")
        if name == "str_replace_editor" and arguments.get("command") == "view":
            action = "read"
        target = target_of(action, arguments)
        paths: tuple[str, ...] = (target,) if action in ("edit", "read") and target else ()
        written = written_by(action, arguments, paths)
        if name == "apply_patch":
            patch = text_in(arguments, "patch", "input") or string_in(data.arguments)
            paths = patched_paths(patch)
            target = paths[0] if paths else ""
            written = written_in_patch(patch, paths)
        self._state.open_calls[call] = action
        if action == "ask" and (asked := fields_in(arguments)):
            self._state.questions[call] = asked
        if name in _LOOK_AFTER:
            self._state.polling[call] = text_in(arguments, "shellId")
        yield ToolCall(at, call, name, action, target, paths, written)
        if action == "todo" and (items := todo_items(arguments.get("todos"))):
            yield TodoList(at, items)

    def _decided(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        kind = text_in(object_in(data.result), "kind")
        if kind.startswith("denied") and kind.endswith("by-user") and data.toolCallId:
            self._state.declined.append(data.toolCallId)
        if at is not None:
            yield Tick(at)

    def _answered(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        if asked := self._state.questions.pop(data.toolCallId or "", None):
            yield from answered(at, asked, object_in(data.response).get("content"))
        elif at is not None:
            yield Tick(at)

    def _result(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        state, call, error = self._state, data.toolCallId or "", object_in(data.error)
        action = state.open_calls.pop(call, "other")
        text = (
            text_in(error, "message") or text_in(object_in(data.result), "content") or string_in(data.result)
        )
        text = _GUIDANCE.sub("", text)
        shell = state.polling.pop(call, "")
        output = read_shell(text) if action == "shell" or shell else ShellOutput(text)
        if action == "shell" and output.running:
            state.running[output.running] = call
            return  # the verdict comes when the command has ended
        if shell and output.exit_code is not None:
            yield from self._ended(shell, output, at)
            output = ShellOutput("")
        if (asked := state.questions.pop(call, None)) and data.success:
            yield from told(at, asked, text)
        code = data.shellExecution.exitCode if data.shellExecution else output.exit_code
        ok = code == 0 if data.success and code is not None else data.success
        rejected = call in state.declined or text_in(error, "code") in _REFUSED
        if call in state.declined:
            state.declined.remove(call)
        yield ToolResult(
            at,
            call,
            ok=ok,
            text=excerpt(output.text) if not ok or action == "shell" else "",
            exit_code=code,
            rejected=rejected and not ok,
            own_fault=not ok and (action == "edit" or bool(shell)),
        )
        if rejected and (said := _FEEDBACK.search(text)):
            yield UserTurn(at, said[1].strip(), feedback=True)

    def _ended(self, shell: str, output: ShellOutput, at: float | None) -> Iterator[Event]:
        """A command that ran on in the background has ended: the call that started it is answered now."""
        if call := self._state.running.pop(shell, ""):
            code = output.exit_code
            yield ToolResult(at, call, ok=code == 0, text=excerpt(output.text), exit_code=code)

    def _notified(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        kind = object_in(data.kind)
        code = kind.get("exitCode")
        if kind.get("type") == "shell_completed" and isinstance(code, int):
            yield from self._ended(text_in(kind, "shellId"), ShellOutput("", code), at)
        if at is not None:
            yield Tick(at)

    def _response(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        tokens = decoded(_tokens, data.usage, Tokens())
        self._state.recorded = True
        yield from self._counted(line, tokens.model or "", tokens, at)

    def _shutdown(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        """The sums of one run, unless its responses were recorded already."""
        if not self._state.recorded:
            for model, metrics in sorted((data.modelMetrics or {}).items()):
                yield from self._counted(line, model, metrics.usage or Tokens(), at)
        self._state.recorded = False
        if at is not None:
            yield Tick(at)

    def _counted(self, line: Line, model: str, tokens: Tokens, at: float | None) -> Iterator[Event]:
        usage = usage_of(tokens)
        if usage != Usage():  # requests without any token are requests whose tokens nobody counted
            yield UsageReport(at, f"{self._state.session}:{line.id}:{model}", model, usage)

    def _compaction(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        if data.success is not False:
            yield Compaction(at, data.summaryContent or "")

    def _error(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        yield ApiFailure(at, string_in(data.message))

    def _abort(self, line: Line, data: Data, at: float | None) -> Iterator[Event]:
        yield Interruption(at)


class Copilot(OneSessionPerFile):
    agent = "copilot"
    title = "GitHub Copilot CLI"

    def roots(self, places: Places) -> Iterable[Path]:
        moved = places.env.get("COPILOT_HOME", "").strip()
        return ((Path(moved) if moved else places.home / ".copilot") / "session-state",)

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from root.glob("*/events.jsonl")
        yield from root.glob("*.jsonl")  # as first versions kept them

    def recognise(self, path: Path, head: bytes) -> bool:
        first = head.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0]
        kind = first_object(head).get("type") or string_after("type", first[:200])
        own = isinstance(kind, str) and kind.startswith(
            ("session.", "user.message", "hook.", "system.message")
        )
        return own and b'"data":' in first.replace(b'": ', b'":') and b'"format":"holdfast' not in first

    def glance(self, path: Path, head: bytes) -> Glance:
        return glance_at(head)

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> CopilotReading:
        return CopilotReading(path, offset, state, claims, _lines, _State)
