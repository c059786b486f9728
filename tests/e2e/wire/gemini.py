"""Google's generateContent, as Gemini CLI asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.e2e.wire.anthropic import texts_of
from tests.e2e.wire.contract import Body, Message
from tests.e2e.wire.steps import Call, Tool

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}

# The client asks on the side which model should answer and who speaks next, and wants that in JSON.
ERRAND = json.dumps(
    {
        "reasoning": "scripted",
        "complexity_reasoning": "scripted",
        "complexity_score": 10,
        "model_choice": "flash",
        "next_speaker": "user",
    }
)


class Gemini:
    def tools(self, body: Body) -> list[Tool]:
        return [
            Tool(one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {})
            for tool in body.get("tools") or []
            for one in tool.get("functionDeclarations") or []
        ]

    def messages(self, body: Body) -> list[Message]:
        said = [Message("system", texts_of((body.get("systemInstruction") or {}).get("parts")))]
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
            results = ["\n".join(map(str, answer.get("response", {}).values())) for answer in answers]
            said.append(Message(content.get("role", "user"), texts_of(parts), results))
        return said

    def whole(self, body: Body, answer: str | Call) -> Body:
        if isinstance(answer, str):
            part: Body = {"text": answer}
        else:
            part = {"functionCall": {"name": answer.name, "args": dict(answer.arguments)}}
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "scripted"}

    def streamed(self, body: Body, answer: str | Call) -> Iterator[tuple[str, Any]]:
        yield "", self.whole(body, answer)


def wants_json(body: Body) -> bool:
    return (body.get("generationConfig") or {}).get("responseMimeType") == "application/json"
