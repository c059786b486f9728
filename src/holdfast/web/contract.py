"""What a screen is made of. Read this before you write one.

A screen is one module `web/<screen>.py`, one or more templates `web/templates/<screen>*.html`, and a line in
`web/screens.py`. The module has handlers and one value, `SCREEN`:

    def show(request: Request) -> Page:
        entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
        return Page("cost.html", title="Cost", entries=entries)

    def confirm(request: Request) -> Changed:
        return change(request, "Decision confirmed", lambda: agree(request.project, request.form["id"]))

    SCREEN = Screen("cost", "Cost", "c", "tab", (Route("/cost", show), Route("/cost/confirm", confirm, "POST")))

Handlers are ordinary functions and run in a thread, one at a time. A handler computes nothing that the command
line would compute differently: it calls the same function of a lower room. It answers with

    Page(template, title=…, **context)   a whole page; the template extends base.html
    Fragment(template, **context)        a part, for htmx; what goes into #dialog opens as a dialog
    Redirect(url)                        after a form without htmx, or to another screen
    Download(name, text, form)           a file; `form` is what guard.inert makes it safe for (csv: by cell, before)
    Changed(message, undo, goto)         after every write; made by `change` of web/changes.py, which finds the undo
    raise HoldfastError                  becomes a page, or a toast if htmx asked

Addresses: a route's path is within a project: /cost is /PROJECT/cost. `Route.name` is the screen's name and, after a
dot, the rest of the path's fixed words: `cost`, `cost.confirm`, `sessions.one` if you name it so. Build addresses with
`request.url(name, **values)`, in templates `url(name, **values)`: values that the path does not take become the query.
A route with `everywhere=True` also answers for the whole machine (/all/cost): then `request.all` is true and
`request.project` must not be used; the others offer a choice of projects there.

Writes are POST (htmx: hx-post, a form or hx-vals); the frame checks the origin and the header. Read their fields from
`request.form`. A destructive one first shows a Fragment with `parts.dialog` that says what would go.

Kept readings: `request.kept(key, make, *topics)` returns what `make` returned last time, until a file of these topics
changes (sessions, memory, lessons, knowledge, hooks, sync, running; none means any file of the memory). Keep values,
not generators. A screen answers within 15 times `python -c pass` with 10,000 sessions: read with it, and page with
`request.page(items)`.

Live: what should follow the files stands in {% call parts.live("id", "sessions memory") %}…{% endcall %}: when files of
these topics change, and after every write, the browser loads the page again and replaces just these parts. Give each
row a stable `id` so that the selection stays.

Templates: {% import "parts.html" as parts %} has every component; use those before you write markup. No inline
script, style or handler: the page's policy refuses them. No `|safe`; markup that Python makes is `markupsafe.Markup`
with `escape`. Text of agents needs no treatment: what leaves is escaped, and control and bidi characters are shown.
Keys: a list made with `parts.rows` moves with j and k, and Enter opens; an element with data-key="y" is clicked by
that key while its row is selected, or, outside of rows, at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Struct

from holdfast.guard.inert import Form
from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.flows.running_sessions import RunningSession
    from holdfast.model.ledger import LedgerEntry

T = TypeVar("T")
Method = Literal["GET", "POST"]
Place = Literal["tab", "link", "hidden"]
PAGE_SIZE = 50


class Page:
    """A whole page: its template with this context."""

    def __init__(self, template: str, *, title: str, status: int = 200, **context: Any) -> None:
        self.template, self.title, self.status, self.context = template, title, status, context


class Fragment:
    """A part of a page, which htmx puts in its place."""

    def __init__(self, template: str, **context: Any) -> None:
        self.template, self.context = template, context


class Redirect(Struct, frozen=True):
    url: str


class Download(Struct, frozen=True):
    """A file for the browser to save. A csv is made of cells that are inert already, a `whole` text of inert parts."""

    name: str
    text: str
    form: Form
    whole: bool = False


class Undo(Struct, frozen=True):
    """The write that takes a change back: an address that is sent these fields."""

    url: str
    fields: Mapping[str, str] = {}


class Changed(Struct, frozen=True):
    """What a write did, in a few words; how to undo it; and the page to show next, if this one is gone."""

    message: str
    undo: Undo | None = None
    goto: str = ""


Answer = Page | Fragment | Redirect | Download | Changed


class Slice(Struct, frozen=True):
    """One page of a longer list, with what the pager needs."""

    items: Sequence[Any]
    number: int
    pages: int
    total: int

    @property
    def first(self) -> int:
        return (self.number - 1) * PAGE_SIZE + 1 if self.total else 0

    @property
    def last(self) -> int:
        return self.first + len(self.items) - 1 if self.total else 0


class Opened(Struct, frozen=True):
    """A project that the page shows, under the name it has in addresses."""

    slug: str
    project: Project


class Frame(Protocol):
    """What all requests share."""

    projects: Sequence[Opened]

    def url(self, slug: str, name: str, values: Mapping[str, Any]) -> str: ...
    def kept(self, opened: Opened, key: str, topics: Sequence[str], make: Callable[[], T]) -> T: ...
    def running_sessions(self, opened: Opened, rows: Iterable[LedgerEntry]) -> list[RunningSession]: ...


class Fields(dict[str, str]):
    """Fields of a query or a form. One that was not given is '', in a template too."""

    def __missing__(self, name: str) -> str:
        return ""


class Request(Struct, frozen=True, kw_only=True):
    """One question of the browser."""

    frame: Frame
    machine: Machine
    screen: Screen
    route: Route
    opened: Opened | None  # None: the whole machine
    path: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    form: Mapping[str, str] = {}
    htmx: bool = False
    refreshed: bool = False  # an open page is loaded again, for the parts that follow the files
    lists: Mapping[str, Sequence[str]] = {}  # every value of a field of the query or the form

    @property
    def all(self) -> bool:
        return self.opened is None

    @property
    def project(self) -> Project:
        assert self.opened is not None, "this route is not for the whole machine"
        return self.opened.project

    @property
    def here(self) -> Machine:
        """This machine as a command in the open project has it: for functions that ask it for their project."""
        return self.machine.standing_in(self.project.root)

    @property
    def projects(self) -> Sequence[Opened]:
        """The projects that this request is about: the open one, or all."""
        return self.frame.projects if self.opened is None else [self.opened]

    @property
    def now(self) -> datetime:
        return self.machine.now()

    def url(self, name: str, /, **values: Any) -> str:
        return self.frame.url(self.opened.slug if self.opened else ALL, name, values)

    def kept(self, key: str, make: Callable[[], T], *topics: str) -> T:
        assert self.opened is not None, "keep a reading of a project with kept_of"
        return self.frame.kept(self.opened, key, topics, make)

    def kept_of(self, opened: Opened, key: str, make: Callable[[], T], *topics: str) -> T:
        """As `kept`, for one of `projects`."""
        return self.frame.kept(opened, key, topics, make)

    def running(self, opened: Opened, rows: Iterable[LedgerEntry]) -> list[RunningSession]:
        """The sessions that agents run now in one of `projects`, given its ledger rows; topic `running`."""
        return self.frame.running_sessions(opened, rows)

    def page(self, items: Sequence[T]) -> Slice:
        """The part of a list that `?page=` asks for."""
        pages = max(1, -(-len(items) // PAGE_SIZE))
        asked = self.query.get("page", "1")
        number = min(max(int(asked) if asked.isdecimal() and len(asked) < 8 else 1, 1), pages)
        return Slice(items[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], number, pages, len(items))


ALL = "all"  # stands in addresses for the whole machine
Handler = Callable[[Request], Answer]


class Route(Struct, frozen=True):
    path: str
    handler: Handler
    method: Method = "GET"
    everywhere: bool = False
    name: str = ""


class Screen(Struct, frozen=True):
    """A screen and its addresses. `letter` goes there after g."""

    name: str
    title: str
    letter: str
    place: Place
    routes: tuple[Route, ...]
    under: str = ""  # the tab that is marked while this screen is open

    def name_of(self, route: Route) -> str:
        if route.name:
            return route.name
        words = [word for word in route.path.split("/") if word and not word.startswith("{")]
        return ".".join([self.name, *words[1:]])
