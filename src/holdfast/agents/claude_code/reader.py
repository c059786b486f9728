"""Claude Code: `<config>/projects/<slug of the directory>/<uuid>.jsonl`, subagents in files of their own.

One response is written as one line per content block, each repeating the usage; histories are copied into
new files on resume and fork; user lines are people, tools, hooks and commands alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.jsonl import (
    LONGEST_GUIDE,
    LONGEST_OUTPUT,
    OBJECTS,
    JsonLinesReading,
    LineAgent,
    LineCount,
    decoded,
    excerpt,
    seconds,
    text_in,
    tick,
    words_in,
)
from holdfast.agent_kit.loose import TODO_STATUSES, actions, tool_call, with_todos
from holdfast.agent_kit.questions import LONGEST_PLAN, OpenQuestion, questions_in
from holdfast.agents.claude_code.tools import answered, planned
from holdfast.core.guides import may_be_guide
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="Bash PowerShell",
    edit="Edit MultiEdit Write NotebookEdit",
    read="Read NotebookRead",
    search="Grep Glob LS LSP",
    web="WebFetch WebSearch",
    ask="AskUserQuestion",
    plan="ExitPlanMode",
    todo="TodoWrite TaskCreate TaskUpdate",
    agent="Task Agent",
)

# Commands that the client answers itself: no work, and no turn of the conversation.
_LOCAL = """
    add-dir agents bashes bug clear color compact config context copy cost desktop doctor effort exit export
    extra-usage fast feedback fork help hooks ide install-github-app keybindings login logout mcp memory mobile
    model output-style passes permissions plan plugin plugins privacy-settings quit rate-limit-options
    release-notes reload-plugins remote-control remote-env rename resume rewind sandbox settings skills stats
    status statusline tasks terminal-setup theme todos upgrade usage vim voice
"""
LOCAL_COMMANDS = frozenset(_LOCAL.split())

_SYSTEM_BLOCK = lazy_regex(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-caveat|user-prompt-submit-hook"
    r"|task-notification|agent-notification|new-diagnostics)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
COMMAND_NAME = lazy_regex(r"<command-name>\s*/?([^<\s]+)\s*</command-name>")
_COMMAND_ARGS = lazy_regex(r"<command-args>(.*?)</command-args>", re.DOTALL)
_NOT_HUMAN = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)
INTERRUPTED = "[Request interrupted by user"
_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_SPEAKING = ("shell", "todo", "ask", "plan")  # actions whose answer says more than that it worked
_TOOL_REFUSED = "<tool_use_error>"
_IN_BACKGROUND = "Command running in background with ID"
_USER_SAID = "To tell you how to proceed, the user said:\n"
_EXIT_CODE = lazy_regex(r"\AExit code (\d+)")
_MOST_SUMMARIES = 64
_TASK_ID = lazy_regex(r"Task #(\w+) created")


class _CacheCreation(Struct, gc=False):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _CacheCreation | None = None


class _Block(Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw(b"")
    tool_use_id: str | None = None
    content: Raw = Raw(b"")
    is_error: bool | None = None


class _Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: str | list[_Block] | None = None
    usage: _Usage | None = None


class _ProgressMessage(Struct, gc=False):
    message: _Message | None = None
    requestId: str | None = None


class _ProgressData(Struct, gc=False):
    message: _ProgressMessage | None = None


_progress_data = msgspec.json.Decoder(_ProgressData)


class _Origin(Struct, gc=False):
    kind: str | None = None


class _Attachment(Struct, gc=False):
    type: str | None = None
    prompt: Raw = Raw(b"")


class _Line(Struct, gc=False):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    sessionId: str | None = None
    agentId: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    requestId: str | None = None
    entrypoint: str | None = None
    sourceToolUseID: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    isApiErrorMessage: bool | None = None
    origin: _Origin | None = None
    message: _Message | None = None
    data: Raw = Raw(b"")
    attachment: _Attachment | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    summary: str | None = None
    leafUuid: str | None = None


class _OpenCall(Struct, gc=False):
    action: ev.Action
    tool: str
    subject: str = ""  # what the task, or the plan, says; the path of a guide that is read
    questions: tuple[OpenQuestion, ...] = ()


class _State(LineCount):
    began: tuple[str, str, str, str] = ("", "", "", "")
    subagent: bool = False
    open_calls: dict[str, _OpenCall] = field(default_factory=dict)
    tasks: dict[str, tuple[str, ev.TodoStatus]] = field(default_factory=dict)
    copied: bool = False  # within a history that another file has counted
    named: bool = False  # by a person: the agent's titles do not count any more
    summaries: dict[str, str] = field(default_factory=dict)  # by the line that they sum up; it may come later
    last: str = ""


class ClaudeReading(JsonLinesReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def events(self) -> Iterator[ev.Event]:
        repeated, state = self._claims.repeated, self._state
        for line in self._lines:
            kind = line.type
            if kind not in ("assistant", "user", "system", "attachment"):
                if kind == "progress" and not state.copied:
                    yield from self._progress(line, seconds(line.timestamp))
                elif title := self._title(line):
                    yield ev.Began(None, title=title)
                continue
            if line.uuid and repeated(line.uuid):
                state.copied = self._claims.foreign(line.uuid)
                continue
            state.copied = False
            state.last = line.uuid or state.last
            at = seconds(line.timestamp)
            if state.summaries and (title := state.summaries.pop(state.last, "")) and not state.named:
                yield ev.Began(at, title=title)
            if (began := self._began(line, at)) is not None:
                yield began
            if kind == "assistant":
                yield from self._assistant(line, at)
            elif kind == "user":
                yield from self._user(line, at)
            elif kind == "attachment":
                yield from self._queued(line, at)
            else:
                yield from tick(at)

    def _title(self, line: _Line) -> str:
        """The session's title. A summary often stands in the file of another session than the one it sums up."""
        state = self._state
        if line.type == "summary" and line.summary and line.leafUuid:
            if line.leafUuid == state.last:
                return "" if state.named else line.summary
            if len(state.summaries) < _MOST_SUMMARIES:
                state.summaries[line.leafUuid] = line.summary
            return ""
        if state.subagent or (line.sessionId and state.began[0] and line.sessionId != state.began[0]):
            return ""
        if line.type == "custom-title" and line.customTitle:
            state.named = True
            return line.customTitle
        return line.aiTitle or "" if line.type == "ai-title" and not state.named else ""

    def _progress(self, line: _Line, at: float | None) -> list[ev.Event]:
        """What a subagent used: some versions keep its responses nowhere else."""
        inner = decoded(_progress_data, line.data, _ProgressData()).message if line.data else None
        response = inner.message if inner is not None else None
        if inner is None or response is None or response.usage is None or not response.id:
            return list(tick(at))
        key = f"{response.id}:{inner.requestId or ''}"
        if self._claims.foreign(key):
            return list(tick(at))
        return [ev.UsageReport(at, key, response.model or "", _usage(response.usage))]

    def _began(self, line: _Line, at: float | None) -> ev.Began | None:
        began = (line.sessionId or "", line.cwd or "", line.gitBranch or "", line.version or "")
        if began == self._state.began or not began[0]:
            return None
        subagent = bool(line.isSidechain and line.agentId)
        if line.isSidechain and self._state.began[0] and not self._state.subagent:
            return None  # a side branch within the main file does not move the session
        self._state.began, self._state.subagent = began, subagent
        session, cwd, branch, version = began
        return ev.Began(
            at,
            session=f"{session}/{line.agentId}" if subagent else session,
            parent=session if subagent else "",
            cwd=cwd,
            branch=branch,
            version=version,
            provider="anthropic",
            headless=(line.entrypoint or "").startswith("sdk"),
        )

    # What every line goes through returns lists: a generator within a generator would cost more than its work.

    def _assistant(self, line: _Line, at: float | None) -> list[ev.Event]:
        message = line.message
        if message is None:
            return []
        blocks = message.content if isinstance(message.content, list) else []
        if line.isApiErrorMessage:
            return [ev.ApiFailure(at, " ".join(block.text for block in blocks if block.text))]
        if message.model == "<synthetic>":
            return []
        events: list[ev.Event] = []
        if message.usage is not None:
            key = f"{message.id}:{line.requestId or ''}" if message.id else line.uuid or ""
            if not self._claims.foreign(key):
                written = sum(len(block.text or "") + memoryview(block.input).nbytes for block in blocks)
                usage = _usage(message.usage)
                events.append(ev.UsageReport(at, key, message.model or "", usage, None, written))
        for block in blocks:
            if block.type == "tool_use":
                events += self._call(block, at)
            elif block.type == "text" and block.text and not line.isSidechain:
                events.append(ev.AgentTurn(at, block.text))
        return events

    def _call(self, block: _Block, at: float | None) -> list[ev.Event]:
        name = block.name or ""
        arguments = decoded(OBJECTS, block.input, {})
        call = block.id or ""
        action: ev.Action = ACTIONS.get(name, "other")
        opened = self._state.open_calls[call] = _OpenCall(action, name)
        if name == "TaskCreate":
            opened.subject = text_in(arguments, "subject")
        elif action == "plan":
            opened.subject = text_in(arguments, "plan")[:LONGEST_PLAN]
        elif action == "ask":
            opened.questions = questions_in(arguments)
        target = _target(action, arguments)
        if action == "read" and may_be_guide(target):
            opened.subject = target
        called = tool_call(at, call, name, action, arguments, target)
        if name == "TaskUpdate":
            return [called, *self._task_update(arguments, at)]
        return list(with_todos(called, arguments)) if action == "todo" else [called]

    def _task_update(self, arguments: dict[str, Any], at: float | None) -> Iterator[ev.Event]:
        tasks, task = self._state.tasks, str(arguments.get("taskId", ""))
        if task not in tasks:
            return
        subject, status = tasks.pop(task) if arguments.get("status") == "deleted" else tasks[task]
        if task in tasks:
            stated = TODO_STATUSES.get(str(arguments.get("status")), status)
            tasks[task] = (text_in(arguments, "subject") or subject, stated)
        yield self._task_list(at)

    def _task_list(self, at: float | None) -> ev.TodoList:
        return ev.TodoList(at, tuple(ev.Todo(text, status) for text, status in self._state.tasks.values()))

    def _user(self, line: _Line, at: float | None) -> list[ev.Event]:
        content = line.message.content if line.message else None
        if line.isCompactSummary:
            return [ev.Compaction(at, _joined(content))]
        events: list[ev.Event] = []
        text = content if isinstance(content, str) else ""
        if isinstance(content, list):
            texts = []
            for block in content:
                if block.type == "tool_result":
                    self._result(block, at, events)
                elif block.type == "text" and block.text:
                    texts.append(block.text)
            text = "\n".join(texts)
        human = not (
            line.isMeta
            or line.isSidechain
            or line.isVisibleInTranscriptOnly
            or line.sourceToolUseID
            or (line.origin and line.origin.kind not in (None, "human"))
        )
        if human and text:
            return [*events, *_human(text, at)]
        return events or list(tick(at))

    def _queued(self, line: _Line, at: float | None) -> Iterator[ev.Event]:
        """Words typed while the agent worked reach it as an attachment, not as a user line."""
        attachment = line.attachment
        if attachment is None or attachment.type != "queued_command" or line.isSidechain:
            return
        yield from _human(words_in(attachment.prompt), at)

    def _result(self, block: _Block, at: float | None, events: list[ev.Event]) -> None:
        call = block.tool_use_id or ""
        opened = self._state.open_calls.pop(call, None)
        failed = bool(block.is_error)
        speaks = opened is not None and opened.action in _SPEAKING
        guide = opened is not None and opened.action == "read" and bool(opened.subject)
        wanted = failed or speaks or guide
        text = excerpt(words_in(block.content), LONGEST_GUIDE if guide else LONGEST_OUTPUT) if wanted else ""
        rejected = failed and text.startswith(_REJECTED)
        code = _EXIT_CODE.match(text) if failed else None
        events.append(
            ev.ToolResult(
                at,
                call,
                None if text.startswith(_IN_BACKGROUND) else not failed,
                text,
                int(code[1]) if code else None,
                rejected,
                failed and text.startswith(_TOOL_REFUSED),
            )
        )
        if opened is not None and opened.questions:
            events += answered(at, opened.questions, text, failed=failed)
        elif opened is not None and opened.action == "plan":
            events += planned(at, opened.subject, text, failed=failed, rejected=rejected)
        if rejected and _USER_SAID in text:
            events.append(ev.UserTurn(at, text.split(_USER_SAID, 1)[1].strip(), feedback=True))
        if failed and text.startswith(INTERRUPTED):
            events.append(ev.Interruption(at))
        if opened is not None and opened.tool == "TaskCreate" and not failed:
            number = _TASK_ID.search(text)
            self._state.tasks[number[1] if number else str(len(self._state.tasks) + 1)] = (
                opened.subject,
                "pending",
            )
            events.append(self._task_list(at))


class ClaudeCode(LineAgent):
    agent = "claude-code"
    title = "Claude Code"
    reading = ClaudeReading

    def roots(self, places: Places) -> Iterable[Path]:
        configured = [
            Path(part) for part in places.env.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()
        ]
        for base in configured or [places.home / ".claude", places.home / ".config" / "claude"]:
            yield base / "projects"

    def recognise(self, path: Path, head: bytes) -> bool:
        for raw in head.split(b"\n")[:40]:
            try:
                line = msgspec.json.decode(raw, type=dict[str, Any])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                if re.search(rb'"(parentUuid|sessionId)":.*"(isSidechain|userType|cwd)":', raw[:4096]):
                    return True
                continue
            if "sessionId" in line and ("uuid" in line or line.get("type") in _OWN_TYPES):
                return isinstance(line.get("type"), str) and not _is_qwen(line)
            if line.get("type") in ("file-history-snapshot", "summary") and (
                "messageId" in line or "leafUuid" in line
            ):
                return True
        return False


def _is_qwen(line: dict[str, Any]) -> bool:
    """Qwen Code writes lines of the same frame around messages of Gemini's shape."""
    message = line.get("message")
    return (
        (isinstance(message, dict) and "parts" in message) or "systemPayload" in line or "provenance" in line
    )


_OWN_TYPES = (
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "ai-title",
    "custom-title",
    "pr-link",
)


def _usage(usage: _Usage) -> ev.Usage:
    hour = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else 0
    return ev.Usage(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        hour or 0,
    )


def _human(text: str, at: float | None) -> Iterator[ev.Event]:
    """A person's words without what the client wrapped around them; commands of the client itself are dropped."""
    stripped = text.lstrip()
    if stripped.startswith(INTERRUPTED):
        yield ev.Interruption(at)
        return
    if stripped.startswith(_NOT_HUMAN):
        return
    if name := COMMAND_NAME.search(text):
        yield from commanded(name[1], text, at)
        return
    words = _SYSTEM_BLOCK.sub("", text).strip() if "<" in text else stripped.rstrip()
    if words:
        yield ev.UserTurn(at, words)


def commanded(name: str, text: str, at: float | None) -> Iterator[ev.Event]:
    """A command with what was given to it, unless the client answers it itself, or we do."""
    if name not in LOCAL_COMMANDS and not name.startswith("holdfast:"):
        arguments = _COMMAND_ARGS.search(text)
        yield ev.UserTurn(at, arguments[1].strip() if arguments else "", command=f"/{name}")


def _joined(content: str | list[_Block] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.type == "text" and block.text)


def _target(action: ev.Action, arguments: dict[str, Any]) -> str:
    if action == "shell":
        return text_in(arguments, "command")
    if action in ("edit", "read"):
        return text_in(arguments, "file_path", "notebook_path", "path")
    if action == "plan":
        return text_in(arguments, "plan")
    return text_in(arguments, "pattern", "query", "url", "description", "skill")
