"""OpenAI's Responses, as Codex asks."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.wire.anthropic import texts_of
from tests.e2e.wire.contract import Body, Message
from tests.e2e.wire.steps import Call, Tool

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}


class Responses:
    def tools(self, body: Body) -> list[Tool]:
        found = []
        for tool in body.get("tools") or []:
            if tool.get("type") == "namespace":
                found += [
                    Tool(one["name"], one.get("parameters") or {}, tool["name"])
                    for one in tool.get("tools") or []
                ]
            elif tool.get("name"):
                found.append(Tool(tool["name"], tool.get("parameters") or {}))
        return found

    def messages(self, body: Body) -> list[Message]:
        said = [Message("system", texts_of(body.get("instructions", "")))]
        items = body.get("input")
        if isinstance(items, str):
            return [*said, Message("user", [items])]
        for item in items or []:
            kind = item.get("type", "message")
            if kind.endswith("_call_output"):
                output = item.get("output", "")
                text = "\n".join(texts_of(output)) if isinstance(output, list) else _text(output)
                said.append(Message("tool", [], [text]))
            elif kind == "message":
                said.append(Message(item["role"], texts_of(item.get("content"))))
        return said

    def whole(self, body: Body, answer: str | Call) -> Body:
        return {
            "id": f"resp_{uuid.uuid4().hex[:20]}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": body.get("model", "scripted"),
            "output": [_message(answer) if isinstance(answer, str) else _function_call(answer)],
            "usage": USAGE,
        }

    def streamed(self, body: Body, answer: str | Call) -> Iterator[tuple[str, Any]]:
        response = self.whole(body, answer)
        (item,) = response["output"]
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        place = {"output_index": 0, "item": {**item, "status": "in_progress"}}
        yield _event("response.created", response=begun)
        yield _event("response.output_item.added", **place)
        if isinstance(answer, str):
            delta = {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": answer}
            yield _event("response.output_text.delta", **delta)
        yield _event("response.output_item.done", output_index=0, item=item)
        yield _event("response.completed", response=response)


def _event(name: str, **data: Any) -> tuple[str, Any]:
    return name, {"type": name, **data}


def _text(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output)


def _message(text: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    name = f"msg_{uuid.uuid4().hex[:12]}"
    return {"type": "message", "id": name, "role": "assistant", "status": "completed", "content": content}


def _function_call(call: Call) -> Body:
    item = {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4().hex[:12]}",
        "call_id": f"call_{uuid.uuid4().hex[:12]}",
        "name": call.name,
        "arguments": json.dumps(call.arguments),
        "status": "completed",
    }
    return {**item, "namespace": call.namespace} if call.namespace else item
