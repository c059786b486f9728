"""Continue: `~/.continue/sessions/<id>.json`, one document per session, rewritten; editor and `cn` alike.

Messages have no times: `sessions.json` says when a session began, the file when it ended. A conversation is claimed
as a whole, so that it counts where it is met first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Raw

from holdfast.agent_kit.contract import Claims, Glance, OneSessionPerFile, ReadAnew, usual_folder
from holdfast.agent_kit.jsonl import excerpt, seconds, string_after, text_in, words_in
from holdfast.agent_kit.loose import (
    Document,
    Record,
    actions,
    count,
    first_bytes,
    object_in,
    record,
    records,
    tool_call,
    with_todos,
)
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

ACTIONS = actions(
    shell="Bash run_terminal_command CheckBackgroundJob",
    edit="Edit MultiEdit Write edit_existing_file single_find_and_replace multi_edit create_new_file",
    read="Read read_file read_file_range read_currently_open_file",
    search="Search List grep_search file_glob_search ls view_repo_map view_subdirectory codebase",
    web="Fetch fetch_url_content search_web",
    ask="AskQuestion",
    todo="Checklist",
    agent="Subagent",
)
_MOST_LIST = 8 << 20
_EXIT_CODE = lazy_regex(r"\(exit code (\d+)\)|\bexit code:? (\d+)\s*\Z", re.IGNORECASE)
_DENIED = lazy_regex(r"Permission denied by user", re.IGNORECASE)
_UNTITLED = ("Untitled Session", "New Session", "")
_PREFIX = lazy_regex(r"^(?:builtin_|core_)")


class ContinueReading(ReadAnew):
    def __init__(self, path: Path, claims: Claims) -> None:
        super().__init__(claims)
        self._path = path

    def events(self) -> Iterator[ev.Event]:
        document = Document(self._path, "history")
        value = record(document.load())
        self.warnings, self._size = document.warnings, document.size
        head = first_bytes(self._path, 4096)
        session = text_in(value, "sessionId") or string_after("sessionId", head) or self._path.stem
        if self._claims.foreign(f"continue:{session}"):
            return
        started, ended = _times(self._path, session)
        title = text_in(value, "title")
        yield ev.Began(
            started or ended,
            session=session,
            cwd=text_in(value, "workspaceDirectory") or string_after("workspaceDirectory", head),
            title="" if title in _UNTITLED else title,
        )
        for number, item in enumerate(records(value.get("history")), 1):
            yield from _item(item, f"continue:{session}:{number}", started if number == 1 else ended)


def _item(item: Record, key: str, at: float | None) -> Iterator[ev.Event]:
    message = record(item, "message")
    words = words_in(Raw(msgspec.json.encode(message.get("content"))))
    if summary := text_in(item, "conversationSummary"):
        yield ev.Compaction(at, summary)
    if message.get("role") == "user" and words.strip():
        yield ev.UserTurn(at, words.strip())
    elif message.get("role") == "assistant":
        usage = record(message, "usage")
        cached = count(record(usage, "prompt_tokens_details").get("cached_tokens"))
        found = ev.Usage(
            max(count(usage.get("prompt_tokens")) - cached, 0), count(usage.get("completion_tokens")), cached
        )
        if found != ev.Usage():
            yield ev.UsageReport(at, key, text_in(usage, "model"), found)
        if words.strip():
            yield ev.AgentTurn(at, words)
        for number, state in enumerate(records(item.get("toolCallStates")), 1):
            yield from _call(state, f"{key}:{number}", at)


def _call(state: Record, key: str, at: float | None) -> Iterator[ev.Event]:
    call = text_in(state, "toolCallId") or key
    asked = record(state, "toolCall", "function")
    name = _PREFIX.sub("", text_in(asked, "name"))
    action = ACTIONS.get(name, "other")
    arguments = record(state, "parsedArgs") or object_in(text_in(asked, "arguments"))
    target = text_in(arguments, "filepath", "dirPath") or None
    yield from with_todos(tool_call(at, call, name, action, arguments, target), arguments)
    status = state.get("status")
    if status not in ("done", "errored", "canceled"):
        return
    text = "\n".join(text_in(part, "content") for part in records(state.get("output")))
    code = _EXIT_CODE.search(text) if action == "shell" and status == "errored" else None
    rejected = status == "canceled" or bool(_DENIED.search(text[:200]) and status == "errored")
    ok = status == "done"
    yield ev.ToolResult(
        at,
        call,
        ok=ok,
        text=excerpt(text) if not ok or action in ("shell", "ask") else "",
        exit_code=int(code[1] or code[2]) if code else None,
        rejected=rejected,
        own_fault=not ok and not rejected and action in ("edit", "read", "search"),
    )


class Continue(OneSessionPerFile):
    agent = "continue"
    title = "Continue"
    appends = False

    def roots(self, places: Places) -> Iterable[Path]:
        return (usual_folder(places, "CONTINUE_GLOBAL_DIR", ".continue") / "sessions",)

    def candidates(self, root: Path) -> Iterable[Path]:
        return (path for path in sorted(root.glob("*.json")) if path.name != "sessions.json")

    def recognise(self, path: Path, head: bytes) -> bool:
        start = head[:4096]
        return (
            start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")
            and b'"workspaceDirectory"' in start
            and bool(string_after("sessionId", start))
            and b'"history"' in head
        )

    def glance(self, path: Path, head: bytes) -> Glance:
        started, ended = _times(path, string_after("sessionId", head))
        return Glance(cwd=string_after("workspaceDirectory", head), started=started or ended)

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> ContinueReading:
        return ContinueReading(path, claims)


def _times(path: Path, session: str) -> tuple[float | None, float | None]:
    """When the session began, if the list beside it says so, and when its file was written last."""
    listed = object_in(
        b'{"sessions":' + (first_bytes(path.with_name("sessions.json"), _MOST_LIST) or b"[]") + b"}"
    )
    dates = (
        item.get("dateCreated")
        for item in records(listed.get("sessions"))
        if item.get("sessionId") == session
    )
    date = next(dates, None)
    started = seconds(int(date) if isinstance(date, str) and date.isdecimal() and len(date) < 16 else date)
    try:
        return started, path.stat().st_mtime
    except OSError:
        return started, None
