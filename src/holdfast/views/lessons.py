"""Formats lessons for the screen and as JSON. Hidden characters in other people's text are made visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.session_id import short_session
from holdfast.lessons.proposals import Place
from holdfast.lessons.states import LessonStatus, pays
from holdfast.model.origin import origin_text
from holdfast.terminal import output
from holdfast.terminal.output import Column, Table, counted, flat, place, plural
from holdfast.views.memory import date, iso

WHERE: dict[Place, str] = {
    "personal": "personal",
    "local": "here",
    "candidates": "here",
    "shared": "shared",
}
_COLUMNS = (
    Column("Lesson", style="cyan", flexible=True),
    Column("Scope", dispensable=1),
    Column("State"),
    Column("Seen", align="right", dispensable=2),
    Column("Told", align="right", dispensable=3),
    Column("Used", align="right", dispensable=4),
    Column("Tokens", align="right", dispensable=5),
    Column("What it says", flexible=True, wrapped=True),
)
_SCOPE = 1


def as_json(one: LessonStatus) -> dict[str, Any]:
    lesson, payback = one.lesson, one.payback
    return {
        "name": lesson.name,
        "scope": one.scope,
        "state": one.state,
        "description": lesson.description,
        "rules": list(lesson.rules),
        "fingerprint": [item.target for item in lesson.fingerprint],
        "sources": list(lesson.sessions),
        "injected": payback.injected,
        "used": payback.used,
        "tokens": payback.tokens,
        "contradicted": payback.contradicted,
        "pays": pays(payback),
        "id": lesson.id,
        "kind": lesson.kind,
        "origin": one.origin,
        "captured_at": iso(lesson.captured_at),
        "muted_until": iso(one.muted_until) if one.state == "muted" else None,
        "active_at": iso(one.active_at) if one.state == "candidate" else None,
        "seldom": lesson.seldom,
        "stale_because": list(one.drift),
        "path": str(one.stored.path),
    }


def in_full(one: LessonStatus, others: Sequence[LessonStatus]) -> dict[str, Any]:
    evidence = [
        {"session": item.session, "at": iso(item.at), "line": item.line} for item in one.lesson.evidence
    ]
    also = [{"scope": copy.scope, "state": copy.state, "path": str(copy.stored.path)} for copy in others]
    return {**as_json(one), "evidence": evidence, "also": also}


def state(one: LessonStatus) -> str:
    if one.state == "muted":
        return f"muted until {date(one.muted_until)}" if one.muted_until is not None else "muted"
    if one.state == "untrusted":
        return "changed, not trusted" if one.changed else "not trusted"
    if one.state == "candidate" and one.active_at is not None:
        return f"candidate until {date(one.active_at)}"
    return "candidate, seen once" if one.state == "candidate" and one.lesson.seldom else one.state


def table(seen: Sequence[LessonStatus]) -> Table:
    rows = [
        [
            status.lesson.name,
            WHERE[status.place],
            status.state if status.state == "candidate" else state(status),  # until when: lessons show
            str(len(status.lesson.sessions) or ""),
            str(status.payback.injected or ""),
            str(status.payback.used or ""),
            str(status.payback.tokens or ""),
            "; ".join(status.lesson.rules),
        ]
        for status in seen
    ]
    # Counts that no lesson has yet say nothing.
    visible_columns = [number for number, _ in enumerate(_COLUMNS) if any(row[number] for row in rows)]
    if len({WHERE[status.place] for status in seen}) == 1:
        visible_columns.remove(_SCOPE)
    return Table(
        [_COLUMNS[number] for number in visible_columns],
        [[row[number] for number in visible_columns] for row in rows],
        # What sessions taught is described by its kind alone; what a person wrote says more.
        below=["" if status.lesson.sessions else status.lesson.description for status in seen],
    )


def show_list(seen: Sequence[LessonStatus]) -> None:
    """A table; where its texts would be a few words wide, each lesson by itself."""
    if not output.is_narrow():
        output.show(table(seen))
        return
    for status in seen:
        output.heading(" · ".join(filter(None, (status.lesson.name, state(status), _seen_in(status)))))
        for rule in status.lesson.rules:
            output.wrapped(flat(rule), indent=2)


def _seen_in(one: LessonStatus) -> str:
    count = len(one.lesson.sessions)
    return f"seen in {plural(count, 'session')}" if count else ""


def show(one: LessonStatus) -> None:
    """One lesson, each line by itself."""
    lesson = one.lesson
    source = origin_text(one.origin)
    about = (lesson.name, WHERE[one.place], state(one), lesson.id, source)
    output.heading(" · ".join(filter(None, about)))
    if lesson.description:
        output.line(f"  {flat(lesson.description)}")
    for rule in lesson.rules:
        output.wrapped(f"- {flat(rule)}", indent=2)
    if lesson.fingerprint:
        output.aside(f"depends on {', '.join(item.target for item in lesson.fingerprint)}", indent=2)
    output.lines(*(f"  ! {change}" for change in one.drift))
    for item in lesson.evidence:
        if item.line:
            when = f"{date(item.at)} · " if item.at is not None else ""
            session = f"session {short_session(item.session)}: " if item.session else ""
            output.aside(f"{when}{session}{flat(item.line)}", indent=4)
    if sessions := _seen_in(one):
        output.aside(sessions, indent=2)
    payback = one.payback
    if payback.injected:
        cost = f"shown {counted(payback.injected, 'time')}, {counted(payback.tokens, 'token')}"
        output.aside(f"{cost}; used {payback.used}, contradicted {payback.contradicted}", indent=2)
    if one.place == "candidates" and one.state == "active":
        output.aside("became active automatically; promote keeps it, reject removes it", indent=2)
    output.aside(place(one.stored.path), indent=2)
