"""A real client of the official SDK, talking to our server: in this process, or in a `holdfast mcp` of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.memory import create_client_server_memory_streams
from mcp.types import Implementation

from holdfast.mcp.server import Session, server_for

SERVER = ["-m", "holdfast", "mcp"]
FENCED = re.compile(r"\[holdfast ([a-z0-9]{6}): [^\]]*\]\n(.*?)\n\[/holdfast \1\]", re.DOTALL)


class Said(str):
    """What a tool answered, and whether that was an error."""

    failed: bool

    @property
    def fenced(self) -> str:
        """What stands between the fences."""
        return "\n".join(match[2] for match in FENCED.finditer(self))

    @property
    def plain(self) -> str:
        """What stands outside of them."""
        return FENCED.sub("", self)


class Talk:
    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def __call__(self, tool: str, **arguments: Any) -> Said:
        result = await self.session.call_tool(tool, arguments)
        (content,) = result.content
        said = Said(content.text)  # type: ignore[union-attr]
        said.failed = bool(result.is_error)
        return said


@asynccontextmanager
async def connected(directory: Path, env: Mapping[str, str] | None = None) -> AsyncIterator[Talk]:
    server = StdioServerParameters(
        command=sys.executable, args=SERVER, cwd=directory, env={**os.environ, **(env or {})}
    )
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, client_info=Implementation(name="Test Agent", version="1")) as session,
    ):
        await session.initialize()
        yield Talk(session)


@asynccontextmanager
async def in_this_process(directory: Path, env: Mapping[str, str] | None = None) -> AsyncIterator[Talk]:
    """The same client and server without a process, which is most of what a call costs."""
    with mock.patch.dict(os.environ, env or {}):
        server = server_for(Session(directory))
        async with (
            create_client_server_memory_streams() as (ours, theirs),
            anyio.create_task_group() as tasks,
            ClientSession(*ours, client_info=Implementation(name="Test Agent", version="1")) as session,
        ):
            tasks.start_soon(server.run, *theirs, server.create_initialization_options())
            await session.initialize()
            yield Talk(session)
            tasks.cancel_scope.cancel()


def talk(
    directory: Path, scene: Callable[[Talk], Awaitable[Any]], env: Mapping[str, str] | None = None
) -> Any:
    async def run() -> Any:
        async with in_this_process(directory, env) as said:
            return await scene(said)

    return asyncio.run(run())


def call(directory: Path, tool: str, env: Mapping[str, str] | None = None, **arguments: Any) -> Said:
    """One call to a process of its own."""

    async def run() -> Said:
        async with connected(directory, env) as said:
            return await said(tool, **arguments)

    return asyncio.run(run())


class Raw:
    """The same process without a client that minds its manners."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *SERVER],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, id: int, method: str, **params: Any) -> dict[str, Any]:
        self.post(id, method, **params)
        return self.read()

    def post(self, id: int, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def shake_hands(self) -> dict[str, Any]:
        answer = self.ask(
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "raw", "version": "1"},
        )
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer
