"""How the figures over a ledger look: the statistics in the seed's layout, and groups by anything a row says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ledger.tally import figures_of, groups_of, maturity
from holdfast.terminal import output
from holdfast.terminal.output import (
    EMPTY,
    Column,
    Table,
    decimal,
    dollars,
    minutes,
    percent,
    plural,
    short_model,
    table_of,
)

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from holdfast.ledger.tally import Columns, Figures
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
    "week": "Weeks from",
    "day": "Days",
}


def show_stats(
    rows: Sequence[LedgerEntry], by: str | None, nothing: str = EMPTY, *, as_json: bool = False
) -> None:
    from holdfast.ledger.stats import columns_of

    columns = {**columns_of(rows), **(columns_of(rows, by) if by else {})}
    show_columns(columns, len(rows), by, nothing, as_json=as_json)


def show_columns(
    columns: Columns, sessions: int, by: str | None, nothing: str = EMPTY, *, as_json: bool
) -> None:
    if as_json:
        groups = {"by": by, "groups": groups_of(columns, by)} if by else {}
        output.show_json({**figures_of(columns), **groups, "maturity": maturity(sessions)})
    elif not sessions:
        output.line(nothing)
    elif by:
        _show_groups(groups_of(columns, by), by, sessions)
    else:
        _show_all(figures_of(columns))


def _show_all(stats: Figures) -> None:
    number = stats["total_sessions"]
    output.heading(f"Ledger Statistics ({plural(number, 'session')})")
    output.line()
    output.show(_groups_table("model", stats["model_performance"]))
    _show_counts("Top Frameworks", stats["top_frameworks"], "sessions")
    _show_counts("Top Failures", stats["top_failures"], "tasks")
    output.section("Average per Session")
    at_least = "≥ " if stats["incomplete_usage"] and stats["avg_cost"] is not None else ""
    output.item(
        f"Tasks: {decimal(stats['avg_task_count'])} | Cost: {at_least}{dollars(stats['avg_cost'])} | "
        f"Duration: {minutes(stats['avg_duration_minutes'])}"
    )
    output.item(
        f"Failed Tasks: {_few(stats['avg_failed_tasks'])} ({percent(stats['failure_rate'])} failure rate: "
        f"{stats['total_failed_tasks']} of {stats['total_tasks']} tasks{interval(stats['failure_interval'])})"
    )
    output.item(
        f"Sessions with a failed task: {stats['failed_sessions']} of {stats['judged_sessions']} "
        f"({percent(stats['session_failure_rate'])}{interval(stats['session_failure_interval'])})"
    )
    if stats["total_cost"] is not None:
        unknown = number - stats["known_costs"]
        note = f", {plural(unknown, 'session')} of unknown cost not included" if unknown else ""
        output.item(
            f"Total: {at_least}{dollars(stats['total_cost'])}{note}, {sum(stats['tokens'].values()):,} tokens"
        )
    if incomplete := stats["incomplete_usage"]:
        output.item(
            f"Usage is incomplete in {incomplete} of {plural(number, 'session')}: "
            "the true cost and tokens are higher, and more sessions do not change that"
        )
    if 2 * (trivial := stats["trivial_sessions"]) > number:
        output.item(
            f"{trivial} of {plural(number, 'session')} are trivial: rates and averages mostly describe these"
        )
    if impossible := stats["impossible_rows"]:
        output.line(
            f"  {plural(impossible, 'row')} with impossible figures (more failures than tasks, or below zero): not"
            " included"
        )
    output.line()
    output.item(maturity(number), 0)
    output.aside("A session counts for its main model; holdfast cost --by model counts each response.")
    output.aside("In brackets: the 95% interval of the rate. Tasks in one session tend to fail together.")


def _few(value: float | None) -> str:
    """One decimal, as for the other averages, unless that would read as nothing."""
    return decimal(value, 2 if value is not None and 0 < value < 0.1 else 1)


def _show_groups(groups: Mapping[str, Figures], by: str, sessions: int) -> None:
    first_groups = dict(list(groups.items())[:MOST_GROUPS])
    output.show(_groups_table(by, first_groups))
    if len(groups) > len(first_groups):
        output.line(f"and {len(groups) - len(first_groups)} more (--json has all)")
    if by == "topic":
        output.aside("A session counts for each of its keywords.")
    output.line()
    output.item(maturity(sessions), 0)


def _groups_table(by: str, groups: Mapping[str, Figures]) -> Table:
    return table_of(
        groups.items(),
        (
            Column(_TITLES[by], style="cyan", flexible=True),
            lambda group: short_model(group[0]) if by == "model" else group[0],
        ),
        (Column("Sessions", "right"), lambda group: f"{group[1]['sessions']:,}"),
        (Column("Avg cost", "right"), lambda group: _average_cost(group[1])),
        (Column("Avg time", "right", dispensable=1), lambda group: minutes(group[1]["avg_duration"])),
        (Column("Tasks failed", "right"), lambda group: _share(group[1], "failed_tasks", "tasks", "failure")),
        (
            Column("Sessions with failures", "right", dispensable=2),
            lambda group: _share(group[1], "failed_sessions", "judged_sessions", "session_failure"),
        ),
    )


def _average_cost(own: Figures) -> str:
    sample = f" (n={own['known_costs']})" if own["known_costs"] != own["sessions"] else ""
    bound = "≥ " if own.get("incomplete_usage") and own["avg_cost"] is not None else ""
    return f"{bound}{dollars(own['avg_cost'])}{sample}"


def _share(own: Figures, failed: str, of: str, rate: str) -> str:
    share = f"{percent(own[f'{rate}_rate'])}{interval(own[f'{rate}_interval'])}"
    return f"{own[failed]:,}/{own[of]:,} {share}"


def interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f" [{bounds[0]:.0%}–{bounds[1]:.0%}]"


def _show_counts(title: str, counts: Sequence[tuple[str, int]], unit: str) -> None:
    if not counts:
        return
    output.section(title)
    width = max(len(name) for name, _ in counts[:MOST_SHOWN])
    for name, count in counts[:MOST_SHOWN]:
        output.line(f"  {name:<{width}}  {count:,} {unit if count != 1 else unit[:-1]}")
    if len(counts) > MOST_SHOWN:
        output.line(f"  and {len(counts) - MOST_SHOWN} more")
