"""What Gemini CLI and its fork Qwen Code share: tool names, content parts, and how a tool's answer reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from holdfast.agent_kit.jsonl import ANYTHING, decoded, excerpt, string_in
from holdfast.agent_kit.loose import actions, record, records, target_of, tool_call
from holdfast.agent_kit.questions import OpenQuestion
from holdfast.core.fence import strip_ours
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Action, Asked, ToolCall, ToolResult

ACTIONS = actions(
    shell="run_shell_command",
    edit="write_file replace edit notebook_edit",
    read="read_file read_many_files zoom_image",
    search="grep_search search_file_content glob list_directory lsp",
    web="google_web_search web_search web_fetch",
    ask="ask_user ask_user_question",
    plan="exit_plan_mode",
    todo="write_todos todo_write",
    agent="invoke_agent codebase_investigator agent task create_sub_session",
)

API_ERROR = lazy_regex(
    r"\[API Error|quota|rate.?limit|overloaded|fetch failed|\b(?:401|403|429|5\d\d)\b", re.IGNORECASE
)
_INJECTED = lazy_regex(
    r"<(hook_context|session_context|qwen:user-prompt-submit-context|system-reminder)>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_REFERENCED = lazy_regex(r"\n?--- Content from referenced files ---.*", re.DOTALL)
_WRAPPER = lazy_regex(r"\A\s*<untrusted_context>\n?|\n?</untrusted_context>\s*\Z")
_EXIT_CODE = lazy_regex(r"^Exit Code: (-?\d+)\s*$", re.MULTILINE)
_SHELL_OUTPUT = lazy_regex(
    r"(?:\A|\n)Output: (.*?)(?:\n(?:Error|Exit Code|Signal|Process Group PGID): |\Z)", re.DOTALL
)
_STOPPED = lazy_regex(r"User (?:cancelled|aborted)|aborted by user|Request cancelled", re.IGNORECASE)
_MALFORMED = lazy_regex(
    r"\A(?:params must|Tool \S+ not found|Invalid (?:parameters|tool)|Error: Invalid)", re.IGNORECASE
)


class Response(Struct):
    id: str | None = None
    response: Raw = Raw(b"")


class Invocation(Struct):
    id: str | None = None
    name: str | None = None
    args: Raw = Raw(b"")


class ContentPart(Struct):
    text: str | None = None
    thought: Raw = Raw(b"")  # a flag, or the thought itself
    functionCall: Invocation | None = None
    functionResponse: Response | None = None


_parts = msgspec.json.Decoder(list[str | ContentPart])
_part = msgspec.json.Decoder(ContentPart)
_decoder = json.JSONDecoder()


def parts_of(raw: Raw) -> list[ContentPart]:
    """Content as the API knows it: one text, one part, or a list of either."""
    start = bytes(memoryview(raw)[:1])
    if start == b'"':
        return [ContentPart(text=string_in(raw))]
    if start == b"{":
        return [decoded(_part, raw, ContentPart())]
    if start == b"[":
        return [
            part if isinstance(part, ContentPart) else ContentPart(text=part)
            for part in decoded(_parts, raw, [])
        ]
    return []


def spoken(parts: Iterable[ContentPart]) -> str:
    """The words of a message, without thoughts."""
    return "\n".join(
        part.text for part in parts if part.text and bytes(part.thought) in (b"", b"false", b"null")
    )


def own_words(text: str) -> str:
    """A person's words without what hooks and the client put around them."""
    return _REFERENCED.sub("", _not_ours(_INJECTED.sub("", text))).strip()


def _not_ours(text: str) -> str:
    """Qwen Code puts what a hook says after a tool's answer without any mark of its own."""
    return strip_ours(text)


def answer_of(raw: Raw) -> str:
    """What a tool answered: the text under `output` or `error`, or the parts of a list of responses."""
    value = decoded(ANYTHING, raw, None) if bytes(raw) else None
    return _not_ours(_INJECTED.sub("", _answer(value))).strip()


def _answer(value: Any) -> str:
    if isinstance(value, str):
        return _WRAPPER.sub("", value)
    if isinstance(value, list):
        return "\n".join(filter(None, map(_answer, value)))
    if not isinstance(value, dict):
        return ""
    for name in ("functionResponse", "response", "output", "error", "text", "content", "message"):
        if name in value:
            return _answer(value[name])
    return ""


def described(name: str, arguments: dict[str, Any], call: str, at: float | None) -> ToolCall:
    action: Action = ACTIONS.get(name, "other")
    if name != "read_many_files":
        return tool_call(at, call, name, action, arguments)
    listed = arguments.get("include", arguments.get("paths"))
    paths = tuple(path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
    return ToolCall(at, call, name, action, target_of(action, arguments), paths)


def judged(
    call: str, action: Action, status: str, text: str, at: float | None, code: int | None = None
) -> ToolResult:
    """A shell command that ended badly is a success to the client: the exit code decides."""
    if action == "shell":
        if code is None and (codes := _EXIT_CODE.findall(text)):
            code = int(codes[-1])
        output = _SHELL_OUTPUT.search(text)
        text = output[1] if output and output[1] not in ("", "(empty)") else text
    ok = {"success": True, "error": False, "cancelled": False}.get(status)
    if ok and code is not None:
        ok = code == 0
    return ToolResult(
        at,
        call,
        ok=ok,
        text=excerpt(text) if not ok or action == "shell" else "",
        exit_code=code,
        rejected=status == "cancelled",
        own_fault=status == "error" and (action == "edit" or bool(_MALFORMED.match(text))),
    )


def stopped(text: str) -> bool:
    """Whether a cancelled call was cancelled by stopping the agent, not by declining the step."""
    return bool(_STOPPED.search(text))


def by_number(at: float | None, questions: Sequence[OpenQuestion], answer: str) -> list[Asked]:
    """Gemini CLI answers `{"answers": {"0": "words"}}`, and adds a remark where a hook changed the question."""
    try:
        value, _ = _decoder.raw_decode(answer)
    except (ValueError, RecursionError):
        value = None
    answers = record(value, "answers")
    return [question.asked(at, answers.get(str(number))) for number, question in enumerate(questions)]


def by_words(at: float | None, questions: Sequence[OpenQuestion], shown: dict[str, Any]) -> list[Asked]:
    """Qwen Code shows `{"answers": [{"question": "…", "answer": "words"}]}`."""
    answers = {str(pair.get("question")): pair.get("answer") for pair in records(shown.get("answers"))}
    return [question.asked(at, answers.get(question.text)) for question in questions]
