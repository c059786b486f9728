"""How facts, decisions, questions and to-dos look on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from holdfast.core.session_id import short_session
from holdfast.memory.merge import Contradiction
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import Decision, Fact, OpenItem, Question
from holdfast.model.origin import Origin, origin_text
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins
from holdfast.terminal import output
from holdfast.terminal.output import Column, Table, cut, flat, table_of
from holdfast.views.ledger import day

Contradictions = Sequence[Contradiction[Fact]] | Sequence[Contradiction[Decision]]

ID = Column("Id", style="cyan")
_LONGEST_TITLE = 40
_WHEN_AND_BY = (ID, Column("When", dispensable=1), Column("By", dispensable=2))


def moment_of(at: float | None) -> datetime | None:
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (OverflowError, ValueError, OSError):  # a clock that no calendar has
        return None


def iso(at: float | None) -> str | None:
    moment = moment_of(at)
    return moment.isoformat(timespec="seconds") if moment else None


def date(at: float | None) -> str:
    return day(moment_of(at))[:10]


def origin(by: str, at: float | None, session: str) -> str:
    """` · by user · 2026-01-05 · session 847ff7d2`, as far as it is known."""
    parts = (
        by and f"by {by}",
        date(at) if moment_of(at) else "",
        session and f"session {short_session(session)}",
    )
    return "".join(f" · {part}" for part in parts if part)


def with_origins(machine: Machine, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items as JSON, each with where it comes from."""
    origins = Origins(machine.project().memory)
    return [{**item, "origin": origins.origin(item["id"], item["session"])} for item in items]


def show_contradictions(clashes: Contradictions, advice: str) -> None:
    """`advice` names the statement that may be wrong as `{id}`."""
    for clash in clashes:
        statement = clash.one
        by = statement.by if isinstance(statement, Decision) else ""
        source = origin(by, statement.at, statement.session)
        output.line(f"Contradicts {statement.id}: {flat(statement.text)}  ({clash.why}){source}")
    if clashes:
        output.line(f"Both are kept. {advice.format(id=clashes[0].one.id if len(clashes) == 1 else 'ID')}")


def clashes_as_json(clashes: Contradictions) -> list[dict[str, Any]]:
    return [{"id": clash.one.id, "text": clash.one.text, "why": clash.why} for clash in clashes]


def fact_as_json(kept: KeptFact) -> dict[str, Any]:
    return {
        **_bare_fact(kept.fact),
        "failed_at": iso(kept.did_not_show),
        "retired_at": iso(kept.retired_at),
        "retired_because": kept.retired_because,
        "was": [_bare_fact(fact) for fact in kept.was],
    }


def _bare_fact(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "category": fact.category,
        "command": fact.command,
        "evidence": fact.evidence,
        "session": fact.session,
        "at": iso(fact.at),
        "verified_at": iso(fact.verified_at),
    }


def facts_table(facts: Sequence[KeptFact]) -> Table:
    return table_of(
        facts,
        (ID, lambda kept: kept.fact.id),
        (Column("Category", dispensable=1), lambda kept: kept.fact.category),
        (Column("Verified", dispensable=2), lambda kept: date(kept.fact.verified_at or kept.fact.at)),
        (Column("Fact", flexible=True, wrapped=True), lambda kept: _standing(kept) + flat(kept.fact.text)),
    )


def _standing(kept: KeptFact) -> str:
    """The prefix of a fact that was retired or refuted."""
    if kept.retired_at is not None:
        return f"(retired {date(kept.retired_at)}) "
    return "" if kept.did_not_show is None else f"(did not show on {date(kept.did_not_show)}) "


def show_fact(kept: KeptFact, origin: Origin = "session") -> None:
    fact = kept.fact
    output.heading(f"{fact.id}  {flat(fact.text)}")
    output.line(f"  category  {fact.category}")
    if source := origin_text(origin):
        output.line(f"  origin    {source}")
    _show_evidence(fact)
    if kept.did_not_show is not None:
        output.line(f"  but       did not show on {date(kept.did_not_show)}")
    if kept.retired_at is not None:
        reason = f": {flat(kept.retired_because)}" if kept.retired_because else ""
        output.line(f"  retired   {date(kept.retired_at)}{reason}")
    for old in kept.was:
        output.line(f"  was       {flat(old.text)}  ({old.id})")
        _show_evidence(old, "    ")


def _show_evidence(fact: Fact, indent: str = "  ") -> None:
    for title, text in (("command", fact.command), ("showed", fact.evidence)):
        for number, line in enumerate(text.splitlines()):
            output.line(f"{indent}{title if not number else '':<8}  {line}")
    if fact.verified_at is not None:
        output.line(f"{indent}verified  {date(fact.verified_at)}")
    if source := origin("", fact.at, fact.session).removeprefix(" · "):
        output.line(f"{indent}kept      {source}")


def decision_as_json(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "text": decision.text,
        "rationale": decision.rationale,
        "by": decision.by,
        "session": decision.session,
        "at": iso(decision.at),
    }


def statement_as_json(said: Statement) -> dict[str, Any]:
    """A decision of the register, or a passage of a session, in the shape of a decision."""
    return {
        "id": said.id,
        "text": said.text,
        "rationale": said.reason,
        "by": said.who,
        "session": said.session,
        "at": iso(said.at),
    }


def decisions_table(decisions: Sequence[Decision]) -> Table:
    rows = [
        (
            (decision.id, date(decision.at), decision.by or "?"),
            decision.text,
            _because(decision.rationale),
        )
        for decision in decisions
    ]
    return _table(_WHEN_AND_BY, "Decision", rows)


def question_as_json(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "text": question.text,
        "status": "open" if question.open else "answered" if question.answer else "closed",
        "answer": question.answer,
        "by": question.by,
        "session": question.session,
        "at": iso(question.at),
        "answered_at": iso(question.answered_at),
    }


def questions_table(questions: Sequence[Question]) -> Table:
    rows = [
        (
            (
                question.id,
                date(question.at if question.open or question.answered_at is None else question.answered_at),
                question.by,
                "open" if question.open else "answered" if question.answer else "closed",
            ),
            question.text,
            f"→ {question.answer}" if question.answer else "",
        )
        for question in questions
    ]
    return _table((*_WHEN_AND_BY, Column("State")), "Question", rows)


def todo_as_json(item: OpenItem, *, closed: str = "") -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "why": item.why,
        "priority": item.priority,
        "owner": item.owner,
        "branch": item.branch,
        "done": closed == "done",
        "closed": closed,
        "session": item.session,
        "at": iso(item.at),
    }


def named(session: str, titles: Mapping[str, str]) -> str:
    """A session as people recognise it: the beginning of its id, and its title where that is known."""
    title = titles.get(session)
    return f"{short_session(session)} “{cut(title, _LONGEST_TITLE)}”" if title else short_session(session)


def todos_table(
    items: Sequence[tuple[OpenItem, str]], titles: Mapping[str, str], *, branches: bool = False
) -> Table:
    rows = [
        (
            (
                item.id,
                closed or item.priority,
                item.owner,
                named(item.session, titles) if item.session else "by hand",
                date(item.at),
                *([item.branch] if branches else []),
            ),
            item.text,
            _because(item.why),
        )
        for item, closed in items
    ]
    columns = (
        ID,
        Column("Priority"),
        Column("Owner", dispensable=3),
        Column("From", dispensable=4),
        Column("Since", dispensable=1),
        *([Column("Branch")] if branches else []),
    )
    return _table(columns, "To do", rows)


def _table(columns: Sequence[Column], title: str, rows: Iterable[tuple[tuple[str, ...], str, str]]) -> Table:
    """Rows of cells, a text and a remark on it: under the text on a terminal, behind it in a pipe."""
    under = output.on_terminal()
    table_rows, below = [], []
    for cells, text, remark in rows:
        table_rows.append((*cells, flat(text if under or not remark else f"{text} {remark}")))
        below.append(flat(remark).removeprefix("· ") if under else "")
    return Table((*columns, Column(title, flexible=True, wrapped=True)), table_rows, below=below)


def _because(why: str) -> str:
    return f"· because: {why}" if why else ""
