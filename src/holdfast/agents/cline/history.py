"""What Cline and Roo told the model: `api_conversation_history.json`, for how each tool call ended.

The messages on screen name the calls; their results stand only here, as native tool results or, in older
versions, as text headed `[tool for 'subject'] Result:`.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator

from msgspec import Struct

from holdfast.agent_kit.jsonl import excerpt, text_in
from holdfast.agent_kit.loose import Record, actions, object_in, record, records
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Action, ToolResult

_HEADING = lazy_regex(r"\A\[(\w+)(?: for '(.*?)')?\] Result:\s*", re.DOTALL)
_TAG = lazy_regex(r"<(\w+)>\s*(.*?)\s*</\1>", re.DOTALL)
_THOUGHT = lazy_regex(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_COMPLETED = lazy_regex(r"<attempt_completion>\s*<result>(.*?)</result>", re.DOTALL)
_ASKED = ("task", "feedback", "user_message", "answer")
_EXIT = lazy_regex(r"exit code:? (-?\d+)", re.IGNORECASE)
_DENIED = ("The user denied this operation", "The user denied")
_FAILED = ("The tool execution failed", "[ERROR]", "Error ", "Error:")
_MODEL = lazy_regex(r"<model>([^<\s]+)</model>")
_CWD = lazy_regex(r"# Current (?:Working|Workspace) Directory \((.+?)\) Files")

ACTIONS = actions(
    shell="execute_command",
    edit="write_to_file replace_in_file apply_diff apply_patch edit_file edit insert_content "
    "search_and_replace search_replace new_rule",
    read="read_file",
    search="search_files list_files list_code_definition_names codebase_search",
    web="browser_action web_fetch web_search",
    ask="ask_followup_question",
    plan="plan_mode_respond",
    todo="update_todo_list focus_chain",
    agent="new_task use_subagents",
)

_CALL = lazy_regex(rf"<(?:{'|'.join(ACTIONS)})>")


class Call(Struct):
    name: str
    subject: str
    result: str | None = None


class History:
    """The conversation, looked at once: calls with results, the model's name, the working directory."""

    def __init__(self, messages: list[Record]) -> None:
        self.messages = messages
        self.model = ""
        self.cwd = ""
        self._results: dict[str, deque[str]] = defaultdict(deque)
        for call in self.calls():
            if call.result is not None:
                self._results[call.subject].append(call.result)

    def result_of(self, subject: str) -> str | None:
        """The next result for a command or path, in the order in which they were asked for."""
        waiting = self._results.get(subject)
        return waiting.popleft() if waiting else None

    def calls(self) -> Iterator[Call]:
        for _, ended in self.steps():
            yield from ended

    def steps(self) -> Iterator[tuple[Record, list[Call]]]:
        """Each message with the calls whose results it brings."""
        native: dict[str, Call] = {}
        for message in self.messages:
            ended: list[Call] = []
            blocks = blocks_of(message)
            for number, block in enumerate(blocks):
                words = text_in(block, "text")
                if block.get("type") == "tool_use":
                    native[text_in(block, "id")] = Call(
                        text_in(block, "name"), subject_of(record(block, "input"))
                    )
                elif block.get("type") == "tool_result":
                    call = native.pop(text_in(block, "tool_use_id"), None)
                    if call is not None:
                        call.result = result_text(block)
                        ended.append(call)
                elif message.get("role") == "user":
                    self._notice(words)
                    if heading := _HEADING.match(words):
                        following = text_in(blocks[number + 1], "text") if number + 1 < len(blocks) else ""
                        ended.append(Call(heading[1], heading[2] or "", words[heading.end() :] or following))
            yield message, ended

    def _notice(self, words: str) -> None:
        if match := _MODEL.search(words):
            self.model = match[1]
        if not self.cwd and (match := _CWD.search(words)):
            self.cwd = match[1]


def blocks_of(message: Record) -> list[Record]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else records(content)


def result_text(block: Record) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text_in(item, "text") for item in records(content))


def subject_of(arguments: Record) -> str:
    return text_in(
        arguments, "command", "path", "file_path", "regex", "query", "url", "question", "message", "response"
    )


def asked(words: str) -> Iterator[str]:
    """What a person said, in the marks that the client puts around it."""
    yield from (inner for mark, inner in _TAG.findall(words) if mark in _ASKED and inner)


def spoken(words: str) -> str:
    """An answer without thoughts and, in the older notation, without the calls written into it."""
    words = _THOUGHT.sub("", words)
    if match := _COMPLETED.search(words):
        return match[1].strip()
    cut = _CALL.search(words)
    return words[: cut.start()].strip() if cut else words.strip()


def verdict(at: float | None, call: str, action: Action, result: str | None) -> ToolResult:
    """How a call ended. Unknown without a result, or without an exit code."""
    if result is None:
        return ToolResult(at, call, ok=None)
    stated = object_in(result) if result.startswith("{") else {}
    if result.startswith(_DENIED) or stated.get("status") == "denied":
        return ToolResult(at, call, ok=False, text=excerpt(result), rejected=True)
    if action == "shell":
        match = _EXIT.search(result[:600])
        code = int(match[1]) if match else None
        return ToolResult(
            at, call, ok=None if code is None else code == 0, text=excerpt(result), exit_code=code
        )
    failed = result.startswith(_FAILED) or stated.get("status") == "error"
    return ToolResult(
        at,
        call,
        ok=not failed,
        text=excerpt(result) if failed else "",
        own_fault=failed and action != "other",
    )


def denial_feedback(result: str | None) -> str:
    """What the person said while declining: in the result itself, in Roo's newer form."""
    if not result or not result.startswith("{"):
        return ""
    stated = object_in(result)
    return text_in(stated, "feedback") if stated.get("status") == "denied" else ""
