"""A scripted endpoint on loopback that speaks both wire formats, unstreamed, and can fail in every way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Reply = Callable[["Handler", Json], None]


class Endpoint(ThreadingHTTPServer):
    """Hands each request to `reply`, and keeps it with its headers."""

    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.asked: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append({"followed": self.path})
        self.send(200, b"{}")

    def do_POST(self) -> None:
        request: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(request)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        try:
            self.server.reply(self, request)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def say(self, text: str) -> None:
        """An answer in the format of the address that was asked."""
        if self.path.endswith("/messages"):
            answer: Json = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 1200, "output_tokens": 90},
            }
        else:
            assert self.path.endswith("/chat/completions"), self.path
            answer = {
                "object": "chat.completion",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 1200, "completion_tokens": 90, "total_tokens": 1290},
            }
        self.send(200, json.dumps(answer).encode())


def saying(*lessons: Json) -> Reply:
    return lambda handler, _: handler.say(json.dumps({"lessons": lessons}))


def failing(status: int, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Reply:
    return lambda handler, _: handler.send(status, body, **headers)


@contextmanager
def serving(reply: Reply) -> Iterator[Endpoint]:
    server = Endpoint(reply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
