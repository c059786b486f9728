"""Codex CLI: `$CODEX_HOME/sessions/Y/M/D/rollout-*.jsonl`, lines of `{timestamp, type, payload}`.

Token counts are cumulative and repeated; forks begin with a replay of the parent's history, stamped at fork
time; `session_meta` repeats inside a file; failure has no flag and is read from the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import usual_folder
from holdfast.agent_kit.jsonl import (
    LONGEST_GUIDE,
    JsonLinesReading,
    LineAgent,
    LineCount,
    decoded,
    excerpt,
    seconds,
    string_in,
    text_in,
    tick,
)
from holdfast.agent_kit.loose import (
    actions,
    count,
    first_line,
    object_in,
    patched_paths,
    paths_of,
    todo_items,
    whole_number,
    written_in_patch,
)
from holdfast.agent_kit.questions import OpenQuestion, questions_in
from holdfast.agents.codex.output import GO_AHEAD, Output, answered, proposed_plan, read_output
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

LONGEST_WORDS = 20_000
REPLAY_SECONDS = 1.0  # how long after the first line a fork without dated turn ids may still be replaying
ACTIONS = actions(
    shell="exec_command shell shell_command local_shell container.exec unified_exec",
    edit="apply_patch",
    read="view_image read_file",
    search="grep_files list_dir",
    ask="request_user_input",
    todo="update_plan",
    agent="spawn_agent send_input",
)
_TARGETS: dict[ev.Action, tuple[str, ...]] = {
    "read": ("path", "file_path"),
    "search": ("pattern", "dir_path"),
    "agent": ("message",),
}
_SCRIPTED_COMMAND = lazy_regex(
    r"\bcmd[\"']?\s*:\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)"
)
_IMAGE = lazy_regex(r"<image\b[^>]*>|</image>")
_IDE_REQUEST = "## My request for Codex:"
_GUIDE = ("# AGENTS.md instructions", "<user_instructions>")
_NOT_HUMAN = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<permissions",
    "<recommended_plugins>", "<skill>", "<INSTRUCTIONS>", "<collaboration_mode>", "<user_action>", "<subagent",
    "<user_shell_command>",
)  # fmt: skip


class _Tokens(Struct, gc=False):
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None


class _Info(Struct, gc=False):
    total_token_usage: _Tokens | None = None
    last_token_usage: _Tokens | None = None


class _Content(Struct, gc=False):
    type: str | None = None
    text: str | None = None


class _Git(Struct, gc=False):
    branch: str | None = None


class _Payload(Struct, gc=False):
    type: str | None = None
    id: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    originator: str | None = None
    source: Raw = Raw(b"")
    git: _Git | None = None
    model_provider: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    turn_id: str | None = None
    model: str | None = None
    role: str | None = None
    content: Raw = Raw(b"")
    message: Raw = Raw(b"")
    name: str | None = None
    thread_name: str | None = None
    arguments: Raw = Raw(b"")
    input: Raw = Raw(b"")
    action: Raw = Raw(b"")
    call_id: str | None = None
    output: Raw = Raw(b"")
    exit_code: int | None = None
    success: bool | None = None
    info: _Info | None = None
    thread_token_usage: _Tokens | None = None


class _Line(Struct, gc=False):
    timestamp: str | None = None
    type: str | None = None
    payload: _Payload | None = None


class _State(LineCount):
    objects: int = 0
    session: str = ""
    parent: str = ""
    first_at: float | None = None
    model: str = ""
    replaying: bool = False
    total: tuple[int, int, int, int] = (0, 0, 0, 0)
    reports: int = 0
    open_calls: dict[str, str] = field(default_factory=dict)  # call id -> tool
    exit_codes: dict[str, int] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)  # background process -> the call that started it
    waiting: dict[str, str] = field(default_factory=dict)  # call that polls -> background process
    questions: dict[str, tuple[OpenQuestion, ...]] = field(default_factory=dict)
    plan: str = ""  # proposed and not answered yet
    words: tuple[str, str] = ("", "")  # the agent's last two messages since a person spoke
    # A person's words -> which of the two copies of them was seen.
    said: dict[str, str] = field(default_factory=dict)


_contents = msgspec.json.Decoder(list[_Content])


class CodexReading(JsonLinesReading[_Line, _State]):
    line = msgspec.json.Decoder(_Line)
    carried = _State

    def events(self) -> Iterator[ev.Event]:
        state = self._state
        for line in self._lines:
            payload = line.payload
            state.objects += 1
            if payload is None:
                continue
            at = seconds(line.timestamp)
            if line.type == "session_meta":
                yield from self._meta(payload, at)
                continue
            # The same rollout lies in several places (archived, checkpointed): objects keep their number and time.
            if state.session and self._claims.repeated(f"{state.session}:{state.objects}:{line.timestamp}"):
                self._replay(line, payload)
                continue
            if state.replaying:
                self._watch_replay(payload, at)
            if state.replaying:
                self._replay(line, payload)
                continue
            yield from self._own(line, payload, at)

    def _meta(self, payload: _Payload, at: float | None) -> Iterator[ev.Event]:
        state = self._state
        if state.session or not payload.id:
            return  # repeated meta lines, and those of the replayed parent, are no boundary
        state.session, state.first_at = payload.id, at
        state.parent = payload.parent_thread_id or _spawned_by(payload.source)
        state.replaying = bool(payload.forked_from_id)
        yield ev.Began(
            at,
            session=payload.id,
            parent=state.parent,
            cwd=payload.cwd or "",
            branch=(payload.git.branch if payload.git else "") or "",
            version=payload.cli_version or "",
            provider=payload.model_provider or "",
            headless=payload.originator == "codex_exec" or bytes(payload.source) == b'"exec"',
        )

    def _watch_replay(self, payload: _Payload, at: float | None) -> None:
        """Ends the replay at the first turn of this thread's own.

        Turn ids are time-ordered: one made before this session was made is the parent's.
        """
        state = self._state
        born, turn = _made_at(state.session), _made_at(payload.turn_id or "")
        if born is not None and turn is not None:
            state.replaying = turn < born
        elif at is not None and state.first_at is not None and payload.turn_id is None:
            dated = born is not None and payload.type in ("task_started", None)
            state.replaying = dated or at - state.first_at <= REPLAY_SECONDS

    def _replay(self, line: _Line, payload: _Payload) -> None:
        """Of a copied history only the running total counts: it is where this thread's own usage starts."""
        if line.type == "turn_context" and payload.model:
            self._state.model = payload.model
        usage = payload.info.total_token_usage if payload.info else payload.thread_token_usage
        if usage is not None:
            self._state.total = _totals(usage)

    def _own(self, line: _Line, payload: _Payload, at: float | None) -> Iterator[ev.Event]:
        state = self._state
        if line.type == "response_item":
            yield from self._item(payload, at)
        elif line.type == "turn_context":
            state.model = payload.model or state.model
            if payload.cwd:
                yield ev.Began(at, cwd=payload.cwd)
        elif line.type == "compacted":
            yield from self._compacted(string_in(payload.message), at)
        elif line.type == "token_usage_record" and payload.thread_token_usage is not None:
            yield from self._usage(payload.thread_token_usage, None, at)
        elif line.type == "event_msg":
            yield from self._event(payload, at)

    def _event(self, payload: _Payload, at: float | None) -> Iterator[ev.Event]:
        state, kind = self._state, payload.type
        if kind == "token_count":
            if payload.info is not None and payload.info.total_token_usage is not None:
                yield from self._usage(payload.info.total_token_usage, payload.info.last_token_usage, at)
        elif kind == "user_message":
            yield from self._person(string_in(payload.message), "event", at)
        elif kind == "exec_command_end" and payload.call_id and whole_number(payload.exit_code) is not None:
            state.exit_codes[payload.call_id] = payload.exit_code or 0
        elif kind == "patch_apply_end" and payload.call_id and payload.success is not None:
            state.exit_codes[payload.call_id] = 0 if payload.success else 1
        elif kind == "turn_aborted":
            yield ev.Interruption(at)
        elif kind in ("error", "stream_error"):
            yield ev.ApiFailure(at, string_in(payload.message))
        elif kind == "thread_name_updated" and payload.thread_name:
            yield ev.Began(at, title=payload.thread_name)
        elif kind == "task_started":
            state.said.clear()
        else:
            yield from tick(at)

    def _item(self, payload: _Payload, at: float | None) -> Iterator[ev.Event]:
        kind = payload.type
        if kind == "message" and payload.role == "user":
            yield from self._person(_message_text(payload.content), "item", at)
        elif kind == "message" and payload.role == "assistant":
            if text := _message_text(payload.content):
                self._state.words = (self._state.words[1], text.strip()[-LONGEST_WORDS:])
                yield ev.AgentTurn(at, text)
                yield from self._proposed(text, at)
        elif kind == "function_call":
            yield from self._call(payload, object_in(payload.arguments), "", at)
        elif kind == "custom_tool_call":
            yield from self._call(payload, {}, string_in(payload.input), at)
        elif kind == "local_shell_call":
            payload.name = "local_shell"
            yield from self._call(payload, object_in(payload.action), "", at)
        elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
            yield from self._result(payload, at)
        else:
            yield from tick(at)

    def _person(self, text: str, copy: str, at: float | None) -> Iterator[ev.Event]:
        """Each prompt is written twice, as an item and as an event; either may be missing."""
        if _IDE_REQUEST in text:
            text = text.split(_IDE_REQUEST, 1)[1]
        words = text.strip()
        if words.startswith(_GUIDE) and not self._state.parent:
            yield ev.Guided(at, words[:LONGEST_GUIDE])
        if not words or words.startswith(_NOT_HUMAN) or self._state.parent:
            return
        earlier = self._state.said.pop(words, copy)
        if earlier == copy:
            self._state.said[words] = copy
            self._state.words = ("", "")
            yield ev.UserTurn(at, words)
            if self._state.plan and words.casefold().startswith(GO_AHEAD):
                yield ev.Planned(at, self._state.plan, approved=True)
            self._state.plan = ""

    def _compacted(self, summary: str, at: float | None) -> Iterator[ev.Event]:
        """A summary is written as the agent's message first. What the agent said before it is still its last word."""
        before, last = self._state.words
        yield ev.Compaction(at, summary)
        if last and summary.rstrip().endswith(last):
            self._state.words = ("", before)
            if before:
                yield ev.AgentTurn(at, before)

    def _proposed(self, text: str, at: float | None) -> Iterator[ev.Event]:
        """Plan mode: the plan stands in the agent's message, and the person's next words decide on it."""
        if plan := proposed_plan(text):
            self._state.plan = plan
            yield ev.Planned(at, plan)

    def _usage(self, usage: _Tokens, last: _Tokens | None, at: float | None) -> Iterator[ev.Event]:
        """Counts changes of the running total. A total that fell was reset: the last request is the change."""
        state, total = self._state, _totals(usage)
        if total == state.total:
            return
        change = [now - before for now, before in zip(total, state.total, strict=True)]
        if min(change) < 0:
            change = list(_totals(last)) if last is not None else list(total)
        state.total = total
        state.reports += 1
        prompt, cached, written, output = change
        yield ev.UsageReport(
            at,
            f"{state.session}#{state.reports}",
            state.model,
            ev.Usage(max(prompt - cached - written, 0), output, cached, written),
        )

    def _call(
        self, payload: _Payload, arguments: dict[str, Any], script: str, at: float | None
    ) -> Iterator[ev.Event]:
        name, call = payload.name or "", payload.call_id or payload.id or ""
        self._state.open_calls[call] = name
        if name == "write_stdin" or name == "wait":
            self._state.waiting[call] = str(arguments.get("session_id", arguments.get("cell_id", "")))
        if name == "request_user_input":
            self._state.questions[call] = questions_in(arguments)
        yield _tool_call(at, call, name, arguments, script)
        if name == "update_plan" and (items := todo_items(arguments.get("plan"))):
            yield ev.TodoList(at, items)

    def _result(self, payload: _Payload, at: float | None) -> Iterator[ev.Event]:
        state, call = self._state, payload.call_id or ""
        tool = state.open_calls.pop(call, "")
        output = read_output(payload.output)
        if questions := state.questions.pop(call, None):
            yield from answered(at, questions, output.text)
        code = state.exit_codes.pop(call, None)
        if process := state.waiting.pop(call, ""):
            yield ev.ToolResult(at, call, ok=None)
            call = state.running.get(process, "")
            if not call:
                return
        if output.running:
            state.running[output.running] = call
            return  # the verdict comes with a later call that waits for the process
        for process, starter in list(state.running.items()):
            if starter == call:
                del state.running[process]
        yield _verdict(at, call, tool, output, output.exit_code if output.exit_code is not None else code)


class Codex(LineAgent):
    agent = "codex"
    title = "Codex CLI"
    reading = CodexReading

    def roots(self, places: Places) -> Iterable[Path]:
        base = usual_folder(places, "CODEX_HOME", ".codex")
        return (base / "sessions", base / "archived_sessions")

    def recognise(self, path: Path, head: bytes) -> bool:
        first = first_line(head)
        return first.startswith(b"{") and b'"type":"session_meta"' in first[:400].replace(b'": ', b'":')


def _verdict(at: float | None, call: str, tool: str, output: Output, code: int | None) -> ev.ToolResult:
    ok = code == 0 if code is not None else None
    if output.refused or output.rejected:
        ok = False
    return ev.ToolResult(
        at,
        call,
        ok=ok,
        text=excerpt(output.text),
        exit_code=code,
        rejected=output.rejected,
        own_fault=output.refused and tool == "apply_patch",
    )


def _tool_call(at: float | None, call: str, name: str, arguments: dict[str, Any], script: str) -> ev.ToolCall:
    """A call. A command line or a script that applies a patch is an edit."""
    action, patch = ACTIONS.get(name, "other"), ""
    target = text_in(arguments, *_TARGETS.get(action, ()))
    if action == "shell":
        target = patch = _command_line(arguments)
    elif name == "exec":  # a script that calls tools: what it runs is what counts
        target = "\n".join(_script_string(literal) for literal in _SCRIPTED_COMMAND.findall(script))
        action, patch = "shell" if target else "other", script.replace("\\n", "\n")
    elif action == "edit":
        patch = script or text_in(arguments, "input")
    paths = patched_paths(patch) if "*** Begin Patch" in patch else paths_of(action, target)
    if action == "edit" or (patch and paths):
        action, target = "edit", paths[0] if paths else ""
    given = patch if action == "edit" else ""
    return ev.ToolCall(at, call, name, action, target, paths, written_in_patch(patch, paths), given)


def _script_string(literal: str) -> str:
    """A string of a script; escapes that JSON does not know stand for the character itself."""
    return string_in(Raw(literal.encode())) or re.sub(r"\\(.)", r"\1", literal[1:-1])


def _command_line(arguments: dict[str, Any]) -> str:
    command = arguments.get("cmd", arguments.get("command", ""))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) == 3 and words[1] in ("-lc", "-c"):
            return words[2]
        return " ".join(words)
    return command if isinstance(command, str) else ""


def _totals(usage: _Tokens) -> tuple[int, int, int, int]:
    return (
        count(usage.input_tokens),
        count(usage.cached_input_tokens),
        count(usage.cache_write_input_tokens),
        count(usage.output_tokens),
    )


def _made_at(identity: str) -> int | None:
    """The milliseconds in a version-7 uuid; None for other ids."""
    digits = identity.replace("-", "")
    return int(digits[:12], 16) if re.fullmatch(r"[0-9a-f]{12}7[0-9a-f]{19}", digits) else None


def _spawned_by(source: Raw) -> str:
    match = re.search(rb'"parent_thread_id":\s*"([^"]+)"', bytes(source))
    return match[1].decode("ascii", "replace") if match else ""


def _message_text(raw: Raw) -> str:
    if bytes(memoryview(raw)[:1]) == b'"':
        return string_in(raw)
    return "\n".join(
        part.text for part in decoded(_contents, raw, []) if part.text and not _IMAGE.fullmatch(part.text)
    )
