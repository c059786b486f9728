"""From an HTTP request to a handler and back: the gate, the routes, the body, and what each kind of answer becomes."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response, StreamingResponse

from holdfast.core.errors import HoldfastError, NotFound, UsageError
from holdfast.flows.running_sessions import RunningSession
from holdfast.guard.inert import inert
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.web.access import HEADERS, LARGEST_BODY, LONGEST_ADDRESS, OPEN, STATIC, Gate, Refused
from holdfast.web.contract import (
    ALL,
    Answer,
    Changed,
    Download,
    Fields,
    Fragment,
    Opened,
    Page,
    Redirect,
    Request,
)
from holdfast.web.heap import give_back
from holdfast.web.live import Live
from holdfast.web.overview import overview
from holdfast.web.readings import Readings
from holdfast.web.render import Renderer
from holdfast.web.routes import Routes
from holdfast.web.screens import SCREENS
from holdfast.web.static_files import static_files

Scope = MutableMapping[str, Any]
EVENTS = "/events"
LARGE_S = 0.5  # an answer that takes longer leaves much behind
MOST_FIELDS = 1_000
_TYPES = {"csv": "text/csv", "html": "text/html", "md": "text/markdown", "json": "application/json"}
_TOO_LARGE = Refused(413, "This request is too large", "The page never sends anything this large.")
_NO_PAGE = Refused(404, "There is no such page", "Choose one of the tabs above.")


class App:
    """The ASGI application of one run of `holdfast ui`."""

    def __init__(
        self,
        machine: Machine,
        projects: Sequence[Opened],
        gate: Gate,
        *,
        everywhere: bool = False,
        active: Callable[[], None] = lambda: None,
    ) -> None:
        self.machine = machine
        self.projects = projects
        self.everywhere = everywhere
        self.screens = SCREENS
        self.gate = gate
        self._active = active  # called at each request that passed the gate
        self._readings = Readings(machine)
        self.live = Live(self._readings, list(projects), machine)
        self._static = static_files()
        self._renderer = Renderer(self, self._static)
        self.routes = Routes()
        self._machines = {opened.slug: _machine_in(machine, opened) for opened in projects}
        self._flash: list[Changed] = []
        # One handler at a time: msgspec builds what it knows of a type at the first use of it, and a second thread that
        # uses a half-built one ends the process.
        self._turn = Lock()

    # --- what handlers use -----------------------------------------------------------------------------

    def url(self, slug: str, name: str, values: Mapping[str, Any]) -> str:
        return self.routes.url(slug, name, values)

    def kept(self, opened: Opened, key: str, topics: Sequence[str], make: Callable[[], Any]) -> Any:
        return self._readings.kept(opened.project, key, topics, make)

    def running_sessions(self, opened: Opened, rows: Iterable[LedgerEntry]) -> list[RunningSession]:
        return self._readings.running(opened.project).sessions(rows)

    def warm(self) -> None:
        """Loads what pages need while the browser is still starting."""
        self._renderer.load_all()
        for screen in self.screens:
            with self._turn:
                self.routes.load(screen.name)

    def take_flash(self) -> list[Changed]:
        """What was changed before the browser was sent to another page."""
        waiting, self._flash = self._flash, []
        return waiting

    # --- requests --------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        response = await self._answer(scope, receive)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if scope["method"] == "HEAD" and not isinstance(response, StreamingResponse):
            response.body = b""
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Any) -> Response:
        headers = Headers(scope=scope)
        path, raw_query = scope["path"], scope["query_string"].decode("latin-1")
        if len(path) + len(raw_query) > LONGEST_ADDRESS:
            return self._refuse(Refused(414, "This address is too long", "No address here is this long."))
        query = QueryParams(raw_query)
        length = headers.get("content-length", "0")
        verdict = self.gate.check(
            scope["method"],
            path,
            headers,
            query.get("token", ""),
            _cookie(headers, self.gate.cookie),
            length=int(length) if length.isdecimal() else LARGEST_BODY + 1,
        )
        if isinstance(verdict, Refused):
            return self._refuse(verdict)
        self._active()
        if verdict == "open":
            # Not a redirect: a browser withholds a strict cookie along a chain that began on another site.
            opened = Response(self._renderer.alone("open.html"), media_type="text/html")
            opened.headers["set-cookie"] = self.gate.set_cookie()
            return opened
        if path.startswith(STATIC):
            file = self._static.get(path.removeprefix(STATIC))
            return Response(file.data, media_type=file.type) if file else self._refuse(_NO_PAGE)
        if path == EVENTS:
            stream = self.live.events(query.get("project", ""))
            return StreamingResponse(stream, media_type="text/event-stream")
        if path == "/":
            slug = ALL if self.everywhere or not self.projects else self.projects[0].slug
            return _see_other(f"/{slug}/")
        body = await _read_body(receive) if scope["method"] == "POST" else b""
        if body is None:
            return self._refuse(_TOO_LARGE)
        return await run_in_threadpool(self._dispatch, scope["method"], path, query, headers, body)

    def _dispatch(
        self, method: str, path: str, query: QueryParams, headers: Headers, body: bytes
    ) -> Response:
        request: Request | None = None
        began = time.perf_counter()
        try:
            with self._turn:
                request = self._request(method, path, query, headers, body)
            if request.opened is None and not request.route.everywhere:
                with self._turn:
                    return self._respond(request, overview(request))
            with self._turn:
                return self._respond(request, request.route.handler(request))
        except HoldfastError as error:
            return self._fail(request, error)
        except Exception as error:
            self.machine.tell(f"holdfast ui: {type(error).__name__}: {error} at {path}")
            if self.machine.env.get("HOLDFAST_DEBUG"):
                self.machine.tell("".join(traceback.format_exception(error)))
            fault = HoldfastError(
                "this is a bug in holdfast", fix="The terminal says which; HOLDFAST_DEBUG=1 says where"
            )
            return self._fail(request, fault)
        finally:
            if time.perf_counter() - began > LARGE_S:
                give_back()

    def _request(self, method: str, path: str, query: QueryParams, headers: Headers, body: bytes) -> Request:
        screen, route, values = self.routes.match("GET" if method == "HEAD" else method, path)
        slug = values.pop("project")
        opened = next((opened for opened in self.projects if opened.slug == slug), None)
        if opened is None and not (slug == ALL and self.everywhere):
            raise NotFound("this project is not open here", fix="holdfast ui --all opens every project")
        fields = _fields(body, headers)
        lists: dict[str, list[str]] = {}
        for name, value in [*query.multi_items(), *fields]:
            lists.setdefault(name, []).append(value)
        return Request(
            frame=self,
            machine=self._machines[opened.slug] if opened else self.machine,
            screen=screen,
            route=route,
            opened=opened,
            path=values,
            query=Fields(query),
            form=Fields(fields),
            lists=lists,
            htmx=headers.get("hx-request") == "true",
            refreshed=method == "GET" and "x-holdfast" in headers and "hx-request" not in headers,
        )

    # --- answers ---------------------------------------------------------------------------------------

    def _respond(self, request: Request, answer: Answer) -> Response:
        if isinstance(answer, Page):
            return Response(self._renderer.page(request, answer), answer.status, media_type="text/html")
        if isinstance(answer, Fragment):
            return Response(self._renderer.fragment(request, answer), media_type="text/html")
        if isinstance(answer, Redirect):
            return _sent_to(request, answer.url)
        if isinstance(answer, Download):
            ready = answer.whole or answer.form == "csv"
            text = answer.text if ready else inert(answer.text, answer.form)
            response = Response(text, media_type=_TYPES.get(answer.form, "text/plain"))
            response.headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(answer.name)}"
            return response
        if answer.goto or not request.htmx:
            self._flash.append(answer)
            return _sent_to(request, answer.goto or request.url("now"))
        response = Response(self._renderer.toast(request, answer), media_type="text/html")
        response.headers["HX-Reswap"] = "none"  # the toast has a place of its own
        response.headers["HX-Trigger"] = "holdfast:changed"
        return response

    def _fail(self, request: Request | None, error: HoldfastError) -> Response:
        status = {NotFound: 404, UsageError: 400}.get(type(error), 500)
        if request is not None and request.refreshed:
            return Response(
                status_code=204
            )  # what the page shows is gone: a browser would log another answer
        if request is not None and request.htmx:
            response = Response(self._renderer.failure(request, error), media_type="text/html")
            response.headers["HX-Reswap"] = "none"
            return response
        page = Page("error.html", title="Not done", status=status, error=error)
        return Response(self._renderer.page(request, page), status, media_type="text/html")

    def _refuse(self, refused: Refused) -> Response:
        text = self._renderer.alone("refused.html", refused=refused)
        return Response(text, refused.status, media_type="text/html")


def _machine_in(machine: Machine, opened: Opened) -> Machine:
    """The machine as a command sees it that runs in this project: many functions take the project from there."""
    with suppress(HoldfastError):
        if machine.project().memory == opened.project.memory:
            return machine  # where the person is, in the project: a switch may count for a directory
    inside = Machine(env=machine.env, cwd=opened.project.root)
    inside.tell, inside.now = machine.tell, machine.now
    return inside


def _sent_to(request: Request, url: str) -> Response:
    return Response(headers={"HX-Redirect": url}) if request.htmx else _see_other(url)


def _see_other(url: str) -> Response:
    return Response(status_code=303, headers={"location": url})


def _cookie(headers: Headers, name: str) -> str:
    for pair in headers.get("cookie", "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


async def _read_body(receive: Any) -> bytes | None:
    """The body, or None when it is larger than anything that the page sends."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the browser is gone
        body += bytes(message.get("body", b""))
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            break
    return body


def _fields(body: bytes, headers: Headers) -> list[tuple[str, str]]:
    if not body:
        return []
    if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise UsageError("the page sends forms only")
    try:
        return parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise UsageError("the form cannot be read") from error


__all__ = ["OPEN", "App"]
