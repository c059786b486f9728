"""Corrects statements where they stand, as a person with an editor would: other words, a reason, agreed or closed."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.flows.notes import given_text, memory_here, memory_to_change, optional_text, this_second
from holdfast.flows.questions import LISTING as QUESTIONS
from holdfast.flows.questions import read_questions
from holdfast.memory.decisions import edit_passages
from holdfast.memory.ids import by_id, find_decision
from holdfast.memory.read import ProjectMemory
from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Decision, Passage, Question, content_id
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine

CHANGE, CONFIRM, CLOSE = "decide change", "decide confirm", "question closed"


class Reworded(Struct, frozen=True):
    """A decision after a change: its id now and before, and its words as they are stored."""

    id: str
    text: str
    was: str


def change_decision(machine: Machine, wanted: str, text: str, because: str | None = None) -> Reworded:
    """Puts other words in the place of a decision, or of a passage of a session.

    A passage keeps its id. A decision of the register gets the id of its words; the one before does not come back.
    """
    new = given_text(machine, text, "the decision", 'holdfast note decision change ID "TEXT"')
    reason = None if because is None else optional_text(machine, because, "the reason")
    old = _known(machine, wanted)

    def in_register(decision: Decision) -> Decision:
        return replace(decision, text=new, rationale=decision.rationale if reason is None else reason)

    def in_session(passage: Passage) -> Passage:
        return replace(passage, text=" ".join(new.split()), written_id=passage.id, by="user")

    with memory_to_change(machine) as store:
        if _edit_register(store, old.id, in_register, CHANGE):
            changed = content_id("D", new)
            if changed != old.id:
                store.dismiss(old.id, now=changed)
            return Reworded(changed, new, old.id)
        _edit_passage(store, old.id, in_session, CHANGE)
        return Reworded(old.id, new, old.id)


def confirm(machine: Machine, wanted: str) -> Statement:
    """A person agrees to what an agent decided or proposed: from then on agents are told of it as agreed."""
    old = _known(machine, wanted)
    if old.status in ("superseded", "rejected"):
        raise UsageError(f"{old.id} is {old.status}", fix="Record it again if it holds now")
    with memory_to_change(machine) as store:
        if not _edit_register(store, old.id, lambda decision: replace(decision, by="user"), CONFIRM):
            _edit_passage(
                store, old.id, lambda passage: replace(passage, status="agreed", by="user"), CONFIRM
            )
    return old


def close_question(machine: Machine, wanted: str) -> Question:
    """Closes a question that needs no answer; it is not asked again."""
    question = by_id(
        wanted, read_questions(machine).questions, lambda question: question.id, "question", QUESTIONS
    )
    if not question.open:
        raise UsageError(f"{question.id} is not open", fix=f"{QUESTIONS} shows its answer")
    now = this_second(machine)
    closed = replace(question, closed=True, answered_at=now)
    with memory_to_change(machine) as store:
        store.change_questions(
            lambda known: (closed if one.id == question.id else one for one in known), CLOSE
        )
        from holdfast.flows.remember import rewrite_current

        rewrite_current(store, {}, now, CLOSE)
    return closed


def _known(machine: Machine, wanted: str) -> Statement:
    here = memory_here(machine)
    memory = ProjectMemory(here.project, here.name, strict=True)
    return find_decision(here, memory, wanted)


def _edit_register(store: MemoryStore, id: str, edit: Callable[[Decision], Decision], reason: str) -> bool:
    """Whether the decision stands in the register; if it does, it is edited."""
    if all(decision.id != id for decision in store.facts().reference.decisions):
        return False

    def rewrite(reference: Reference) -> Reference:
        decisions = tuple(edit(known) if known.id == id else known for known in reference.decisions)
        return replace(reference, decisions=decisions)

    store.change_facts(rewrite, reason)
    return True


def _edit_passage(store: MemoryStore, id: str, edit: Callable[[Passage], Passage], reason: str) -> None:
    for path in store.months():
        if any(p.id == id for section in store.decisions(path).sections for p in section.passages):
            store.change(
                path,
                lambda text: edit_passages(
                    text, lambda passage: edit(passage) if passage.id == id else passage
                ),
                reason,
            )
            return
