"""How ledger rows, one session and the figures over them look on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.core.session_id import short_session
from holdfast.core.wording import day as day
from holdfast.ledger.cells import render_duration, render_time
from holdfast.model.ledger import LedgerEntry
from holdfast.model.origin import Origin, origin_text
from holdfast.terminal import output
from holdfast.terminal.output import (
    Column,
    Table,
    cut,
    dollars,
    number,
    place,
    short_duration,
    short_model,
    table_of,
)

if TYPE_CHECKING:
    from holdfast.model.events import DistilledSession

LEAST_TITLE = 34  # columns: people recognise a session by its title


def as_json(entry: LedgerEntry) -> dict[str, Any]:
    """A row in the shape other tools rely on; null is unknown."""
    tokens = entry.tokens
    return {
        "session": entry.session,
        "timestamp": render_time(entry.timestamp) or None,
        "agent": entry.agent,
        "provider": entry.provider,
        "model": entry.model,
        "kind": entry.kind,
        "tasks": entry.tasks,
        "failed": entry.failed,
        "skipped": entry.skipped,
        "cost_usd": None if entry.cost_usd is None else float(entry.cost_usd),
        "duration_s": entry.duration_s,
        "project_type": entry.project_type,
        "framework": entry.framework,
        "goal": list(entry.goal),
        "failures": list(entry.failures),
        "complexity": entry.complexity,
        "tokens": None
        if tokens is None
        else {
            "input": tokens.input,
            "output": tokens.output,
            "cache_read": tokens.cache_read,
            "cache_write": tokens.cache_write,
        },
        "commits": entry.commits,
        "outcome": entry.outcome,
        "recorded": render_time(entry.recorded) or None,
        "usage": entry.usage,
        "clock": entry.clock,
        **({"extra": dict(entry.extra)} if entry.extra else {}),
    }


def rows_table(rows: Sequence[LedgerEntry], titles: Mapping[str, str]) -> Table:
    return table_of(
        rows,
        (Column("Session", style="cyan"), lambda row: short_session(row.session)),
        (Column("When", dispensable=1), lambda row: day(row.timestamp)[:10]),
        (Column("Agent", dispensable=5), lambda row: row.agent or "?"),
        (Column("Model", dispensable=2), lambda row: short_model(row.model)),
        (Column("Kind", dispensable=6), lambda row: row.kind or "?"),
        (Column("Tasks", "right", dispensable=4), lambda row: number(row.tasks)),
        (Column("Failed", "right", dispensable=3), lambda row: number(row.failed)),
        (Column("Cost", "right"), cost_of),
        (Column("Time", "right", dispensable=7), lambda row: short_duration(row.duration_s)),
        (Column("Outcome"), lambda row: row.outcome or "?"),
        (
            Column("Title", flexible=True, least=LEAST_TITLE),
            lambda row: titles.get(row.session) or " ".join(row.goal),
        ),
    )


def cost_of(entry: LedgerEntry) -> str:
    """The cost; `≥` where the transcript shows that usage is missing."""
    at_least = "≥ " if entry.usage and entry.cost_usd is not None else ""
    return f"{at_least}{dollars(entry.cost_usd)}"


def _usage_text(usage: str, record: DistilledSession | None) -> str:
    from holdfast.sessions.usage_gaps import in_words

    reasons = in_words(record.usage_gaps) if record else ""
    return f"{usage}: {reasons}" if reasons else usage


def show_session(
    entry: LedgerEntry, record: DistilledSession | None, title: str, origin: Origin = "session"
) -> None:
    output.heading(f"{entry.session}  {day(entry.timestamp)}  {entry.agent or '?'}")
    tokens = entry.tokens
    facts = [
        *([("title", title)] if title else []),
        ("goal", " ".join(entry.goal) or "?"),
        ("model", f"{entry.model or '?'}{f' ({entry.provider})' if entry.provider else ''}"),
        ("outcome", f"{entry.outcome or '?'}{f': {record.outcome_why}' if record else ''}"),
        ("kind", ", ".join(filter(None, (
            f"{entry.kind}{f' ({record.kind_why})' if record else ''}" if entry.kind else "", entry.complexity)))),
        ("tasks", "?" if entry.tasks is None and entry.failed is None else
         f"{number(entry.tasks)}, {number(entry.failed)} failed"
         + (f", {entry.skipped:,} left open" if entry.skipped is not None else "")),
        ("cost", cost_of(entry)),
        *([("usage", _usage_text(entry.usage, record))] if entry.usage else []),
        ("time", (f"{duration} active" if (duration := render_duration(entry.duration_s)) else "?")
         + (f" of {render_duration(record.wall_s)}" if record and record.wall_s else "")),
        ("tokens", "?" if tokens is None else f"{tokens.input:,} in, {tokens.output:,} out, "
         f"{tokens.cache_read:,} cache read, {tokens.cache_write:,} cache write"),
        ("project", " / ".join(filter(None, (entry.project_type, entry.framework)))),
        ("commits", number(entry.commits)),
        *([("origin", source)] if (source := origin_text(origin)) else []),
    ]  # fmt: skip
    unknown = [name for name, value in facts if not value.strip(" ?")]
    for name, value in facts:
        if name not in unknown:
            output.line(f"  {name:<9}{value}", under=11)
    if unknown:
        output.line(f"  {'unknown':<9}{', '.join(unknown)}")
    if record is None:
        output.line("  (no local record: the row came from another machine or was added by hand)")
    else:
        _show_record(record)


def _show_record(record: DistilledSession) -> None:
    if record.tasks:
        output.line()
        reason = (Column("Reason"), lambda task: task.reason)
        output.show(
            table_of(
                record.tasks,
                (Column("Task", flexible=True), lambda task: cut(task.title, 70)),
                (Column("Status"), lambda task: task.status),
                # Where nothing failed, the evidence has the room.
                *([reason] if any(task.reason for task in record.tasks) else []),
                (Column("Evidence", flexible=True), lambda task: cut(task.evidence, 90)),
            )
        )
    edited = [touch.path for touch in record.files if touch.edits]
    if edited:
        output.line(
            f"\nedited: {', '.join(edited[:8])}{f' and {len(edited) - 8} more' if len(edited) > 8 else ''}"
        )
    if len(record.models) > 1:
        models = ", ".join(f"{m.model or '?'} {m.usage.output:,} out" for m in record.models)
        output.line(f"models: {models}")
    output.line(f"transcript: {', '.join(map(place, record.sources[:3]))}")
