"""How a Codex tool ended, from what it printed: there is no flag, only wording that changed over the years."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Raw, Struct

from holdfast.agent_kit.jsonl import ANYTHING, decoded
from holdfast.agent_kit.loose import object_in, record, whole_number
from holdfast.agent_kit.questions import LONGEST_PLAN, OpenQuestion
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Asked

_EXIT = lazy_regex(r"(?:Process exited with code|^Exit code:) (-?\d+)", re.MULTILINE)
_RUNNING = lazy_regex(r"(?:Process running with session ID|Script running with cell ID) (\S+)")
_REJECTED = lazy_regex(
    r"(?:rejected|denied|declined) by (?:the )?user|user (?:rejected|denied|declined)", re.IGNORECASE
)
_REFUSED = lazy_regex(
    r"\A(?:apply_patch verification failed|failed to parse (?:function )?arguments|unsupported call)"
)
_SCRIPT_FAILED = lazy_regex(r"\AScript (?:failed|error)", re.IGNORECASE)
_HEADERS = ("Chunk ID:", "Exit code:", "Wall time", "Command:", "Script ")
_HEAD = 600  # verdicts stand before the program's own output, which must not be mistaken for one
GO_AHEAD = "implement the plan"  # what the client says for a person who accepts the plan


class Output(Struct, frozen=True):
    text: str
    exit_code: int | None = None
    running: str = ""
    rejected: bool = False
    refused: bool = False


def read_output(raw: Raw) -> Output:
    text, code = _text_and_code(raw)
    head = text[:_HEAD].partition("\nOutput:\n")[0]
    if code is None and (match := _EXIT.search(head)):
        code = int(match[1])
    if code is None and _SCRIPT_FAILED.match(head):
        code = 1
    running = _RUNNING.search(head) if code is None else None
    return Output(
        text=_program_output(text),
        exit_code=code,
        running=running[1] if running else "",
        rejected=code is None and bool(_REJECTED.search(head)),
        refused=code is None and bool(_REFUSED.match(head)),
    )


def _program_output(text: str) -> str:
    """What the program itself printed, without the lines that Codex puts before it."""
    header, mark, output = text[:_HEAD].partition("\nOutput:\n")
    return output + text[_HEAD:] if mark and header.startswith(_HEADERS) else text


def _text_and_code(raw: Raw) -> tuple[str, int | None]:
    value = decoded(ANYTHING, raw, None)
    if isinstance(value, str):
        return _unwrapped(value)
    if isinstance(value, list):
        texts = [str(part.get("text", "")) for part in value if isinstance(part, dict)]
        return "\n".join(texts), _scripted_code(texts)
    if isinstance(value, dict):
        return str(value.get("content", value.get("output", ""))), _code_in(value)
    return "", None


def _scripted_code(texts: list[str]) -> int | None:
    """The exit code of a script's commands, where it shows their results whole: the first that is not 0."""
    codes = [code for text in texts if text.startswith("{") and (code := _unwrapped(text)[1]) is not None]
    return next((code for code in codes if code), 0) if codes else None


def _unwrapped(text: str) -> tuple[str, int | None]:
    """Older versions print a JSON object with the output and its metadata."""
    if text.startswith("{") and '"exit_code"' in text:
        value = object_in(text)
        if (code := _code_in(value)) is not None:
            return str(value.get("output", "")), code
    return text, None


def _code_in(value: dict[str, Any]) -> int | None:
    metadata = value.get("metadata")
    return whole_number((metadata if isinstance(metadata, dict) else value).get("exit_code"))


def answered(at: float | None, questions: Sequence[OpenQuestion], output: str) -> Iterator[Asked]:
    """Each question with its answer: the tool answers `{"answers": {id: {"answers": [words]}}}`."""
    answers = record(object_in(output), "answers")
    for question in questions:
        reply = answers.get(question.id)
        words = reply.get("answers") if isinstance(reply, dict) else reply
        spoken = words if isinstance(words, list) else [words]
        yield question.asked(at, ", ".join(word for word in spoken if isinstance(word, str)))


def proposed_plan(text: str) -> str:
    """The plan in a message of plan mode; '' when there is none."""
    plan = text.partition("<proposed_plan>")[2].partition("</proposed_plan>")[0]
    return plan.strip()[:LONGEST_PLAN]
