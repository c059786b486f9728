"""`holdfast cost`: what all agents on this machine used, at API prices."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.core.wording import amount
from holdfast.flows.count_usage import UsageCounter
from holdfast.hooks.hook import switched_off
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
    period_name,
    read_usage,
    running_blocks,
    total_of,
)
from holdfast.sessions.cost import answers_kept
from holdfast.sessions.usage_gaps import in_words
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, moment_from, option, since
from holdfast.terminal.output import Column, Table, counted, dollars, percent, table_of
from holdfast.terminal.progress import progress_bar

SHOWN = 20
_TOTAL = "Total"
TITLE = "API-equivalent, not your bill"
DESCRIPTION = """Adds up what all agents on this machine used, at the API list prices of the models. With a
subscription, your bill is different. Each response counts once, on its local day. Only numbers are stored, in
~/.holdfast/cache/usage.db."""
EXAMPLES = """examples:
  holdfast cost                       by day, with what is left of your budgets
  holdfast cost --by block            5-hour blocks, with a projection for the current one
  holdfast cost --by project --since 30d
  holdfast cost --by month --json
"""
_TITLES = {
    "day": "Day",
    "week": "Week from",
    "month": "Month",
    "block": "Block from",
    "project": "Project",
    "model": "Model",
    "agent": "Agent",
}

OPTIONS = (
    option("--by", choices=BY, default="day", help="group by this (default: day)"),
    since("usage"),
    *limit("lines", f"default: {SHOWN}"),
    option("--agent", help="only this agent's usage, e.g. claude-code"),
    option("--model", help="only models whose name contains this"),
    option("--project", metavar="NAME", help="only this project: the name of its folder"),
    flag("--json", "an array with a row for each period, agent, model and project"),
)


def run(options: Namespace, machine: Machine) -> None:
    start = moment_from(options.since)
    counter = _count(machine, show=not options.json)
    gc.disable()  # figures form no cycles, and the process ends with them
    with answers_kept(counter.cache.path.with_name("prices.json")):
        _answer(options, machine, counter, start)


def _answer(options: Namespace, machine: Machine, counter: UsageCounter, start: datetime | None) -> None:
    usage = _chosen(read_usage(counter.cache, counter.project_names()), options)
    chosen = usage if start is None or options.by in OVER_TIME else usage.since(start)
    parts = _since(by_part(chosen, options.by), options.by, start)
    running = running_blocks(usage, by_part(usage, "block"), machine.now()) if _needs_block(options) else []
    if options.json:
        return output.show_json(_as_json(parts, options.by, running))
    settings = machine.settings()
    budgets = budgets_used(usage, settings.budget_day, settings.budget_month, machine.now())
    _show(parts, options, running, budgets)


def _needs_block(options: Namespace) -> bool:
    return options.by == "block" or (options.by == "day" and not options.json)


def _count(machine: Machine, *, show: bool) -> UsageCounter:
    columns = ("DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn")
    with progress_bar(show=show, text="counting usage", columns=columns) as update:
        progress = update and (
            lambda done, total, name: update(done, total, f"counting usage {name[:24]:<24}")
        )
        counter = UsageCounter(machine, progress)
        if switched_off(machine.env):
            output.note("holdfast is switched off here: nothing new was counted.")
        else:
            counter.update()
    output.warn_all(f"{warning.path}: {warning.message}" for warning in counter.warnings)
    return counter


def _chosen(usage: UsageReading, options: Namespace) -> UsageReading:
    """The usage of the agent, project and model that were asked for."""
    sources = {
        number: source
        for number, source in usage.sources.items()
        if (not options.agent or source.agent == options.agent)
        and (not options.project or source.project == options.project)
    }
    rows = usage.rows
    if options.model:
        rows = [row for row in rows if options.model.lower() in row.model.lower()]
    used = {row.source for row in rows}
    gaps = usage.gaps if not options.model else [gap for gap in usage.gaps if gap[0] in used]
    return UsageReading(rows, gaps, sources)


def _since(parts: Mapping[Part, Spent], by: str, start: datetime | None) -> dict[Part, Spent]:
    """What was used from a moment on. A day, week or month that it falls into is shown whole."""
    if start is None:
        return dict(parts)
    if by in ("day", "week", "month"):
        first = period_name(int(start.timestamp()), by)
        return {part: spent for part, spent in parts.items() if part.period >= first}
    moment = start.timestamp()
    return {part: spent for part, spent in parts.items() if spent.last >= moment}


def _as_json(parts: Mapping[Part, Spent], by: str, running: Sequence[RunningBlock]) -> list[dict[str, Any]]:
    if by not in OVER_TIME:
        groups = grouped(parts, lambda part: str(getattr(part, by)))
        return [
            {
                "period": None,
                "agent": None,
                "model": None,
                "project": None,
                by: name or None,
                **_figures(spent),
            }
            for name, spent in sorted(groups.items(), key=_by_cost)
        ]
    rows = []
    for part, spent in sorted(parts.items(), key=lambda item: item[0].__reduce__()[1]):
        row = {
            "period": part.period,
            "agent": part.agent,
            "model": part.model or None,
            "project": part.project,
            **_figures(spent),
        }
        for block in running:
            if (block.agent, f"{block.starts:%Y-%m-%d %H:%M}") == (part.agent, part.period):
                row["running"] = block
        rows.append(row)
    return rows


def _figures(spent: Spent) -> dict[str, Any]:
    used = spent.usage
    return {
        "sessions": len(spent.sessions),
        "cost_usd": None if spent.unknown or not spent.responses else float(spent.cost_usd),
        "tokens": {
            "input": used.input,
            "output": used.output,
            "cache_read": used.cache_read,
            "cache_write": used.cache_write,
        },
        "known_cost_usd": float(spent.cost_usd),
        "incomplete": sorted(spent.gaps),
    }


def _by_cost(item: tuple[str, Spent]) -> tuple[float, int, str]:
    return -float(item[1].cost_usd), -item[1].tokens, item[0]


def _show(
    parts: Mapping[Part, Spent],
    options: Namespace,
    running: Sequence[RunningBlock],
    budgets: Sequence[Budget],
) -> None:
    by: str = options.by
    if not parts:
        if options.since or options.agent or options.project or options.model:
            output.line("No usage matches. holdfast cost shows all.")
        else:
            output.line("No usage was found. holdfast agents shows which agents are on this machine.")
        return
    output.heading(TITLE)
    if by == "block":
        lines = grouped(parts, lambda part: f"{part.period}\0{part.agent}")
    else:
        lines = grouped(parts, lambda part: part.period if by in OVER_TIME else str(getattr(part, by)))
    if by in OVER_TIME:
        ordered = sorted(lines.items(), reverse=True)
    else:
        ordered = sorted(lines.items(), key=_by_cost)
    shown = ordered[: options.limit or SHOWN]
    total = total_of(lines.values())
    output.show(_table([*shown, (_TOTAL, total)], by))
    if len(shown) < len(ordered):
        output.note(
            f"{len(shown)} of {counted(len(ordered), by)}; the total is of all. --limit N shows more."
        )
    if by == "model":
        output.note("Each response counts for its own model; the ledger counts a session for its main model.")
    for block in running:
        output.line(_running(block))
    for budget in budgets:
        output.line(_budget(budget))
    _say_what_is_missing(total)


def _table(lines: Sequence[tuple[str, Spent]], by: str) -> Table:
    agents = (
        Column("Agents", flexible=True, dispensable=4),
        lambda line: "" if line[0] == _TOTAL else ", ".join(sorted(line[1].agents)),
    )
    models = (
        Column("Models", flexible=True, dispensable=3),
        lambda line: "" if line[0] == _TOTAL else ", ".join(sorted(filter(None, line[1].models))),
    )
    return table_of(
        lines,
        (
            Column(_TITLES[by], style="cyan", flexible=by in ("project", "model")),
            lambda line: line[0].partition("\0")[0] or "?",
        ),
        (Column("Sessions", "right", dispensable=2), lambda line: f"{len(line[1].sessions):,}"),
        (Column("Input", "right", dispensable=5), lambda line: amount(line[1].usage.input)),
        (Column("Output", "right"), lambda line: amount(line[1].usage.output)),
        (Column("Cache read", "right", dispensable=6), lambda line: amount(line[1].usage.cache_read)),
        (Column("Cache write", "right", dispensable=7), lambda line: amount(line[1].usage.cache_write)),
        (Column("Cached", "right", dispensable=1), lambda line: _share(line[1].cache_share)),
        (Column("Cost", "right"), lambda line: _cost(line[1])),
        *([agents] if by not in ("agent",) else []),
        *([models] if by != "model" else []),
    )


def _cost(spent: Spent) -> str:
    """`?` where nothing is known, `≥` where something is missing."""
    if not spent.responses or (spent.unknown and not spent.cost_usd):
        return "?"
    return f"{'≥ ' if spent.unknown or spent.gaps else ''}{dollars(spent.cost_usd)}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _running(block: RunningBlock) -> str:
    hours, minutes = divmod(block.minutes_left, 60)
    left = f"{hours}h {minutes}min" if hours else f"{minutes}min"
    text = (
        f"Running block of {block.agent}: since {block.starts:%H:%M}, {left} left until {block.ends:%H:%M}."
    )
    if block.cost_usd is None or block.usd_per_hour is None:
        return f"{text} {amount(round(block.tokens_per_minute))} tokens a minute; the cost is unknown."
    return (
        f"{text} {dollars(block.cost_usd)} so far, {dollars(block.usd_per_hour)} an hour; "
        f"{dollars(block.projected_usd)} by its end at this rate."
    )


def _budget(budget: Budget) -> str:
    used = f"{'' if budget.complete else 'at least '}{dollars(budget.used_usd)}"
    when = "today" if budget.period == "day" else "this month"
    over = " Over budget." if budget.used_usd > budget.limit_usd else ""
    return f"Budget {when}: {used} of {dollars(budget.limit_usd)} used ({percent(budget.share)}).{over}"


def _say_what_is_missing(total: Spent) -> None:
    if total.unknown:
        models = ", ".join(sorted(total.unknown))
        output.line(f"Price unknown, not included: {models}.")
    if total.gaps:
        output.line(f"≥: the usage is incomplete, so the true cost is higher ({in_words(total.gaps)}).")
