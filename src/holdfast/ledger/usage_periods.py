"""Usage of this machine by day, week, month, 5-hour block, project, model or agent, priced as the API would.

A day is the user's own. Costs are computed here, not stored: a corrected price corrects the past.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Final

from msgspec import Struct

from holdfast.core.model_names import undated
from holdfast.ledger.usage_cache import QUARTER, UsageCache, UsageRow
from holdfast.model.events import Usage, UsageTotal
from holdfast.sessions.cost import cost_of

BY: Final = ("day", "week", "month", "block", "project", "model", "agent")
OVER_TIME: Final = ("day", "week", "month", "block")
BLOCK_HOURS: Final = 5
_BLOCK = BLOCK_HOURS * 3600
_HOUR = 3600
_DAY = 86_400


class Spent(Struct):
    """What a group used. `unknown` are the models without a price: the cost is a lower bound then."""

    usage: Usage = Usage()
    cost_usd: Decimal = Decimal(0)
    responses: int = 0
    sessions: set[bytes] = set()
    models: set[str] = set()
    agents: set[str] = set()
    projects: set[str] = set()
    unknown: set[str] = set()
    gaps: dict[str, int] = {}
    first: float = 0.0
    last: float = 0.0

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.output

    @property
    def cache_share(self) -> float | None:
        """Of what models read, the part that came from the cache."""
        return self.usage.cache_read / self.usage.prompt_tokens if self.usage.prompt_tokens else None

    def add(self, other: Spent) -> None:
        self.usage = self.usage + other.usage
        self.cost_usd += other.cost_usd
        self.responses += other.responses
        for mine, theirs in zip(
            (self.sessions, self.models, self.agents, self.projects, self.unknown),
            (other.sessions, other.models, other.agents, other.projects, other.unknown),
            strict=True,
        ):
            mine |= theirs  # type: ignore[operator]
        for reason, times in other.gaps.items():
            self.gaps[reason] = self.gaps.get(reason, 0) + times
        self.first = min(self.first or other.first, other.first or self.first)
        self.last = max(self.last, other.last)


class Part(Struct, frozen=True):
    """The finest group: one period, agent, model and project."""

    period: str
    agent: str
    model: str
    project: str


class RunningBlock(Struct, frozen=True, kw_only=True):
    """The block that is running now, and where it leads if it goes on like this."""

    agent: str
    starts: datetime
    ends: datetime
    cost_usd: float | None
    minutes_left: int
    usd_per_hour: float | None
    tokens_per_minute: float
    projected_usd: float | None


class Budget(Struct, frozen=True, kw_only=True):
    """A budget of the personal configuration, and what of it was used."""

    period: str
    limit_usd: float
    used_usd: float
    complete: bool

    @property
    def share(self) -> float:
        return self.used_usd / self.limit_usd


class UsageReading(Struct):
    """All usage that was counted: the rows, what is known of their transcripts, and how projects are called."""

    rows: list[UsageRow]
    gaps: list[tuple[int, int, str, int]]
    sources: dict[int, SourceIdentity]

    def since(self, start: datetime) -> UsageReading:
        """What was used from a moment on, to the quarter of an hour."""
        moment = start.timestamp()
        rows = [row for row in self.rows if row.last >= moment]
        return UsageReading(rows, [gap for gap in self.gaps if gap[1] + QUARTER > moment], self.sources)


class SourceIdentity(Struct, frozen=True):
    agent: str
    provider: str
    project: str
    session: bytes


def read_usage(cache: UsageCache, names: Callable[[bytes], str], since: float = 0) -> UsageReading:
    """What the cache holds from a moment on."""
    identities = cache.identities()
    parents = {own: parent for _, _, _, _, own, parent in identities.values() if parent}
    sources = {
        number: SourceIdentity(agent, provider, names(project), _root(own, parents))
        for number, (_, agent, provider, project, own, _) in identities.items()
    }
    return UsageReading(cache.rows(since), cache.gaps(since), sources)


def _root(own: bytes, parents: dict[bytes, bytes]) -> bytes:
    """The session that a subagent's transcript counts for."""
    seen = {own}
    while (parent := parents.get(own)) is not None and parent not in seen:
        own = parent
        seen.add(own)
    return own


def by_part(usage: UsageReading, by: str) -> dict[Part, Spent]:
    """The usage in the finest groups; periods are in local time, '' where the grouping is not over time."""
    period_of = _periods(usage, by)
    parts: dict[Part, Spent] = defaultdict(_spent)
    totals: dict[tuple[Part, str, int, str, int], UsageTotal] = {}
    for row in usage.rows:
        source = usage.sources.get(row.source)
        if source is None or not (row.responses or any(_counts(row.usage))):
            continue
        part = Part(period_of(row.quarter, source.agent), source.agent, undated(row.model), source.project)
        spent = parts[part]
        spent.usage = spent.usage + row.usage
        spent.responses += row.responses
        spent.sessions.add(source.session)
        spent.models.add(part.model)
        spent.agents.add(part.agent)
        spent.projects.add(part.project)
        spent.first = min(spent.first or row.first, row.first)
        spent.last = max(spent.last, row.last)
        key = (part, source.provider, row.quarter // _DAY, row.model, row.band)
        total = totals.get(key)
        if total is None:
            total = totals[key] = UsageTotal(row.model, row.band, Usage())
        total.usage = total.usage + row.usage
        if row.stated_usd is not None:
            total.stated_usd = (total.stated_usd or 0.0) + row.stated_usd
    for (part, provider, day, _, _), total in totals.items():
        price = cost_of(total, provider, float(day * _DAY))
        if price is None and any(_counts(total.usage)):
            parts[part].unknown.add(part.model or "?")
        else:
            parts[part].cost_usd += price or 0
    _add_gaps(usage, parts, period_of)
    return dict(parts)


def _spent() -> Spent:
    return Spent(sessions=set(), models=set(), agents=set(), projects=set(), unknown=set(), gaps={})


def _counts(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


def _add_gaps(usage: UsageReading, parts: dict[Part, Spent], period_of: Callable[[int, str], str]) -> None:
    """Says of which groups the figures are too low. A session without any usage has a group of its own."""
    models: dict[tuple[int, str], str] = {}
    for row in usage.rows:
        if (source := usage.sources.get(row.source)) is not None:
            models.setdefault((row.source, period_of(row.quarter, source.agent)), undated(row.model))
    for number, quarter, reason, times in usage.gaps:
        source = usage.sources.get(number)
        if source is None or times <= 0:
            continue
        period = period_of(quarter, source.agent)
        part = Part(period, source.agent, models.get((number, period), ""), source.project)
        spent = parts[part]
        spent.sessions.add(source.session)
        spent.agents.add(source.agent)
        spent.projects.add(source.project)
        spent.gaps[reason] = spent.gaps.get(reason, 0) + times
        if not spent.first:
            spent.first = spent.last = float(quarter)


def grouped(parts: Mapping[Part, Spent], key: Callable[[Part], str]) -> dict[str, Spent]:
    groups: dict[str, Spent] = defaultdict(_spent)
    for part, spent in parts.items():
        groups[key(part)].add(spent)
    return dict(groups)


def total_of(parts: Iterable[Spent]) -> Spent:
    total = _spent()
    for spent in parts:
        total.add(spent)
    return total


# Periods


def _periods(usage: UsageReading, by: str) -> Callable[[int, str], str]:
    if by == "block":
        blocks = blocks_of(usage)
        return lambda quarter, agent: _block_of(blocks.get(agent, []), quarter)
    if by not in OVER_TIME:
        return lambda quarter, agent: ""
    return lambda quarter, agent: period_name(quarter, by)


@cache
def period_name(quarter: int, by: str) -> str:
    """The local day, the Monday of the week, or the month."""
    local = datetime.fromtimestamp(quarter)
    if by == "week":
        local -= timedelta(days=local.weekday())
    return f"{local:%Y-%m}" if by == "month" else f"{local:%Y-%m-%d}"


def blocks_of(usage: UsageReading) -> dict[str, list[tuple[float, float]]]:
    """For each agent, its blocks: from the hour of the first response, five hours or until five idle hours."""
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in usage.rows:
        if (source := usage.sources.get(row.source)) is not None:
            times[source.agent].append((row.first, row.last))
    blocks = {}
    for agent, spans in times.items():
        blocks[agent] = list(_blocks(sorted(spans)))
    return blocks


def _blocks(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    start = end = last = 0.0
    for first, until in spans:
        if not end or first >= end or first - last >= _BLOCK:
            if end:
                yield start, end
            start = first // _HOUR * _HOUR
            end = start + _BLOCK
        last = max(last, until)
    if end:
        yield start, end


def _block_of(blocks: Sequence[tuple[float, float]], quarter: int) -> str:
    from bisect import bisect_right

    place = bisect_right(blocks, (float(quarter), float("inf"))) - 1
    start = blocks[max(place, 0)][0] if blocks else float(quarter)
    return f"{datetime.fromtimestamp(start):%Y-%m-%d %H:%M}"


def running_blocks(usage: UsageReading, parts: dict[Part, Spent], now: datetime) -> list[RunningBlock]:
    """The blocks that have not ended, at the rate of their activity so far. `parts` are by block."""
    running = []
    moment = now.timestamp()
    for agent, blocks in sorted(blocks_of(usage).items()):
        start, end = blocks[-1]
        name = f"{datetime.fromtimestamp(start):%Y-%m-%d %H:%M}"
        own = [spent for part, spent in parts.items() if (part.period, part.agent) == (name, agent)]
        if not start <= moment < end or not own:
            continue
        spent = total_of(own)
        minutes = max((spent.last - spent.first) / 60, 1.0)
        known = None if spent.unknown else float(spent.cost_usd)
        hourly = None if known is None else known / minutes * 60
        left = (end - moment) / 3600
        running.append(
            RunningBlock(
                agent=agent,
                starts=datetime.fromtimestamp(start).astimezone(),
                ends=datetime.fromtimestamp(end).astimezone(),
                cost_usd=known,
                minutes_left=round(left * 60),
                usd_per_hour=hourly,
                tokens_per_minute=spent.tokens / minutes,
                projected_usd=None if known is None or hourly is None else known + hourly * left,
            )
        )
    return running


def budgets_used(usage: UsageReading, day: float, month: float, now: datetime) -> list[Budget]:
    """What was used of the budgets that are set; 0 is none."""
    local = now.astimezone()
    limits = (("day", day, f"{local:%Y-%m-%d}"), ("month", month, f"{local:%Y-%m}"))
    budgets = []
    for period, limit, name in limits:
        if limit > 0:
            spent = total_of(spent for part, spent in by_part(usage, period).items() if part.period == name)
            budgets.append(
                Budget(
                    period=period,
                    limit_usd=limit,
                    used_usd=float(spent.cost_usd),
                    complete=not spent.unknown and not spent.gaps,
                )
            )
    return budgets
