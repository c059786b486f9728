"""A scripted model on loopback that speaks every client's protocol: real clients run without network or key."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.wire.anthropic import Anthropic
from tests.e2e.wire.chat import Chat
from tests.e2e.wire.contract import Body, Wire, steps_done
from tests.e2e.wire.gemini import ERRAND, Gemini, wants_json
from tests.e2e.wire.responses import Responses
from tests.e2e.wire.steps import Ask, Call, Mcp, NotOffered, Read, Shell, Step, fitted
from tests.patience import PATIENCE_S

__all__ = ["Ask", "Mcp", "ModelServer", "Read", "Request", "Shell", "Step", "serving"]

ANTHROPIC, RESPONSES, CHAT, GEMINI = Anthropic(), Responses(), Chat(), Gemini()
_ROUTES: tuple[tuple[str, Wire], ...] = (
    (r"/messages$", ANTHROPIC),
    (r"/responses$", RESPONSES),
    (r"/chat/completions$", CHAT),
    (r":(?:stream)?[gG]enerateContent$", GEMINI),
)


@dataclass(frozen=True)
class Request:
    """What a client asked its model."""

    wire: Wire
    body: Body
    at: float = 0.0  # on the monotonic clock

    @property
    def converses(self) -> bool:
        """Whether it is the conversation itself. Without tools it is an errand of the client, such as a title."""
        return bool(self.wire.tools(self.body))

    @property
    def offered(self) -> list[str]:
        return [tool.name for tool in self.wire.tools(self.body)]

    @property
    def text(self) -> str:
        """Every text that the model was given, tools' answers included."""
        said = self.wire.messages(self.body)
        return "\n".join(text for message in said for text in [*message.texts, *message.results])

    @property
    def results(self) -> list[str]:
        """What tools answered."""
        return [result for message in self.wire.messages(self.body) for result in message.results]


class ModelServer(ThreadingHTTPServer):
    """Answers the n-th request of a turn with the n-th step; after the last one, with that again."""

    daemon_threads = True

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.answers_errands = False  # for a client that is run without tools on purpose
        self.missed: list[str] = []  # steps for which a client had no tool
        self.stuck = threading.Event()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def turns(self) -> list[Request]:
        """The requests that belong to the conversation itself."""
        return [request for request in self.requests if request.converses]

    def conversations(self) -> list[Body]:
        """The same, as they came."""
        return [request.body for request in self.turns()]

    def answer(self, request: Request) -> str | Call | None:
        if not request.converses and not self.answers_errands:
            return ERRAND if request.wire is GEMINI and wants_json(request.body) else "ok"
        done = steps_done(request.wire.messages(request.body))
        step = self.steps[min(done, len(self.steps) - 1)]
        if step is None:
            return None
        try:
            return fitted(step, request.wire.tools(request.body))
        except NotOffered as error:
            self.missed.append(f"{step}: {error}")
            return f"I have no tool for that: {error}"


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
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        came = time.monotonic()
        body = self._body()
        path = self.path.split("?")[0]
        wire = next((wire for pattern, wire in _ROUTES if re.search(pattern, path)), None)
        if wire is None:  # counting tokens, telemetry
            self._json({"input_tokens": 10, "totalTokens": 10})
            return
        request = Request(wire, body, came)
        self.server.requests.append(request)
        answer = self.server.answer(request)
        if answer is None:
            self.server.stuck.set()
            self.server.released.wait(PATIENCE_S)
            return
        try:
            if body.get("stream") or ":stream" in path:
                self._stream(wire.streamed(body, answer))
            else:
                self._json(wire.whole(body, answer))
        except (BrokenPipeError, ConnectionResetError):
            pass  # a client that was killed reads no answer

    def _body(self) -> Body:
        if (self.headers.get("transfer-encoding") or "").lower() == "chunked":
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        body: Body = json.loads(raw or b"{}")
        return body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[tuple[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{head}data: {text}\n\n".encode())
        self.wfile.flush()
