"""How the figures over a ledger look: the statistics in the seed's layout, and groups by anything a row says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.advise.stats import LedgerStats, ModelStats, grouped, maturity, stats_of
from holdfast.cli import output
from holdfast.cli.ledger_views import EMPTY, decimal, dollars, minutes, percent, short_model
from holdfast.cli.output import Column, Table
from holdfast.model.ledger import LedgerEntry

MOST_SHOWN = 5
MOST_GROUPS = 30
_TITLES = {
    "model": "Models Used",
    "framework": "Frameworks",
    "type": "Project types",
    "kind": "Kinds of task",
    "complexity": "Complexity",
    "topic": "Topics",
    "agent": "Agents",
    "month": "Months",
}


def show_stats(rows: Sequence[LedgerEntry], by: str | None, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        figures: dict[str, Any] = msgspec.to_builtins(stats_of(rows))
        if by:
            figures |= {"by": by, "groups": grouped(rows, by)}
        output.show_json({**figures, "maturity": maturity(len(rows))})
    elif not rows:
        output.line(EMPTY)
    elif by:
        _show_groups(grouped(rows, by), by, len(rows))
    else:
        _show_all(stats_of(rows))


def _show_all(stats: LedgerStats) -> None:
    number = stats.total_sessions
    output.heading(f"Ledger Statistics ({number} session{'s' if number != 1 else ''})")
    output.line()
    output.show(_groups_table("model", stats.model_performance))
    _show_counts("Top Frameworks", stats.top_frameworks, "sessions")
    _show_counts("Top Failures", stats.top_failures, "tasks")
    output.line()
    output.heading("Average per Session")
    output.item(
        f"Tasks: {decimal(stats.avg_task_count)} | Cost: {dollars(stats.avg_cost)} | "
        f"Duration: {minutes(stats.avg_duration_minutes)}"
    )
    output.item(
        f"Failed Tasks: {_few(stats.avg_failed_tasks)} ({percent(stats.failure_rate)} failure rate: "
        f"{stats.total_failed_tasks} of {stats.total_tasks} tasks{interval(stats.failure_interval)})"
    )
    output.item(
        f"Sessions with a failed task: {stats.failed_sessions} of {stats.judged_sessions} "
        f"({percent(stats.session_failure_rate)}{interval(stats.session_failure_interval)})"
    )
    if stats.total_cost is not None:
        unknown = stats.total_sessions - stats.known_costs
        note = f", {unknown} session{'s' if unknown != 1 else ''} of unknown cost left out" if unknown else ""
        output.item(f"Total: {dollars(stats.total_cost)}{note}, {stats.tokens.total:,} tokens")
    if stats.impossible_rows:
        rows = f"{stats.impossible_rows} row{'s' if stats.impossible_rows != 1 else ''}"
        output.line(
            f"  {rows} with impossible figures (more failures than tasks, or below zero): left out of them"
        )
    output.line()
    output.item(maturity(number), 0)
    output.aside(
        "In brackets: the range that holds the true rate 95 times of 100; tasks of a session fail together."
    )


def _few(value: float | None) -> str:
    """One decimal, as for the other averages, unless that would read as nothing."""
    return decimal(value, 2 if value is not None and 0 < value < 0.1 else 1)


def _show_groups(groups: Mapping[str, ModelStats], by: str, sessions: int) -> None:
    shown = dict(list(groups.items())[:MOST_GROUPS])
    output.show(_groups_table(by, shown))
    if len(groups) > len(shown):
        output.line(f"and {len(groups) - len(shown)} more (--json has all)")
    if by == "topic":
        output.aside("A session counts for each of its keywords.")
    output.line()
    output.item(maturity(sessions), 0)


def _groups_table(by: str, groups: Mapping[str, ModelStats]) -> Table:
    return Table(
        columns=(
            Column(_TITLES[by], style="cyan", flexible=True),
            Column("Sessions", "right"),
            Column("Avg cost", "right"),
            Column("Avg time", "right", dispensable=1),
            Column("Tasks failed", "right"),
            Column("Sessions with failures", "right", dispensable=2),
        ),
        rows=[
            (
                short_model(name) if by == "model" else name,
                f"{own.sessions:,}",
                dollars(own.avg_cost)
                + (f" (n={own.known_costs})" if own.known_costs != own.sessions else ""),
                minutes(own.avg_duration),
                f"{own.failed_tasks:,}/{own.tasks:,} {percent(own.failure_rate)}{interval(own.failure_interval)}",
                f"{own.failed_sessions:,}/{own.judged_sessions:,} {percent(own.session_failure_rate)}"
                f"{interval(own.session_failure_interval)}",
            )
            for name, own in groups.items()
        ],
    )


def interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f" [{bounds[0]:.0%}–{bounds[1]:.0%}]"


def _show_counts(title: str, counts: Sequence[tuple[str, int]], unit: str) -> None:
    if not counts:
        return
    output.line()
    output.heading(title)
    width = max(len(name) for name, _ in counts[:MOST_SHOWN])
    for name, count in counts[:MOST_SHOWN]:
        output.line(f"  {name:<{width}}  {count:,} {unit if count != 1 else unit[:-1]}")
    if len(counts) > MOST_SHOWN:
        output.line(f"  and {len(counts) - MOST_SHOWN} more")
