"""Cost, this machine: what all agents used in all projects, read from their transcripts in a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock, Thread

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.wording import amount, dollars, short_model
from holdfast.flows.count_usage import UsageCounter
from holdfast.hooks.hook import switched_off
from holdfast.ledger.spending import periods_between
from holdfast.ledger.usage_periods import (
    BY,
    OVER_TIME,
    Budget,
    Part,
    RunningBlock,
    Spent,
    UsageReading,
    budgets_used,
    by_part,
    grouped,
    read_usage,
    running_blocks,
    total_of,
)
from holdfast.sessions.usage_gaps import in_words
from holdfast.store.machine import Machine
from holdfast.web.charts import Bar, Chart, Stack, bars, columns
from holdfast.web.contract import Answer, Fragment, Page, Redirect, Request, Route

FRESH_S = 60.0  # a count that is older is repeated in the background
TITLES = {
    "day": "Day",
    "week": "Week from",
    "month": "Month",
    "block": "5-hour block from",
    "project": "Project",
    "model": "Model",
    "agent": "Agent",
}
SPANS = (("7", "Last 7 days"), ("30", "Last 30 days"), ("90", "Last 90 days"), ("365", "Last year"))
_MOST_COLUMNS, _MOST_SERIES, _MOST_BARS, _MOST_LINES = 62, 5, 12, 100


class UsageCount:
    """The usage of this machine, counted by one thread at a time; the last count stays until the next is ready."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._thread: Thread | None = None
        self._parts: dict[str, dict[Part, Spent]] = {}
        self.reading: UsageReading | None = None
        self.at = 0.0
        self.progress = ""
        self.problem = ""
        self.warnings: list[str] = []

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def refresh(self, machine: Machine) -> None:
        """Begins to count if nothing fresh is there. Returns at once."""
        with self._lock:
            if self.running or (self.reading is not None and time.monotonic() - self.at < FRESH_S):
                return
            self._thread = Thread(target=self._count, args=(machine,), daemon=True)
            self._thread.start()

    def _count(self, machine: Machine) -> None:
        try:
            counter = UsageCounter(machine, self._say)
            if not switched_off(machine.env):
                counter.update()
            reading = read_usage(counter.cache, counter.project_names())
            with self._lock:
                self.reading, self._parts, self.problem = reading, {}, ""
                self.warnings = [f"{warning.path}: {warning.message}" for warning in counter.warnings]
        except HoldfastError as error:
            self.problem = error.line()
        finally:
            self.at, self.progress = time.monotonic(), ""

    def _say(self, done: int, total: int, name: str) -> None:
        self.progress = f"{done:,} of {total:,} bytes" if total else ""

    def by(self, name: str) -> Mapping[Part, Spent]:
        with self._lock:
            if self.reading is None:
                return {}
            if name not in self._parts:
                self._parts[name] = by_part(self.reading, name)
            return self._parts[name]


_COUNTS: dict[Path, UsageCount] = {}


def count_of(machine: Machine) -> UsageCount:
    return _COUNTS.setdefault(machine.home, UsageCount())


class Line(Struct, frozen=True):
    name: str
    spent: Spent


def show(request: Request) -> Page:
    count = count_of(request.machine)
    count.refresh(request.machine)
    asked = request.query
    by = asked["by"] if asked.get("by") in BY else "day"
    span = asked["span"] if asked.get("span") in dict(SPANS) else ""
    project = asked.get("project", "")
    agent = asked.get("agent", "")
    parts = {part: spent for part, spent in count.by(by).items() if _fits(part, project, agent)}
    if span:
        since = (request.now - timedelta(days=int(span))).timestamp()
        parts = {part: spent for part, spent in parts.items() if spent.last >= since}
    lines = _lines(parts, by)
    total = total_of(spent for _, spent in lines)
    settings = request.machine.settings()
    reading = count.reading
    budgets: Sequence[Budget] = ()
    running: Sequence[RunningBlock] = ()
    if reading is not None:
        budgets = budgets_used(reading, settings.budget_day, settings.budget_month, request.now)
        running = running_blocks(reading, dict(count.by("block")), request.now)
    return Page(
        "cost_machine.html",
        title="Cost",
        asked={"by": by, "span": span, "project": project, "agent": agent},
        choices=[(name, TITLES[name].removesuffix(" from")) for name in BY],
        spans=SPANS,
        projects_used=sorted({part.project for part in count.by("project")}),
        agents_used=sorted({part.agent for part in count.by("agent")}),
        by_title=TITLES[by],
        lines=[Line(name.partition("\0")[0] or "?", spent) for name, spent in lines[:_MOST_LINES]],
        more=max(len(lines) - _MOST_LINES, 0),
        total=total,
        chart=_chart(parts, lines, by),
        budgets=budgets,
        running=running,
        counting=count.running,
        counted=reading is not None,
        progress=count.progress,
        problem=count.problem,
        written=written,
        gaps=in_words(total.gaps),
        unknown=sorted(total.unknown),
        project_url=request.url("cost") if not request.all else "",
    )


def _fits(part: Part, project: str, agent: str) -> bool:
    return (not project or part.project == project) and (not agent or part.agent == agent)


def _lines(parts: Mapping[Part, Spent], by: str) -> list[tuple[str, Spent]]:
    if by == "block":
        groups = grouped(parts, lambda part: f"{part.period}\0{part.agent}")
    else:
        groups = grouped(parts, lambda part: part.period if by in OVER_TIME else str(getattr(part, by)))
    if by in OVER_TIME:
        return sorted(groups.items(), reverse=True)
    return sorted(groups.items(), key=lambda item: (-item[1].cost_usd, -item[1].tokens, item[0]))


def written(spent: Spent) -> str:
    """`?` where nothing is known, `≥` where something is missing."""
    if not spent.responses or (spent.unknown and not spent.cost_usd):
        return "?"
    return f"{'≥ ' if spent.unknown or spent.gaps else ''}{dollars(spent.cost_usd)}"


def _chart(parts: Mapping[Part, Spent], lines: Sequence[tuple[str, Spent]], by: str) -> Chart | None:
    if not lines:
        return None
    if by not in OVER_TIME:
        items = [
            Bar(
                label=short_model(name) if by == "model" and name else name or "?",
                value=float(spent.cost_usd),
                shown=f"{written(spent)} · {amount(spent.tokens)}",
            )
            for name, spent in lines[:_MOST_BARS]
        ]
        return bars("usage", f"Cost by {by}", items, unit="US dollars · tokens", what=TITLES[by])
    models = grouped(parts, lambda part: part.model)
    ordered = sorted(models, key=lambda name: (-models[name].cost_usd, name))
    series, rest = ordered[:_MOST_SERIES], set(ordered[_MOST_SERIES:])
    cells = grouped(parts, lambda part: f"{part.period}\0{part.model if part.model not in rest else ''}")
    periods = sorted({part.period for part in parts})
    if by != "block":
        periods = periods_between(periods[0], periods[-1], by)
    stacks = []
    for period in periods[-_MOST_COLUMNS:]:
        names = [*series, *([""] if rest else [])]
        values = [
            float(cells[key].cost_usd) if (key := f"{period}\0{name}") in cells else 0.0 for name in names
        ]
        stacks.append(Stack(label=_label(period, by), values=values))
    labels = [short_model(name) if name else "?" for name in series] + (["others"] if rest else [])
    title = f"Cost by {'5-hour block' if by == 'block' else by}"
    return columns(
        "usage",
        title,
        stacks,
        unit="US dollars, at API prices",
        write=dollars,
        series=labels,
        what=TITLES[by],
    )


def _label(period: str, by: str) -> str:
    if by == "month":
        return f"{datetime.fromisoformat(period + '-01'):%b %Y}"
    day = datetime.fromisoformat(period)
    return f"{day.day} {day:%b}" + (f" {day:%H}h" if by == "block" else "")


def counting(request: Request) -> Answer:
    """How far the count is; the page itself once it is done."""
    count = count_of(request.machine)
    if not count.running:
        return Redirect(request.url("cost.machine"))
    return Fragment("cost_counting.html", progress=count.progress)


ROUTES = (
    Route("/cost/machine", show, everywhere=True),
    Route("/cost/counting", counting, everywhere=True),
)
