"""Gemini CLI: `~/.gemini/tmp/<hash or nickname>/chats/session-*.json` and, today, `.jsonl`.

The older form is one document that is rewritten; the newer appends records, among them whole messages
under the id of an earlier one, lists of messages that replace the history, and rewinds. So every message, text,
answer and count is claimed under the message's id: whatever is written again counts once, in whichever pass or
file it comes. What a rewind takes back was still said, done and paid for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Raw, Struct, field

from holdfast.agent_kit.contract import Glance, Warned, usual_folder
from holdfast.agent_kit.jsonl import LONGEST_LINE, LineAgent, decoded, seconds, string_after, tick
from holdfast.agent_kit.loose import (
    HEAD,
    LineReading,
    PassState,
    first_bytes,
    named_paths,
    object_in,
    record,
    with_todos,
)
from holdfast.agent_kit.questions import questions_in
from holdfast.agents.gemini.shape import (
    API_ERROR,
    answer_of,
    by_number,
    described,
    judged,
    own_words,
    parts_of,
    spoken,
    stopped,
)
from holdfast.core.hashes import sha256
from holdfast.core.json_depth import too_deep
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

_ABSOLUTE = lazy_regex(
    rb'(?<![\w.~/])(/[^\s"\\<>|*?:,;()\[\]{}\']{2,300}|[A-Za-z]:(?:\\\\|/)[^\s"<>|*?,;()\[\]{}\']{2,300})'
)
_WORKSPACE = lazy_regex(rb"Workspace Directories:\*\*\\n\s+- ([^\\\"]+)")
_LARGEST_MARKER = 4 * 1024 * 1024
_MOST_PATHS = 2000
_DOCUMENT = lazy_regex(rb'\A[\s\xef\xbb\xbf]*\{\s*"(?:sessionId|projectHash|startTime|messages)"')
_OLDER = lazy_regex(rb"\A[\s\xef\xbb\xbf]*\{[ \t]*\r?\n")  # indented: a document, not a line
_CANCELLED = ("Request cancelled.", "User cancelled the request.")
_GO_ON = "System: Please continue."  # what the client itself says when the model fell silent
_CLIENT_COMMAND = lazy_regex(r"[/?][a-z][\w:-]*(?:\s|\Z)|\?\Z")
# A summary that replaces the history, as the model wrote it: it may have thought aloud first.
_SNAPSHOT = lazy_regex(r"(?:<scratchpad>.*</scratchpad>\s*)?(<state_snapshot>)", re.DOTALL)


class _Tokens(Struct):
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None


class _Call(Struct):
    id: str | None = None
    name: str | None = None
    args: Raw = Raw(b"")
    result: Raw = Raw(b"")
    status: str | None = None
    timestamp: str | None = None


class _Record(Struct):
    """A header, a message, an update of the header or a rewind. The older form has one header with all messages."""

    id: str | None = None
    timestamp: str | None = None
    type: str | None = None
    content: Raw = Raw(b"")
    displayContent: Raw = Raw(b"")
    toolCalls: list[_Call] | None = None
    tokens: _Tokens | None = None
    model: str | None = None
    sessionId: str | None = None
    startTime: str | None = None
    kind: str | None = None
    directories: list[str] | None = None
    summary: str | None = None
    messages: list[Raw] | None = None
    update: _Record | None = field(default=None, name="$set")
    rewind: str | None = field(default=None, name="$rewindTo")


class _State(PassState):
    session: str = ""
    subagent: bool = False


_records = msgspec.json.Decoder(_Record)
_UNREADABLE = _Record()


class GeminiReading(LineReading[_Record, _State]):
    """One pass over either form. A document is read whole each time; what was counted before is claimed."""

    line = _records
    carried = _State

    _consumed: int | None = None

    def position(self) -> int:
        return self._lines.position if self._consumed is None else self._consumed

    def _events(self) -> Iterator[ev.Event]:
        if _OLDER.match(first_bytes(self._path, 256)):
            yield from self._document()
            return
        for line in self._lines:
            if line.rewind is not None:
                if self._new(line.rewind, "taken back"):
                    yield ev.Interruption(None)
            elif line.update is not None:
                yield from self._header(line.update)
            elif line.id is not None:
                yield from self._message(line)
            elif line.sessionId is not None:
                yield from self._header(line)

    def _document(self) -> Iterator[ev.Event]:
        data = first_bytes(self._path, LONGEST_LINE)
        header = _UNREADABLE if too_deep(data) else decoded(_records, Raw(data), _UNREADABLE)
        if header is _UNREADABLE:
            self._consumed = 0  # it may be written just now: the next pass reads it from the start
            self._warn("bad-document", "not a complete JSON document, skipped")
            return
        yield from self._header(header)
        self._consumed = len(data)

    def _header(self, header: _Record) -> Iterator[ev.Event]:
        state, at = self._state, seconds(header.startTime)
        if header.sessionId and not state.session:
            state.subagent = header.kind == "subagent"
            parent = self._path.parent.name if state.subagent else ""
            state.session = f"{parent}/{header.sessionId}" if parent else header.sessionId
            cwd = project_root(self._path, first_bytes(self._path, HEAD))
            yield ev.Began(
                at,
                session=state.session,
                parent=parent,
                cwd=cwd or next(iter(header.directories or ()), ""),
                provider="google",
            )
        if header.summary and not state.subagent:
            yield ev.Began(None, title=header.summary)
        for number, raw in enumerate(header.messages or (), start=1):
            message = decoded(_records, raw, _UNREADABLE)
            if message is _UNREADABLE:
                self._warn("bad-line", f"message {number} has an unexpected shape, skipped")
            else:
                yield from self._message(message)

    def _warn(self, code: str, text: str) -> None:
        self.warnings.append(Warned(str(self._path), max(self._lines.line, 1), code, text))

    def _new(self, *names: str | None) -> bool:
        return not self._claims.repeated("gemini:" + ":".join([self._state.session, *map(str, names)]))

    def _message(self, message: _Record) -> Iterator[ev.Event]:
        at = seconds(message.timestamp)
        if message.type == "gemini":
            yield from self._model(message, at)
        elif self._new(message.id):
            yield from self._other(message, at)

    def _other(self, message: _Record, at: float | None) -> Iterator[ev.Event]:
        text = spoken(parts_of(message.content)).strip()
        if message.type == "user":
            displayed = spoken(parts_of(message.displayContent))
            yield from self._person(own_words(displayed or text), at)
        elif text in _CANCELLED:
            yield ev.Interruption(at)
        elif message.type == "error" and API_ERROR.search(text):
            yield ev.ApiFailure(at, text)
        else:
            yield from tick(at)

    def _person(self, words: str, at: float | None) -> Iterator[ev.Event]:
        if summary := _SNAPSHOT.match(words):
            yield ev.Compaction(at, words[summary.start(1) :])
        elif words and words != _GO_ON and not _CLIENT_COMMAND.match(words) and not self._state.subagent:
            yield ev.UserTurn(at, words)
        else:
            yield from tick(at)

    def _model(self, message: _Record, at: float | None) -> Iterator[ev.Event]:
        if self._new(message.id):
            yield from tick(at)
        text = spoken(parts_of(message.content)).strip()
        if text and self._new(message.id, "said") and not self._state.subagent:
            yield ev.AgentTurn(at, text)
        if message.tokens is not None:
            yield from self._usage(message, message.tokens, at)
        for call in message.toolCalls or ():
            yield from self._call(call, at)

    def _usage(self, message: _Record, tokens: _Tokens, at: float | None) -> Iterator[ev.Event]:
        """Counted when first stated and when corrected; another file's copy of the message has counted it already."""
        cached = tokens.cached or 0
        usage = ev.Usage(
            max((tokens.input or 0) - cached, 0) + (tokens.tool or 0),
            (tokens.output or 0) + (tokens.thoughts or 0),
            cached,
        )
        key = f"{self._state.session}:{message.id}"
        if usage == ev.Usage() or self._claims.foreign(f"gemini:{key}:tokens"):
            return
        if self._new(message.id, str(usage.input), str(usage.output), str(usage.cache_read)):
            yield ev.UsageReport(at, key, message.model or "", usage)

    def _call(self, call: _Call, at: float | None) -> Iterator[ev.Event]:
        name, identity = call.name or "", call.id or ""
        arguments = object_in(call.args)
        call_event = described(name, arguments, identity, at)
        if self._new(identity, "called"):
            yield from with_todos(call_event, arguments)
        status = call.status or ""
        if status in ("success", "error", "cancelled") and self._new(identity, "answered"):
            text = answer_of(call.result)
            ended = seconds(call.timestamp) or at
            yield judged(identity, call_event.action, status, text, ended)
            if call_event.action == "ask":
                yield from by_number(ended, questions_in(arguments), text)
            if status == "cancelled" and stopped(text):
                yield ev.Interruption(ended)


class Gemini(LineAgent):
    agent = "gemini"
    title = "Gemini CLI"
    reading = GeminiReading

    def roots(self, places: Places) -> Iterable[Path]:
        return (usual_folder(places, "GEMINI_CLI_HOME") / ".gemini" / "tmp",)

    def candidates(self, root: Path) -> Iterable[Path]:
        for folder in root.glob("*/chats"):
            yield from sorted(folder.glob("session-*.json"))
            yield from sorted(folder.rglob("*.jsonl"))

    def recognise(self, path: Path, head: bytes) -> bool:
        start = head[:4096]
        return bool(_DOCUMENT.match(start)) and b'"sessionId"' in start and b'"projectHash"' in start

    def glance(self, path: Path, head: bytes) -> Glance:
        return Glance(cwd=project_root(path, head), started=seconds(string_after("startTime", head[:4096])))


def project_root(path: Path, head: bytes) -> str:
    """The session's directory, or '' where nothing proves one."""
    registered: dict[str, str] = {}
    # `tmp/<hash or nickname>`, above `chats/`
    home = next((parent.parent for parent in list(path.parents)[:3] if parent.name == "chats"), None)
    if home is not None:
        marker = first_bytes(home / ".project_root", _LARGEST_MARKER)
        if marked := marker.decode("utf-8", "replace").strip():
            return marked
        registered = _registered(home.parent.parent)
        for root, nickname in registered.items():
            if nickname == home.name:
                return root
    if wanted := string_after("projectHash", head[:4096]):
        for candidate in _candidates(head, registered):
            if sha256(candidate.encode("utf-8", "replace")).hexdigest() == wanted:
                return candidate
    stated = _WORKSPACE.search(head)  # the context a session begins with names the directory itself
    return stated[1].decode("utf-8", "replace").strip() if stated else ""


def _registered(base: Path) -> dict[str, str]:
    """Directories the client knows, with their nicknames ('' when it only trusts them)."""
    trusted = object_in(first_bytes(base / "trustedFolders.json", _LARGEST_MARKER))
    projects = record(object_in(first_bytes(base / "projects.json", _LARGEST_MARKER)), "projects")
    return {**dict.fromkeys(trusted, ""), **{root: str(nickname) for root, nickname in projects.items()}}


def _candidates(head: bytes, registered: dict[str, str]) -> Iterator[str]:
    yield from registered
    yield from named_paths(islice(_ABSOLUTE.finditer(head), _MOST_PATHS))
