"""Crush: `<project>/.crush/crush.db`: sessions and messages, each message a list of parts in JSON.

The tokens in a session's row are those of its last request: they are not counted, and nor is a cost without tokens.
Times are seconds in some versions and milliseconds in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.agent_kit.contract import Claims, Glance
from holdfast.agent_kit.jsonl import excerpt, seconds, text_in
from holdfast.agent_kit.loose import Record, actions, count, object_in, record, records, tool_call, with_todos
from holdfast.agent_kit.sqlite_source import DatabaseAgent, StoredSession, StoreReading, opened
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

TABLES = {
    "sessions": {"id", "parent_session_id", "title", "message_count", "updated_at"},
    "messages": {"session_id", "role", "parts", "model", "finished_at"},
}
ACTIONS = actions(
    shell="bash job_output",
    edit="edit multiedit write patch",
    read="view",
    search="grep glob ls sourcegraph rg lsp_diagnostics lsp_references",
    web="fetch agentic_fetch web_fetch web_search download",
    todo="todos",
    agent="agent",
)
_EXIT_CODE = lazy_regex(r"^Exit code (\d+)\s*(?:<cwd>.*)?\Z", re.MULTILINE | re.DOTALL)
_FOLDER = lazy_regex(r"\n*<cwd>[^\n]*</cwd>\s*\Z")
_REJECTED = ("permission denied", "user denied permission")
_UNTITLED = ("New Session", "Untitled Session")


class Session(StoredSession):
    """One session; a subagent's has a parent."""

    def info(self) -> Record:
        with opened(self.path) as database:
            rows = database.rows("SELECT * FROM sessions WHERE id = ?", self.session)
        return rows[0] if rows else {}

    def messages(self) -> Iterator[Record]:
        with opened(self.path) as database:
            rows = database.rows(
                "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid", self.session
            )
        for row in rows:
            text = str(row["parts"] or "")
            self.size += len(text)
            parts = records(object_in(f'{{"parts":{text}}}').get("parts"))
            if not parts and text.strip() not in ("", "[]"):
                self.warn(f"message {row['id']}: its parts are not JSON, skipped")
            yield {**row, "parts": parts}


class CrushReading(StoreReading[Record]):
    def __init__(self, path: Path, part: str, claims: Claims) -> None:
        super().__init__(Session(path, part), claims)
        self._path = path
        self._calls: dict[str, ev.Action] = {}

    def _events(self) -> Iterator[ev.Event]:
        info = self._store.info()
        session, parent = text_in(info, "id"), text_in(info, "parent_session_id")
        title = text_in(info, "title")
        began = False
        for message in self._store.messages():
            if self._claims.repeated(f"crush:{message.get('id')}"):
                continue
            at = seconds(message.get("created_at"))
            if not began:
                began = True
                yield ev.Began(
                    seconds(info.get("created_at")),
                    session=session,
                    parent=parent,
                    cwd=folder_of(self._path),
                    provider=text_in(message, "provider"),
                    title="" if title in _UNTITLED or parent else title,
                )
            summary = message.get("id") == info.get("summary_message_id")
            yield from self._message(message, at, bool(parent), summary)

    def _message(
        self, message: Record, at: float | None, subagent: bool, summary: bool
    ) -> Iterator[ev.Event]:
        for part in message["parts"]:
            kind, data = part.get("type"), record(part, "data")
            if kind == "text" and (words := text_in(data, "text").strip()):
                if summary:
                    yield ev.Compaction(at, words)
                elif message.get("role") == "assistant":
                    if not subagent:
                        yield ev.AgentTurn(seconds(message.get("finished_at")) or at, words)
                elif message.get("role") == "user" and not subagent:
                    yield ev.UserTurn(at, words)
            elif kind == "tool_call" and (name := text_in(data, "name")):
                action = self._calls[text_in(data, "id")] = ACTIONS.get(name, "other")
                arguments = object_in(text_in(data, "input"))
                yield from with_todos(tool_call(at, text_in(data, "id"), name, action, arguments), arguments)
            elif kind == "tool_result":
                yield from self._result(data, at)
            elif kind == "finish" and data.get("reason") == "canceled":
                yield ev.Interruption(seconds(data.get("time")) or at)
            elif kind == "finish" and data.get("reason") == "error":
                yield ev.ApiFailure(at, text_in(data, "message", "details") or "the model's service failed")

    def _result(self, data: Record, at: float | None) -> Iterator[ev.Event]:
        call, text = text_in(data, "tool_call_id"), text_in(data, "content")
        action = self._calls.get(call, "other")
        found = _EXIT_CODE.search(text) if action == "shell" else None
        code = int(found[1]) if found else None
        rejected = data.get("is_error") is True and text.strip().lower().startswith(_REJECTED)
        ok = data.get("is_error") is not True and not code
        shown = _FOLDER.sub("", text) if action == "shell" else "" if ok else text
        yield ev.ToolResult(
            at,
            call,
            ok=ok,
            text=excerpt(shown),
            exit_code=code,
            rejected=rejected,
            own_fault=not ok and not rejected and action in ("edit", "read"),
        )


class Crush(DatabaseAgent):
    agent = "crush"
    title = "Crush"
    tables = TABLES

    def roots(self, places: Places) -> Iterable[Path]:
        if places.project is not None:
            yield places.project / ".crush"

    def candidates(self, root: Path) -> Iterable[Path]:
        path = root / "crush.db"
        return (path,) if path.is_file() else ()

    def is_own_file(self, path: Path, head: bytes) -> bool:
        return False

    def glance(self, path: Path, head: bytes) -> Glance:
        return Glance(folder_of(path))

    def file(self, path: Path, claims: Claims) -> CrushReading:
        return CrushReading(path, "", claims)

    def stored(self, path: Path, part: str, claims: Claims) -> CrushReading:
        return CrushReading(path, part, claims)

    def stored_sessions(self, path: Path) -> Iterable[Glance]:
        with opened(path) as database:
            rows = database.rows("SELECT * FROM sessions WHERE message_count > 0")
        for row in rows:
            yield Glance(
                cwd=folder_of(path),
                started=seconds(row.get("created_at")),
                part=str(row["id"]),
                size=count(row.get("message_count")),
                changed=count(row.get("updated_at")),
                parent=str(row.get("parent_session_id") or ""),
            )


def folder_of(path: Path) -> str:
    """The project: the folder that holds `.crush`, which no row names."""
    return str(path.parent.parent.absolute()) if path.parent.name == ".crush" else ""
