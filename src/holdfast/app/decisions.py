"""Decisions by hand: into the register of reference.md, once each; earlier ones that they contradict stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.keeping import LONGEST, by_id, given_text, moment, optional_text, reading, speaker, writing
from holdfast.app.meaning import Meanings
from holdfast.app.questions import ask_which_holds, settle_doubts
from holdfast.app.wiring import Machine
from holdfast.distill.likeness import Likeness, compare
from holdfast.distill.merging import Contradiction, contradicting, find
from holdfast.model.memory import Decision, Owner
from holdfast.text.reference_md import Reference, ReferenceFile

LISTING = "holdfast decide --list"
RETIRE = "decide retire"


class Decided(Struct, frozen=True):
    """What became of a decision that was given, and which earlier ones say otherwise."""

    decision: Decision
    status: Literal["recorded", "merged"]
    contradictions: tuple[Contradiction[Decision], ...] = ()


def read_decisions(machine: Machine) -> ReferenceFile:
    return reading(machine).facts()


def decide(machine: Machine, text: str, because: str | None = None, by: Owner = "") -> Decided:
    new = Decision(
        text=given_text(machine, text, "the decision", "holdfast decide TEXT --because WHY"),
        rationale=optional_text(machine, because, "the reason"),
        by=by or speaker(machine),
        at=moment(machine),
    )
    told: list[Decided] = []
    meaning = Meanings()

    def rewrite(reference: Reference) -> Reference:
        known = _known(reference.decisions, new, meaning)
        if known is None:
            after = (*reference.decisions, new)
            told.append(Decided(new, "recorded", contradicting(reference.decisions, new, meaning)))
        else:
            merged = replace(known, rationale=_reasons(known, new), by=known.by or new.by)
            after = tuple(merged if decision is known else decision for decision in reference.decisions)
            told.append(Decided(merged, "merged", contradicting(reference.decisions, merged, meaning)))
        return replace(reference, decisions=after)

    with writing(machine) as store:
        store.change_facts(rewrite, "decide")
        ask_which_holds(machine, store, told[-1].contradictions, "decide")
    return told[-1]


def retire(machine: Machine, wanted: str) -> Decision:
    """Take a decision out of the register; sessions that made it do not bring it back. The version before is kept."""
    gone = _wanted(read_decisions(machine).reference.decisions, wanted)  # an unknown id prepares nothing

    def rewrite(reference: Reference) -> Reference:
        left = tuple(decision for decision in reference.decisions if decision.id != gone.id)
        return replace(reference, decisions=left)

    with writing(machine) as store:
        store.change_facts(rewrite, RETIRE)
        store.dismiss(gone.id)
        settle_doubts(machine, store, gone.id, RETIRE)
    return gone


def _wanted(decisions: Sequence[Decision], wanted: str) -> Decision:
    return by_id(wanted, decisions, lambda decision: decision.id, "decision", LISTING)


def _known(decisions: Sequence[Decision], new: Decision, meaning: Meanings) -> Decision | None:
    exact = next((decision for decision in decisions if decision.id == new.id), None)
    return exact or find(decisions, new.text, meaning)


def _reasons(known: Decision, new: Decision) -> str:
    """Both reasons, where the second adds something."""
    if not (known.rationale and new.rationale):
        return known.rationale or new.rationale
    if new.rationale in known.rationale or compare(known.rationale, new.rationale).likeness is Likeness.SAME:
        return known.rationale
    both = f"{known.rationale}; {new.rationale}"
    return both if len(both) <= LONGEST else known.rationale
