"""Findings and dead ends as an agent notes them while it works: an entry of their own in the log, each once."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.keeping import given_text, moment, optional_text, writing
from holdfast.app.wiring import Machine
from holdfast.model.memory import DeadEnd, Finding, LogEntry
from holdfast.store.layout import branch_of

_AGENT = re.compile(r"[^a-z0-9._-]+")
_LONGEST_AGENT = 40


class Noted(Struct, frozen=True):
    item: Finding | DeadEnd
    status: Literal["recorded", "known"]


def note_finding(machine: Machine, text: str, agent: str) -> Noted:
    said = given_text(machine, text, "the finding", "Say what was found, in one sentence")
    return _note(machine, Finding(text=said, at=moment(machine)), agent)


def note_dead_end(machine: Machine, tried: str, failed: str, instead: str, agent: str) -> Noted:
    end = DeadEnd(
        tried=given_text(machine, tried, "what was tried", "Say what does not work here, e.g. the command"),
        failed=given_text(machine, failed, "how it failed", "Say how it failed: the line that it answered"),
        instead=optional_text(machine, instead, "what worked instead"),
        at=moment(machine),
    )
    return _note(machine, end, agent)


def _note(machine: Machine, item: Finding | DeadEnd, agent: str) -> Noted:
    session = f"note-{item.id}"
    item = replace(item, session=session)
    with writing(machine) as store:
        if any(item.id in _ids(entry) for entry in store.entries().entries):
            return Noted(item, "known")
        store.record(
            LogEntry(
                session=session,
                agent=agent_name(agent),
                at=moment(machine),
                branch=branch_of(store.project.root),
                findings=(item,) if isinstance(item, Finding) else (),
                dead_ends=(item,) if isinstance(item, DeadEnd) else (),
            )
        )
    return Noted(item, "recorded")


def _ids(entry: LogEntry) -> set[str]:
    return {*(item.id for item in entry.findings), *(item.id for item in entry.dead_ends)}


def agent_name(said: str) -> str:
    """A client's name as a heading may carry it."""
    return _AGENT.sub("-", said.casefold()).strip("-")[:_LONGEST_AGENT] or "agent"
