"""OpenCode: `opencode.db`, the older `storage/` tree, and the files that `opencode export` writes.

One session may lie in all three; a fork copies messages under new ids with their old times. Each message is
counted once. Nearly all sessions are subagents', which name their parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.errors import TranscriptError
from holdfast.model.session import Began, Event
from holdfast.transcripts.contract import Claims, Glance, Places, Warned
from holdfast.transcripts.jsonl import seconds
from holdfast.transcripts.loose import Record, object_in, record, text
from holdfast.transcripts.opencode_events import message_events
from holdfast.transcripts.opencode_stores import (
    TABLES,
    ExportedSession,
    SessionTree,
    Store,
    StoredSession,
    forbids_questions,
    stored_sessions,
    tree_stamp,
)
from holdfast.transcripts.sqlite_source import Unreadable, has_tables, is_sqlite

_SESSION_ID = re.compile(rb'"id"\s*:\s*"(ses_[A-Za-z0-9]+)"')
_EXPORT = re.compile(rb'\A[\xef\xbb\xbf\s]*\{\s*"info"\s*:\s*\{')
_INFO = re.compile(rb'\A[\xef\xbb\xbf\s]*\{\s*"id"\s*:\s*"ses_[A-Za-z0-9]+"\s*,')


class OpenCodeReading:
    def __init__(self, store: Store, claims: Claims) -> None:
        self._store = store
        self._claims = claims
        self.warnings = store.warnings

    def position(self) -> int:
        return self._store.size

    def state(self) -> bytes:
        return b""

    def events(self) -> Iterator[Event]:
        try:
            yield from self._events()
        except TranscriptError as error:
            self.warnings.append(Warned(error.where, 0, "unreadable", error.problem))

    def _events(self) -> Iterator[Event]:
        info = self._store.info()
        subagent, headless = bool(text(info, "parentID")), forbids_questions(info)
        named: str | None = None
        for message, parts in self._store.messages():
            if self._counted(message):
                continue
            cwd = text(record(message, "path"), "cwd") or text(info, "directory")
            provider = text(message, "providerID") or text(record(message, "model"), "providerID")
            if provider != named:
                named = provider
                yield Began(
                    seconds(record(message, "time").get("created")),
                    session=text(info, "id") or text(message, "sessionID"),
                    parent=text(info, "parentID"),
                    cwd=cwd,
                    version=text(info, "version"),
                    provider=provider,
                    headless=headless and not subagent,
                )
            yield from message_events(message, parts, subagent=subagent, headless=headless)

    def _counted(self, message: Record) -> bool:
        """Whether another copy of the message was read: under its id, or as what it was before a fork."""
        identity = text(message, "id")
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
            try:
                return list(stored_sessions(path))
            except TranscriptError:
                return (Glance(size=0, changed=0),)  # differs from every stamp once it can be read again
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
    return text(object_in(b'{"value":' + raw + b"}"), "value")
