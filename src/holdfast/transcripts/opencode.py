"""OpenCode: `opencode.db`, the older `storage/` tree, and the files that `opencode export` writes.

One session may lie in all three; a fork copies messages under new ids with their old times. Each message is
counted once. Nearly all sessions are subagents', which name their parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.model.session import Began, Event
from holdfast.transcripts.contract import Claims, Glance, Places
from holdfast.transcripts.jsonl import seconds, text_in
from holdfast.transcripts.loose import Record, object_in, record
from holdfast.transcripts.opencode_events import message_events
from holdfast.transcripts.opencode_stores import (
    TABLES,
    ExportedSession,
    Message,
    SessionTree,
    StoredSession,
    forbids_questions,
    stored_sessions,
    tree_stamp,
)
from holdfast.transcripts.sqlite_source import StoreReading, Unreadable, has_tables, is_sqlite, sessions_of

_SESSION_ID = re.compile(rb'"id"\s*:\s*"(ses_[A-Za-z0-9]+)"')
_EXPORT = re.compile(rb'\A[\xef\xbb\xbf\s]*\{\s*"info"\s*:\s*\{')
_INFO = re.compile(rb'\A[\xef\xbb\xbf\s]*\{\s*"id"\s*:\s*"ses_[A-Za-z0-9]+"\s*,')


class OpenCodeReading(StoreReading[Message]):
    def _events(self) -> Iterator[Event]:
        info = self._store.info()
        subagent, headless = bool(text_in(info, "parentID")), forbids_questions(info)
        named: str | None = None
        for message, parts in self._store.messages():
            if self._counted(message):
                continue
            cwd = text_in(record(message, "path"), "cwd") or text_in(info, "directory")
            provider = text_in(message, "providerID") or text_in(record(message, "model"), "providerID")
            if provider != named:
                named = provider
                yield Began(
                    seconds(record(message, "time").get("created")),
                    session=text_in(info, "id") or text_in(message, "sessionID"),
                    parent=text_in(info, "parentID"),
                    cwd=cwd,
                    version=text_in(info, "version"),
                    provider=provider,
                    headless=headless and not subagent,
                )
            yield from message_events(message, parts, subagent=subagent, headless=headless)

    def _counted(self, message: Record) -> bool:
        """Whether another copy of the message was read: under its id, or as what it was before a fork."""
        identity = text_in(message, "id")
        if identity and self._claims.repeated(identity):
            return True
        time, tokens = record(message, "time"), record(message, "tokens")
        if message.get("role") == "assistant" and time.get("completed"):
            origin = f"opencode:{time.get('created')}:{time['completed']}:{tokens}:{message.get('modelID')}"
            return self._claims.repeated(origin)
        if message.get("role") == "user" and time.get("created"):
            return self._claims.repeated(f"opencode:user:{time['created']}:{message.get('agent')}")
        return False


class OpenCode:
    agent = "opencode"
    title = "OpenCode"
    appends = False
    copies = False

    def roots(self, places: Places) -> Iterable[Path]:
        data = places.env.get("XDG_DATA_HOME", "")
        yield (Path(data) if data else places.home / ".local" / "share") / "opencode"

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from sorted(root.glob("opencode*.db"))
        yield from sorted(root.glob("storage/session/*/*.json"))
        yield from sorted(root.glob("project/*/storage/session/info/*.json"))

    def recognise(self, path: Path, head: bytes) -> bool:
        if is_sqlite(head):
            return has_tables(path, head, TABLES)
        if _EXPORT.match(head):
            return bool(_SESSION_ID.search(head[:4096]))
        if not _INFO.match(head):
            return False
        info = object_in(head)
        return not info or (isinstance(info.get("time"), dict) and "messages" not in info)

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        if is_sqlite(head):
            return sessions_of(path, stored_sessions)
        cwd = re.search(rb'"directory"\s*:\s*("(?:[^"\\]|\\.)*")', head)
        stamp = re.search(rb'"created"\s*:\s*(\d{10,14})', head)
        directory = _json_string(cwd[1]) if cwd else ""
        started = seconds(int(stamp[1])) if stamp else None
        if _EXPORT.match(head):
            return (Glance(directory, started),)
        size, changed = tree_stamp(path, path.stem)
        own = path.stat()
        return (Glance(directory, started, size=own.st_size + size, changed=max(own.st_mtime_ns, changed)),)

    def open(
        self, path: Path, offset: int, state: bytes, claims: Claims, part: str = ""
    ) -> OpenCodeReading | Unreadable:
        with open(path, "rb") as file:
            head = file.read(4096)
        if is_sqlite(head):
            if part:
                return OpenCodeReading(StoredSession(path, part), claims)
            return Unreadable(path, stored_sessions)
        if _EXPORT.match(head):
            return OpenCodeReading(ExportedSession(path), claims)
        return OpenCodeReading(SessionTree(path), claims)


def _json_string(raw: bytes) -> str:
    return text_in(object_in(b'{"value":' + raw + b"}"), "value")
