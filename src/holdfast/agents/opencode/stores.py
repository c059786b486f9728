"""The three places in which OpenCode keeps a session: its database, the older tree of files, an export.

Each gives the same: what is known of the session, and its messages with their parts, oldest first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.agent_kit.contract import Glance, Warned
from holdfast.agent_kit.jsonl import seconds, text_in
from holdfast.agent_kit.loose import Document, Record, count, object_in, record, records
from holdfast.agent_kit.sqlite_source import Database, Row, StoredSession, opened
from holdfast.core.patterns import lazy_regex

TABLES = {"session": {"id", "directory"}, "message": {"session_id", "data"}, "part": {"message_id", "data"}}
_IDENTITY = lazy_regex(r"[A-Za-z]{2,4}_[A-Za-z0-9]+")
KILO = {"kilo_board": {"root_session_id"}}  # a table of Kilo Code, whose others are the same
Message = tuple[Record, list[Record]]


class DatabaseSession(StoredSession):
    """A session in `opencode.db`: rows of `message` and `part`, each with its JSON in `data`."""

    def info(self) -> Record:
        with opened(self.path) as database:
            rows = database.rows("SELECT * FROM session WHERE id = ?", self.session)
        return _session_of(rows[0]) if rows else {}

    def messages(self) -> Iterator[Message]:
        with opened(self.path) as database:
            for row in database.rows(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", self.session
            ):
                message = self._decoded(row, "message")
                if message:
                    yield message, self._parts(database, str(row["id"]))

    def _parts(self, database: Database, message: str) -> list[Record]:
        rows = database.rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", message)
        return [part for row in rows if (part := self._decoded(row, "part"))]

    def _decoded(self, row: Row, kind: str) -> Record:
        data = row["data"]
        value = object_in(data) if isinstance(data, str | bytes) else {}
        if not value:
            self.warn(f"{kind} {row['id']}: not a JSON object, skipped")
            return {}
        self.size += len(data)
        value["id"] = row["id"]
        return value


class SessionTree:
    """`session/<project>/<id>.json`, `message/<id>/*.json`, `part/<message>/*.json`; once below `session/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.warnings: list[Warned] = []

    def info(self) -> Record:
        return self._object(self.path)

    def messages(self) -> Iterator[Message]:
        folder = message_folder(self.path, self.path.stem)
        for path in _json_files(folder):
            if message := self._object(path):
                parts = (self._object(part) for part in _json_files(_part_folder(folder, path.stem)))
                yield {"id": path.stem, **message}, [part for part in parts if part]

    def _object(self, path: Path) -> Record:
        document = Document(path)
        value = document.load_or_warn()
        self.size += document.size
        if isinstance(value, dict):
            return value
        self.warnings += document.warnings[:1] or [
            Warned(str(path), 1, "bad-json", "not a JSON object, skipped")
        ]
        return {}


class ExportedSession:
    """What `opencode export` prints: `{info, messages: [{info, parts}]}`."""

    def __init__(self, path: Path) -> None:
        self._document = Document(path, "messages")
        self._value: Record | None = None
        self.warnings = self._document.warnings
        self.size = 0

    def _load(self) -> Record:
        if self._value is None:
            self._value = record(self._document.load())
            self.size = self._document.size
        return self._value

    def info(self) -> Record:
        return record(self._load(), "info")

    def messages(self) -> Iterator[Message]:
        for number, message in enumerate(records(self._load().get("messages")), 1):
            info = record(message, "info")
            if not info:
                self.warnings.append(
                    Warned(
                        str(self._document.path), 0, "bad-message", f"message {number} says nothing of itself"
                    )
                )
                continue
            yield info, records(message.get("parts"))


def stored_sessions(path: Path) -> Iterable[Glance]:
    """All sessions of a database, from the session table and the index of messages alone."""
    with opened(path) as database:
        rows = database.rows("SELECT * FROM session")
        sizes = {
            row["session_id"]: row["n"]
            for row in database.rows("SELECT session_id, count(*) AS n FROM message GROUP BY session_id")
        }
    for row in rows:
        if sizes.get(row["id"]):
            yield Glance(
                cwd=str(row.get("directory") or ""),
                started=seconds(row.get("time_created")),
                part=str(row["id"]),
                size=count(sizes[row["id"]]),
                changed=count(row.get("time_updated")),
                parent=str(row.get("parent_id") or ""),
            )


def tree_stamp(path: Path, session: str) -> tuple[int, int]:
    """How many messages there are and when the last of them changed: the session's own file may not say."""
    files = _json_files(message_folder(path, session))
    return len(files), max([file.stat().st_mtime_ns for file in files], default=0)


def message_folder(path: Path, session: str) -> Path:
    """Where the messages lie: beside `session/` today, within it in the first versions."""
    if not _IDENTITY.fullmatch(session) or len(path.parents) < 3:
        return path / "none"  # an id that must not become a path
    for base in (path.parents[2], path.parents[1]):
        if (base / "message" / session).is_dir():
            return base / "message" / session
    return path / "none"


def _part_folder(messages: Path, message: str) -> Path:
    base = messages.parent.parent / "part"
    older = base / messages.name / message
    return older if older.is_dir() else base / message


def _json_files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                Path(entry.path) for entry in entries if entry.name.endswith(".json") and entry.is_file()
            )
    except OSError:
        return []


def _session_of(row: Row) -> Record:
    """A row in the words of the other two forms."""
    permission = row.get("permission")
    return {
        "id": row.get("id"),
        "parentID": row.get("parent_id"),
        "directory": row.get("directory"),
        "title": row.get("title"),
        "version": row.get("version"),
        "permission": permission if isinstance(permission, str) else "",
        "time": {"created": row.get("time_created")},
    }


def forbids_questions(info: Record) -> bool:
    """`opencode run` cannot ask: it denies questions and plan mode for the whole session."""
    rules = info.get("permission")
    if isinstance(rules, str):
        rules = record(object_in(f'{{"rules":{rules or "[]"}}}')).get("rules")
    denied = {text_in(rule, "permission") for rule in records(rules) if rule.get("action") == "deny"}
    return {"question", "plan_exit"} <= denied
