"""Questions by hand: answered from the record where it answers them, else kept open until somebody does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.briefing.search import search
from holdfast.core.likeness import Likeness, compare
from holdfast.flows.notes import (
    LONGEST,
    by_id,
    given_text,
    is_id,
    moment,
    optional_text,
    reading,
    speaker,
    writing,
)
from holdfast.flows.remember import rewrite_current
from holdfast.memory.merging import Contradiction, contradicting, doubt, doubted, find
from holdfast.memory.paraphrase import Answers, answering, asks_for, reply
from holdfast.memory.reference import QuestionsFile, Reference, ReferenceFile
from holdfast.memory.store import MemoryStore, record_answer
from holdfast.model.memory import Decision, Fact, Owner, Question
from holdfast.search import FLOOR
from holdfast.store.machine import Machine

LISTING = "holdfast questions"
OFFER_FLOOR = FLOOR + 0.15  # what is offered must be nearer than what a search lists
_LOOKED_AT = 12
_MOST_OFFERED = 3


class Offered(Struct, frozen=True, kw_only=True):
    """Something in the record that is near to a question and perhaps answers it."""

    id: str
    text: str
    at: float | None = None
    session: str = ""
    source: str = ""


class Reply(Struct, frozen=True, kw_only=True):
    """What the record says to a question. `recorded`: it is new and was kept; `open`: nobody has answered yet;
    `closed`: a person ticked its box without an answer, so it is not to be asked."""

    question: str
    status: Literal["answered", "open", "recorded", "closed"]
    id: str = ""
    answer: str = ""
    by: Owner = ""
    at: float | None = None
    session: str = ""
    source: str = ""  # the file that says so, from the memory's folder
    against: tuple[
        Decision | Fact, ...
    ] = ()  # what stands in the record beside the answer and contradicts it
    perhaps: tuple[Offered, ...] = ()  # without an answer: what is near


class Closed(Struct, frozen=True):
    """A question with its answer, and the answer that it had before when that was another one."""

    question: Question
    status: Literal["answered", "recorded", "unchanged"]
    before: Question | None = None


def read_questions(machine: Machine) -> QuestionsFile:
    return reading(machine).questions()


# --- asking --------------------------------------------------------------------------------------------


def ask(machine: Machine, text: str, *, record: bool = True) -> Reply:
    """The answer, if the record has it; else the question is kept open, unless `record` is False."""
    asked = given_text(machine, text, "the question", "holdfast ask TEXT")
    store, meaning = reading(machine), Meanings()
    found = _from_record(store, asked, meaning)
    if found is not None and found.status == "answered":
        return found
    perhaps = found.perhaps if found is not None else ()
    if record:  # searching brings the index up to date, and who only looks writes nothing
        perhaps = perhaps or _near(machine, store, asked)
        return replace(_keep_open(machine, asked), perhaps=perhaps)
    known = _same(read_questions(machine).questions, asked, meaning)
    open_reply = _as_before(asked, known) if known else Reply(question=asked, status="open")
    return replace(open_reply, perhaps=perhaps)


def count_answer(machine: Machine, reply: Reply) -> None:
    """Remember that the record answered: that is what memory is measured by."""
    record_answer(machine.project(), reply.id, machine.now().timestamp())


def _from_record(store: MemoryStore, asked: str, meaning: Meanings) -> Reply | None:
    """The answer; what perhaps is one; or None."""
    answered = [question for question in store.questions().questions if question.answer]
    if question := _same(answered, asked, meaning):
        return Reply(
            question=asked,
            status="answered",
            id=question.id,
            answer=question.answer,
            by=question.by,
            at=question.answered_at if question.answered_at is not None else question.at,
            session=question.session,
            source=_place(store, "open-questions.md"),
        )
    reference = store.facts().reference
    standing = [kept.fact for kept in reference.facts if kept.retired_at is None]
    statements: list[Decision | Fact] = [*reference.decisions, *standing]
    exact = answering(asked, statements)
    found: Answers[Decision | Fact]
    found = Answers(sure=exact[0]) if exact else reply(asked, statements, meaning)
    best = found.sure
    if best is None:
        offered = tuple(_offered(store, statement) for statement in found.perhaps)
        return Reply(question=asked, status="open", perhaps=offered) if offered else None
    clashes = (
        contradicting(reference.decisions, best, meaning)
        if isinstance(best, Decision)
        else contradicting(standing, best, meaning)
    )
    return Reply(
        question=asked,
        status="answered",
        id=best.id,
        answer=_said(best),
        by=best.by if isinstance(best, Decision) else "",
        at=_when(best),
        session=best.session,
        source=_place(store, "reference.md"),
        against=tuple(clash.one for clash in clashes),
    )


def _when(statement: Decision | Fact) -> float | None:
    if isinstance(statement, Fact) and statement.verified_at is not None:
        return statement.verified_at
    return statement.at


def _offered(store: MemoryStore, statement: Decision | Fact) -> Offered:
    return Offered(
        id=statement.id,
        text=_said(statement),
        at=_when(statement),
        session=statement.session,
        source=_place(store, "reference.md"),
    )


def _near(machine: Machine, store: MemoryStore, asked: str) -> tuple[Offered, ...]:
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
    reference = store.facts().reference
    said: dict[str, Decision | Fact] = {decision.id: decision for decision in reference.decisions}
    said |= {kept.fact.id: kept.fact for kept in reference.facts if kept.retired_at is None}
    answers = {question.id: question for question in store.questions().questions if question.answer}
    found: list[Offered] = []
    for hit in hits:
        if statement := said.get(hit.id):
            found.append(_offered(store, statement))
        elif question := answers.get(hit.id):
            text = f"{question.text} {question.answer}"
            at = question.answered_at if question.answered_at is not None else question.at
            source = _place(store, "open-questions.md")
            found.append(Offered(id=hit.id, text=text, at=at, session=question.session, source=source))
    return tuple(found[:_MOST_OFFERED])


def _place(store: MemoryStore, file: str) -> str:
    return f"projects/{store.name}/{file}"


def _said(statement: Decision | Fact) -> str:
    if isinstance(statement, Decision) and statement.rationale:
        return f"{statement.text} (because {statement.rationale})"
    return statement.text


def _same(questions: Sequence[Question], asked: str, meaning: Meanings) -> Question | None:
    """The question in the same words, else in others; of several the last."""
    wanted = Question(text=asked).id
    exact = [question for question in questions if question.id == wanted]
    kind = asks_for(asked)
    return exact[-1] if exact else find([q for q in questions if asks_for(q.text) == kind], asked, meaning)


def _keep_open(machine: Machine, asked: str) -> Reply:
    new = Question(text=asked, at=moment(machine))
    told: list[Reply] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        known = _same(questions, asked, Meanings())
        if known is None:
            told.append(Reply(question=asked, status="recorded", id=new.id, at=new.at))
            return (*questions, new)
        told.append(_as_before(asked, known))
        return questions

    with writing(machine) as store:
        if store.change_questions(rewrite, "ask"):
            _show_open(machine, store, "ask")
    return replace(told[-1], source=_place(store, "open-questions.md"))


def _show_open(machine: Machine, store: MemoryStore, reason: str) -> None:
    """The state lists open questions: it must not wait for the next capture to be right."""
    rewrite_current(store, {}, moment(machine), reason)


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
    now = moment(machine)

    def rewrite(known: tuple[Question, ...]) -> Iterable[Question]:
        there = out | {question.id for question in known}
        yield from known
        for clash in clashes:
            asked = replace(doubt(clash.one, clash.other), at=now)
            if not {asked.id, doubt(clash.other, clash.one).id} & there:
                yield asked

    if clashes and store.change_questions(rewrite, reason):
        _show_open(machine, store, reason)


def settle_doubts(machine: Machine, store: MemoryStore, gone: str, reason: str) -> None:
    """What was retired holds no longer: questions whether it does are answered."""
    now, who = moment(machine), speaker(machine)

    def settled(question: Question) -> Question:
        if not (question.open and doubted(question, gone)):
            return question
        return replace(question, answer=f"{gone} was retired", by=who, answered_at=now)

    asked = any(question.open and doubted(question, gone) for question in store.questions().questions)
    if asked and store.change_questions(lambda known: map(settled, known), reason):
        _show_open(machine, store, reason)


# --- answering -----------------------------------------------------------------------------------------


def answer(machine: Machine, wanted: str, text: str, by: Owner = "") -> Closed:
    """Close a question, named by its id or its words; one that nobody had asked is kept with its answer."""
    asked = given_text(machine, wanted, "the question", "holdfast answer ID ANSWER")
    said = given_text(machine, text, "the answer", "holdfast answer ID ANSWER")
    who, now = by or speaker(machine), moment(machine)
    _wanted(read_questions(machine).questions, asked)  # an unknown id prepares nothing
    told: list[Closed] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        known = _wanted(questions, asked)
        if known is None:
            new = Question(text=asked, answer=said, by=who, at=now, answered_at=now)
            told.append(Closed(new, "recorded"))
            return (*questions, new)
        if known.answer and compare(known.answer, said).likeness is Likeness.SAME:
            told.append(Closed(known, "unchanged"))
            return questions
        closed = replace(known, answer=said, by=who, answered_at=now, closed=False)
        told.append(Closed(closed, "answered", known if known.answer else None))
        return tuple(closed if question.id == known.id else question for question in questions)

    with writing(machine) as store:
        if store.change_questions(rewrite, "answer"):
            _show_open(machine, store, "answer")
    return told[-1]


def _wanted(questions: Sequence[Question], named: str) -> Question | None:
    if is_id(named):
        return by_id(named, questions, lambda question: question.id, "question", LISTING)
    return _same(questions, named, Meanings())


# Decisions by hand: into the register of reference.md, once each; earlier ones that they contradict stay.

DECISION_LISTING = "holdfast decide --list"
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
    gone = _wanted_decision(
        read_decisions(machine).reference.decisions, wanted
    )  # an unknown id prepares nothing

    def rewrite(reference: Reference) -> Reference:
        left = tuple(decision for decision in reference.decisions if decision.id != gone.id)
        return replace(reference, decisions=left)

    with writing(machine) as store:
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
