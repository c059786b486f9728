"""A scripted model on loopback that speaks Anthropic's Messages, streamed: real clients run without network or key."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | tuple[str, dict[str, Any]] | None
"""A final answer, a tool call (name and input), or None: the model never answers."""


class ModelServer(ThreadingHTTPServer):
    """Answers the n-th request of a turn with the n-th step. Requests without tools are the client's own errands."""

    daemon_threads = True

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        self.stuck = threading.Event()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def conversations(self) -> list[dict[str, Any]]:
        """The requests that belong to the conversation itself."""
        return [request for request in self.requests if request.get("tools")]

    def step_for(self, request: dict[str, Any]) -> Step:
        if not request.get("tools"):
            return "ok"
        done = 0
        for message in request["messages"]:
            results = _results(message)
            done = done + results if results or message["role"] != "user" else 0
        return self.steps[min(done, len(self.steps) - 1)]


def _results(message: dict[str, Any]) -> int:
    content = message.get("content")
    if message["role"] != "user" or not isinstance(content, list):
        return 0
    return sum(block.get("type") == "tool_result" for block in content)


@contextmanager
def serving(steps: Sequence[Step]) -> Iterator[ModelServer]:
    server = ModelServer(steps)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self._json({"data": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request: dict[str, Any] = json.loads(raw or b"{}")
        if "/messages" not in self.path or self.path.split("?")[0].endswith("/count_tokens"):
            self._json({"input_tokens": 10})
            return
        self.server.requests.append(request)
        step = self.server.step_for(request)
        if step is None:
            self.server.stuck.set()
            self.server.released.wait(60)
            return
        try:
            self._answer(request, step)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a client that was killed reads no answer

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, request: dict[str, Any], step: str | tuple[str, dict[str, Any]]) -> None:
        is_text = isinstance(step, str)
        block: dict[str, Any] = (
            {"type": "text", "text": step}
            if is_text
            else {
                "type": "tool_use",
                "id": f"toolu_{uuid.uuid4().hex[:20]}",
                "name": step[0],
                "input": step[1],
            }
        )
        message: dict[str, Any] = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "scripted"),
            "content": [block],
            "stop_reason": "end_turn" if is_text else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        if request.get("stream"):
            self._stream(message, block)
        else:
            self._json(message)

    def _stream(self, message: dict[str, Any], block: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
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
            {"type": "message_delta", "delta": stop, "usage": message["usage"]},
            {"type": "message_stop"},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def wait_until(happened: Any, seconds: float = 20.0) -> bool:
    """Whether it happened in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.05)
    return bool(happened())
