"""Questions by hand: answered from the record where it answers them, else kept open until a person or an agent does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.briefing.search import search
from holdfast.core.likeness import Likeness, asks_for, compare
from holdfast.flows.notes import (
    LONGEST,
    by_id,
    given_text,
    is_id,
    memory_here,
    memory_to_change,
    optional_text,
    speaker,
    this_second,
)
from holdfast.flows.remember import rewrite_current
from holdfast.memory.merge import Contradiction, contradicting, doubt_question, find, is_doubt_about
from holdfast.memory.paraphrase import Answers, answering, reply
from holdfast.memory.read import ProjectMemory
from holdfast.memory.reference import QuestionsFile, Reference, ReferenceFile
from holdfast.memory.store import MemoryStore, record_answer
from holdfast.model.memory import Decision, Fact, Owner, Question
from holdfast.model.statement import Statement, statement_of
from holdfast.search import FLOOR
from holdfast.store.machine import Machine

LISTING = "holdfast questions"
OFFER_FLOOR = FLOOR + 0.15  # what is offered must be nearer than what a search lists
_LOOKED_AT = 12
_MOST_OFFERED = 3


class Reply(Struct, frozen=True, kw_only=True):
    """What the record says to a question. `recorded`: it is new and was kept; `open`: it has no answer yet;
    `closed`: a person ticked its box without an answer, so it is not to be asked."""

    question: str
    status: Literal["answered", "open", "recorded", "closed"]
    id: str = ""
    answer: str = ""
    by: str = ""
    at: float | None = None
    session: str = ""
    source: str = ""  # the file that says so, from the memory's folder
    against: tuple[
        Decision | Fact, ...
    ] = ()  # what stands in the record beside the answer and contradicts it
    perhaps: tuple[Statement, ...] = ()  # without an answer: what is near, with its whole text and source


class ClosedQuestion(Struct, frozen=True):
    """A question with its answer, and the answer that it had before when that was another one."""

    question: Question
    status: Literal["answered", "recorded", "unchanged"]
    before: Question | None = None


def read_questions(machine: Machine) -> QuestionsFile:
    return memory_here(machine).questions()


# --- asking --------------------------------------------------------------------------------------------


def ask(machine: Machine, text: str, *, record: bool = True) -> Reply:
    """The answer, if the record has it; else the question is kept open, unless `record` is False."""
    asked = given_text(machine, text, "the question", "holdfast ask TEXT")
    store, meaning = memory_here(machine), Meanings()
    memory = ProjectMemory(store.project, store.name, strict=True)
    found = _from_record(memory, asked, meaning)
    if found.status == "answered":
        return found
    if record:  # searching brings the index up to date, and a caller that only looks writes nothing
        perhaps = found.perhaps or _near(machine, store, memory, asked)
        return replace(_keep_open(machine, asked), perhaps=perhaps)
    known = _same(read_questions(machine).questions, asked, meaning)
    return replace(_as_before(asked, known), perhaps=found.perhaps) if known else found


def count_answer(machine: Machine, reply: Reply) -> None:
    """Remember that the record answered: that is what memory is measured by."""
    record_answer(machine.project(), reply.id, machine.now().timestamp())


def _from_record(memory: ProjectMemory, asked: str, meaning: Meanings) -> Reply:
    """The answer, or what perhaps is one."""
    answered = [question for _, question in memory.questions() if question.answer]
    if question := _same(answered, asked, meaning):
        return _answer(asked, statement_of(question, memory.name, "open-questions.md"))
    statements = _register(memory)
    exact = answering(asked, statements)
    found = Answers(sure=exact[0]) if exact else reply(asked, statements, meaning)
    if (best := found.sure) is None:
        return Reply(question=asked, status="open", perhaps=tuple(map(_offered, found.perhaps)))
    rivals: list[Decision | Fact] = []
    for _, reference in memory.references():
        facts = [kept.fact for kept in reference.facts if kept.retired_at is None]
        rivals += reference.decisions if best.kind == "decision" else facts
    said = next(item for item in rivals if item.id == best.id)
    against = tuple(clash.one for clash in contradicting(rivals, said, meaning))
    return replace(_answer(asked, best), against=against)


def _register(memory: ProjectMemory) -> list[Statement]:
    """Decisions, then the facts that were not retired."""
    standing = [said for said in memory.statements("decision", "fact") if said.status != "retired"]
    return sorted(standing, key=lambda said: said.kind != "decision")


def _answer(asked: str, said: Statement) -> Reply:
    shown = _offered(said)
    return Reply(
        question=asked,
        status="answered",
        id=said.id,
        answer=said.text if said.kind == "answer" else shown.text,
        by=said.who,
        at=said.at,
        session=said.session,
        source=shown.source,
    )


def _offered(said: Statement) -> Statement:
    """With all that a person is shown: an answer behind its question, a decision with its reason."""
    text = f"{said.subject} {said.text}" if said.kind == "answer" else said.text
    text = f"{text} (because {said.reason})" if said.reason else text
    return replace(said, text=text, source=_place(said.project, said.source))


def _near(machine: Machine, store: MemoryStore, memory: ProjectMemory, asked: str) -> tuple[Statement, ...]:
    """What search finds for the question, above its floor: answered questions, and what stands in the register."""
    hits = search(
        machine,
        store.project,
        asked,
        _LOOKED_AT,
        ("fact", "question", "history"),
        name=store.name,
        floor=OFFER_FLOOR,
    )
    said = {one.id: one for one in (*memory.statements("answer"), *_register(memory)) if one.text}
    return tuple(_offered(said[hit.id]) for hit in hits if hit.id in said)[:_MOST_OFFERED]


def _place(project: str, file: str) -> str:
    return f"projects/{project}/{file}"


def _same(questions: Sequence[Question], asked: str, meaning: Meanings) -> Question | None:
    """The question in the same words, else in others; of several the last."""
    wanted = Question(text=asked).id
    exact = [question for question in questions if question.id == wanted]
    kind = asks_for(asked)
    return exact[-1] if exact else find([q for q in questions if asks_for(q.text) == kind], asked, meaning)


def _keep_open(machine: Machine, asked: str) -> Reply:
    new = Question(text=asked, at=this_second(machine))
    told: list[Reply] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        known = _same(questions, asked, Meanings())
        if known is None:
            told.append(Reply(question=asked, status="recorded", id=new.id, at=new.at))
            return (*questions, new)
        told.append(_as_before(asked, known))
        return questions

    with memory_to_change(machine) as store:
        if store.change_questions(rewrite, "ask"):
            _show_open(machine, store, "ask")
    return replace(told[-1], source=_place(store.name, "open-questions.md"))


def _show_open(machine: Machine, store: MemoryStore, reason: str) -> None:
    """The state lists open questions: it must not wait for the next capture to be right."""
    rewrite_current(store, {}, this_second(machine), reason)


def _as_before(asked: str, known: Question) -> Reply:
    """What there is to say of a question that was asked before and has no answer."""
    status: Literal["open", "closed"] = "open" if known.open else "closed"
    return Reply(question=asked, status=status, id=known.id, at=known.at, session=known.session)


# --- what contradicts ----------------------------------------------------------------------------------


def ask_which_holds(
    machine: Machine,
    store: MemoryStore,
    clashes: Sequence[Contradiction[Decision]] | Sequence[Contradiction[Fact]],
    reason: str,
) -> None:
    """Keep an open question for each contradiction, as a capture does; the same doubt is one question."""
    out = store.dismissed()
    now = this_second(machine)

    def rewrite(known: tuple[Question, ...]) -> Iterable[Question]:
        there = out | {question.id for question in known}
        yield from known
        for clash in clashes:
            asked = replace(doubt_question(clash.one, clash.other), at=now)
            if not {asked.id, doubt_question(clash.other, clash.one).id} & there:
                yield asked

    if clashes and store.change_questions(rewrite, reason):
        _show_open(machine, store, reason)


def settle_doubts(machine: Machine, store: MemoryStore, gone: str, reason: str) -> None:
    """What was retired holds no longer: questions whether it does are answered."""
    now, who = this_second(machine), speaker(machine)

    def settled(question: Question) -> Question:
        if not (question.open and is_doubt_about(question, gone)):
            return question
        return replace(question, answer=f"{gone} was retired", by=who, answered_at=now)

    asked = any(question.open and is_doubt_about(question, gone) for question in store.questions().questions)
    if asked and store.change_questions(lambda known: map(settled, known), reason):
        _show_open(machine, store, reason)


# --- answering -----------------------------------------------------------------------------------------


def answer(machine: Machine, wanted: str, text: str, by: Owner = "") -> ClosedQuestion:
    """Close a question, named by its id or its words; a new question is kept with its answer."""
    asked = given_text(machine, wanted, "the question", "holdfast answer ID ANSWER")
    said = given_text(machine, text, "the answer", "holdfast answer ID ANSWER")
    who, now = by or speaker(machine), this_second(machine)
    _wanted(read_questions(machine).questions, asked)  # an unknown id prepares nothing
    told: list[ClosedQuestion] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        known = _wanted(questions, asked)
        if known is None:
            new = Question(text=asked, answer=said, by=who, at=now, answered_at=now)
            told.append(ClosedQuestion(new, "recorded"))
            return (*questions, new)
        if known.answer and compare(known.answer, said).likeness is Likeness.SAME:
            told.append(ClosedQuestion(known, "unchanged"))
            return questions
        closed = replace(known, answer=said, by=who, answered_at=now, closed=False)
        told.append(ClosedQuestion(closed, "answered", known if known.answer else None))
        return tuple(closed if question.id == known.id else question for question in questions)

    with memory_to_change(machine) as store:
        if store.change_questions(rewrite, "answer"):
            _show_open(machine, store, "answer")
    return told[-1]


def _wanted(questions: Sequence[Question], named: str) -> Question | None:
    if is_id(named):
        return by_id(named, questions, lambda question: question.id, "question", LISTING)
    return _same(questions, named, Meanings())


# --- decisions -----------------------------------------------------------------------------------------

DECISION_LISTING = "holdfast decide --list"
RETIRE = "decide retire"


class DecisionChange(Struct, frozen=True):
    """What became of a decision that was given, and which earlier ones say otherwise."""

    decision: Decision
    status: Literal["recorded", "merged"]
    contradictions: tuple[Contradiction[Decision], ...] = ()


def read_decisions(machine: Machine) -> ReferenceFile:
    return memory_here(machine).facts()


def decide(machine: Machine, text: str, because: str | None = None, by: Owner = "") -> DecisionChange:
    new = Decision(
        text=given_text(machine, text, "the decision", "holdfast decide TEXT --because WHY"),
        rationale=optional_text(machine, because, "the reason"),
        by=by or speaker(machine),
        at=this_second(machine),
    )
    told: list[DecisionChange] = []
    meaning = Meanings()

    def rewrite(reference: Reference) -> Reference:
        known = _known(reference.decisions, new, meaning)
        if known is None:
            after = (*reference.decisions, new)
            told.append(DecisionChange(new, "recorded", contradicting(reference.decisions, new, meaning)))
        else:
            merged = replace(known, rationale=_reasons(known, new), by=known.by or new.by)
            after = tuple(merged if decision is known else decision for decision in reference.decisions)
            told.append(DecisionChange(merged, "merged", contradicting(reference.decisions, merged, meaning)))
        return replace(reference, decisions=after)

    with memory_to_change(machine) as store:
        store.change_facts(rewrite, "decide")
        ask_which_holds(machine, store, told[-1].contradictions, "decide")
    return told[-1]


def retire(machine: Machine, wanted: str) -> Decision:
    """Take a decision out of the register; sessions that made it do not bring it back. The version before is kept."""
    gone = _wanted_decision(
        read_decisions(machine).reference.decisions, wanted
    )  # an unknown id prepares nothing

    def rewrite(reference: Reference) -> Reference:
        left = tuple(decision for decision in reference.decisions if decision.id != gone.id)
        return replace(reference, decisions=left)

    with memory_to_change(machine) as store:
        store.change_facts(rewrite, RETIRE)
        store.dismiss(gone.id)
        settle_doubts(machine, store, gone.id, RETIRE)
    return gone


def _wanted_decision(decisions: Sequence[Decision], wanted: str) -> Decision:
    return by_id(wanted, decisions, lambda decision: decision.id, "decision", DECISION_LISTING)


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
