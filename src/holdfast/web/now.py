"""The screen Now: where work stands, what is running, what memory told it, and what waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from msgspec import Struct

from holdfast.briefing.explain import injections
from holdfast.briefing.recovery import hand_over, state_of, take_back
from holdfast.briefing.watch import Watch, alerts, live_sessions
from holdfast.core.errors import HoldfastError
from holdfast.core.wording import counted, dollars
from holdfast.flows.running_sessions import RunningSession
from holdfast.ledger.rows import session_titles
from holdfast.memory.current_digest import steps_of
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import OpenItem
from holdfast.store.project import branch_of
from holdfast.transcripts.find import find_session
from holdfast.web.changes import change
from holdfast.web.charts import Chart, Stack, columns
from holdfast.web.contract import Changed, Fragment, Page, Request, Route, Screen
from holdfast.web.now_review import ROUTES, Review, review_of
from holdfast.web.session_list import Listed, Sums, entries_of, listed, sums_of, titles, told_counts

RECENT = 8
MOST_STEPS = 6
MOST_ALERTS = 6
DAYS = 7


class Week(Struct, frozen=True):
    """The last seven days, and the seven before."""

    sums: Sums
    before: Sums
    chart: Chart | None


class Live(Struct, frozen=True):
    """A running session, and how many lines it was told."""

    running: RunningSession
    told: int


def show(request: Request) -> Page:
    every = listed(request)
    running = _running(request)
    active = {live.running.session for live in running}
    recent = [one for one in every if one.session not in active][:RECENT]
    return Page(
        "now.html",
        title="Now",
        running=running,
        recent=recent,
        titles=titles(recent),
        week=_week(request, every),
        project=_of_project(request),
    )


class OfProject(Struct, frozen=True):
    """What only one project has."""

    steps: Sequence[object]
    todos: Sequence[OpenItem]
    branch: str
    handed_over: bool
    watch: Watch
    alert_titles: Mapping[str, str]
    review: Review


def _of_project(request: Request) -> OfProject:
    branch = branch_of(request.project.root)
    state = request.kept("state", lambda: state_of(request.project).current, "memory")
    steps = steps_of(state, branch or None)
    assert request.opened is not None
    entries = entries_of(request, request.opened)
    watch = request.kept("alerts", lambda: _alerts(request, entries), "sessions")
    return OfProject(
        steps=steps[:MOST_STEPS],
        todos=_todos(request)[: MOST_STEPS - len(steps[:MOST_STEPS])],
        branch=branch,
        handed_over=any(step.by for step in steps),
        watch=watch,
        alert_titles=session_titles(
            request.project, [alert.session for alert in watch.alerts[:MOST_ALERTS] if alert.session]
        ),
        review=review_of(request),
    )


def _todos(request: Request) -> list[OpenItem]:
    from holdfast.flows.todos import list_todos  # the first page need not wait for what changes them

    def read() -> list[OpenItem]:
        return [listed.item for listed in list_todos(request.here)[0] if not listed.closed]

    return request.kept("todos", read, "memory")


def _alerts(request: Request, entries: Sequence[LedgerEntry]) -> Watch:
    return alerts(request.machine, request.project, entries, live_sessions(request.machine, request.project))


def _running(request: Request) -> list[Live]:
    assert request.opened is not None
    opened = request.opened
    told = request.kept("told-counts", lambda: told_counts(opened), "hooks")
    return [
        Live(running, told[running.session].lines if running.session in told else 0)
        for running in request.running(opened, entries_of(request, opened))
    ]


def _week(request: Request, every: Sequence[Listed]) -> Week:
    today = request.now.astimezone().date()
    first, before = today - timedelta(days=DAYS - 1), today - timedelta(days=2 * DAYS - 1)
    week = [one for one in every if one.day is not None and first <= one.day <= today]
    earlier = [one for one in every if one.day is not None and before <= one.day < first]
    return Week(sums_of(week), sums_of(earlier), _chart(request, today, week))


def _chart(request: Request, today: date, week: Sequence[Listed]) -> Chart | None:
    spent: Counter[date] = Counter()
    for one in week:
        if one.day is not None and one.entry.cost_usd:
            spent[one.day] += one.entry.cost_usd  # type: ignore[assignment]
    if not spent:
        return None
    days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    stacks = [
        Stack(
            label=f"{day:%a} {day.day}",
            values=[float(Decimal(spent[day]))],
            url=request.url("sessions", **{"from": str(day), "to": str(day)}),
        )
        for day in days
    ]
    return columns("cost-this-week", "Cost by day", stacks, unit="US dollars at API prices", write=dollars)


# --- what is loaded after the page ----------------------------------------------------------------------


def notices(request: Request) -> Fragment:
    """What keeps memory from working: transcripts are searched for it, so it comes after the page."""
    from holdfast.flows.status import status_of

    status = request.kept(
        "status", lambda: status_of(request.here, request.project), "sessions", "memory", "hooks"
    )
    return Fragment("now_notices.html", status=status)


def told(request: Request) -> Fragment:
    from holdfast.web.session_story import moments_of  # the first page need not wait for what judges lines

    session = request.query.get("id", "")
    try:
        moments = moments_of(request.machine, request.project, find_session(request.project, session))
    except HoldfastError:  # it runs, and is not read yet
        from holdfast.backtest.injected import without_steps

        moments = without_steps(
            [one for one in injections(request.project) if one.session == session and one.lines]
        )
    counts = Counter(line.use for moment in moments for line in moment.lines if line.use)
    tokens = sum(moment.entry.tokens for moment in moments)
    return Fragment("now_told.html", moments=moments, counts=counts, tokens=tokens, id=session)


# --- the handoff ----------------------------------------------------------------------------------------


def ask_handoff(request: Request) -> Fragment:
    return Fragment("now_handoff.html", branch=branch_of(request.project.root))


def handoff(request: Request) -> Changed:
    branch = branch_of(request.project.root)

    def said(count: int) -> str:
        return f"The next session here starts with {counted(count, 'step')}"

    text = request.form.get("text", "")
    return change(
        request, said, lambda: hand_over(request.machine, request.project, text, branch, "user", add=False)
    )


def clear_handoff(request: Request) -> Changed:
    branch = branch_of(request.project.root)
    return change(request, "The handoff was removed", lambda: take_back(request.project, branch))


SCREEN = Screen(
    "now",
    "Now",
    "n",
    "tab",
    (
        Route("/", show, name="now"),
        Route("/now/told", told, name="now.told"),
        Route("/now/notices", notices, name="now.notices"),
        Route("/now/handoff", ask_handoff, name="now.ask_handoff"),
        Route("/now/handoff", handoff, "POST", name="now.handoff"),
        Route("/now/clear", clear_handoff, "POST", name="now.clear"),
        *ROUTES,
    ),
)
