"""Miniature transcripts in the true shape of Claude Code and Codex, and what is needed to read them back.

Times are seconds after `START`, given with every line, so that a test says what it means about time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from holdfast.agent_kit.contract import Importer, Warned
from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.agents.codex.reader import Codex
from holdfast.model.events import DistilledSession, Event
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.session import SessionPart, conclude

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC).timestamp()
SESSION = "0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a11"
CWD = "/home/ada/shop"

Json = dict[str, Any]


def stamp(at: float) -> str:
    """`START` plus some seconds, as both agents write it."""
    moment = datetime.fromtimestamp(START + at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def uuid7(at: float, tail: int = 1) -> str:
    """A time-ordered id made at `START` plus some seconds, as newer Codex names threads and turns."""
    digits = f"{round((START + at) * 1000):012x}7000b000{tail:012x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Registry:
    """Who counted what, over all sources of a test; `source` is the view of one of them."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}

    def source(self, name: str) -> SourceClaims:
        return SourceClaims(self.owners, name)


class SourceClaims:
    """The in-memory twin of what an import keeps on disk."""

    def __init__(self, owners: dict[str, str], name: str) -> None:
        self._owners = owners
        self._name = name

    def repeated(self, key: str) -> bool:
        if key in self._owners:
            return True
        self._owners[key] = self._name
        return False

    def foreign(self, key: str) -> bool:
        return self._owners.setdefault(key, self._name) != self._name


class Lines:
    """A transcript that is being written, line by line."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, value: Json | bytes) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
        self.lines.append(raw)

    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


class ClaudeFile(Lines):
    """`~/.claude/projects/<slug>/<session>.jsonl`. With `agent`, a subagent's file."""

    def __init__(
        self,
        session: str = SESSION,
        cwd: str = CWD,
        *,
        agent: str = "",
        branch: str = "main",
        version: str = "2.1.39",
        prefix: str = "u",
        **fields: Any,
    ) -> None:
        super().__init__()
        self.common: Json = {
            "isSidechain": bool(agent),
            "userType": "external",
            "cwd": cwd,
            "sessionId": session,
            "version": version,
            "gitBranch": branch,
            **({"agentId": agent} if agent else {}),
            **fields,
        }
        self._prefix = f"{prefix}-{agent or session[:4]}"
        self._uuid: str | None = None
        self._calls = 0

    def line(self, at: float, kind: str, **fields: Any) -> str:
        """A line of the conversation; it hangs on the one before."""
        uuid = fields.pop("uuid", None) or f"{self._prefix}-{len(self.lines):04d}"
        self.add(
            {
                "parentUuid": self._uuid,
                **self.common,
                "type": kind,
                **fields,
                "uuid": uuid,
                "timestamp": stamp(at),
            }
        )
        self._uuid = uuid
        return uuid

    def user(self, at: float, text: str | list[Json], **fields: Any) -> str:
        return self.line(at, "user", message={"role": "user", "content": text}, **fields)

    def assistant(
        self,
        at: float,
        blocks: str | Sequence[Json],
        *,
        id: str | None = "",
        request: str | None = "",
        model: str = "claude-opus-4-5-20251101",
        usage: Json | None = None,
        **fields: Any,
    ) -> None:
        """One response: a line per block, each with the same id and usage."""
        parts = [text_block(blocks)] if isinstance(blocks, str) else list(blocks)
        number = len(self.lines)
        identity = f"msg_{self._prefix}_{number:04d}" if id == "" else id
        asked = f"req_{self._prefix}_{number:04d}" if request == "" else request
        for part in parts:
            message: Json = {
                "model": model,
                "type": "message",
                "role": "assistant",
                "content": [part],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage if usage is not None else claude_usage(),
            }
            if identity is not None:
                message["id"] = identity
            self.line(at, "assistant", message=message, **({"requestId": asked} if asked else {}), **fields)

    def call(self, at: float, tool: str, input: Json, *, usage: Json | None = None, **fields: Any) -> str:
        """A response that is one tool call; returns its id for `result`."""
        self._calls += 1
        call = f"toolu_{self._prefix}_{self._calls:04d}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": input}
        self.assistant(at, [block], usage=usage, **fields)
        return call

    def result(
        self,
        at: float,
        call: str,
        content: Any,
        *,
        error: bool = False,
        details: Any = None,
        **fields: Any,
    ) -> None:
        block: Json = {"tool_use_id": call, "type": "tool_result", "content": content}
        if error:
            block["is_error"] = True
        self.user(at, [block], **({} if details is None else {"toolUseResult": details}), **fields)

    def run(
        self, at: float, command: str, output: str = "", *, exit_code: int = 0, took: float = 1.0
    ) -> None:
        """A shell command and how it ended."""
        call = self.call(at, "Bash", {"command": command, "description": "Runs it"})
        text = f"Exit code {exit_code}\n{output}" if exit_code else output
        details: Any = (
            f"Error: {text}"
            if exit_code
            else {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        )
        self.result(at + took, call, text, error=bool(exit_code), details=details)

    def edit(self, at: float, path: str, *, took: float = 1.0) -> None:
        call = self.call(at, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        self.result(
            at + took,
            call,
            f"The file {path} has been updated.",
            details={"filePath": path, "oldString": "a", "newString": "b", "structuredPatch": []},
        )

    def reject(self, at: float, call: str, said: str = "") -> None:
        """The person declined a call; without words the client adds an interruption."""
        text = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
            "edit, the new_string was NOT written to the file). "
        )
        if said:
            text += f"To tell you how to proceed, the user said:\n{said}"
        else:
            text += "STOP what you are doing and wait for the user to tell you how to proceed."
        details = f"Error: {text}" if said else "User rejected tool use"
        self.result(at, call, text, error=True, details=details)
        if not said:
            self.interrupt(at, for_tool=True)

    def interrupt(self, at: float, *, for_tool: bool = False) -> None:
        text = "[Request interrupted by user for tool use]" if for_tool else "[Request interrupted by user]"
        self.user(at, [text_block(text)])

    def command(self, at: float, name: str, arguments: str = "", **fields: Any) -> None:
        """A slash command, as the client writes it."""
        self.user(
            at,
            f"<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n"
            f"            <command-args>{arguments}</command-args>",
            **fields,
        )

    def api_error(self, at: float, text: str) -> None:
        self.assistant(at, text, model="<synthetic>", usage=claude_usage(0, 0), isApiErrorMessage=True)

    def system(self, at: float, subtype: str, **fields: Any) -> None:
        self.line(at, "system", subtype=subtype, isMeta=False, **fields)

    def compact(self, at: float, summary: str) -> None:
        self.system(
            at, "compact_boundary", content="Conversation compacted", compactMetadata={"trigger": "auto"}
        )
        self.user(at, summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def progress(self, at: float) -> None:
        self.line(at, "progress", data={"type": "hook_progress", "hookEvent": "PostToolUse"}, toolUseID="x")

    def attachment(self, at: float, attachment: Json, **fields: Any) -> None:
        self.line(at, "attachment", attachment=attachment, **fields)

    def summary(self, text: str) -> None:
        self.add({"type": "summary", "summary": text, "leafUuid": "leaf-of-another-session"})

    def snapshot(self) -> None:
        self.add(
            {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False}
        )

    def queue(self, at: float, operation: str, content: str = "") -> None:
        session = self.common["sessionId"]
        said = {"content": content} if content else {}
        self.add(
            {
                "type": "queue-operation",
                "operation": operation,
                "timestamp": stamp(at),
                "sessionId": session,
                **said,
            }
        )

    def copied_from(self, other: ClaudeFile) -> None:
        """A resumed or forked session: the other's conversation again, uuids and times kept."""
        for raw in other.lines:
            value = json.loads(raw)
            if "sessionId" in value:
                value["sessionId"] = self.common["sessionId"]
            self.add(value)


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def claude_usage(
    input: int = 10, output: int = 20, *, read: int = 0, write: int = 0, write_1h: int = 0
) -> Json:
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write - write_1h,
            "ephemeral_1h_input_tokens": write_1h,
        },
        "output_tokens": output,
        "service_tier": "standard",
    }


class CodexFile(Lines):
    """`~/.codex/sessions/Y/M/D/rollout-*.jsonl`."""

    def __init__(
        self, session: str = "", cwd: str = CWD, *, at: float = 0.0, meta: bool = True, **fields: Any
    ) -> None:
        super().__init__()
        self.session = session or uuid7(at)
        self.cwd = cwd
        self.turn = uuid7(at + 0.001, 2)
        self._calls = 0
        self._total = (0, 0, 0)
        if meta:
            self.meta(at, **fields)

    def line(self, at: float, kind: str, payload: Json) -> None:
        self.add({"timestamp": stamp(at), "type": kind, "payload": payload})

    def meta(self, at: float, **fields: Any) -> None:
        payload = {
            "id": self.session,
            "timestamp": stamp(at),
            "cwd": self.cwd,
            "originator": "codex_cli_rs",
            "cli_version": "0.144.2",
            "source": "cli",
            "model_provider": "openai",
            "base_instructions": {"text": "You are a coding agent."},
            "git": {
                "commit_hash": "1" * 40,
                "branch": "main",
                "repository_url": "git@example.org:ada/shop.git",
            },
        }
        self.line(at, "session_meta", {**payload, **fields})

    def event(self, at: float, kind: str, **fields: Any) -> None:
        self.line(at, "event_msg", {"type": kind, **fields})

    def item(self, at: float, kind: str, **fields: Any) -> None:
        self.line(at, "response_item", {"type": kind, **fields})

    def started(self, at: float, turn: str = "") -> None:
        self.turn = turn or uuid7(at, len(self.lines) + 100)
        self.event(at, "task_started", turn_id=self.turn, model_context_window=258400)

    def context(self, at: float, model: str = "gpt-5.5", **fields: Any) -> None:
        payload = {
            "turn_id": self.turn,
            "cwd": self.cwd,
            "approval_policy": "never",
            "model": model,
            "effort": "high",
        }
        self.line(at, "turn_context", {**payload, **fields})

    def message(self, at: float, role: str, text: str | Sequence[str]) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        texts = [text] if isinstance(text, str) else text
        self.item(at, "message", role=role, content=[{"type": kind, "text": part} for part in texts])

    def user(self, at: float, text: str, *, item: bool = True, event: bool = True) -> None:
        """A prompt, which is written twice."""
        if item:
            self.message(at, "user", text)
        if event:
            self.event(at, "user_message", message=text, images=[], local_images=[], text_elements=[])

    def ask(self, at: float, text: str, model: str = "gpt-5.5") -> None:
        """A new turn with everything that opens one."""
        self.started(at)
        self.context(at, model)
        self.user(at, text)

    def agent(self, at: float, text: str) -> None:
        self.event(at, "agent_message", message=text, phase="commentary")
        self.message(at, "assistant", text)

    def call(self, at: float, name: str, arguments: Json | str) -> str:
        self._calls += 1
        call = f"call_{self._calls:04d}"
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.item(at, "function_call", name=name, arguments=text, call_id=call)
        return call

    def custom(self, at: float, name: str, input: str) -> str:
        self._calls += 1
        call = f"call_{self._calls:04d}"
        self.item(at, "custom_tool_call", name=name, input=input, call_id=call, status="completed")
        return call

    def output(self, at: float, call: str, output: Any, *, custom: bool = False) -> None:
        self.item(
            at, "custom_tool_call_output" if custom else "function_call_output", call_id=call, output=output
        )

    def run(
        self, at: float, command: str, output: str = "", *, exit_code: int = 0, took: float = 1.0
    ) -> None:
        call = self.call(at, "exec_command", {"cmd": command, "workdir": self.cwd})
        self.output(at + took, call, exited(exit_code, output))

    def patch(self, at: float, *paths: str, took: float = 1.0) -> None:
        call = self.custom(at, "apply_patch", patch_of(*paths))
        self.event(at + took, "patch_apply_end", call_id=call, success=True, stdout="", stderr="", changes={})
        self.output(at + took, call, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess.", custom=True)

    def tokens(self, at: float, input: int, cached: int, output: int, *, last: Json | None = None) -> None:
        """The running total as it stands; `last` is what the newest request took."""
        previous, self._total = self._total, (input, cached, output)
        change = [now - before for now, before in zip(self._total, previous, strict=True)]
        self.event(
            at,
            "token_count",
            info={
                "total_token_usage": codex_usage(*self._total),
                "last_token_usage": last or codex_usage(*change),
                "model_context_window": 258400,
            },
            rate_limits=None,
        )

    def no_tokens(self, at: float) -> None:
        self.event(at, "token_count", info=None, rate_limits={"primary": None})

    def again(self) -> None:
        """The last line once more, as Codex re-emits it."""
        self.lines.append(self.lines[-1])

    def abort(self, at: float) -> None:
        self.event(at, "turn_aborted", turn_id=self.turn, reason="interrupted")
        self.message(
            at, "user", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"
        )

    def replay(self, at: float, parent: CodexFile) -> None:
        """A fork's beginning: the parent's history, all stamped at fork time."""
        for number, raw in enumerate(parent.lines):
            self.add({**json.loads(raw), "timestamp": stamp(at + number * 0.001)})
        self._total = parent._total


def codex_usage(input: int, cached: int, output: int) -> Json:
    return {
        "input_tokens": input,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": 0,
        "total_tokens": input + output,
    }


def exited(code: int, output: str = "") -> str:
    return f"Chunk ID: 0a1b2c\nWall time: 0.5 seconds\nProcess exited with code {code}\nOutput:\n{output}"


def still_running(process: int | str, output: str = "") -> str:
    return f"Chunk ID: 0a1b2c\nWall time: 10.0 seconds\nProcess running with session ID {process}\nOutput:\n{output}"


def patch_of(*paths: str) -> str:
    body = "".join(f"*** Update File: {path}\n@@\n-a\n+b\n" for path in paths)
    return f"*** Begin Patch\n{body}*** End Patch"


class Read:
    """One pass over a transcript and everything that came of it."""

    def __init__(self, events: list[Event], warnings: list[Warned], position: int, state: bytes) -> None:
        self.events = events
        self.warnings = warnings
        self.position = position
        self.state = state

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]


def read(
    importer: Importer,
    path: Path,
    *,
    offset: int = 0,
    state: bytes = b"",
    claims: SourceClaims | None = None,
) -> Read:
    reading = importer.open(path, offset, state, claims or Registry().source(str(path)))
    events = list(reading.events())
    return Read(events, reading.warnings, reading.position(), reading.state())


def read_claude(path: Path, **options: Any) -> Read:
    return read(ClaudeCode(), path, **options)


def read_codex(path: Path, **options: Any) -> Read:
    return read(Codex(), path, **options)


def digest_of(events: Iterable[Event], agent: str = "claude-code") -> Digest:
    digest = Digest(agent=agent)
    Reducer(digest).take_all(events)
    return digest


def session_of(importer: Importer, *paths: Path) -> DistilledSession:
    """What an import makes of the transcripts of one session, first come first counted."""
    registry = Registry()
    parts = []
    for path in paths:
        claims = registry.source(str(path))
        digest = digest_of(read(importer, path, claims=claims).events, importer.agent)
        if not digest.empty:
            parts.append(SessionPart(str(path), digest))
    own = next((part.digest.parent or part.digest.session for part in parts), "")
    return conclude(own, parts, None, None)


def grown(
    importer: Importer,
    path: Path,
    data: bytes,
    cuts: Iterable[int],
    seal: Callable[[str], str] | None = None,
) -> tuple[Digest, list[Warned], int]:
    """A file that grew while it was imported: read after every cut, with everything stored in between."""
    digest, state, position = Digest(agent=importer.agent), b"", 0
    claims = Registry().source(str(path))
    warnings: list[Warned] = []
    for end in [*sorted(cuts), len(data)]:
        path.write_bytes(data[:end])
        done = read(importer, path, offset=position, state=state, claims=claims)
        Reducer(digest).take_all(done.events)
        if seal is not None:
            digest.seal(seal)
        digest = msgspec.msgpack.decode(msgspec.msgpack.encode(digest), type=Digest)
        state, position = done.state, done.position
        warnings += done.warnings
    return digest, warnings, position


def plain(value: Any) -> Mapping[str, Any]:
    """A struct as something that shows its differences."""
    result = msgspec.to_builtins(value)
    assert isinstance(result, dict)
    return result
