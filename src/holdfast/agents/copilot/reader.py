"""GitHub Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`, lines of `{type, data, id, timestamp}`.

Newer versions record the usage of each response; older ones only the sums of a run, when it ends, and a run
that was killed leaves none: its usage is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import usual_folder
from holdfast.agent_kit.jsonl import (
    LineAgent,
    decoded,
    excerpt,
    seconds,
    string_after,
    string_in,
    text_in,
    tick,
)
from holdfast.agent_kit.loose import (
    LineReading,
    PassState,
    actions,
    first_line,
    first_object,
    object_in,
    patch_call,
    record,
    records,
    tool_call,
    whole_number,
    with_todos,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="bash powershell local_shell",
    edit="create edit str_replace_editor apply_patch",
    read="view show_file",
    search="grep rg glob lsp",
    web="web_fetch web_search fetch_copilot_cli_documentation",
    ask="ask_user",
    plan="exit_plan_mode",
    todo="update_todo",
    agent="task",
)
_ANSWERED = lazy_regex(r"User (?:responded|selected|answered)[^:\n]{0,40}:\s*(\S.*)", re.DOTALL)
_ENDED = lazy_regex(r"\s*<(?:shellId: (\S+) )?(?:completed|exited) with exit code (-?\d+)>\s*\Z")
_RUNNING = lazy_regex(r"<[^<>]*\bshellId: (\S+?)[,>\s][^<>]*\b(?:still running|read_bash)\b[^<>]*>\s*\Z")
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
_FEEDBACK = lazy_regex(r"(?:feedback|the user said):\s*(\S.*)\Z", re.DOTALL | re.IGNORECASE)
# What hooks say to a result stands below it.
_GUIDANCE = lazy_regex(r'\n\nTool "[^"\n]+" \w+\. Additional guidance from \w+ hooks:\n.*\Z', re.DOTALL)


class Tokens(Struct):
    model: str | None = None
    inputTokens: float | None = None
    outputTokens: float | None = None
    cacheReadTokens: float | None = None
    cacheWriteTokens: float | None = None


class Metrics(Struct):
    usage: Tokens | None = None


class Context(Struct):
    cwd: str | None = None
    branch: str | None = None


class Shell(Struct):
    exitCode: int | None = None


class Data(Struct):
    sessionId: str | None = None
    copilotVersion: str | None = None
    context: Raw = Raw(b"")
    content: Raw = Raw(b"")
    source: str | None = None
    parentToolCallId: str | None = None
    toolCallId: str | None = None
    toolName: str | None = None
    arguments: Raw = Raw(b"")
    success: bool | None = None
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")
    shellExecution: Shell | None = None
    usage: Raw = Raw(b"")
    modelMetrics: dict[str, Metrics] | None = None
    summaryContent: str | None = None
    title: str | None = None
    message: Raw = Raw(b"")
    kind: Raw = Raw(b"")
    response: Raw = Raw(b"")


class Line(Struct):
    type: str | None = None
    data: Data | None = None
    id: str | None = None
    agentId: str | None = None
    timestamp: str | None = None


class Field(Struct):
    """A field of a form that `ask_user` shows; in first versions, its one question.

    `shown` is how each choice is shown, by the value it stands for.
    """

    name: str
    text: str
    shown: dict[str, str] = {}


class ShellOutput(Struct, frozen=True):
    text: str
    exit_code: int | None = None
    running: str = ""  # the shell in which the command runs on


class _State(PassState):
    session: str = ""
    recorded: bool = False  # this run's responses are recorded one by one
    open_calls: dict[str, ev.Action] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)  # shell -> the call whose command runs on in it
    polling: dict[str, str] = field(default_factory=dict)  # call that looks after a shell -> the shell
    declined: list[str] = field(default_factory=list)
    questions: dict[str, list[Field]] = field(default_factory=dict)  # call -> what it asks a person


_contexts = msgspec.json.Decoder(Context)
_tokens = msgspec.json.Decoder(Tokens)


class CopilotReading(LineReading[Line, _State]):
    line = msgspec.json.Decoder(Line)
    carried = _State

    def _events(self) -> Iterator[ev.Event]:
        takers: dict[str, Callable[[Line, Data, float | None], Iterable[ev.Event]]] = {
            "session.start": self._began,
            "session.resume": self._began,
            "session.title_changed": lambda line, data, at: (ev.Began(at, title=data.title or ""),),
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
            "session.error": lambda line, data, at: (ev.ApiFailure(at, string_in(data.message)),),
            "abort": lambda line, data, at: (ev.Interruption(at),),
        }
        for line in self._lines:
            if line.id and self._claims.repeated(line.id) and line.type not in _BEGINNINGS:
                continue  # a copy; where it goes on by itself, its beginning still says whose it is
            at = seconds(line.timestamp)
            taker = takers.get(line.type or "")
            if taker is not None and line.data is not None:
                yield from taker(line, line.data, at)
            else:
                yield from tick(at)

    def _began(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        state, context = self._state, decoded(_contexts, data.context, Context())
        state.recorded = False
        state.session = state.session or data.sessionId or ""
        yield ev.Began(
            at,
            session=state.session,
            cwd=context.cwd or "",
            branch=context.branch or "",
            version=data.copilotVersion or "",
        )

    def _told(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        if b"running in non-interactive mode" in bytes(memoryview(data.content)[:400]):
            yield ev.Began(at, headless=True)
        else:
            yield from tick(at)

    def _person(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        words = string_in(data.content).strip()
        injected = (data.source or "user") != "user" or words.startswith(_INJECTED)
        if words and not (injected or line.agentId or data.parentToolCallId):
            yield ev.UserTurn(at, words)
        else:
            yield from tick(at)

    def _model(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        text = string_in(data.content).strip()
        if text and not (line.agentId or data.parentToolCallId):
            yield ev.AgentTurn(at, text)
        else:
            yield from tick(at)

    def _call(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        name, call, arguments = data.toolName or "", data.toolCallId or "", object_in(data.arguments)
        action = ACTIONS.get(name, "other")
        if name == "str_replace_editor" and arguments.get("command") == "view":
            action = "read"
        if name == "apply_patch":
            call_event = patch_call(
                at, call, name, text_in(arguments, "patch", "input") or string_in(data.arguments)
            )
        else:
            call_event = tool_call(at, call, name, action, arguments)
        self._state.open_calls[call] = action
        if action == "ask" and (questions := fields_in(arguments)):
            self._state.questions[call] = questions
        if name in _LOOK_AFTER:
            self._state.polling[call] = text_in(arguments, "shellId")
        yield from with_todos(call_event, arguments)

    def _decided(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        kind = text_in(object_in(data.result), "kind")
        if kind.startswith("denied") and kind.endswith("by-user") and data.toolCallId:
            self._state.declined.append(data.toolCallId)
        yield from tick(at)

    def _answered(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        if questions := self._state.questions.pop(data.toolCallId or "", None):
            yield from answered(at, questions, object_in(data.response).get("content"))
        else:
            yield from tick(at)

    def _result(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
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
        if (questions := state.questions.pop(call, None)) and data.success:
            yield from answered(at, questions, answers_in(questions, text))
        code = data.shellExecution.exitCode if data.shellExecution else output.exit_code
        ok = code == 0 if data.success and code is not None else data.success
        rejected = call in state.declined or text_in(error, "code") in _REFUSED
        if call in state.declined:
            state.declined.remove(call)
        yield ev.ToolResult(
            at,
            call,
            ok=ok,
            text=excerpt(output.text) if not ok or action == "shell" else "",
            exit_code=code,
            rejected=rejected and not ok,
            own_fault=not ok and (action == "edit" or bool(shell)),
        )
        if rejected and (feedback := _FEEDBACK.search(text)):
            yield ev.UserTurn(at, feedback[1].strip(), feedback=True)

    def _ended(self, shell: str, output: ShellOutput, at: float | None) -> Iterator[ev.Event]:
        """A command that ran on in the background has ended: the call that started it is answered now."""
        if call := self._state.running.pop(shell, ""):
            code = output.exit_code
            yield ev.ToolResult(at, call, ok=code == 0, text=excerpt(output.text), exit_code=code)

    def _notified(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        kind = object_in(data.kind)
        code = whole_number(kind.get("exitCode"))
        if kind.get("type") == "shell_completed" and code is not None:
            yield from self._ended(text_in(kind, "shellId"), ShellOutput("", code), at)
        yield from tick(at)

    def _response(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        tokens = decoded(_tokens, data.usage, Tokens())
        self._state.recorded = True
        yield from self._counted(line, tokens.model or "", tokens, at)

    def _shutdown(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        """The sums of one run, unless its responses were recorded already."""
        if not self._state.recorded:
            for model, metrics in sorted((data.modelMetrics or {}).items()):
                yield from self._counted(line, model, metrics.usage or Tokens(), at)
        self._state.recorded = False
        yield from tick(at)

    def _counted(self, line: Line, model: str, tokens: Tokens, at: float | None) -> Iterator[ev.Event]:
        usage = usage_of(tokens)
        if usage != ev.Usage():  # no tokens at all means that they were not counted
            yield ev.UsageReport(at, f"{self._state.session}:{line.id}:{model}", model, usage)

    def _compaction(self, line: Line, data: Data, at: float | None) -> Iterator[ev.Event]:
        if data.success is not False:
            yield ev.Compaction(at, data.summaryContent or "")


class Copilot(LineAgent):
    agent = "copilot"
    title = "GitHub Copilot CLI"
    reading = CopilotReading

    def roots(self, places: Places) -> Iterable[Path]:
        return (usual_folder(places, "COPILOT_HOME", ".copilot") / "session-state",)

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from root.glob("*/events.jsonl")
        yield from root.glob("*.jsonl")  # as first versions kept them

    def recognise(self, path: Path, head: bytes) -> bool:
        first = first_line(head)
        kind = first_object(head).get("type") or string_after("type", first[:200])
        is_copilot = isinstance(kind, str) and kind.startswith(
            ("session.", "user.message", "hook.", "system.message")
        )
        return (
            is_copilot and b'"data":' in first.replace(b'": ', b'":') and b'"format":"holdfast' not in first
        )


def usage_of(tokens: Tokens) -> ev.Usage:
    """Input is stated with what was read from and written to the cache."""
    prompt, read, written = (
        round(count or 0) for count in (tokens.inputTokens, tokens.cacheReadTokens, tokens.cacheWriteTokens)
    )
    return ev.Usage(max(prompt - read - written, 0), round(tokens.outputTokens or 0), read, written)


def fields_in(arguments: Mapping[str, Any]) -> list[Field]:
    message, question = arguments.get("message"), arguments.get("question")
    if isinstance(question, str) and question.strip():
        choices = arguments.get("choices")
        values = choices if isinstance(choices, list) else []
        return [Field("", question, {option: option for option in values if isinstance(option, str)})]
    properties = record(arguments.get("requestedSchema"), "properties")
    if not isinstance(message, str):
        return []
    fields = {name: value for name, value in properties.items() if isinstance(value, dict)}
    return [
        Field(name, message if len(fields) == 1 else _text(message, name, field), _shown(field))
        for name, field in fields.items()
    ]


def _text(message: str, name: str, field: Mapping[str, Any]) -> str:
    """A field among several asks with its own words where these are a question."""
    described, title = field.get("description"), field.get("title")
    if isinstance(described, str) and described.rstrip().endswith("?"):
        return described
    return f"{message} ({title if isinstance(title, str) and title else name})"


def _shown(field: Mapping[str, Any]) -> dict[str, str]:
    one_of, values, names = field.get("oneOf"), field.get("enum"), field.get("enumNames")
    if isinstance(one_of, list):
        pairs = [(choice.get("const"), choice.get("title")) for choice in records(one_of)]
    elif isinstance(values, list):
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, labels, strict=True))
    else:
        pairs = []
    return {value: name for value, name in pairs if isinstance(value, str) and isinstance(name, str)}


def answered(at: float | None, fields: Sequence[Field], content: object) -> Iterator[ev.Asked]:
    """Each field with what the person chose, as it was shown to them."""
    for question in fields:
        options = tuple((name, "") for name in question.shown.values())
        yield ev.Asked(
            at, question.text, options, _answer(question, record(content).get(question.name)), by="user"
        )


def answers_in(fields: Sequence[Field], text: str) -> dict[str, str]:
    """The answers in the tool's report to the model; of several fields it names none."""
    answer = _ANSWERED.search(text)
    return {fields[0].name: answer[1].strip()} if answer and len(fields) == 1 else {}


def _answer(field: Field, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(
        field.shown.get(str(choice), str(choice))
        for choice in chosen
        if isinstance(choice, str | int | float)
    )


def read_shell(text: str) -> ShellOutput:
    if ended := _ENDED.search(text):
        return ShellOutput(text[: ended.start()], int(ended[2]))
    running = _RUNNING.search(text)
    return ShellOutput(text, running=running[1] if running else "")
