"""`holdfast mcp`: the official SDK's server over standard input and output, with our tools and files.

The application is loaded by the first call: a client that waits for the handshake does not wait for it. Hosts start
their servers in every directory; where memory is not enabled, ours offers nothing and takes no context.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from holdfast import __version__
from holdfast.core.errors import HoldfastError
from holdfast.core.patterns import lazy_regex
from holdfast.hooks.enabled import enabled_at
from holdfast.mcp.tools import INSTRUCTIONS, TOOLS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from holdfast.flows.agent_access import AgentMachine

    Context = ServerRequestContext[Any]

SCHEME = "holdfast:///"
MOST_LINE = 4_000_000  # bytes; no call needs more, and a longer line is not held in memory
MOST_CALLS = 16  # at once; they are answered one by one, and each keeps a thread waiting
_TOO_LONG = "holdfast/line-too-long"
_LOOK_EVERY_S = 2.0
_ENDS = 4_096
_ID = lazy_regex(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")')
_HALF = lazy_regex(rb"\\u[dD][89a-fA-F]")
_ESCAPE = lazy_regex(
    rb"\\(?:(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


class BoundedLines:
    """Standard input by the line. One that is too long becomes a call with the same id that says so: the client gets an
    error instead of waiting for ever."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readline(self) -> str:
        line = self._stream.readline(MOST_LINE)
        if len(line) < MOST_LINE or line.endswith(b"\n"):
            return _whole_characters(line).decode("utf-8", "replace")
        head = tail = line[:_ENDS]
        while rest := self._stream.readline(MOST_LINE):
            tail = (tail + rest[-_ENDS:])[-_ENDS:]
            if rest.endswith(b"\n"):
                break
        id = _ID.search(head) or _ID.search(tail)
        return (
            f'{{"jsonrpc":"2.0","id":{id[1].decode()},"method":"tools/call","params":{{"name":"{_TOO_LONG}"}}}}\n'
            if id
            else "\n"
        )


def _whole_characters(line: bytes) -> bytes:
    """Replaces a lone surrogate (`\\ud83d`): the SDK would not answer such a call."""
    if not _HALF.search(line):
        return line
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], line)


def own_input() -> IO[bytes]:
    """The client's pipe under another number: processes of the application must not read from it."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(private, "rb", closefd=False)


def end_with_parent(busy: threading.Lock) -> None:
    """Ends the process when its parent exits, even if another process holds the pipe; finishes a running call first."""
    if sys.platform == "win32":
        return  # there a parent's end closes the pipe
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY_S)
        busy.acquire(timeout=30)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


class _Call:
    """A tool call that was not answered yet. The client may take it back while it waits or runs."""

    cancelled = False
    started = False


class Session:
    """One client: one call at a time, each on the memory of the directory in which the server was started."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.busy = threading.Lock()
        self._calls: set[_Call] = set()
        self.offers = enabled_at(os.path.abspath(directory), dict(os.environ))

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.about,
                    input_schema=tool.schema(),
                    annotations=None if tool.writes else types.ToolAnnotations(read_only_hint=True),
                )
                for tool in (TOOLS if self.offers else ())
            ]
        )

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        client = ctx.session.client_params.client_info.name if ctx.session.client_params else ""
        if params.name == _TOO_LONG:
            text, failed = f"a request is at most {MOST_LINE:,} bytes; nothing was read or written", True
        elif (call := self._begun()) is None:
            text, failed = f"{MOST_CALLS} calls are running already; call again once one is answered", True
        else:
            try:
                text, failed = await anyio.to_thread.run_sync(
                    self._answer, params.name, params.arguments or {}, client, call, abandon_on_cancel=True
                )
            except anyio.get_cancelled_exc_class():
                call.cancelled = True
                if not call.started:
                    self._calls.discard(call)
                raise
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await anyio.to_thread.run_sync(self._resources))

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await anyio.to_thread.run_sync(self._file, str(params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    def _begun(self) -> _Call | None:
        """A new call; None if too many are running."""
        if len(self._calls) >= MOST_CALLS:
            return None
        call = _Call()
        self._calls.add(call)
        return call

    def _answer(self, name: str, arguments: dict[str, Any], client: str, call: _Call) -> tuple[str, bool]:
        call.started = True
        try:
            return self._answer_alone(name, arguments, client, call)
        finally:
            self._calls.discard(call)

    def _answer_alone(
        self, name: str, arguments: dict[str, Any], client: str, call: _Call
    ) -> tuple[str, bool]:
        with self.busy:
            if call.cancelled:  # while it waited for the one before
                return "", True
            try:
                from holdfast.mcp.answers import answer

                self._machine.is_cancelled = lambda: call.cancelled
                return answer(self._machine, name, arguments, client), False
            except HoldfastError as error:
                return _one_line(error.line()), True
            except Exception as error:
                return self._fault(f"mcp {name}", error), True
            finally:
                with suppress(Exception):
                    self._machine.is_cancelled = lambda: False

    def _resources(self) -> list[types.Resource]:
        with self.busy:
            try:
                from holdfast.flows.agent_access import permit
                from holdfast.flows.open import readable_files

                project = permit(self._machine, reads=True, writes=False)
                return [
                    types.Resource(
                        name=file.name,
                        uri=f"{SCHEME}{file.name}",
                        description=file.about,
                        mime_type="text/markdown",
                    )
                    for file in readable_files(project)
                ]
            except HoldfastError:
                return []  # a list cannot say why; every tool does

    def _file(self, uri: str) -> str:
        with self.busy:
            try:
                from holdfast.flows.agent_access import permit
                from holdfast.flows.open import read_whole
                from holdfast.mcp.answers import fenced

                project = permit(self._machine, reads=True, writes=False)
                text = read_whole(self._machine, project, uri.removeprefix(SCHEME))
                return fenced(text.rstrip().split("\n"), longest=4_000)
            except HoldfastError as error:
                raise MCPError(code=types.INVALID_PARAMS, message=_one_line(error.line())) from error
            except Exception as error:
                raise MCPError(
                    code=types.INTERNAL_ERROR, message=self._fault("mcp resource", error)
                ) from error

    @cached_property
    def _machine(self) -> AgentMachine:
        from holdfast.flows.agent_access import AgentMachine

        return AgentMachine(cwd=self._directory)

    def _fault(self, what: str, error: Exception) -> str:
        with suppress(Exception):  # the answer is what counts
            from holdfast.flows.agent_access import note_fault

            note_fault(self._machine, f"{what}: {type(error).__name__}: {error}")
        return _one_line(f"{type(error).__name__}. This is a bug in holdfast; holdfast doctor shows it.")


def _one_line(text: str) -> str:
    from holdfast.guard.hidden_text import visible

    return visible(" ".join(text.split()))


def serve(directory: Path) -> None:
    """Answers one client until it goes; does not return."""
    logging.disable(logging.CRITICAL)  # the SDK writes to standard error, which some clients show to the user
    session = Session(directory)
    end_with_parent(session.busy)
    code = 0
    try:
        anyio.run(_serve, session)
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        pass  # the client is gone
    os._exit(code)  # a thread may still wait for a line that never comes


def server_for(session: Session) -> Server[Any]:
    """The SDK's server with our tools and files."""
    return Server(
        "holdfast",
        version=__version__,
        instructions=INSTRUCTIONS if session.offers else None,
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
        on_list_resources=session.list_resources,
        on_read_resource=session.read_resource,
    )


async def _serve(session: Session) -> None:
    server = server_for(session)
    lines = cast("anyio.AsyncFile[str]", anyio.wrap_file(cast(Any, BoundedLines(own_input()))))
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, server.create_initialization_options())
