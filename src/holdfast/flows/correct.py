"""Corrects a line of memory by its id: a lesson, a fact, a decision, a dead end, a to-do …"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import NotFound, UsageError
from holdfast.flows import facts, lessons, questions
from holdfast.flows.notes import memory_here, memory_to_change, optional_text
from holdfast.flows.todos import close_todos
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.ids import by_id
from holdfast.model.memory import DeadEnd, Finding, content_id, ids_of
from holdfast.store.machine import Machine

Action = Literal["reject", "mute", "done"]


class Corrected(Struct, frozen=True):
    """The corrected line, and what was done to it."""

    id: str
    text: str
    done: str


def correct(
    machine: Machine, wanted: str, action: Action, because: str = "", days: int | None = None
) -> Corrected:
    id = wanted.strip().removeprefix("lesson:")
    letter = id[:2].upper()
    reason = optional_text(machine, because, "the reason")
    if letter == "L-":
        return _lesson(machine, id, action, days)
    if action == "mute":
        raise UsageError(
            "only lessons (L-…) can be muted; nothing was changed", fix="Reject it if it is wrong"
        )
    if letter == "T-":
        (todo,) = close_todos(machine, [id], done=action == "done")
        return Corrected(todo.id, todo.text, "is done" if action == "done" else "was dropped")
    if action == "done":
        raise UsageError(
            "only to-dos (T-…) can be closed as done; nothing was changed", fix="Reject it if it is wrong"
        )
    if letter == "F-":
        fact = facts.retire(machine, id, reason).kept.fact
        return Corrected(fact.id, fact.text, "was retired")
    if letter == "D-":
        decision = questions.retire(machine, id)
        return Corrected(decision.id, decision.text, "was retired")
    if letter in ("X-", "N-"):
        return _noted(machine, id)
    if letter == "Q-":
        raise UsageError("a question is closed by its answer; nothing was changed", fix="Answer it")
    raise UsageError(
        f"{wanted.strip()[:40]!r} is not the id of a line; nothing was changed",
        fix="Ids look like F-k3f9ab, L-…, D-…, X-…, T-…",
    )


def _lesson(machine: Machine, id: str, action: Action, days: int | None) -> Corrected:
    if action == "done":
        raise UsageError("a lesson is muted or rejected; nothing was changed", fix="Choose one of the two")
    project = machine.project()
    name = _lesson_with_rule(machine, id) or id
    if action == "mute":
        (handled,) = lessons.mute(machine, project, [name], days)
        return Corrected(
            id,
            handled.lesson.description,
            f"was muted {f'for {days} days' if days else 'until it is unmuted'}",
        )
    (handled,) = lessons.reject(machine, project, [name])
    return Corrected(id, handled.lesson.description, "was rejected, and will not come back in other words")


def _lesson_with_rule(machine: Machine, id: str) -> str:
    """The lesson with the rule of this id. Agents see single rules, each with its own id."""
    typed = id.casefold()
    names = {
        status.lesson.name
        for status in lessons.read_lessons(machine, machine.project()).lessons
        if any(content_id("L", rule).casefold() == typed for rule in status.lesson.rules)
    }
    return names.pop() if len(names) == 1 else ""


def _noted(machine: Machine, id: str) -> Corrected:
    """Dismisses a line of the append-only log, so that no agent sees it again, and drops it from the state."""
    store = memory_here(machine)
    entries, stumbles = store.entries().entries, store.current().current.stumbles
    noted: list[Finding | DeadEnd] = [finding for entry in entries for finding in entry.findings]
    noted += [end for entry in entries for end in entry.dead_ends]
    noted += [
        DeadEnd(tried=stumble.tried, failed=stumble.failed, instead=stumble.instead) for stumble in stumbles
    ]
    try:
        dismissed = by_id(id, noted, lambda item: item.id, "finding or dead end", "holdfast log")
    except NotFound:
        matches = [
            item for item in noted if any(stumble.casefold() == id.casefold() for stumble in ids_of(item))
        ]
        if not matches:
            raise
        dismissed = matches[0]
    ids = ids_of(dismissed)

    def without(file: CurrentFile) -> Current:
        remaining = tuple(stumble for stumble in file.current.stumbles if stumble.id not in ids)
        return replace(file.current, stumbles=remaining)

    with memory_to_change(machine) as memory:
        memory.dismiss(*ids)
        memory.change_current(without, "correct")
    text = dismissed.text if isinstance(dismissed, Finding) else dismissed.tried
    return Corrected(dismissed.id, text, "will not be shown again; the log keeps it")
