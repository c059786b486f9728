"""The screen Cost: what sessions of this project cost at API prices, how often they fail, which model to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.wording import amount, dollars, short_model
from holdfast.flows.advise import advise
from holdfast.ledger.recommend import OBJECTIVES, Recommendation
from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.ledger.spending import (
    PARTS,
    UNKNOWN,
    Spending,
    period_of,
    period_start,
    periods_between,
    spending_by,
)
from holdfast.ledger.stats import columns_of
from holdfast.ledger.tally import groups_of, maturity
from holdfast.model.ledger import LedgerEntry
from holdfast.web import cost_usage
from holdfast.web.charts import Bar, Chart, Rate, Stack, bars, columns, rates
from holdfast.web.contract import Page, Request, Route, Screen

PERIODS = (("day", "By day"), ("week", "By week"), ("month", "By month"))
SPANS = (("30", "Last 30 days"), ("90", "Last 90 days"), ("365", "Last year"))
SPLITS = (("model", "Model"), ("kind", "Kind of task"), ("agent", "Agent"), ("outcome", "Outcome"))
LONGEST_GOAL = 2_000
_MOST_SERIES, _MOST_BARS, _MOST_SESSIONS, _MOST_COLUMNS = 5, 10, 10, 62
_FEWEST = 2  # judged sessions of a group, below which a rate says nothing at all


class Group(Struct, frozen=True):
    """A model, a kind or an agent: what its sessions cost, and how often one fails."""

    key: str  # its name as recorded
    name: str
    spent: Spending
    failed: int
    judged: int
    rate: float | None
    interval: tuple[float, float] | None


def entries_of(request: Request) -> list[LedgerEntry]:
    return request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")


def show(request: Request) -> Page:
    asked = request.query
    every = entries_of(request)
    span = int(asked["span"]) if asked.get("span") in dict(SPANS) else 0
    since = (request.now.astimezone() - timedelta(days=span)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    first = since.date().isoformat() if span else ""
    chosen = [e for e in every if not span or (e.timestamp is not None and e.timestamp >= since)]
    by = asked["by"] if asked.get("by") in dict(PERIODS) else "day"
    split = asked["split"] if asked.get("split") in dict(SPLITS) else "model"
    dearest = sorted((e for e in chosen if e.cost_usd is not None), key=lambda e: -(e.cost_usd or 0))[
        :_MOST_SESSIONS
    ]
    return Page(
        "cost.html",
        title="Cost",
        asked={"by": by, "split": split, "span": asked.get("span", "")},
        periods=PERIODS,
        spans=SPANS,
        splits=SPLITS,
        figures=_figures(request, every),
        whole=_spent(chosen),
        chart=_over_time(request, chosen, by, split) if chosen else None,
        groups=_groups(chosen, split),
        listed=lambda name: _listed(request, split, name, first, "failed"),
        costs=_cost_bars(request, chosen, split, first),
        failures=_failures(request, chosen, split, first),
        maturity=maturity(len(chosen)),
        dearest=dearest,
        titles=titles_of(request.project, dearest),
        goal=asked.get("goal", ""),
        objective=asked.get("objective", OBJECTIVES[0]),
        objectives=[(one, one.capitalize()) for one in OBJECTIVES],
        advice=_advice(request, every),
        advice_titles=_advice_titles,
        split_name=dict(SPLITS)[split],
        machine_url=request.url("cost.machine"),
    )


def _spent(entries: Sequence[LedgerEntry]) -> Spending:
    return spending_by(entries, lambda entry: "").get("", Spending())


def _figures(request: Request, entries: Sequence[LedgerEntry]) -> list[tuple[str, Spending]]:
    """Today, this week, this month and in all, whatever was chosen."""

    def of(by: str) -> Spending:
        name = period_start(request.now, by)
        return _spent([entry for entry in entries[-5_000:] if period_of(entry, by) == name])

    return [
        ("Today", of("day")),
        ("This week", of("week")),
        ("This month", of("month")),
        ("Total", _spent(entries)),
    ]


def written(spent: Spending) -> str:
    """`≥` where something is missing, `?` where all is."""
    if spent.sessions and spent.unknown == spent.sessions:
        return "?"
    return f"{'≥ ' if spent.is_lower_bound else ''}{dollars(spent.cost_usd)}"


def missing(spent: Spending) -> str:
    parts = [f"{spent.unknown:,} without a known price"] if spent.unknown else []
    parts += [f"{spent.incomplete:,} with incomplete usage"] if spent.incomplete else []
    return ", ".join(parts)


# --- charts ----------------------------------------------------------------------------------------------


def _named(split: str, name: str) -> str:
    return short_model(name) if split == "model" and name != UNKNOWN else name


def _over_time(request: Request, entries: Sequence[LedgerEntry], by: str, split: str) -> Chart | None:
    dated = [entry for entry in entries if entry.timestamp is not None]
    if not dated:
        return None
    part = PARTS[split]
    costs: dict[tuple[str, str], Decimal] = {}
    sums: dict[str, Decimal] = {}
    for entry in dated:
        name = part(entry)
        key = period_of(entry, by), name
        costs[key] = costs.get(key, Decimal(0)) + (entry.cost_usd or 0)
        sums[name] = sums.get(name, Decimal(0)) + (entry.cost_usd or 0)
    ordered = sorted(sums, key=lambda name: (-sums[name], name))
    series, rest = ordered[:_MOST_SERIES], ordered[_MOST_SERIES:]
    names = sorted({period for period, _ in costs})
    every = periods_between(names[0], names[-1], by)
    names = every[-_MOST_COLUMNS:]
    stacks = []
    for period in names:
        values = [float(costs.get((period, name), 0)) for name in series]
        if rest:
            values.append(float(sum(costs.get((period, name), Decimal(0)) for name in rest)))
        stacks.append(
            Stack(label=period_label(period, by), values=values, url=_sessions_of(request, period, by))
        )
    labels = [_named(split, name) for name in series] + (["others"] if rest else [])
    titles = {"day": "Cost by day", "week": "Cost by week", "month": "Cost by month"}
    return columns(
        "cost-over-time",
        titles[by],
        stacks,
        unit="US dollars, at API prices"
        + (f", the last {len(names)} {by}s" if len(every) > len(names) else ""),
        write=dollars,
        series=labels,
        what=by.capitalize(),
    )


def period_label(period: str, by: str) -> str:
    if by == "month":
        return f"{date.fromisoformat(period + '-01'):%b %Y}"
    day = date.fromisoformat(period)
    return f"{day.day} {day:%b}"


def _sessions_of(request: Request, period: str, by: str) -> str:
    """Where the sessions of a period are listed."""
    first = date.fromisoformat(period if by != "month" else f"{period}-01")
    if by == "month":
        after = (first + timedelta(days=31)).replace(day=1)
    else:
        after = first + timedelta(days=7 if by == "week" else 1)
    return request.url("sessions", **{"from": str(first), "to": str(after - timedelta(days=1))})


def _groups(entries: Sequence[LedgerEntry], split: str) -> list[Group]:
    spent = spending_by(entries, PARTS[split])
    judged = groups_of(columns_of(entries, split), split) if entries and split in _JUDGED else {}
    found = []
    for name, own in sorted(spent.items(), key=lambda item: (-item[1].cost_usd, item[0])):
        figures = judged.get(name, {})
        found.append(
            Group(
                name,
                _named(split, name),
                own,
                figures.get("failed_sessions") or 0,
                figures.get("judged_sessions") or 0,
                figures.get("session_failure_rate"),
                figures.get("session_failure_interval"),
            )
        )
    return found


_JUDGED = ("model", "kind", "agent")


_LISTED = ("model", "kind", "agent", "outcome")  # what Sessions can be narrowed to


def _listed(request: Request, split: str, name: str, first: str, only: str = "") -> str:
    """Where the sessions of a group are listed; `name` as it is recorded."""
    if split not in _LISTED or name == UNKNOWN:
        return ""
    return request.url("sessions", **{split: name, "with": only, "from": first})


def _cost_bars(request: Request, entries: Sequence[LedgerEntry], split: str, first: str) -> Chart | None:
    spent = sorted(spending_by(entries, PARTS[split]).items(), key=lambda item: (-item[1].cost_usd, item[0]))
    items = [
        Bar(
            label=_named(split, name),
            value=float(own.cost_usd),
            shown=f"{written(own)} · {own.sessions:,}",
            url=_listed(request, split, name, first),
        )
        for name, own in spent[:_MOST_BARS]
    ]
    if not items:
        return None
    title = f"Cost by {dict(SPLITS)[split].lower()}"
    return bars("cost-by-part", title, items, unit="US dollars · sessions", what=dict(SPLITS)[split])


def _failures(request: Request, entries: Sequence[LedgerEntry], split: str, first: str) -> Chart | None:
    """How often a session has a failed task, with the interval in which the true rate lies."""
    by = split if split in _JUDGED else "kind"
    groups = [
        one
        for one in _groups(entries, by)
        if one.rate is not None and one.interval is not None and one.judged >= _FEWEST
    ]
    if not groups:
        return None
    groups.sort(key=lambda one: (-one.judged, one.name))
    items = [
        Rate(
            label=one.name,
            low=one.interval[0],
            value=one.rate or 0.0,
            high=one.interval[1],
            n=one.judged,
            url=_listed(request, by, one.key, first, "failed") if one.failed else "",
        )
        for one in groups[:_MOST_BARS]
        if one.interval is not None
    ]
    return rates(
        "failures",
        "Sessions with a failed task",
        items,
        unit="share, 95% interval, n",
        what=dict(SPLITS)[by],
    )


# --- advice ----------------------------------------------------------------------------------------------


def _advice(request: Request, entries: Sequence[LedgerEntry]) -> Recommendation | None:
    goal = " ".join(request.query.get("goal", "").split())
    if not goal:
        return None
    if len(goal) > LONGEST_GOAL:
        raise UsageError(f"a goal of {len(goal):,} characters", fix=f"Say it in at most {LONGEST_GOAL:,}")
    objective = next((one for one in OBJECTIVES if one == request.query.get("objective")), OBJECTIVES[0])
    known: dict[tuple[str, str], Recommendation] = request.kept("advice", dict, "sessions")
    if (goal, objective) not in known:
        known.clear()
        known[goal, objective] = advise(request.here, goal, entries, objective)
    return known[goal, objective]


def _advice_titles(request: Request, advice: Recommendation) -> Mapping[str, str]:
    return titles_of(request.project, [match.entry for match in advice.like[:6]])


_Write = Callable[[float], str]
SCREEN = Screen("cost", "Cost", "c", "tab", (Route("/cost", show), *cost_usage.ROUTES))
__all__ = ["SCREEN", "amount"]
