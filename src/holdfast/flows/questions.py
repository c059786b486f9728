"""Questions and decisions given on the command line: `ask` answers from the record, or keeps the question open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.briefing.replaced import replaced_passages
from holdfast.core.likeness import OPEN, Likeness, asks_for, compare
from holdfast.flows.notes import (
    LONGEST,
    given_text,
    memory_here,
    memory_to_change,
    optional_text,
    speaker,
    this_second,
)
from holdfast.memory.decisions import is_passage, shown_text
from holdfast.memory.ids import by_id, every_decision, find_decision, is_id
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
OFFER_FLOOR = FLOOR + 0.15  # an offered statement must be closer than a search result
_LOOKED_AT = 12
_MOST_OFFERED = 3


class Reply(Struct, frozen=True, kw_only=True):
    """The record's reply to a question. `recorded`: the question is new and was stored; `open`: it has no answer yet;
    `closed`: a person ticked its box without an answer, so it should not be asked."""

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
    """A question with its answer, and the question as it was before if its answer has changed."""

    question: Question
    status: Literal["answered", "recorded", "unchanged"]
    before: Question | None = None


def read_questions(machine: Machine) -> QuestionsFile:
    return memory_here(machine).questions()


# --- asking --------------------------------------------------------------------------------------------


def ask(machine: Machine, text: str, *, record: bool = True) -> Reply:
    """Answers from the record. Without an answer the question is kept open, unless `record` is False."""
    asked = given_text(machine, text, "the question", "holdfast ask TEXT")
    store, meaning = memory_here(machine), Meanings()
    memory = ProjectMemory(store.project, store.name, strict=True)
    answered = _from_record(memory, asked, meaning)
    if answered.status == "answered":
        return answered
    if record:  # a search updates the index, and a caller that only reads must not write
        perhaps = answered.perhaps or _near(machine, store, memory, asked)
        return replace(_keep_open(machine, asked), perhaps=perhaps)
    earlier = _same(read_questions(machine).questions, asked, meaning)
    return replace(_as_before(asked, earlier), perhaps=answered.perhaps) if earlier else answered


def count_answer(machine: Machine, reply: Reply) -> None:
    """Count an answer from the record: the benefit of memory is measured by these."""
    record_answer(machine.project(), reply.id, machine.now().timestamp())


def _from_record(memory: ProjectMemory, asked: str, meaning: Meanings) -> Reply:
    """The answer, or the statements that may be one."""
    answered = [question for _, question in memory.questions() if question.answer]
    if question := _same(answered, asked, meaning):
        return _answer(asked, statement_of(question, memory.name, "open-questions.md"))
    statements = _register(memory)
    exact = answering(asked, statements)
    answers = Answers(sure=exact[0]) if exact else reply(asked, statements, meaning)
    if (best := answers.sure) is None:
        return Reply(question=asked, status="open", perhaps=tuple(map(_offered, answers.perhaps)))
    rivals: list[Decision | Fact] = []
    for _, reference in memory.references():
        facts = [known_fact.fact for known_fact in reference.facts if known_fact.retired_at is None]
        rivals += reference.decisions if best.kind == "decision" else facts
    statement = next(item for item in rivals if item.id == best.id)
    against = tuple(clash.one for clash in contradicting(rivals, statement, meaning))
    return replace(_answer(asked, best), against=against)


def because(machine: Machine, reply: Reply, nearest: Sequence[str]) -> Reply:
    """The answer to a why-question that has only lines so far: the best of them, if it is a decision with a reason.

    `nearest` are the ids of those lines, the best first.
    """
    opened = OPEN.match(reply.question)
    if reply.status != "open" or opened is None or opened[1].casefold() != "why":
        return reply
    store = memory_here(machine)
    memory = ProjectMemory(store.project, store.name, strict=True)
    known = {said.id: said for said in every_decision(memory) if said.status == "agreed"}
    best = next((id for id in [*(near.id for near in reply.perhaps), *nearest] if id), "")
    said = known.get(best)
    return _answer(reply.question, said) if said is not None and said.reason else reply


def _register(memory: ProjectMemory) -> list[Statement]:
    """Decisions, then the facts that were not retired."""
    statements = [item for item in memory.register("decision", "fact") if item.status != "retired"]
    return sorted(statements, key=lambda said: said.kind != "decision")


def _answer(asked: str, said: Statement) -> Reply:
    offer = _offered(said)
    return Reply(
        question=asked,
        status="answered",
        id=said.id,
        answer=said.text if said.kind == "answer" else offer.text,
        by=said.who,
        at=said.at,
        session=said.session,
        source=offer.source,
    )


def _offered(said: Statement) -> Statement:
    """The statement as it is displayed: an answer after its question, a decision with its reason."""
    if is_passage(said):
        text = shown_text(said)
    else:
        text = f"{said.subject} {said.text}" if said.kind == "answer" else said.text
        text = f"{text} (because {said.reason})" if said.reason else text
    return replace(said, text=text, source=_place(said.project, said.source))


def _near(machine: Machine, store: MemoryStore, memory: ProjectMemory, asked: str) -> tuple[Statement, ...]:
    """Search results for the question above the floor: answered questions, decisions, facts and agreed passages."""
    from holdfast.briefing.search import search

    hits = search(
        machine,
        store.project,
        asked,
        _LOOKED_AT,
        ("fact", "question", "history", "decision"),
        name=store.name,
        floor=OFFER_FLOOR,
    )
    replaced = replaced_passages(store.project, memory, {hit.session for hit in hits if hit.session})
    passages = (
        said for said in memory.passage_statements() if said.status == "agreed" and said.id not in replaced
    )
    statements = {
        statement.id: statement
        for statement in (*passages, *memory.register("answer"), *_register(memory))
        if statement.text
    }
    return tuple(_offered(statements[hit.id]) for hit in hits if hit.id in statements)[:_MOST_OFFERED]


def _place(project: str, file: str) -> str:
    return f"projects/{project}/{file}"


def _same(questions: Sequence[Question], asked: str, meaning: Meanings) -> Question | None:
    """The question with the same words, else one with the same meaning; the last one if there are several."""
    question_id = Question(text=asked).id
    exact = [question for question in questions if question.id == question_id]
    kind = asks_for(asked)
    return exact[-1] if exact else find([q for q in questions if asks_for(q.text) == kind], asked, meaning)


def _keep_open(machine: Machine, asked: str) -> Reply:
    new_question = Question(text=asked, at=this_second(machine))
    replies: list[Reply] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        earlier = _same(questions, asked, Meanings())
        if earlier is None:
            replies.append(Reply(question=asked, status="recorded", id=new_question.id, at=new_question.at))
            return (*questions, new_question)
        replies.append(_as_before(asked, earlier))
        return questions

    with memory_to_change(machine) as store:
        if store.change_questions(rewrite, "ask"):
            _show_open(machine, store, "ask")
    return replace(replies[-1], source=_place(store.name, "open-questions.md"))


def _show_open(machine: Machine, store: MemoryStore, reason: str) -> None:
    """current.md lists open questions: update it now, without waiting for the next capture."""
    from holdfast.flows.remember import rewrite_current

    rewrite_current(store, {}, this_second(machine), reason)


def _as_before(asked: str, known: Question) -> Reply:
    """The reply to a question that was asked before and has no answer."""
    status: Literal["open", "closed"] = "open" if known.open else "closed"
    return Reply(question=asked, status=status, id=known.id, at=known.at, session=known.session)


# --- contradictions ------------------------------------------------------------------------------------


def ask_which_holds(
    machine: Machine,
    store: MemoryStore,
    clashes: Sequence[Contradiction[Decision]] | Sequence[Contradiction[Fact]],
    reason: str,
) -> None:
    """Record an open question for each contradiction, as a capture does; the same doubt is recorded once."""
    out = store.dismissed()
    now = this_second(machine)

    def rewrite(known: tuple[Question, ...]) -> Iterable[Question]:
        recorded = out | {question.id for question in known}
        yield from known
        for clash in clashes:
            doubt = replace(doubt_question(clash.one, clash.other), at=now)
            if not {doubt.id, doubt_question(clash.other, clash.one).id} & recorded:
                yield doubt

    if clashes and store.change_questions(rewrite, reason):
        _show_open(machine, store, reason)


def settle_doubts(machine: Machine, store: MemoryStore, gone: str, reason: str) -> None:
    """Answer the open questions about whether a statement holds: it was retired."""
    now, who = this_second(machine), speaker(machine)

    def settled(question: Question) -> Question:
        if not (question.open and is_doubt_about(question, gone)):
            return question
        return replace(question, answer=f"{gone} was retired", by=who, answered_at=now)

    has_doubts = any(
        question.open and is_doubt_about(question, gone) for question in store.questions().questions
    )
    if has_doubts and store.change_questions(lambda known: map(settled, known), reason):
        _show_open(machine, store, reason)


# --- answering -----------------------------------------------------------------------------------------


def answer(machine: Machine, wanted: str, text: str, by: Owner = "") -> ClosedQuestion:
    """Close a question, given by its id or its words. A new question is recorded with its answer."""
    asked = given_text(machine, wanted, "the question", "holdfast note answer ID ANSWER")
    reply_text = given_text(machine, text, "the answer", "holdfast note answer ID ANSWER")
    who, now = by or speaker(machine), this_second(machine)
    _wanted(read_questions(machine).questions, asked)  # an unknown id prepares nothing
    results: list[ClosedQuestion] = []

    def rewrite(questions: tuple[Question, ...]) -> tuple[Question, ...]:
        earlier = _wanted(questions, asked)
        if earlier is None:
            answered = Question(text=asked, answer=reply_text, by=who, at=now, answered_at=now)
            results.append(ClosedQuestion(answered, "recorded"))
            return (*questions, answered)
        if earlier.answer and compare(earlier.answer, reply_text).likeness is Likeness.SAME:
            results.append(ClosedQuestion(earlier, "unchanged"))
            return questions
        closed = replace(earlier, answer=reply_text, by=who, answered_at=now, closed=False)
        results.append(ClosedQuestion(closed, "answered", earlier if earlier.answer else None))
        return tuple(closed if question.id == earlier.id else question for question in questions)

    with memory_to_change(machine) as store:
        if store.change_questions(rewrite, "answer"):
            _show_open(machine, store, "answer")
    return results[-1]


def _wanted(questions: Sequence[Question], named: str) -> Question | None:
    if is_id(named):
        return by_id(named, questions, lambda question: question.id, "question", LISTING)
    return _same(questions, named, Meanings())


# --- decisions -----------------------------------------------------------------------------------------

RETIRE = "decide retire"


class DecisionChange(Struct, frozen=True):
    """What `decide` did with a decision, and the earlier decisions that contradict it."""

    decision: Decision
    status: Literal["recorded", "merged"]
    contradictions: tuple[Contradiction[Decision], ...] = ()


def read_decisions(machine: Machine) -> ReferenceFile:
    return memory_here(machine).facts()


def decide(machine: Machine, text: str, because: str | None = None, by: Owner = "") -> DecisionChange:
    new = Decision(
        text=given_text(machine, text, "the decision", "holdfast note decision TEXT --because WHY"),
        rationale=optional_text(machine, because, "the reason"),
        by=by or speaker(machine),
        at=this_second(machine),
    )
    results: list[DecisionChange] = []
    meaning = Meanings()

    def rewrite(reference: Reference) -> Reference:
        earlier = _known(reference.decisions, new, meaning)
        if earlier is None:
            decisions = (*reference.decisions, new)
            results.append(DecisionChange(new, "recorded", contradicting(reference.decisions, new, meaning)))
        else:
            merged = replace(earlier, rationale=_reasons(earlier, new), by=earlier.by or new.by)
            decisions = tuple(merged if decision is earlier else decision for decision in reference.decisions)
            results.append(
                DecisionChange(merged, "merged", contradicting(reference.decisions, merged, meaning))
            )
        return replace(reference, decisions=decisions)

    with memory_to_change(machine) as store:
        store.change_facts(rewrite, "decide")
        ask_which_holds(machine, store, results[-1].contradictions, "decide")
    return results[-1]


def retire(machine: Machine, wanted: str) -> Statement:
    """Remove a decision from the register, or a passage from its file of decisions. Captures do not bring it back;
    the version before is kept for `undo`.
    """
    here = memory_here(machine)
    memory = ProjectMemory(here.project, here.name, strict=True)
    gone = find_decision(here, memory, wanted)  # an unknown id prepares nothing

    def rewrite(reference: Reference) -> Reference:
        remaining = tuple(decision for decision in reference.decisions if decision.id != gone.id)
        return replace(reference, decisions=remaining)

    with memory_to_change(machine) as store:
        store.change_facts(rewrite, RETIRE)
        store.remove_passages({gone.id}, RETIRE)
        settle_doubts(machine, store, gone.id, RETIRE)
    return gone


def _known(decisions: Sequence[Decision], new: Decision, meaning: Meanings) -> Decision | None:
    exact = next((decision for decision in decisions if decision.id == new.id), None)
    return exact or find(decisions, new.text, meaning)


def _reasons(known: Decision, new: Decision) -> str:
    """Both reasons, if the second adds something."""
    if not (known.rationale and new.rationale):
        return known.rationale or new.rationale
    if new.rationale in known.rationale or compare(known.rationale, new.rationale).likeness is Likeness.SAME:
        return known.rationale
    joined = f"{known.rationale}; {new.rationale}"
    return joined if len(joined) <= LONGEST else known.rationale
