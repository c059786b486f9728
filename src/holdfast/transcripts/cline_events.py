"""Cline's and Roo's messages on screen (`ui_messages.json`) as events, with results from the conversation."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.model.session import (
    Action,
    AgentTurn,
    ApiFailure,
    Compaction,
    Event,
    Interruption,
    Tick,
    TodoList,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.transcripts.cline_history import (
    ACTIONS,
    History,
    asked,
    blocks_of,
    denial_feedback,
    spoken,
    verdict,
)
from holdfast.transcripts.jsonl import excerpt, seconds, text_in
from holdfast.transcripts.loose import Record, checklist, count, money, object_in, record, todo_items

SCREEN_TOOLS: dict[str, Action] = {
    "editedExistingFile": "edit",
    "appliedDiff": "edit",
    "newFileCreated": "edit",
    "fileDeleted": "edit",
    "insertContent": "edit",
    "searchAndReplace": "edit",
    "readFile": "read",
    "listFilesTopLevel": "search",
    "listFilesRecursive": "search",
    "listCodeDefinitionNames": "search",
    "searchFiles": "search",
    "codebaseSearch": "search",
    "webFetch": "web",
    "webSearch": "web",
    "updateTodoList": "todo",
    "newTask": "agent",
}
_APPROVAL_MARK = "REQ_APP"  # follows a command that asked for leave
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

    def events(self, message: Record) -> Iterator[Event]:
        at = seconds(message.get("ts"))
        kind = text_in(message, "say") or text_in(message, "ask")
        words = text_in(message, "text")
        if kind == "command_output":
            if self._running is not None:
                self._running[2].append(words)
            return
        yield from self._finish(at)
        if self._first and kind in ("task", "text"):
            self._first = False
            if words.strip() and not self._subtask:
                yield UserTurn(at, words.strip())
        elif kind in _SPENT:
            yield from self._request(message, at)
        elif kind in ("tool", "command", "use_mcp_server", "browser_action_launch", "use_subagents"):
            if not message.get("partial"):
                yield from self._call(kind, words, at)
        elif kind in ("followup", "plan_mode_respond"):
            yield from self._question(kind, words, at)
        elif kind in ("user_feedback", "user_feedback_diff"):
            if words.strip() and kind == "user_feedback":
                yield UserTurn(at, words.strip(), feedback=self._declined)
            self._declined = False
        elif kind in ("text", "completion_result", "plan_completion_result"):
            if words.strip() and not self._subtask:
                yield AgentTurn(at, words)
        else:
            yield from self._notice(kind, message, at)
        if at is not None:
            yield Tick(at)

    def close(self) -> Iterator[Event]:
        yield from self._finish(None)

    def _notice(self, kind: str, message: Record, at: float | None) -> Iterator[Event]:
        words = text_in(message, "text")
        if kind == "api_req_failed":
            yield ApiFailure(at, words)
        elif kind == "resume_task":
            yield Interruption(at)
        elif kind == "task_progress" and (items := checklist(words)):
            yield TodoList(at, items)
        elif kind == "condense_context":
            yield Compaction(at, text_in(record(message, "contextCondense"), "summary"))
        elif kind == "sliding_window_truncation" or (
            kind == "compaction" and object_in(words).get("status") == "completed"
        ):
            yield Compaction(at)
        elif kind == "diff_error" and self._calls:
            yield ToolResult(at, self._name(), ok=False, text=excerpt(words), own_fault=True)

    def _request(self, message: Record, at: float | None) -> Iterator[Event]:
        spent = object_in(text_in(message, "text"))
        reads, writes = count(spent.get("cacheReads")), count(spent.get("cacheWrites"))
        prompt = count(spent.get("tokensIn"))
        if spent.get("apiProtocol") == "openai":
            prompt = max(prompt - reads - writes, 0)  # there the cached tokens are counted within
        usage = Usage(prompt, count(spent.get("tokensOut")), reads, writes)
        if usage != Usage():
            model = text_in(record(message, "modelInfo"), "modelId") or self._model_at(at)
            yield UsageReport(at, f"{self._task}:{message.get('ts')}", model, usage, money(spent.get("cost")))
        if spent.get("cancelReason") == "user_cancelled":
            yield Interruption(at)
        elif spent.get("cancelReason"):
            yield ApiFailure(at, text_in(spent, "streamingFailedMessage") or text_in(spent, "cancelReason"))

    def _model_at(self, at: float | None) -> str:
        used = [name for since, name in self._models if at is None or since <= at]
        return used[-1] if used else self._history.model

    def _name(self) -> str:
        return f"{self._task}:{self._calls}"

    def _call(self, kind: str, words: str, at: float | None) -> Iterator[Event]:
        self._calls += 1
        if kind == "command":
            command = words.removesuffix(_APPROVAL_MARK).strip()
            yield ToolCall(at, self._name(), "execute_command", "shell", command)
            self._running = (self._name(), command, [])
            return
        shown = object_in(words)
        name = text_in(shown, "tool", "toolName", "type") or kind
        action: Action = "agent" if kind == "use_subagents" else SCREEN_TOOLS.get(name, "other")
        if kind == "browser_action_launch":
            action = "web"
        target = text_in(shown, "path", "regex", "query", "uri", "content") if shown else words
        paths = (target,) if action in ("edit", "read") and target else ()
        yield ToolCall(at, self._name(), name, action, target, paths)
        if name == "updateTodoList" and (items := todo_items(shown.get("todos"))):
            yield TodoList(at, items)
        yield from self._ended(at, action, target)

    def _ended(self, at: float | None, action: Action, subject: str) -> Iterator[Event]:
        result = self._history.result_of(subject)
        ended = verdict(at, self._name(), action, result)
        self._declined = ended.rejected
        yield ended
        if ended.rejected and (said := denial_feedback(result)):
            yield UserTurn(at, said, feedback=True)

    def _finish(self, at: float | None) -> Iterator[Event]:
        """A command ends with the first message that is not its output."""
        if self._running is None:
            return
        call, command, printed = self._running
        self._running = None
        result = self._history.result_of(command)
        ended = verdict(at, call, "shell", result)
        self._declined = ended.rejected
        if result is None and printed:
            ended = ToolResult(at, call, ok=None, text=excerpt("\n".join(printed)))
        yield ended
        if ended.rejected and (said := denial_feedback(result)):
            yield UserTurn(at, said, feedback=True)

    def _question(self, kind: str, words: str, at: float | None) -> Iterator[Event]:
        shown = object_in(words) if words.startswith("{") else {}
        said = text_in(shown, "question", "response") or words
        self._calls += 1
        action: Action = "ask" if kind == "followup" else "plan"
        yield ToolCall(at, self._name(), kind, action, said)
        yield ToolResult(at, self._name(), ok=None)
        if said and not self._subtask:
            yield AgentTurn(at, said)


def conversation_events(task: str, history: History, subtask: bool) -> Iterator[Event]:
    """A task of which only the conversation is left: what was asked, called and answered, without usage."""
    number = 0
    for message, ended in history.steps():
        at = seconds(message.get("ts"))
        for call in ended:
            number += 1
            action = ACTIONS.get(call.name, "other")
            paths = (call.subject,) if action in ("edit", "read") and call.subject else ()
            yield ToolCall(at, f"{task}:{number}", call.name, action, call.subject, paths)
            yield verdict(at, f"{task}:{number}", action, call.result)
        said = "\n".join(
            text_in(block, "text") for block in blocks_of(message) if block.get("type") == "text"
        )
        if subtask:
            continue
        if message.get("role") == "user":
            yield from (UserTurn(at, words) for words in asked(said))
        elif words := spoken(said):
            yield AgentTurn(at, words)
