"""Goose: `sessions/sessions.db`, and before it one `*.jsonl` per session with the session's data on line one.

Tokens are known for a session as a whole only; which session started a subagent's is not stored, and is
derived from the call made just before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.agent_kit.contract import Claims, Glance, usual_folder
from holdfast.agent_kit.jsonl import OBJECTS, JsonLines, excerpt, seconds, text_in, tick
from holdfast.agent_kit.loose import (
    Record,
    actions,
    checklist,
    count,
    first_object,
    object_in,
    paths_of,
    record,
    records,
    whole_number,
)
from holdfast.agent_kit.sqlite_source import DatabaseAgent, StoredSession, StoreReading, opened
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="shell bash",  # named `extension__tool`
    edit="write edit text_editor",
    read="read_file read read_image",
    search="tree analyze glob grep search",
    web="web_scrape web_search fetch",
    todo="todo_write todo_read",
    agent="delegate subagent create_task execute_task",
)
_TARGETS: dict[ev.Action, tuple[str, ...]] = {
    "shell": ("command",),
    "edit": ("path", "file_path"),
    "read": ("path", "file_path"),
}
_OTHER_TARGETS = ("pattern", "query", "url", "path", "instructions", "description")
_DECLINED = "The user has declined to run this tool"
_INTERRUPTED = "Interrupted by the user"
_COMPACTED = "Your context was compacted"
_INJECTED = ("<info-msg>", "<system-reminder>")
_EXIT = lazy_regex(r"Command exited with code (-?\d+)\s*\Z")
_CODE = lazy_regex(r"\A-?\d+: ")  # an error is written with its number
_TRY_AGAIN = "Please resend your message to try again"
TABLES = {"sessions": {"id", "working_dir"}, "messages": {"session_id", "role", "content_json"}}
_SPAWN_SECONDS = 120  # how long after the call a subagent's session may begin
_SPAWNING = ("%delegate%", "%subagent%", "%create_task%")


def message_events(message: Record, at: float | None, *, human: bool) -> Iterator[ev.Event]:
    visible = record(message, "metadata").get("userVisible") is not False
    role = message.get("role")
    items = records(message.get("content"))
    words = "\n".join(text_in(item, "text") for item in items if item.get("type") == "text").strip()
    if role == "user" and words:
        yield from _person(words, at, human=human and visible)
    elif role == "assistant" and words and visible and human:
        yield ev.ApiFailure(at, words) if _TRY_AGAIN in words else ev.AgentTurn(at, words)
    for item in items:
        kind = item.get("type")
        if kind in ("toolRequest", "frontendToolRequest"):
            yield from _call(item, at)
        elif kind == "toolResponse":
            yield from _result(item, at)
        elif kind == "conversationCompacted":
            yield ev.Compaction(at, text_in(item, "msg"))
    yield from tick(at)


def _person(words: str, at: float | None, *, human: bool) -> Iterator[ev.Event]:
    if words.startswith(_COMPACTED):
        yield ev.Compaction(at)
    elif human and not words.startswith(_INJECTED):
        yield ev.UserTurn(at, words)


def _call(item: Record, at: float | None) -> Iterator[ev.Event]:
    request = record(item, "toolCall", "value")
    name, arguments = text_in(request, "name"), record(request, "arguments")
    action = _action(name, arguments)
    target = _target(action, arguments)
    paths, given = paths_of(action, target), arguments if action == "edit" else ""
    yield ev.ToolCall(at, text_in(item, "id"), name or "invalid", action, target, paths, given=given)
    if action == "todo" and (todos := checklist(text_in(arguments, "content"))):
        yield ev.TodoList(at, todos)


def _action(name: str, arguments: Record) -> ev.Action:
    bare = name.rpartition("__")[2]
    if bare == "text_editor" and arguments.get("command") == "view":
        return "read"
    return ACTIONS.get(bare, "other")


def _target(action: ev.Action, arguments: Record) -> str:
    return text_in(arguments, *_TARGETS.get(action, _OTHER_TARGETS))


def _result(item: Record, at: float | None) -> Iterator[ev.Event]:
    result = record(item, "toolResult")
    value = result.get("value")
    output = _CODE.sub("", text_in(result, "error")) or _text_of(value)
    failed = result.get("status") == "error" or record(value).get("isError") is True
    interrupted = output.startswith(_INTERRUPTED)
    declined = output.startswith(_DECLINED)
    code = whole_number(record(value, "structuredContent").get("exit_code"))
    if code is None and (match := _EXIT.search(output[-200:])):
        code = int(match[1])
    yield ev.ToolResult(
        at,
        text_in(item, "id"),
        ok=None if interrupted else not (failed or declined or bool(code)),
        text=excerpt(output),
        exit_code=code,
        rejected=declined,
        own_fault=result.get("status") == "error" and not (declined or interrupted or code),
    )
    if interrupted:
        yield ev.Interruption(at)


def _text_of(value: object) -> str:
    """A tool's answer: content items, once a bare list and now within an object; not those for the agent alone."""
    items = value if isinstance(value, list) else record(value).get("content")
    return "\n".join(text_in(item, "text") for item in records(items) if item.get("type", "text") == "text")


class GooseSession(StoredSession):
    def info(self) -> Record:
        with opened(self.path) as database:
            rows = database.rows("SELECT * FROM sessions WHERE id = ?", self.session)
            row = rows[0] if rows else {}
            if row.get("session_type") != "sub_agent":
                return row
            began = int(seconds(row.get("created_at")) or 0)
            spawning = database.rows(
                "SELECT session_id FROM messages WHERE role = 'assistant' AND session_id <> ?"
                " AND created_timestamp BETWEEN ? AND ?"
                " AND (content_json LIKE ? OR content_json LIKE ? OR content_json LIKE ?)"
                " ORDER BY created_timestamp DESC LIMIT 1",
                self.session,
                began - _SPAWN_SECONDS,
                began + 1,
                *_SPAWNING,
            )
        return {**row, "parent": str(spawning[0]["session_id"]) if spawning else ""}

    def messages(self) -> Iterator[Record]:
        with opened(self.path) as database:
            known = ", metadata_json" if "metadata_json" in database.columns("messages") else ""
            rows = database.rows(
                f"SELECT id, role, content_json, created_timestamp{known} FROM messages"
                " WHERE session_id = ? ORDER BY created_timestamp, id",
                self.session,
            )
        for row in rows:
            content = row["content_json"]
            value = object_in(f'{{"content":{content}}}') if isinstance(content, str) else {}
            if not isinstance(value.get("content"), list):
                self.warn(f"message {row['id']}: its content is not a list, skipped")
                continue
            self.size += len(content)
            metadata = object_in(str(row.get("metadata_json") or "{}"))
            yield {
                "role": row["role"],
                "created": row["created_timestamp"],
                "content": value["content"],
                "metadata": metadata,
            }


class SessionFile:
    """The older form: the first line is rewritten as the session goes on, messages follow."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = JsonLines(path, 0, 0, OBJECTS)
        self.warnings = self._lines.warnings

    @property
    def size(self) -> int:
        return self._lines.position

    def info(self) -> Record:
        first = next(iter(JsonLines(self._path, 0, 0, OBJECTS)), {})
        return {**first, "id": self._path.stem} if "role" not in first else {"id": self._path.stem}

    def messages(self) -> Iterator[Record]:
        for line in self._lines:
            if "role" in line:
                yield line


class GooseReading(StoreReading[Record]):
    def _events(self) -> Iterator[ev.Event]:
        info = self._store.info()
        kind = text_in(info, "session_type")
        began = False
        answers: list[float | None] = []
        for message in self._store.messages():
            at = seconds(message.get("created"))
            if self._claims.repeated(_key(message)):
                continue
            if not began:
                began = True
                yield _began(info, kind, at)
            if message.get("role") == "assistant":
                answers.append(at)
            yield from message_events(message, at, human=kind != "sub_agent")
        if began:
            yield from self._usage(info, answers)

    def _usage(self, info: Record, answers: list[float | None]) -> Iterator[ev.Event]:
        """The session's total, spread over its responses: prices depend on the size of a single request."""
        session = text_in(info, "id")
        shares = max(len(answers), 1)
        totals = (count(info.get("accumulated_input_tokens")), count(info.get("accumulated_output_tokens")))
        if not any(totals) or self._claims.foreign(f"goose:{session}:usage"):
            return
        model = text_in(object_in(text_in(info, "model_config_json")), "model_name")
        for number in range(shares):
            prompt, output = (total // shares + (number < total % shares) for total in totals)
            at = answers[number] if answers else None
            yield ev.UsageReport(at, f"goose:{session}:{number}", model, ev.Usage(prompt, output))


class Goose(DatabaseAgent):
    agent = "goose"
    title = "Goose"
    tables = TABLES

    def roots(self, places: Places) -> Iterable[Path]:
        if base := places.env.get("GOOSE_PATH_ROOT"):
            yield Path(base) / "data" / "sessions"
            return
        yield usual_folder(places, "XDG_DATA_HOME", ".local", "share") / "goose" / "sessions"
        yield places.home / "Library" / "Application Support" / "Block.goose" / "sessions"
        if roaming := places.env.get("APPDATA"):
            yield Path(roaming) / "Block" / "goose" / "data" / "sessions"

    def candidates(self, root: Path) -> Iterable[Path]:
        database = root / "sessions.db"
        if database.is_file():
            yield database  # it took over what was in the files
        else:
            yield from sorted(root.glob("*.jsonl"))

    def is_own_file(self, path: Path, head: bytes) -> bool:
        first = first_object(head)
        if "role" in first:
            return "created" in first and _is_content(first.get("content"))
        return "description" in first and ("working_dir" in first or "message_count" in first)

    def glance(self, path: Path, head: bytes) -> Glance:
        first = first_object(head)
        created = re.search(rb'"created"\s*:\s*(\d{10,13})', head)
        return Glance(text_in(first, "working_dir"), seconds(int(created[1])) if created else None)

    def stored(self, path: Path, part: str, claims: Claims) -> GooseReading:
        return GooseReading(GooseSession(path, part), claims)

    def file(self, path: Path, claims: Claims) -> GooseReading:
        return GooseReading(SessionFile(path), claims)

    def stored_sessions(self, path: Path) -> Iterator[Glance]:
        return _stored_sessions(path)


def _began(info: Record, kind: str, at: float | None) -> ev.Began:
    return ev.Began(
        at,
        session=text_in(info, "id"),
        parent=text_in(info, "parent"),
        cwd=text_in(info, "working_dir"),
        provider=text_in(info, "provider_name"),
        headless=kind in ("scheduled", "hidden", "sub_agent") or bool(info.get("schedule_id")),
        title=text_in(info, "name", "description"),
    )


def _stored_sessions(path: Path) -> Iterator[Glance]:
    with opened(path) as database:
        rows = database.rows("SELECT * FROM sessions")
        sizes = {
            row["session_id"]: (row["n"], row["last"])
            for row in database.rows(
                "SELECT session_id, count(*) AS n, max(id) AS last FROM messages GROUP BY session_id"
            )
        }
    for row in rows:
        size, last = sizes.get(row["id"], (0, 0))
        if size:
            tokens = count(row.get("accumulated_total_tokens"))
            updated = int((seconds(row.get("updated_at")) or 0) * 1000)
            yield Glance(
                cwd=str(row.get("working_dir") or ""),
                started=seconds(row.get("created_at")),
                part=str(row["id"]),
                size=count(size),
                changed=updated + count(last) + tokens,
            )


def _key(message: Record) -> str:
    """What a message is in every copy of it: imported from the old form, copied into another session."""
    parts = [text_in(item, "id", "text") for item in records(message.get("content"))]
    digest = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"goose:{message.get('created')}:{message.get('role')}:{digest}"


def _is_content(value: object) -> bool:
    kinds = {"text", "toolRequest", "toolResponse", "image", "thinking", "contextLengthExceeded"}
    return any(record(item).get("type") in kinds for item in records(value))
