"""Cline and Roo: VS Code's global storage, one folder `tasks/<id>/` for each session.

The messages on screen (`ui_messages.json`) become events, with results from the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.agent_kit.contract import BaseReader, Claims, Glance, ReadAnew, editor_folders, usual_folder
from holdfast.agent_kit.jsonl import excerpt, seconds, text_in, tick
from holdfast.agent_kit.loose import (
    Document,
    Record,
    actions,
    checklist,
    count,
    first_bytes,
    money,
    object_in,
    paths_of,
    record,
    records,
    todo_items,
)
from holdfast.agents.cline.history import ACTIONS, History, asked, blocks_of, denial_feedback, spoken, verdict
from holdfast.core.patterns import lazy_regex
from holdfast.model import events as ev
from holdfast.store.machine import Places

SCREEN_TOOLS = actions(
    edit="editedExistingFile appliedDiff newFileCreated fileDeleted insertContent searchAndReplace",
    read="readFile",
    search="listFilesTopLevel listFilesRecursive listCodeDefinitionNames searchFiles codebaseSearch",
    web="webFetch webSearch",
    todo="updateTodoList",
    agent="newTask",
)
_APPROVAL_MARK = "REQ_APP"  # follows a command that asked for leave
SCREEN = "ui_messages.json"
CONVERSATION = "api_conversation_history.json"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (
    ".vscode-server",
    ".vscode-server-insiders",
    ".vscodium-server",
    ".cursor-server",
    ".windsurf-server",
)
_SCREEN_START = lazy_regex(rb'\A[\xef\xbb\xbf\s]*\[\s*\{[^{}]{0,400}?"(?:ts|type|say|ask)"\s*:')
_SCREEN_WORD = lazy_regex(rb'"type"\s*:\s*"(?:say|ask)"')
_CONVERSATION_START = lazy_regex(rb'\A[\xef\xbb\xbf\s]*\[\s*\{\s*"(?:role|ts|id)"\s*:')
_TALK = lazy_regex(rb'"role"\s*:\s*"(?:user|assistant)"')
_CWD = lazy_regex(rb"# Current (?:Working|Workspace) Directory \((.+?)\) Files")
_ROO_WORDS = (b'\\"apiProtocol\\"', b"# Current Workspace Directory", b"<slug>")
_STAMP = lazy_regex(rb'"ts"\s*:\s*(\d{10,14})')
_GLANCED = 256 * 1024
_SPENT = ("api_req_started", "subagent_usage", "deleted_api_reqs")


class Screen:
    """Walks over the messages once. `task` names the session; `subtask` is one that another task started."""

    def __init__(self, task: str, history: History, models: list[tuple[float, str]], subtask: bool) -> None:
        self._task = task
        self._history = history
        self._models = models
        self._subtask = subtask
        self._first = True
        self._calls = 0
        self._declined = False
        self._running: tuple[str, str, list[str]] | None = None  # a command that is printing

    def events(self, message: Record) -> Iterator[ev.Event]:
        at = seconds(message.get("ts"))
        kind = text_in(message, "say") or text_in(message, "ask")
        words = text_in(message, "text")
        if kind == "command_output":
            if self._running is not None:
                self._running[2].append(words)
            return
        yield from self.finish(at)
        if self._first and kind in ("task", "text"):
            self._first = False
            if words.strip() and not self._subtask:
                yield ev.UserTurn(at, words.strip())
        elif kind in _SPENT:
            yield from self._request(message, at)
        elif kind in ("tool", "command", "use_mcp_server", "browser_action_launch", "use_subagents"):
            if not message.get("partial"):
                yield from self._call(kind, words, at)
        elif kind in ("followup", "plan_mode_respond"):
            yield from self._question(kind, words, at)
        elif kind in ("user_feedback", "user_feedback_diff"):
            if words.strip() and kind == "user_feedback":
                yield ev.UserTurn(at, words.strip(), feedback=self._declined)
            self._declined = False
        elif kind in ("text", "completion_result", "plan_completion_result"):
            if words.strip() and not self._subtask:
                yield ev.AgentTurn(at, words)
        else:
            yield from self._notice(kind, message, at)
        yield from tick(at)

    def _notice(self, kind: str, message: Record, at: float | None) -> Iterator[ev.Event]:
        words = text_in(message, "text")
        if kind == "api_req_failed":
            yield ev.ApiFailure(at, words)
        elif kind == "resume_task":
            yield ev.Interruption(at)
        elif kind == "task_progress" and (items := checklist(words)):
            yield ev.TodoList(at, items)
        elif kind == "condense_context":
            yield ev.Compaction(at, text_in(record(message, "contextCondense"), "summary"))
        elif kind == "sliding_window_truncation" or (
            kind == "compaction" and object_in(words).get("status") == "completed"
        ):
            yield ev.Compaction(at)
        elif kind == "diff_error" and self._calls:
            yield ev.ToolResult(at, self._name(), ok=False, text=excerpt(words), own_fault=True)

    def _request(self, message: Record, at: float | None) -> Iterator[ev.Event]:
        spent = object_in(text_in(message, "text"))
        reads, writes = count(spent.get("cacheReads")), count(spent.get("cacheWrites"))
        prompt = count(spent.get("tokensIn"))
        if spent.get("apiProtocol") == "openai":
            prompt = max(prompt - reads - writes, 0)  # there the cached tokens are counted within
        usage = ev.Usage(prompt, count(spent.get("tokensOut")), reads, writes)
        if usage != ev.Usage():
            model = text_in(record(message, "modelInfo"), "modelId") or self._model_at(at)
            yield ev.UsageReport(
                at, f"{self._task}:{message.get('ts')}", model, usage, money(spent.get("cost"))
            )
        if spent.get("cancelReason") == "user_cancelled":
            yield ev.Interruption(at)
        elif spent.get("cancelReason"):
            yield ev.ApiFailure(
                at, text_in(spent, "streamingFailedMessage") or text_in(spent, "cancelReason")
            )

    def _model_at(self, at: float | None) -> str:
        used = [name for since, name in self._models if at is None or since <= at]
        return used[-1] if used else self._history.model

    def _name(self) -> str:
        return f"{self._task}:{self._calls}"

    def _call(self, kind: str, words: str, at: float | None) -> Iterator[ev.Event]:
        self._calls += 1
        if kind == "command":
            command = words.removesuffix(_APPROVAL_MARK).strip()
            yield ev.ToolCall(at, self._name(), "execute_command", "shell", command)
            self._running = (self._name(), command, [])
            return
        fields = object_in(words)
        name = text_in(fields, "tool", "toolName", "type") or kind
        action: ev.Action = "agent" if kind == "use_subagents" else SCREEN_TOOLS.get(name, "other")
        if kind == "browser_action_launch":
            action = "web"
        target = text_in(fields, "path", "regex", "query", "uri", "content") if fields else words
        given = fields if action == "edit" else ""
        yield ev.ToolCall(at, self._name(), name, action, target, paths_of(action, target), given=given)
        if name == "updateTodoList" and (items := todo_items(fields.get("todos"))):
            yield ev.TodoList(at, items)
        yield from self._ended(at, self._name(), action, target)

    def _ended(
        self, at: float | None, call: str, action: ev.Action, subject: str, printed: Sequence[str] = ()
    ) -> Iterator[ev.Event]:
        result = self._history.result_of(subject)
        ended = verdict(at, call, action, result)
        self._declined = ended.rejected
        if result is None and printed:
            ended = ev.ToolResult(at, call, ok=None, text=excerpt("\n".join(printed)))
        yield ended
        if ended.rejected and (feedback := denial_feedback(result)):
            yield ev.UserTurn(at, feedback, feedback=True)

    def finish(self, at: float | None) -> Iterator[ev.Event]:
        """A command ends with the first message that is not its output."""
        if self._running is not None:
            call, command, printed = self._running
            self._running = None
            yield from self._ended(at, call, "shell", command, printed)

    def _question(self, kind: str, words: str, at: float | None) -> Iterator[ev.Event]:
        fields = object_in(words) if words.startswith("{") else {}
        question = text_in(fields, "question", "response") or words
        self._calls += 1
        action: ev.Action = "ask" if kind == "followup" else "plan"
        yield ev.ToolCall(at, self._name(), kind, action, question)
        yield ev.ToolResult(at, self._name(), ok=None)
        if question and not self._subtask:
            yield ev.AgentTurn(at, question)


def conversation_events(task: str, history: History, subtask: bool) -> Iterator[ev.Event]:
    """A task with nothing left but the conversation: requests, calls and answers, without usage."""
    number = 0
    for message, ended in history.steps():
        at = seconds(message.get("ts"))
        for call in ended:
            number += 1
            action = ACTIONS.get(call.name, "other")
            paths = paths_of(action, call.subject)
            yield ev.ToolCall(at, f"{task}:{number}", call.name, action, call.subject, paths)
            yield verdict(at, f"{task}:{number}", action, call.result)
        text = "\n".join(
            text_in(block, "text") for block in blocks_of(message) if block.get("type") == "text"
        )
        if subtask:
            continue
        if message.get("role") == "user":
            yield from (ev.UserTurn(at, words) for words in asked(text))
        elif words := spoken(text):
            yield ev.AgentTurn(at, words)


class TaskReading(ReadAnew):
    def __init__(self, folder: Path, claims: Claims) -> None:
        super().__init__(claims)
        self._folder = folder

    def events(self) -> Iterator[ev.Event]:
        task = self._folder.name
        if self._claims.foreign(f"cline:{task}"):
            return  # the same folder, kept in two places
        history = History(records(self._load(CONVERSATION)))
        screen = records(self._load(SCREEN))
        item, metadata = self._side("history_item.json"), self._side("task_metadata.json")
        subtask = bool(text_in(item, "parentTaskId"))
        models = [
            (at, text_in(use, "model_id"))
            for use in records(metadata.get("model_usage"))
            if (at := seconds(use.get("ts"))) is not None
        ]
        first = next((at for entry in screen if (at := seconds(entry.get("ts"))) is not None), None)
        if screen or history.messages:
            yield ev.Began(
                first or seconds(_number(task)),
                session=task,
                parent=text_in(item, "parentTaskId"),
                cwd=text_in(item, "workspace") or history.cwd,
                version=_last(metadata, "environment_history", "cline_version"),
                provider=_last(metadata, "model_usage", "model_provider_id"),
            )
        walk = Screen(task, history, models, subtask)
        for message in screen:
            yield from walk.events(message)
        yield from walk.finish(None)
        if not screen and not self._blank(SCREEN):
            yield from conversation_events(task, history, subtask)

    def _blank(self, name: str) -> bool:
        """Whether the file exists and is empty: the task has not begun, so nothing is lost."""
        path = self._folder / name
        return path.is_file() and not path.stat().st_size

    def _load(self, name: str) -> object:
        path = self._folder / name
        if not path.is_file() or self._blank(name):
            return []
        document = Document(path)
        value = document.load_or_warn()
        self._size += document.size
        self.warnings += document.warnings
        return value

    def _side(self, name: str) -> Record:
        """A file that only adds to the picture; where it is missing or broken, the rest stands."""
        return object_in(first_bytes(self._folder / name))


class Cline(BaseReader):
    """One class for both: Roo is a fork that kept the files. `extension` is the folder of the extension."""

    def __init__(
        self, agent: str = "cline", title: str = "Cline", extension: str = "saoudrizwan.claude-dev"
    ) -> None:
        self.agent = agent
        self.title = title
        self._extension = extension

    def roots(self, places: Places) -> Iterable[Path]:
        for storage in _global_storages(places):
            yield storage / self._extension / "tasks"
        if self.agent == "cline":
            if data := places.env.get("CLINE_DATA_DIR"):
                yield Path(data) / "tasks"
            base = usual_folder(places, "CLINE_DIR", ".cline")
            yield base / "data" / "tasks"
            yield base / "tasks"

    def candidates(self, root: Path) -> Iterable[Path]:
        for folder in sorted(
            {path.parent for name in (SCREEN, CONVERSATION) for path in root.glob(f"*/{name}")}
        ):
            screen = folder / SCREEN
            yield screen if screen.is_file() else folder / CONVERSATION

    def recognise(self, path: Path, head: bytes) -> bool:
        if not (_is_screen(head) or _is_conversation(path, head)):
            return False
        return _is_roo(path, head) == (self.agent == "roo")

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        folder = path.parent
        if _is_conversation(path, head) and (folder / SCREEN).is_file():
            return ()  # the folder is one session, and the other file stands for it
        files = [
            file.stat()
            for name in (SCREEN, CONVERSATION, "task_metadata.json")
            if (file := folder / name).is_file()
        ]
        stamp = _STAMP.search(head)
        return (
            Glance(
                cwd=_cwd_of(folder, head),
                started=seconds(int(stamp[1])) if stamp else seconds(_number(folder.name)),
                size=sum(file.st_size for file in files) or path.stat().st_size,
                changed=max((file.st_mtime_ns for file in files), default=path.stat().st_mtime_ns),
            ),
        )

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> TaskReading:
        return TaskReading(path.parent, claims)


def _is_screen(head: bytes) -> bool:
    return bool(_SCREEN_START.match(head) and _SCREEN_WORD.search(head[:8192]))


def _is_conversation(path: Path, head: bytes) -> bool:
    """Messages in a list are many programs' format: the name, or words that only these prompts have, decide."""
    if not (_CONVERSATION_START.match(head) and _TALK.search(head[:4096])):
        return False
    return path.name == CONVERSATION or b"<environment_details>" in head


def _is_roo(path: Path, head: bytes) -> bool:
    for folder in path.parts:
        if folder.startswith("rooveterinaryinc."):
            return True
        if folder.startswith("saoudrizwan.") or folder == ".cline":
            return False
    return (path.parent / "history_item.json").is_file() or any(word in head for word in _ROO_WORDS)


def _global_storages(places: Places) -> Iterator[Path]:
    for base in editor_folders(places):
        for editor in _EDITORS:
            yield base / editor / "User" / "globalStorage"
    for server in _SERVERS:
        yield places.home / server / "data" / "User" / "globalStorage"


def _cwd_of(folder: Path, head: bytes) -> str:
    if workspace := text_in(object_in(first_bytes(folder / "history_item.json")), "workspace"):
        return workspace
    stated = _CWD.search(head) or _CWD.search(first_bytes(folder / CONVERSATION, _GLANCED))
    return stated[1].decode("utf-8", "replace") if stated else ""


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) < 15 else None


def _last(metadata: Record, history: str, name: str) -> str:
    """What the last entry of one of the histories says."""
    entries = records(metadata.get(history))
    return text_in(entries[-1], name) if entries else ""


CLINE = Cline()
ROO = Cline("roo", "Roo Code", "rooveterinaryinc.roo-cline")
