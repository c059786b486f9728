"""`holdfast mcp`: the official SDK's server over standard input and output, with our tools and files.

The application is loaded by the first call: a client that waits for the handshake does not wait for it. Hosts start
their servers in every directory; where memory is not enabled, ours offers nothing and takes no context.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.hot.standing import enabled_at
from holdfast.mcp import streams
from holdfast.mcp.tools import INSTRUCTIONS, TOOLS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from holdfast.app.wiring import Machine

    Context = ServerRequestContext[Any]

SCHEME = "holdfast:///"


class Session:
    """One client: one call at a time, each on the memory of the directory in which the server was started."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._busy = threading.Lock()
        self._machine: Machine | None = None
        self.offers = enabled_at(os.path.abspath(directory), dict(os.environ))

    @property
    def busy(self) -> threading.Lock:
        return self._busy

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
        client = _client_name(ctx)
        text, failed = await anyio.to_thread.run_sync(
            self._answer, params.name, params.arguments or {}, client
        )
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await anyio.to_thread.run_sync(self._resources))

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await anyio.to_thread.run_sync(self._file, uri)
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    # --- in a thread of its own, one at a time -------------------------------------------------------------

    def _answer(self, name: str, arguments: dict[str, Any], client: str) -> tuple[str, bool]:
        with self._busy:
            try:
                from holdfast.mcp.answers import answer

                return answer(self._known_machine(), name, arguments, client), False
            except HoldfastError as error:
                return _one_line(error.line()), True
            except Exception as error:
                return self._fault(f"mcp {name}", error), True

    def _resources(self) -> list[types.Resource]:
        with self._busy:
            try:
                from holdfast.app.agent_access import permit
                from holdfast.app.opening import readable_files

                project = permit(self._known_machine(), reads=True, writes=False)
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
        with self._busy:
            try:
                from holdfast.app.agent_access import permit
                from holdfast.app.opening import read_whole
                from holdfast.mcp.answers import fenced

                machine = self._known_machine()
                project = permit(machine, reads=True, writes=False)
                text = read_whole(machine, project, uri.removeprefix(SCHEME))
                return fenced(text.rstrip().split("\n"), longest=4_000)
            except HoldfastError as error:
                raise MCPError(code=types.INVALID_PARAMS, message=_one_line(error.line())) from error
            except Exception as error:
                raise MCPError(
                    code=types.INTERNAL_ERROR, message=self._fault("mcp resource", error)
                ) from error

    def _known_machine(self) -> Machine:
        if self._machine is None:
            from holdfast.app.agent_access import AgentMachine

            self._machine = AgentMachine(cwd=self._directory)
        return self._machine

    def _fault(self, what: str, error: Exception) -> str:
        said = f"{type(error).__name__}: {error}"
        try:
            from holdfast.app.agent_access import note_fault

            note_fault(self._known_machine(), f"{what}: {said}")
        except Exception:
            pass  # the answer is what counts
        return _one_line(f"{type(error).__name__}. This is a fault of holdfast; holdfast doctor shows it.")


def _one_line(text: str) -> str:
    from holdfast.guard.visible import visible

    return visible(" ".join(text.split()))


def _client_name(ctx: Context) -> str:
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def serve(directory: Path) -> None:
    """Answers one client until it goes; does not return."""
    logging.disable(logging.CRITICAL)  # the SDK writes to standard error, which some clients show to the user
    session = Session(directory)
    streams.end_with_parent(session.busy)
    code = 0
    try:
        anyio.run(_serve, session)
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        pass  # the client is gone: there is nobody left to tell
    os._exit(code)  # a thread may still wait for a line that never comes


async def _serve(session: Session) -> None:
    server: Server[Any] = Server(
        "holdfast",
        version=__version__,
        instructions=INSTRUCTIONS if session.offers else None,
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
        on_list_resources=session.list_resources,
        on_read_resource=session.read_resource,
    )
    lines = cast(
        "anyio.AsyncFile[str]", anyio.wrap_file(cast(Any, streams.BoundedLines(streams.own_input())))
    )
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, server.create_initialization_options())
