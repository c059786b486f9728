"""Templates to text: the environment, the filters that write figures and times, and the frame around each page.

Everything that leaves passes `visible`: no character that a screen hides reaches the browser, through whatever
template or chart it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from holdfast.core import wording
from holdfast.core.errors import HoldfastError
from holdfast.guard.hidden_text import visible
from holdfast.web.contract import ALL, Changed, Fragment, Page, Request
from holdfast.web.prose import inline, prose
from holdfast.web.static_files import StaticFile

if TYPE_CHECKING:
    from holdfast.web.app import App

TEMPLATES = Path(__file__).with_name("templates")
UNKNOWN = "?"
Moment = datetime | float | None


class Renderer:
    def __init__(self, app: App, static: Mapping[str, StaticFile]) -> None:
        self._app = app
        self._jinja = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES, encoding="utf-8"),
            autoescape=True,
            auto_reload=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._jinja.globals |= {"static": lambda name: f"/static/{name}?v={static[name].version}"}
        self._jinja.filters |= {
            "dollars": wording.dollars,
            "about_dollars": wording.about_dollars,
            "percent": wording.percent,
            "tokens": lambda count: UNKNOWN if count is None else wording.amount(count),
            "number": wording.number,
            "counted": wording.counted,
            "duration": wording.short_duration,
            "model": wording.short_model,
            "cut": wording.cut,
            "short": short_id,
            "when": lambda moment: when(moment, app.machine.now()),
            "ago": lambda moment: ago(moment, app.machine.now()),
            "clock": clock,
            "day": day,
            "iso": iso,
            "prose": prose,
            "inline": inline,
            "place": lambda path: place(path, app.machine.user_home),
            "sentence": lambda text: text[:1].upper() + text[1:],
        }

    def load_all(self) -> None:
        """Compiles the templates, those of the first page first."""
        first = ("base.html", "parts.html", "now.html")
        for name in dict.fromkeys([*first, *self._jinja.list_templates(extensions=["html"])]):
            self._jinja.get_template(name)

    def page(self, request: Request | None, page: Page) -> str:
        shown = (
            request is not None and not request.refreshed
        )  # the messages of one that is refreshed stay unseen
        flash = self._app.take_flash() if shown else []
        context = self._frame(request) | {"title": page.title, "flash": flash} | page.context
        return visible(self._jinja.get_template(page.template).render(context))

    def fragment(self, request: Request, fragment: Fragment) -> str:
        context = self._frame(request) | fragment.context
        return visible(self._jinja.get_template(fragment.template).render(context))

    def toast(self, request: Request, changed: Changed) -> str:
        return self.fragment(request, Fragment("toast.html", changed=changed, error=None))

    def failure(self, request: Request, error: HoldfastError) -> str:
        return self.fragment(request, Fragment("toast.html", changed=None, error=error))

    def alone(self, template: str, **context: object) -> str:
        """A page without the frame, for a browser that is not let in (yet)."""
        return visible(self._jinja.get_template(template).render(context))

    def _frame(self, request: Request | None) -> dict[str, Any]:
        app = self._app
        slug = request.opened.slug if request and request.opened else ALL
        if (request is None or request.opened is None) and not app.everywhere and app.projects:
            slug = app.projects[0].slug  # an error outside of any project still has tabs
        screen = None if request is None else request.screen
        return {
            "request": request,
            "url": lambda name, **values: app.url(slug, name, values),
            "url_in": lambda other, name, **values: app.url(other, name, values),
            "screens": app.screens,
            "screen": screen,
            "projects": app.projects,
            "everywhere": app.everywhere,
            "slug": slug,
            "now": app.machine.now(),
        }


# --- filters -------------------------------------------------------------------------------------------


def short_id(session: str) -> str:
    return session[:8] if len(session) == 36 and session.count("-") == 4 else wording.cut(session, 18)


def place(path: str, home: Path) -> str:
    """A path as people write it: from `~`."""
    below = Path(path)
    return f"~/{below.relative_to(home)}" if below != home and below.is_relative_to(home) else path


def _moment(moment: Moment) -> datetime | None:
    if isinstance(moment, int | float | Decimal):
        moment = datetime.fromtimestamp(float(moment), UTC)
    return moment.astimezone() if moment is not None else None


def when(moment: Moment, now: datetime) -> str:
    """`14:05`, `yesterday 14:05`, `3 Nov 14:05`, `3 Nov 2025`: as much as a reader needs."""
    local = _moment(moment)
    if local is None:
        return UNKNOWN
    today = now.astimezone().date()
    if local.date() == today:
        return f"{local:%H:%M}"
    if local.date() == today - timedelta(days=1):
        return f"yesterday {local:%H:%M}"
    if local.year == today.year:
        return f"{local.day} {local:%b %H:%M}"
    return f"{local.day} {local:%b %Y}"


def ago(moment: Moment, now: datetime) -> str:
    local = _moment(moment)
    if local is None:
        return UNKNOWN
    seconds = (now - local).total_seconds()
    for size, unit in ((86_400 * 365, "y"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now" if seconds >= 0 else when(moment, now)


def clock(moment: Moment) -> str:
    local = _moment(moment)
    return UNKNOWN if local is None else f"{local:%H:%M}"


def day(moment: Moment) -> str:
    local = _moment(moment)
    return UNKNOWN if local is None else f"{local.year:04d}{local:-%m-%d}"


def iso(moment: Moment) -> str:
    local = _moment(moment)
    return "" if local is None else local.isoformat(timespec="seconds")
