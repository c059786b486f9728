"""How ledger rows, one session and the figures over them look on a screen and as JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.cli import output
from holdfast.cli.output import EMPTY, Column, Table, cut, dollars, number, place, short_duration, short_model
from holdfast.ledger.cells import render_duration, render_time
from holdfast.model.ledger import LedgerEntry

if TYPE_CHECKING:
    from holdfast.model.events import DistilledSession


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
        **({"extra": dict(entry.extra)} if entry.extra else {}),
    }


def show_rows(rows: Sequence[LedgerEntry], *, as_json: bool) -> None:
    if as_json:
        output.show_json([_as_json(row) for row in rows])
    elif not rows:
        output.line(EMPTY)
    else:
        output.show(rows_table(rows))


_as_json = as_json


def rows_table(rows: Sequence[LedgerEntry], title: str = "") -> Table:
    return Table(
        columns=(
            Column("Session", style="cyan"),
            Column("When", dispensable=1),
            Column("Agent", dispensable=3),
            Column("Model", dispensable=2),
            Column("Kind", dispensable=4),
            Column("Tasks", "right"),
            Column("Failed", "right"),
            Column("Cost", "right"),
            Column("Time", "right", dispensable=5),
            Column("Outcome"),
            Column("Goal", flexible=True),
        ),
        rows=[
            (
                short_id(row.session),
                day(row.timestamp)[:10],
                row.agent or "?",
                short_model(row.model),
                row.kind or "?",
                number(row.tasks),
                number(row.failed),
                dollars(row.cost_usd),
                short_duration(row.duration_s),
                row.outcome or "?",
                " ".join(row.goal),
            )
            for row in rows
        ],
        title=title,
    )


def show_session(entry: LedgerEntry, record: DistilledSession | None, *, as_json: bool) -> None:
    if as_json:
        output.show_json({**_as_json(entry), "record": record})
        return
    output.heading(f"{entry.session}  {day(entry.timestamp)}  {entry.agent or '?'}")
    tokens = entry.tokens
    facts = [
        ("goal", " ".join(entry.goal) or "?"),
        ("model", f"{entry.model or '?'}{f' ({entry.provider})' if entry.provider else ''}"),
        ("outcome", f"{entry.outcome or '?'}{f': {record.outcome_why}' if record else ''}"),
        ("kind", ", ".join(filter(None, (
            f"{entry.kind}{f' ({record.kind_why})' if record else ''}" if entry.kind else "", entry.complexity)))),
        ("tasks", "?" if entry.tasks is None and entry.failed is None else
         f"{number(entry.tasks)}, {number(entry.failed)} failed"
         + (f", {entry.skipped:,} left open" if entry.skipped is not None else "")),
        ("cost", dollars(entry.cost_usd)),
        ("time", (f"{duration} active" if (duration := render_duration(entry.duration_s)) else "?")
         + (f" of {render_duration(record.wall_s)}" if record and record.wall_s else "")),
        ("tokens", "?" if tokens is None else f"{tokens.input:,} in, {tokens.output:,} out, "
         f"{tokens.cache_read:,} cache read, {tokens.cache_write:,} cache write"),
        ("project", " / ".join(filter(None, (entry.project_type, entry.framework)))),
        ("commits", number(entry.commits)),
    ]  # fmt: skip
    told = [(name, value) for name, value in facts if value.strip(" ?")]
    for name, value in told:
        output.line(f"  {name:<9}{value}", under=11)
    if unknown := [name for name, _ in facts if name not in dict(told)]:
        output.line(f"  {'unknown':<9}{', '.join(unknown)}")
    if record is None:
        output.line("  (no local record: the row came from another machine, or was written by hand)")
        return
    _show_record(record)


def _show_record(record: DistilledSession) -> None:
    if record.tasks:
        output.line()
        columns = [Column("Task", flexible=True), Column("Status"), Column("Evidence", flexible=True)]
        rows = [[cut(t.title, 70), t.status, cut(t.evidence, 90)] for t in record.tasks]
        if any(task.reason for task in record.tasks):  # where nothing failed the room is the evidence's
            columns.insert(2, Column("Reason"))
            for row, task in zip(rows, record.tasks, strict=True):
                row.insert(2, task.reason)
        output.show(Table(columns=columns, rows=rows))
    edited = [touch.path for touch in record.files if touch.edits]
    if edited:
        output.line(
            f"\nedited: {', '.join(edited[:8])}{f' and {len(edited) - 8} more' if len(edited) > 8 else ''}"
        )
    if len(record.models) > 1:
        models = ", ".join(f"{m.model or '?'} {m.usage.output:,} out" for m in record.models)
        output.line(f"models: {models}")
    output.line(f"transcript: {', '.join(map(place, record.sources[:3]))}")


def short_id(session: str) -> str:
    return session[:8] if len(session) == 36 and session.count("-") == 4 else cut(session, 18)


def day(moment: datetime | None) -> str:
    if moment is None:
        return "?"
    with contextlib.suppress(
        OverflowError, ValueError, OSError
    ):  # the first and the last year have no other zone
        moment = moment.astimezone()
    return f"{moment.year:04d}{moment:-%m-%d %H:%M}"
