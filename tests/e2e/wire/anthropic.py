"""Anthropic's Messages, as Claude Code asks."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.wire.contract import Body, Message
from tests.e2e.wire.steps import Call, Tool

USAGE = {"input_tokens": 100, "output_tokens": 10}


class Anthropic:
    def tools(self, body: Body) -> list[Tool]:
        return [Tool(tool["name"], tool.get("input_schema", {})) for tool in body.get("tools") or []]

    def messages(self, body: Body) -> list[Message]:
        said = [Message("system", texts_of(body.get("system", "")))]
        for message in body.get("messages", []):
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            results = [
                "\n".join(texts_of(block.get("content", "")))
                for block in blocks
                if block.get("type") == "tool_result"
            ]
            said.append(Message(message["role"], texts_of(content), results))
        return said

    def whole(self, body: Body, answer: str | Call) -> Body:
        text = isinstance(answer, str)
        block = {"type": "text", "text": answer} if isinstance(answer, str) else _tool_use(answer)
        return {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [block],
            "stop_reason": "end_turn" if text else "tool_use",
            "stop_sequence": None,
            "usage": USAGE,
        }

    def streamed(self, body: Body, answer: str | Call) -> Iterator[tuple[str, Any]]:
        message = self.whole(body, answer)
        (block,) = message["content"]
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        for event in (
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": USAGE},
            {"type": "message_stop"},
        ):
            yield str(event["type"]), event


def _tool_use(call: Call) -> Body:
    name = f"toolu_{uuid.uuid4().hex[:20]}"
    return {"type": "tool_use", "id": name, "name": call.name, "input": dict(call.arguments)}


def texts_of(content: Any) -> list[str]:
    """A string, or the texts of a list of blocks."""
    if isinstance(content, str):
        return [content] if content else []
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block.get("text"), str)]
