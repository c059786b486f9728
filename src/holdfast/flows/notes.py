"""Shared by the commands that record notes: cleaning texts, the author, lookup by id, access to the memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.projects import memory_of
from holdfast.core.errors import UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.flows.refresh import refresh
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import DeadEnd, Finding, LogEntry, Owner
from holdfast.store.gate import admit
from holdfast.store.machine import Machine
from holdfast.store.project import branch_of

T = TypeVar("T")
LONGEST = 4000  # characters of one text: memory is read line by line, and a longer text belongs in a file
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")


def speaker(machine: Machine) -> Owner:
    """Who runs this command, according to the environment."""
    return "agent" if machine.inside_agent else "user"


def optional_text(machine: Machine, text: str | None, what: str) -> str:
    """A text cleaned for storage. Raises UsageError if it is too long."""
    plain = _SURROGATE.sub("\ufffd", text or "").strip()
    if len(plain) > LONGEST:
        raise UsageError(
            f"{what} has {len(plain):,} characters, {LONGEST:,} are allowed",
            fix="Put it into a file and name the file",
        )
    return admit(machine, machine.project(), plain, what).strip()


def given_text(machine: Machine, text: str | None, what: str, fix: str) -> str:
    """A required text. Raises UsageError if it is missing or blank, or if nothing of it may be stored."""
    cleaned = optional_text(machine, text, what)
    if cleaned:
        return cleaned
    missing = "is missing" if not (text or "").strip() else "is private or one of holdfast's own notes"
    raise UsageError(f"{what} {missing}; nothing was written", fix=fix)


def this_second(machine: Machine) -> float:
    """Now, to the second: files that people read need no fractions. Never earlier than what was written before."""
    return float(machine.clock.now() // 1000)


def memory_here(machine: Machine) -> MemoryStore:
    """The memory of the project that the current branch belongs to."""
    return memory_of(machine, machine.project())


@contextmanager
def memory_to_change(machine: Machine) -> Iterator[MemoryStore]:
    """The same memory, ready for writing; derived files are refreshed afterwards."""
    project = machine.project()
    project.prepare()
    machine.clock.tick()
    yield memory_of(machine, project)
    refresh(machine, project)


# --- findings and dead ends ----------------------------------------------------------------------------

_AGENT = lazy_regex(r"[^a-z0-9._-]+")
_LONGEST_AGENT = 40


class NotedItem(Struct, frozen=True):
    item: Finding | DeadEnd
    status: Literal["recorded", "known"]


def note_finding(machine: Machine, text: str, agent: str) -> NotedItem:
    finding = given_text(machine, text, "the finding", "Say what was found, in one sentence")
    return _note(machine, Finding(text=finding, at=this_second(machine)), agent)


def note_dead_end(machine: Machine, tried: str, failed: str, instead: str, agent: str) -> NotedItem:
    end = DeadEnd(
        tried=given_text(
            machine, tried, "what was tried", "Say what does not work here, such as the command"
        ),
        failed=given_text(machine, failed, "how it failed", "Say how it failed: the line it printed"),
        instead=optional_text(machine, instead, "what worked instead"),
        at=this_second(machine),
    )
    return _note(machine, end, agent)


def _note(machine: Machine, item: Finding | DeadEnd, agent: str) -> NotedItem:
    session = f"note-{item.id}"
    item = replace(item, session=session)
    with memory_to_change(machine) as store:
        if any(item.id in _ids(entry) for entry in store.entries().entries):
            return NotedItem(item, "known")
        store.record(
            LogEntry(
                session=session,
                agent=agent_name(agent),
                at=this_second(machine),
                branch=branch_of(store.project.root),
                findings=(item,) if isinstance(item, Finding) else (),
                dead_ends=(item,) if isinstance(item, DeadEnd) else (),
            )
        )
    return NotedItem(item, "recorded")


def _ids(entry: LogEntry) -> set[str]:
    return {*(item.id for item in entry.findings), *(item.id for item in entry.dead_ends)}


def agent_name(said: str) -> str:
    """A client's name in a form that is safe in a heading."""
    return _AGENT.sub("-", said.casefold()).strip("-")[:_LONGEST_AGENT] or "agent"
