"""Facts given on the command line: add with evidence, change, retire, verify. The same fact is stored once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.flows.notes import given_text, memory_here, memory_to_change, optional_text, this_second
from holdfast.flows.questions import ask_which_holds, settle_doubts
from holdfast.guard.not_secret import MARK_PATTERN
from holdfast.memory.ids import by_id
from holdfast.memory.merge import Contradiction, contradicting, find
from holdfast.memory.reference import KeptFact, Reference, ReferenceFile, change_fact
from holdfast.memory.state import guess_category
from holdfast.model.memory import Fact
from holdfast.store.gate import gate
from holdfast.store.machine import Machine

LISTING = "holdfast note fact list --all"
_EVIDENCE_FIX = "Use --evidence to say what showed it: a line from a command or a file"


class FactChange(Struct, frozen=True):
    """What a command did with a fact, and the facts that contradict it."""

    kept: KeptFact
    status: Literal["added", "merged", "revived", "changed", "unchanged", "retired"]
    contradictions: tuple[Contradiction[Fact], ...] = ()


def read_facts(machine: Machine) -> ReferenceFile:
    return memory_here(machine).facts()


def wanted_fact(facts: Sequence[KeptFact], wanted: str) -> KeptFact:
    """The fact with this id. The id that a fact had before a change also finds it."""
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
) -> FactChange:
    """Add a fact. If the same fact is known in other words, only its date changes. Contradictions are reported."""
    statement = given_text(machine, text, "the fact", "holdfast note fact add TEXT --evidence TEXT")
    now = this_second(machine)
    new = Fact(
        text=statement,
        category=category or guess_category(statement),
        command=optional_text(machine, command, "the command"),
        evidence=given_text(machine, evidence, "the evidence", _EVIDENCE_FIX),
        at=now,
        verified_at=now,
    )
    return _change(machine, lambda reference: _added(reference, new, category), "fact add")


def _added(reference: Reference, new: Fact, category: str | None) -> tuple[Reference, FactChange]:
    current_facts = [known_fact.fact for known_fact in reference.facts if known_fact.retired_at is None]
    meaning = Meanings()
    clashes = contradicting(current_facts, new, meaning)
    # The same words first: only they revive a retired fact.
    match = next((known_fact for known_fact in reference.facts if known_fact.fact.id == new.id), None)
    if match is None and (similar := find(current_facts, new.text, meaning)) is not None:
        match = next(known_fact for known_fact in reference.facts if known_fact.fact == similar)
    if match is None:
        added = KeptFact(fact=new)
        return replace(reference, facts=(*reference.facts, added)), FactChange(added, "added", clashes)
    clashes = contradicting(current_facts, match.fact, meaning)
    merged = replace(
        match, fact=_again(match, new, category), retired_at=None, retired_because="", failed_at=None
    )
    status: Literal["merged", "revived"] = "merged" if match.retired_at is None else "revived"
    return _put(reference, match, merged), FactChange(merged, status, clashes)


def _again(known: KeptFact, new: Fact, category: str | None) -> Fact:
    """The known wording with today's verification; a command to verify it is taken over if there was none."""
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
) -> FactChange:
    """Replace a fact with a new one; the old one stays as its history."""
    statement = given_text(machine, text, "the new fact", "holdfast note fact change ID TEXT --evidence TEXT")
    shown_evidence = given_text(machine, evidence, "the evidence", _EVIDENCE_FIX)
    run = None if command is None else optional_text(machine, command, "the command")
    wanted_fact(read_facts(machine).reference.facts, wanted)  # an unknown id prepares nothing
    now = this_second(machine)

    def changed(reference: Reference) -> tuple[Reference, FactChange]:
        old = wanted_fact(reference.facts, wanted)
        new = Fact(
            text=statement,
            category=category or old.fact.category,
            command=old.fact.command if run is None else run,
            evidence=shown_evidence,
            at=now,
            verified_at=now,
        )
        others = [kept for kept in reference.facts if kept.fact.id != old.fact.id]
        if any(kept.fact.id == new.id for kept in others):
            raise UsageError(
                f"{new.id} already says that; nothing was written",
                fix=f"Retire the other one: holdfast note fact retire {old.fact.id}",
            )
        updated = change_fact(reference, old.fact.id, new)
        kept = next(kept for kept in updated.facts if kept.fact.id == new.id)
        standing = [kept.fact for kept in others if kept.retired_at is None]
        return updated, FactChange(kept, "changed", contradicting(standing, new, Meanings()))

    return _change(machine, changed, "fact change")


def retire(machine: Machine, wanted: str, because: str | None = None) -> FactChange:
    """Retire a fact. It stays, with the date, so that a later session does not record it as true again."""
    reason = optional_text(machine, because, "the reason")
    wanted_fact(read_facts(machine).reference.facts, wanted)
    now = this_second(machine)

    def retired(reference: Reference) -> tuple[Reference, FactChange]:
        old = wanted_fact(reference.facts, wanted)
        if old.retired_at is not None:
            return reference, FactChange(old, "unchanged")
        retired_fact = replace(old, retired_at=now, retired_because=reason)
        return _put(reference, old, retired_fact), FactChange(retired_fact, "retired")

    return _change(machine, retired, "fact retire")


def mark_verified(machine: Machine, held: Sequence[Fact], failed: Sequence[Fact] = ()) -> None:
    """Record the date on facts that were just verified or failed, unless they have changed in the meantime."""
    now = this_second(machine)

    def marked(kept: KeptFact) -> KeptFact:
        if kept.fact in held:
            return replace(kept, fact=replace(kept.fact, verified_at=now), failed_at=None)
        return replace(kept, failed_at=now) if kept.fact in failed else kept

    def verified(reference: Reference) -> Reference:
        return replace(reference, facts=tuple(map(marked, reference.facts)))

    if held or failed:
        with memory_to_change(machine) as store:
            store.change_facts(verified, "fact verify")


def _put(reference: Reference, old: KeptFact, new: KeptFact) -> Reference:
    return replace(reference, facts=tuple(new if kept is old else kept for kept in reference.facts))


def _change(
    machine: Machine, decide: Callable[[Reference], tuple[Reference, FactChange]], reason: str
) -> FactChange:
    """Make a change and return its result. `decide` runs again if another writer was faster; the last run counts."""
    results: list[FactChange] = []

    def rewrite(reference: Reference) -> Reference:
        updated, result = decide(reference)
        results.append(result)
        return updated

    with memory_to_change(machine) as store:
        store.change_facts(rewrite, reason)
        ask_which_holds(machine, store, results[-1].contradictions, reason)
        if results[-1].status == "retired":
            settle_doubts(machine, store, results[-1].kept.fact.id, reason)
        elif results[-1].status == "changed":
            settle_doubts(machine, store, results[-1].kept.was[0].id, reason)
    return results[-1]


# --- verifying facts -----------------------------------------------------------------------------------

NO_OUTPUT = "exit code 0, no output"  # the evidence of a check that prints nothing on success
_MOST_LINES = 3
_LINE = 200
_ESCAPES = lazy_regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_NUMBER = lazy_regex(
    r"(?<![\w.])(?P<number>\d+(?:[.,:]\d+)*)(?P<unit>(?:ms|µs|us|ns|s|m|min|h)?(?:\d+(?:\.\d+)?s)?)(?![A-Za-z_])"
)
# Commands that, by name, change more than a build's own files. The guess errs on the side of asking.
_CHANGES = lazy_regex(
    r"\b(?:rm|mv|dd|kill|pkill|truncate|shred|chmod|chown|sudo|ssh|scp|rsync|tee|eval)\s"
    r"|\bgit\s+(?:\S+\s+)*?(?:push|commit|reset|clean|checkout|switch|rebase|merge|tag|stash|rm|pull)\b"
    r"|\b(?:create|delete|apply|destroy|publish|deploy|upload|migrate|release|merge|close|drop|insert|update|push)\b"
    r"|\b(?:un)?install\b|\bcurl\b.*\s(?:-X|--request|-d|--data\S*|-F|-T|--json)\b|\b(?:POST|PUT|PATCH|DELETE)\b",
    re.IGNORECASE | re.DOTALL,
)
_WORD = lazy_regex(r"[^\W\d_]{2,}")


class FactCheck(Struct, frozen=True):
    """`failed`: the command exited with an error. `changed`: it succeeded with other output, given in `lines`."""

    fact: Fact
    status: Literal[
        "holds", "changed", "failed", "timeout", "declined", "no command", "incomplete", "not named"
    ]
    exit_code: int | None = None
    lines: tuple[str, ...] = ()


def to_verify(machine: Machine, wanted: Sequence[str]) -> list[Fact]:
    """The facts with these ids, or all current ones that have a command."""
    facts = read_facts(machine).reference.facts
    if not wanted:
        return [kept.fact for kept in facts if kept.retired_at is None and kept.fact.command]
    chosen = [wanted_fact(facts, name) for name in wanted]
    for kept in chosen:
        if kept.retired_at is not None:
            raise UsageError(
                f"{kept.fact.id} is retired",
                fix="holdfast note fact add with its text and evidence restores it",
            )
    return list(dict.fromkeys(kept.fact for kept in chosen))


def obstacle(fact: Fact, *, named: bool) -> FactCheck | None:
    """Why this fact's command must not be run; None if it may be.

    A command may have opened a pull request: consent for all facts at once is not consent to open another.
    """
    if not fact.command:
        return FactCheck(fact, "no command")
    if MARK_PATTERN.search(fact.command) or fact.command.endswith("…"):
        return FactCheck(fact, "incomplete")
    return None if named or not _CHANGES.search(fact.command) else FactCheck(fact, "not named")


def verify(machine: Machine, fact: Fact, timeout: float) -> FactCheck:
    """Run the fact's command in the project and compare. The caller has asked for consent."""
    from holdfast.core.bounded_process import run_bounded

    ran = run_bounded(fact.command, machine.project().root, machine.env, timeout)
    clean = gate(machine, machine.project())
    output = clean(_ESCAPES.sub("", ran.output.decode("utf-8", "replace")))
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    if ran.exit_code is None:
        return FactCheck(fact, "timeout", None, tuple(_shown(lines[-_MOST_LINES:])))
    if ran.exit_code != 0:
        return FactCheck(fact, "failed", ran.exit_code, tuple(_shown(lines[-_MOST_LINES:])))
    if _shows(fact, lines):
        return FactCheck(fact, "holds", 0)
    return FactCheck(fact, "changed", 0, tuple(_shown(_instead(fact.evidence, lines))))


def _shows(fact: Fact, lines: Sequence[str]) -> bool:
    """Whether every line of the evidence is in a line of the output."""
    if fact.evidence.strip() == NO_OUTPUT:
        return not lines
    fixed = _numbers_said(fact)
    output = [_masked(line, fixed) for line in lines]
    expected = [_masked(" ".join(line.split()), fixed) for line in fact.evidence.splitlines() if line.strip()]
    return all(any(_within(line, line_now) for line_now in output) for line in expected)


def _within(line: str, other: str) -> bool:
    """Whole words only: `ok` is not in `token`."""
    return line in other and re.search(rf"(?<!\w){re.escape(line)}(?!\w)", other) is not None


def _numbers_said(fact: Fact) -> frozenset[str] | None:
    """The numbers in the fact itself, which must not vary; None if the evidence is nothing but numbers."""
    if not _WORD.search(_NUMBER.sub("", fact.evidence)):
        return None
    return frozenset(match["number"] for match in _NUMBER.finditer(fact.text))


def _masked(line: str, fixed: frozenset[str] | None) -> str:
    """The line without the numbers that vary: counts, durations, and Go's `(cached)` in place of a duration."""
    if fixed is None:
        return line

    def mask(match: re.Match[str]) -> str:
        parts = match["number"].split(".")
        # A fact may say 3.11 and its evidence 3.11.4.
        for count in range(len(parts), 0, -1):
            if (beginning := ".".join(parts[:count])) in fixed:
                return beginning + match["unit"]
        return "#"

    return _NUMBER.sub(mask, line.replace("(cached)", "0s"))


def _instead(evidence: str, lines: Sequence[str]) -> list[str]:
    """The line most similar to the evidence, or the last lines."""
    words = set(_WORD.findall(evidence.casefold()))
    if words and lines:
        best = max(lines, key=lambda line: len(words & set(_WORD.findall(line.casefold()))))
        if 2 * len(words & set(_WORD.findall(best.casefold()))) >= len(words):
            return [best]
    return list(lines[-_MOST_LINES:])


def _shown(lines: Sequence[str]) -> list[str]:
    return [line if len(line) <= _LINE else f"{line[: _LINE - 1]}…" for line in lines]
