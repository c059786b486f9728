"""A recorded session as scenes under a heading: from its transcripts, or from what memory kept where they are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from holdfast.briefing.explain import injections
from holdfast.core.session_id import short_session
from holdfast.core.wording import day, dollars, short_duration, short_model
from holdfast.model.events import Event
from holdfast.sessions.lookup import title_of_record
from holdfast.store.gate import gate
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.transcripts.find import Recorded, events_of, kept_keys
from holdfast.transcripts.story import Scene, Teller, Told, remembered

Follow = Callable[[Iterable[Event]], Iterable[Event]]


def scenes_of(
    machine: Machine, project: Project, found: Recorded, *, results: bool = False, follow: Follow = iter
) -> Iterator[Scene]:
    """The session as its transcripts have it, or as memory keeps it where they are gone.

    `results` keeps what calls answered that succeeded; `follow` sees each event on its way.
    """
    if found.record is not None and is_gone(project, found):
        return remembered(found.record)
    told = [
        Told(seconds(entry.time), tuple(line.text for line in entry.lines), entry.tokens)
        for entry in injections(project)
        if entry.session == found.session and entry.lines
    ]
    return Teller(gate(machine, project), told, results=results).scenes(follow(events_of(project, found)))


def is_gone(project: Project, found: Recorded) -> bool:
    """Whether neither the transcripts nor copies of them are left."""
    missing = found.missing
    return len(missing) == len(found.sources) and not (missing and kept_keys(project) & {*missing})


def seconds(time: str) -> float | None:
    """A time of the trace in seconds since the epoch."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return None


def heading(project: Project, found: Recorded) -> list[str]:
    """The title, the figures of the row, and what the reader must know of the source."""
    row, record = found.row, found.record
    title = title_of_record(record) if record else " ".join(row.goal) if row else ""
    lines = [title] if title else []
    if row:
        facts = (
            short_session(found.session),
            row.agent or "",
            short_model(row.model),
            day(row.timestamp),
            short_duration(row.duration_s),
            dollars(row.cost_usd),
            ", ".join(filter(None, (row.kind, row.outcome))),
        )
        lines.append(" · ".join(fact for fact in facts if fact and fact != "?"))
    if record and record.outcome_why:
        lines.append(f"{record.outcome}: {' '.join(record.outcome_why.split())}")
    if note := source_note(project, found):
        lines.append(note)
    return lines


def source_note(project: Project, found: Recorded) -> str:
    if found.missing and kept_keys(project) & {*found.missing}:
        return "The agent's transcript is gone; this is the copy that was kept."
    if found.missing or not found.sources:
        return "The transcript is gone; this is what memory kept of it."
    return ""
