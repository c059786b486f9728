"""One decision with all that is known of it: its reason, its source, what it replaced, and who was told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from holdfast.briefing.explain import injections
from holdfast.briefing.replaced import replaced_passages, successor
from holdfast.flows.notes import memory_here
from holdfast.memory.ids import earlier_ids, every_decision, find_decision
from holdfast.memory.merge import is_doubt_about
from holdfast.memory.read import ProjectMemory
from holdfast.model.origin import Origin
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins

State = Literal["holds", "proposed", "rejected", "replaced"]
_STATES: dict[str, State] = {"proposed": "proposed", "rejected": "rejected", "superseded": "replaced"}


class Named(Struct, frozen=True):
    """Another statement, as this one names it. `text` is '' where its words are not kept."""

    id: str
    text: str = ""


class Told(Struct, frozen=True, kw_only=True):
    """A session that was told of the decision, and when first."""

    session: str
    host: str
    time: str


class DecisionView(Struct, frozen=True, kw_only=True):
    said: Statement
    state: State
    origin: Origin
    was: tuple[str, ...] = ()  # ids it had before it was reworded, the latest first
    replaces: tuple[Named, ...] = ()
    replaced_by: Named | None = None
    doubts: tuple[str, ...] = ()  # open questions whether it holds
    told: tuple[Told, ...] = ()


def view_decision(machine: Machine, wanted: str) -> DecisionView:
    here = memory_here(machine)
    memory = ProjectMemory(here.project, here.name, strict=True)
    said = find_decision(here, memory, wanted)
    replaced_by, state = None, _STATES.get(said.status, "holds")
    if said.session and (section := replaced_passages(here.project, memory, {said.session}).get(said.id)):
        later = successor(said.text, section)
        replaced_by = Named(later.id, later.text) if later is not None else None
        state = "replaced"
    known = {other.id: other.text for other in every_decision(memory)}
    return DecisionView(
        said=said,
        state=state,
        origin=Origins(here.project.memory).origin(said.id, said.session),
        was=tuple(earlier_ids(here.successors(), said.id)),
        replaces=tuple(Named(id, known.get(id, "")) for id in said.supersedes),
        replaced_by=replaced_by,
        doubts=tuple(
            question.id
            for question in here.questions().questions
            if question.open and is_doubt_about(question, said.id)
        ),
        told=tuple(_told(machine, said.id)),
    )


def _told(machine: Machine, id: str) -> Iterable[Told]:
    seen = set()
    for injection in injections(machine.project()):
        about = any(line.id == id or id in line.text for line in injection.lines)
        if about and (session := injection.session or "") not in seen:
            seen.add(session)
            yield Told(session=session, host=injection.host, time=injection.time)
