"""Goose: `sessions/sessions.db`, and before it one `*.jsonl` per session with the session's data on line one.

Tokens are known for a session as a whole only; which session started a subagent's is not stored, and is told
by the call that was made just before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from holdfast.model.session import Began, Event, Usage, UsageReport
from holdfast.transcripts.contract import Claims, Glance, Places, Warned
from holdfast.transcripts.goose_events import message_events
from holdfast.transcripts.jsonl import JsonLines, seconds, text_in
from holdfast.transcripts.loose import Record, count, object_in, record, records
from holdfast.transcripts.sqlite_source import (
    StoreReading,
    Unreadable,
    has_tables,
    is_sqlite,
    opened,
    sessions_of,
)

TABLES = {"sessions": {"id", "working_dir"}, "messages": {"session_id", "role", "content_json"}}
_SPAWN_SECONDS = 120  # how long after the call a subagent's session may begin
_SPAWNING = ("%delegate%", "%subagent%", "%create_task%")
_objects = msgspec.json.Decoder(dict[str, Any])


class StoredSession:
    def __init__(self, path: Path, session: str) -> None:
        self.path = path
        self.session = session
        self.size = 0
        self.warnings: list[Warned] = []

    def info(self) -> Record:
        with opened(self.path) as database:
            rows = database.rows("SELECT * FROM sessions WHERE id = ?", self.session)
            found = rows[0] if rows else {}
            if found.get("session_type") != "sub_agent":
                return found
            began = int(seconds(found.get("created_at")) or 0)
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
        return {**found, "parent": str(spawning[0]["session_id"]) if spawning else ""}

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
                problem = f"message {row['id']}: its content is no list, left out"
                self.warnings.append(Warned(f"{self.path}#{self.session}", 0, "bad-row", problem))
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
        self._lines = JsonLines(path, 0, 0, _objects)
        self.warnings = self._lines.warnings

    @property
    def size(self) -> int:
        return self._lines.position

    def info(self) -> Record:
        first = next(iter(JsonLines(self._path, 0, 0, _objects)), {})
        return {**first, "id": self._path.stem} if "role" not in first else {"id": self._path.stem}

    def messages(self) -> Iterator[Record]:
        for line in self._lines:
            if "role" in line:
                yield line


class GooseReading(StoreReading[Record]):
    def _events(self) -> Iterator[Event]:
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

    def _usage(self, info: Record, answers: list[float | None]) -> Iterator[Event]:
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
            yield UsageReport(at, f"goose:{session}:{number}", model, Usage(prompt, output))


class Goose:
    agent = "goose"
    title = "Goose"
    appends = False
    copies = False

    def roots(self, places: Places) -> Iterable[Path]:
        env = places.env
        if base := env.get("GOOSE_PATH_ROOT"):
            return (Path(base) / "data" / "sessions",)
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else places.home / ".local" / "share"
        found = [data / "goose" / "sessions"]
        found.append(places.home / "Library" / "Application Support" / "Block.goose" / "sessions")
        if roaming := env.get("APPDATA"):
            found.append(Path(roaming) / "Block" / "goose" / "data" / "sessions")
        return found

    def candidates(self, root: Path) -> Iterable[Path]:
        database = root / "sessions.db"
        if database.is_file():
            yield database  # it took over what was in the files
        else:
            yield from sorted(root.glob("*.jsonl"))

    def recognise(self, path: Path, head: bytes) -> bool:
        if is_sqlite(head):
            return has_tables(path, head, TABLES)
        first = object_in(head.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0])
        if "role" in first:
            return "created" in first and _is_content(first.get("content"))
        return "description" in first and ("working_dir" in first or "message_count" in first)

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        if is_sqlite(head):
            return sessions_of(path, _stored_sessions)
        first = object_in(head.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0])
        created = re.search(rb'"created"\s*:\s*(\d{10,13})', head)
        return (Glance(text_in(first, "working_dir"), seconds(int(created[1])) if created else None),)

    def open(
        self, path: Path, offset: int, state: bytes, claims: Claims, part: str = ""
    ) -> GooseReading | Unreadable:
        with open(path, "rb") as file:
            head = file.read(64)
        if not is_sqlite(head):
            return GooseReading(SessionFile(path), claims)
        return GooseReading(StoredSession(path, part), claims) if part else Unreadable(path, _stored_sessions)


def _began(info: Record, kind: str, at: float | None) -> Began:
    return Began(
        at,
        session=text_in(info, "id"),
        parent=text_in(info, "parent"),
        cwd=text_in(info, "working_dir"),
        provider=text_in(info, "provider_name"),
        headless=kind in ("scheduled", "hidden", "sub_agent") or bool(info.get("schedule_id")),
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
