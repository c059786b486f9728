"""OpenAI's Chat Completions, as OpenCode, Copilot and Qwen Code ask."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.wire.anthropic import texts_of
from tests.e2e.wire.contract import Body, Message
from tests.e2e.wire.steps import Call, Tool

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class Chat:
    def tools(self, body: Body) -> list[Tool]:
        functions = [tool.get("function") or {} for tool in body.get("tools") or []]
        return [Tool(one["name"], one.get("parameters") or {}) for one in functions if one.get("name")]

    def messages(self, body: Body) -> list[Message]:
        return [_read(message) for message in body.get("messages", [])]

    def whole(self, body: Body, answer: str | Call) -> Body:
        choice = {"index": 0, "message": _message(answer), "finish_reason": _reason(answer)}
        return {**_head(body, "chat.completion"), "choices": [choice], "usage": USAGE}

    def streamed(self, body: Body, answer: str | Call) -> Iterator[tuple[str, Any]]:
        head = _head(body, "chat.completion.chunk")
        for delta, reason in ((_message(answer), None), ({}, _reason(answer))):
            yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield "", {**head, "choices": [], "usage": USAGE}
        yield "", "[DONE]"


def _read(message: Body) -> Message:
    texts = texts_of(message.get("content"))
    if message["role"] == "tool":
        return Message("tool", [], ["\n".join(texts)])
    return Message(message["role"], texts)


def _head(body: Body, kind: str) -> Body:
    name = f"chatcmpl-{uuid.uuid4().hex[:20]}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": body.get("model", "scripted")}


def _reason(answer: str | Call) -> str:
    return "stop" if isinstance(answer, str) else "tool_calls"


def _message(answer: str | Call) -> Body:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
    call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
