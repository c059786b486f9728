"""Stores sessions in a project's memory: log, facts, questions, decisions, and the current state.

An import passes all its records at once, so that a hundred sessions cost one write of each file. Storing a session
twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from holdfast.briefing.lesson_proposals import learn, strong_stumbles
from holdfast.briefing.meaning import Meanings
from holdfast.briefing.projects import naming
from holdfast.core.errors import HoldfastError
from holdfast.language.own_words import own_words
from holdfast.memory.current import ActiveProject, Current, CurrentFile, Done, FileHint, settled_by_hand
from holdfast.memory.decisions import SessionPassages
from holdfast.memory.log import goal_line, log_entry, title_line
from holdfast.memory.merge import (
    Contradiction,
    doubt_question,
    find,
    is_passing,
    is_passing_question,
    merge,
    standing_rules,
)
from holdfast.memory.paraphrase import Meaning
from holdfast.memory.read import known_projects
from holdfast.memory.reference import KeptFact, Reference, says_something
from holdfast.memory.state import advance, did_something, open_items, to_minute, useful_checks
from holdfast.memory.store import MemoryStore, is_decided_since, retired_decisions
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Decision, Fact, FactCategory, Question
from holdfast.model.statement import statement_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

MOST_OPEN_QUESTIONS = 6
MOST_PROJECTS = 8
FEWEST_OWN = 2  # words of a question that says what it is about
LONGEST_CHOICE = 80  # characters of an answer; a longer one says more than what was asked
CAPTURE = "capture"
_WHEN = {  # when a reader needs a file of the memory
    "log.md": "asking why",
    "reference.md": "calling something (facts, decisions)",
    "open-questions.md": "asking the user",
    "archive": "the log is too short",
}
T = TypeVar("T", Fact, Decision, Question)

Groups = Mapping[str, Sequence[DistilledSession]]
"""Sessions by the project they belong to, oldest first."""


def remember(
    machine: Machine,
    project: Project,
    records: Sequence[DistilledSession],
    *,
    ended: bool = True,
    learns: bool = True,
) -> None:
    """Stores sessions. A running session changes only the state; its log entry is written when it ends.

    Without `learns` lessons stay as they are.
    """
    if not records:
        return
    ordered = sorted(records, key=lambda record: record.started or 0.0)
    groups: dict[str, list[DistilledSession]] = {}
    names = naming(machine, project)
    for record in ordered:
        groups.setdefault(names.of_session(record), []).append(record)
    now, group_name, meaning = machine.clock.seconds(), new_group(), Meanings()
    if ended:
        for name, group in groups.items():
            store = MemoryStore(project, name, clock=lambda: now, group=group_name)
            store.record(*(log_entry(record, now, open_items(record)) for record in group))
            # A host's own prompts (write a title, a commit message) decide nothing about the project.
            worked = [record for record in group if did_something(record)]
            store.record_passages(map(_passages, worked), CAPTURE)
            _keep_knowledge(store, worked, meaning)
    common = MemoryStore(project, names.default, clock=lambda: now, group=group_name)
    if ended and ((rules := standing_rules(ordered)) or not common.style_file.exists()):
        common.propose(rules, CAPTURE)
    if ended and learns:
        learn(machine, project, group_name)
    rewrite_current(common, groups, now)


def _passages(record: DistilledSession) -> SessionPassages:
    passages = tuple(replace(passage, session=record.session) for passage in record.passages)
    return SessionPassages(
        session=record.session,
        title=goal_line(record, 160),
        at=to_minute(record.ended or record.started),
        branch=record.branch,
        passages=passages,
    )


# --- facts, decisions, questions -----------------------------------------------------------------------


def _keep_knowledge(store: MemoryStore, records: Sequence[DistilledSession], meaning: Meaning) -> None:
    dismissed = store.dismissed()
    harvests = [record.harvest for record in records]
    # The evidence of a fact may have been redacted; without evidence it is not a fact.
    proven = [
        fact for harvest in harvests for fact in harvest.facts if fact.text.strip() and fact.evidence.strip()
    ]
    facts = _wanted(map(_date_fact, proven), dismissed)
    all_decisions = [decision for harvest in harvests for decision in harvest.decisions]
    decisions = _wanted((replace(item, at=to_minute(item.at)) for item in all_decisions), dismissed)
    decisions = _standing(store, decisions, meaning)
    questions = [
        replace(question, at=to_minute(question.at), answered_at=to_minute(question.answered_at))
        for harvest in harvests
        for question in harvest.questions
    ]
    doubts: list[Question] = []

    def with_new(reference: Reference) -> Reference:
        doubts.clear()  # this runs again if another process was faster
        known_facts = [entry.fact for entry in reference.facts if entry.retired_at is None]
        return Reference(
            facts=_merged_facts(reference.facts, useful_checks(facts, known_facts), meaning),
            decisions=_merged_decisions(reference.decisions, decisions, doubts, meaning),
        )

    if facts or decisions:
        store.change_facts(with_new, CAPTURE)
    all_questions = _wanted([*questions, *doubts], dismissed)
    if all_questions:
        store.change_questions(
            lambda known: _merged_questions(known, all_questions, dismissed, meaning), CAPTURE
        )


def _wanted(items: Iterable[T], dismissed: Collection[str]) -> list[T]:
    return [item for item in items if item.id not in dismissed]


def _standing(store: MemoryStore, decisions: list[Decision], meaning: Meaning) -> list[Decision]:
    """The decisions that were not retired, in the same or other words: rereading an old session repeats them."""
    given_up = retired_decisions(store) if decisions else []
    return [
        decision
        for decision in decisions
        if (earlier := find(given_up, decision.text, meaning) if given_up else None) is None
        or is_decided_since(decision, earlier)
    ]


def _date_fact(fact: Fact) -> Fact:
    """Dates a new fact by its evidence; `verified_at` is for when it is seen again."""
    return replace(fact, at=to_minute(fact.verified_at or fact.at), verified_at=None)


def _merged_facts(kept: Sequence[KeptFact], new: Sequence[Fact], meaning: Meaning) -> tuple[KeptFact, ...]:
    """Known facts keep their place and history. A fact that is seen again counts as verified again.

    The same command with another answer changes the fact. A retired fact stays retired.
    """
    facts = {entry.fact.id: entry for entry in kept}
    by_command = {asked: entry.fact.id for entry in kept if (asked := _asked_by(entry.fact))}
    groups = merge([*(entry.fact for entry in kept), *new], meaning, len(kept)).merged
    first_ids = {source.id: group.sources[0].id for group in groups for source in group.sources}
    for fact in new:
        place = first_ids[fact.id] if first_ids[fact.id] in facts else fact.id
        previous, asked = facts.get(place), _asked_by(fact)
        if previous is None and asked and asked in by_command:
            place = by_command[asked]
            previous = facts[place]
            if previous.retired_at is None and previous.fact.id != fact.id:
                facts[place] = replace(previous, fact=fact, was=(previous.fact, *previous.was))
        elif previous is None:
            facts[place] = KeptFact(fact=fact)
        elif previous.retired_at is None:
            facts[place] = replace(previous, fact=_seen_again(previous.fact, fact))
        if asked:
            by_command.setdefault(asked, place)
    return tuple(facts.values())


def _asked_by(fact: Fact) -> str:
    """What a fact is the answer to, where the answer may change: a version, a value that a command gives; else ''."""
    if fact.category == FactCategory.ENVIRONMENT:
        return fact.command
    return fact.text.rpartition(" ")[0] if fact.text.startswith("`") and "` gives " in fact.text else ""


def _seen_again(fact: Fact, again: Fact) -> Fact:
    last = max(fact.verified_at or fact.at or 0, again.at or 0)
    return fact if last <= (fact.at or 0) else replace(fact, verified_at=last)


def _merged_decisions(
    known: Sequence[Decision], new: Sequence[Decision], doubts: list[Question], meaning: Meaning
) -> tuple[Decision, ...]:
    merging = merge([*known, *new], meaning, len(known))
    doubts += _doubts(merging.contradictions, {decision.id for decision in new})
    return tuple(group.item for group in merging.merged)


def _merged_questions(
    known: Sequence[Question], new: Sequence[Question], dismissed: Collection[str], meaning: Meaning
) -> list[Question]:
    """Each question once, with its newest answer. An older answer that differs raises a new question."""
    merging = merge([*known, *new], meaning, len(known))
    fresh = {(question.id, question.answer) for question in new}
    questions = {group.item.id: group.item for group in merging.merged}
    for clash in merging.contradictions:
        first, second = clash.one, clash.other
        if not {(first.id, first.answer), (second.id, second.answer)} & fresh:
            continue
        if not _asks_about_one_thing(first) or not _asks_about_one_thing(second):
            continue
        text = f"“{first.text}” was answered “{first.answer}”, then “{second.answer}”: which holds?"
        doubt = Question(text=text, session=second.session, at=second.answered_at or second.at)
        if doubt.id not in dismissed:
            questions.setdefault(doubt.id, doubt)
    return list(questions.values())


def _asks_about_one_thing(question: Question) -> bool:
    """Whether an answer still holds later, and is one: the question names its subject, and the answer is a choice."""
    if is_passing_question(question.text) or len(own_words(question.text)) < FEWEST_OWN:
        return False
    return len(question.answer) <= LONGEST_CHOICE and "?" not in question.answer


def _doubts(clashes: Iterable[Contradiction[Decision]], new: Collection[str]) -> list[Question]:
    """Questions about which of two decisions holds. Temporary decisions are left out: plans change all the time."""
    return [
        doubt_question(clash.one, clash.other)
        for clash in clashes
        if {clash.one.id, clash.other.id} & {*new}
        and not any(is_passing(statement_of(decision)) for decision in (clash.one, clash.other))
    ]


# --- state ---------------------------------------------------------------------------------------------


def rewrite_current(
    store: MemoryStore, groups: Groups, now: float, reason: str = CAPTURE, *, received: bool = False
) -> None:
    """Updates `current.md` from these sessions and from the other files.

    What sessions of another machine left open was received as items of their own: `received` takes none from them.
    """
    project = store.project
    names = sorted({*known_projects(project), *groups})
    stores = [MemoryStore(project, name) for name in names]
    main_project = project.title
    records = [
        ("" if name == main_project else name, record) for name, group in groups.items() for record in group
    ]
    dismissed = store.dismissed()
    stumbles = strong_stumbles(project, now, dismissed)
    ticked: list[str] = []

    def rewritten(file: CurrentFile) -> Current:
        ticked[:] = [item.id for item in file.ticked]
        ticked_items = [
            Done(text=item.text, branch=item.branch, project=item.project, at=to_minute(now))
            for item in file.ticked
        ]
        previous = replace(file.current, done=(*file.current.done, *ticked_items))
        state = advance(previous, records, {*dismissed, *ticked, *settled_by_hand(file.document)})
        if received:
            by_hand = tuple(step for step in previous.next if step.by)
            derived = tuple(step for step in state.next if not step.by)
            state = replace(state, todo=previous.todo, closed=previous.closed, next=(*by_hand, *derived))
        return replace(
            state,
            questions=_open_questions(stores),
            stumbles=stumbles,
            projects=_active(previous.projects, groups),
            files=_index(stores),
        )

    store.change_current(rewritten, reason)
    if ticked:
        store.dismiss(*ticked)


def _open_questions(stores: Sequence[MemoryStore]) -> tuple[Question, ...]:
    questions = [
        replace(question, project="" if store.name == store.project.title else store.name)
        for store in stores
        for question in store.questions().questions
        if question.open
    ]
    return tuple(sorted(questions, key=lambda question: -(question.at or 0))[:MOST_OPEN_QUESTIONS])


def _active(before: Sequence[ActiveProject], groups: Groups) -> tuple[ActiveProject, ...]:
    """Projects, the last active first, each with its last goal and outcome."""
    active = {entry.name: entry for entry in before}
    for name, group in groups.items():
        attended = [record for record in group if not record.headless and did_something(record)]
        previous = active.get(name)
        if not attended or (previous and (previous.at or 0) > (attended[-1].ended or 0)):
            continue
        last = attended[-1]
        active[name] = ActiveProject(
            name=name,
            status=f"{title_line(last, 100).rstrip('.')} ({last.outcome})",
            branch=last.branch,
            pointers=(f"projects/{name}/log.md",),
            at=to_minute(last.ended),
        )
    return tuple(sorted(active.values(), key=lambda entry: -(entry.at or 0))[:MOST_PROJECTS])


def _is_agreed(store: MemoryStore) -> bool:
    """Whether a person has written into style.md. True if it cannot be read, so that the reader looks at it."""
    try:
        return says_something(store.style())
    except HoldfastError:
        return True


def _index(stores: Sequence[MemoryStore]) -> tuple[FileHint, ...]:
    """Which file to load when; only existing files are listed."""
    hints = []
    for store in stores:
        places = (store.log_file, store.reference_file, store.questions_file, store.archive_folder)
        for path in places:
            if path.exists():
                name = path.relative_to(store.project.memory).as_posix()
                hints.append(FileHint(path=name + ("/" if path.is_dir() else ""), when=_WHEN[path.name]))
    if stores and _is_agreed(stores[0]):
        hints.append(FileHint(path="style.md", when="writing"))
    return tuple(hints)
