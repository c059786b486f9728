"""Facts by hand: added with their evidence, changed with their history, retired; the same fact is kept once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.keeping import by_id, given_text, moment, optional_text, reading, writing
from holdfast.app.meaning import Meanings
from holdfast.app.questions import ask_which_holds, settle_doubts
from holdfast.app.wiring import Machine
from holdfast.distill.fact_category import guess_category
from holdfast.distill.merging import Contradiction, contradicting, find
from holdfast.errors import NotFound, UsageError
from holdfast.model.memory import Fact
from holdfast.text.reference_md import KeptFact, Reference, ReferenceFile, change_fact

LISTING = "holdfast fact list --all"
_EVIDENCE_FIX = "Say with --evidence what showed it: the line that a command or a file answered"


class Kept(Struct, frozen=True):
    """What became of a fact that was given, and what stands against it."""

    kept: KeptFact
    status: Literal["added", "merged", "revived", "changed", "unchanged", "retired"]
    contradictions: tuple[Contradiction[Fact], ...] = ()


def read_facts(machine: Machine) -> ReferenceFile:
    return reading(machine).facts()


def wanted_fact(facts: Sequence[KeptFact], wanted: str) -> KeptFact:
    """The fact with this id; an id that a fact had before it was changed leads to it too."""
    try:
        return by_id(wanted, facts, lambda kept: kept.fact.id, "fact", LISTING)
    except NotFound:
        typed = wanted.strip().casefold()
        for kept in facts:
            if any(old.id.casefold() == typed for old in kept.was):
                return kept
        raise


def add_fact(
    machine: Machine, text: str, evidence: str | None, command: str = "", category: str | None = None
) -> Kept:
    """Keep a fact. The same in other words only becomes newer; what it contradicts is said, and stays."""
    statement = given_text(machine, text, "the fact", "holdfast fact add TEXT --evidence TEXT")
    now = moment(machine)
    new = Fact(
        text=statement,
        category=category or guess_category(statement),
        command=optional_text(machine, command, "the command"),
        evidence=given_text(machine, evidence, "the evidence", _EVIDENCE_FIX),
        at=now,
        verified_at=now,
    )
    return _change(machine, lambda reference: _added(reference, new, category), "fact add")


def _added(reference: Reference, new: Fact, category: str | None) -> tuple[Reference, Kept]:
    standing = [kept.fact for kept in reference.facts if kept.retired_at is None]
    meaning = Meanings()
    clashes = contradicting(standing, new, meaning)
    # The same words first: only they wake a fact that was given up.
    known = next((kept for kept in reference.facts if kept.fact.id == new.id), None)
    if known is None and (alike := find(standing, new.text, meaning)) is not None:
        known = next(kept for kept in reference.facts if kept.fact == alike)
    if known is None:
        added = KeptFact(fact=new)
        return replace(reference, facts=(*reference.facts, added)), Kept(added, "added", clashes)
    clashes = contradicting(standing, known.fact, meaning)
    merged = replace(
        known, fact=_again(known, new, category), retired_at=None, retired_because="", failed_at=None
    )
    status: Literal["merged", "revived"] = "merged" if known.retired_at is None else "revived"
    return _put(reference, known, merged), Kept(merged, status, clashes)


def _again(known: KeptFact, new: Fact, category: str | None) -> Fact:
    """The fact as it was worded first, verified now. A way to verify it is worth having."""
    fact = replace(known.fact, verified_at=new.verified_at)
    if category:
        fact = replace(fact, category=category)
    if known.retired_at is not None or (new.command and not fact.command):
        return replace(fact, command=new.command or fact.command, evidence=new.evidence)
    return fact


def change(
    machine: Machine,
    wanted: str,
    text: str,
    evidence: str | None,
    command: str | None = None,
    category: str | None = None,
) -> Kept:
    """Put a new fact in the place of an old one, which stays as its history."""
    statement = given_text(machine, text, "the new fact", "holdfast fact change ID TEXT --evidence TEXT")
    shown = given_text(machine, evidence, "the evidence", _EVIDENCE_FIX)
    run = None if command is None else optional_text(machine, command, "the command")
    wanted_fact(read_facts(machine).reference.facts, wanted)  # an unknown id prepares nothing
    now = moment(machine)

    def changed(reference: Reference) -> tuple[Reference, Kept]:
        old = wanted_fact(reference.facts, wanted)
        new = Fact(
            text=statement,
            category=category or old.fact.category,
            command=old.fact.command if run is None else run,
            evidence=shown,
            at=now,
            verified_at=now,
        )
        others = [kept for kept in reference.facts if kept.fact.id != old.fact.id]
        if any(kept.fact.id == new.id for kept in others):
            raise UsageError(
                f"{new.id} says that already; nothing was written",
                fix=f"Retire the other one: holdfast fact retire {old.fact.id}",
            )
        after = change_fact(reference, old.fact.id, new)
        kept = next(kept for kept in after.facts if kept.fact.id == new.id)
        standing = [kept.fact for kept in others if kept.retired_at is None]
        return after, Kept(kept, "changed", contradicting(standing, new, Meanings()))

    return _change(machine, changed, "fact change")


def retire(machine: Machine, wanted: str, because: str | None = None) -> Kept:
    """Give a fact up. It stays, with the date, so that nobody finds it anew and takes it for true."""
    reason = optional_text(machine, because, "the reason")
    wanted_fact(read_facts(machine).reference.facts, wanted)
    now = moment(machine)

    def retired(reference: Reference) -> tuple[Reference, Kept]:
        old = wanted_fact(reference.facts, wanted)
        if old.retired_at is not None:
            return reference, Kept(old, "unchanged")
        gone = replace(old, retired_at=now, retired_because=reason)
        return _put(reference, old, gone), Kept(gone, "retired")

    return _change(machine, retired, "fact retire")


def mark_verified(machine: Machine, held: Sequence[Fact], failed: Sequence[Fact] = ()) -> None:
    """Set today's date on facts that were just seen to hold, or not to, unless they have changed meanwhile."""
    now = moment(machine)

    def marked(kept: KeptFact) -> KeptFact:
        if kept.fact in held:
            return replace(kept, fact=replace(kept.fact, verified_at=now), failed_at=None)
        return replace(kept, failed_at=now) if kept.fact in failed else kept

    def verified(reference: Reference) -> Reference:
        return replace(reference, facts=tuple(map(marked, reference.facts)))

    if held or failed:
        with writing(machine) as store:
            store.change_facts(verified, "fact verify")


def _put(reference: Reference, old: KeptFact, new: KeptFact) -> Reference:
    return replace(reference, facts=tuple(new if kept is old else kept for kept in reference.facts))


def _change(machine: Machine, decide: Callable[[Reference], tuple[Reference, Kept]], reason: str) -> Kept:
    """Make a change and tell what it did. It is decided anew when somebody was faster; the last time counts."""
    told: list[Kept] = []

    def rewrite(reference: Reference) -> Reference:
        after, kept = decide(reference)
        told.append(kept)
        return after

    with writing(machine) as store:
        store.change_facts(rewrite, reason)
        ask_which_holds(machine, store, told[-1].contradictions, reason)
        if told[-1].status == "retired":
            settle_doubts(machine, store, told[-1].kept.fact.id, reason)
        elif told[-1].status == "changed":
            settle_doubts(machine, store, told[-1].kept.was[0].id, reason)
    return told[-1]
