"""One decision with all that is known of it: its reason, its source, what it replaced, and who was told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from holdfast.briefing.explain import injections
from holdfast.briefing.replaced import replaced_passages, successor
from holdfast.core.errors import NotFound
from holdfast.flows.notes import by_id, memory_here
from holdfast.memory.merge import is_doubt_about
from holdfast.memory.read import ProjectMemory
from holdfast.memory.store import MemoryStore
from holdfast.model.origin import Origin
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins

LISTING = "holdfast note decision list"
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
    known = {other.id: other.text for other in _every(memory)}
    return DecisionView(
        said=said,
        state=state,
        origin=Origins(here.project.memory).origin(said.id, said.session),
        was=tuple(_earlier(here.successors(), said.id)),
        replaces=tuple(Named(id, known.get(id, "")) for id in said.supersedes),
        replaced_by=replaced_by,
        doubts=tuple(
            question.id
            for question in here.questions().questions
            if question.open and is_doubt_about(question, said.id)
        ),
        told=tuple(_told(machine, said.id)),
    )


def find_decision(store: MemoryStore, memory: ProjectMemory, wanted: str) -> Statement:
    """A decision of the register or of a session, by its id, one it had before it was reworded, or the beginning."""
    known = _every(memory)
    try:
        return by_id(wanted, known, lambda said: said.id, "decision", LISTING)
    except NotFound:
        changed = reworded(store, wanted, {said.id for said in known})
        if changed:
            return by_id(changed, known, lambda said: said.id, "decision", LISTING)
        typed = wanted.strip().casefold()
        if typed in {id.casefold() for id in store.dismissed_at()} and typed[:2] == "d-":
            problem = f"{wanted.strip()} was retired"
            raise NotFound(problem, fix="holdfast history reference.md shows it; holdfast undo") from None
        raise


def reworded(store: MemoryStore, wanted: str, known: Iterable[str]) -> str:
    """The id that a reworded decision has now; '' if none had this one."""
    successors, kept = store.successors(), set(known)
    typed = wanted.strip().casefold()
    if len(typed) < 3:
        return ""
    found = {_last(successors, id) for id in successors if id.casefold().startswith(typed)} & kept
    return found.pop() if len(found) == 1 else ""


def _last(successors: dict[str, str], id: str) -> str:
    seen = {id}
    while (now := successors.get(id, "")) and now not in seen:
        seen.add(now)
        id = now
    return id


def _earlier(successors: dict[str, str], id: str) -> list[str]:
    """The ids that lead to this one, the latest first."""
    found = [id]
    for name in found:
        found += [old for old, now in successors.items() if now == name and old not in found]
    return found[1:]


def _every(memory: ProjectMemory) -> list[Statement]:
    return [*memory.register("decision"), *memory.passage_statements()]


def _told(machine: Machine, id: str) -> Iterable[Told]:
    seen = set()
    for injection in injections(machine.project()):
        about = any(line.id == id or id in line.text for line in injection.lines)
        if about and (session := injection.session or "") not in seen:
            seen.add(session)
            yield Told(session=session, host=injection.host, time=injection.time)
