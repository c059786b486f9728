"""How facts, decisions, questions and to-dos look on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from holdfast.cli import output
from holdfast.cli.ledger_views import day, short_id
from holdfast.cli.output import Column, Table
from holdfast.memory.merging import Contradiction
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import Decision, Fact, OpenItem, Question

ID = Column("Id", style="cyan")


def flat(text: str) -> str:
    """A text on one line: what it holds must not look like a line of ours."""
    return " ".join(text.split())


# --- times ---------------------------------------------------------------------------------------------


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


# --- where something comes from ------------------------------------------------------------------------


def origin(by: str, at: float | None, session: str) -> str:
    """` · by user · 2026-01-05 · session 847ff7d2`, as far as it is known."""
    parts = [f"by {by}" if by else "", date(at) if moment_of(at) else ""]
    parts.append(f"session {short_id(session)}" if session else "")
    return "".join(f" · {part}" for part in parts if part)


def show_contradictions(
    clashes: Sequence[Contradiction[Fact]] | Sequence[Contradiction[Decision]], advice: str
) -> None:
    for clash in clashes:
        one = clash.one
        by = one.by if isinstance(one, Decision) else ""
        output.line(f"Contradicts {one.id}: {flat(one.text)}  ({clash.why}){origin(by, one.at, one.session)}")
    if clashes:
        output.line(f"Both are kept. {advice}")


def clashes_as_json(
    clashes: Sequence[Contradiction[Fact]] | Sequence[Contradiction[Decision]],
) -> list[dict[str, Any]]:
    return [{"id": clash.one.id, "text": clash.one.text, "why": clash.why} for clash in clashes]


# --- facts ---------------------------------------------------------------------------------------------


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
    rows = [
        (
            kept.fact.id,
            kept.fact.category,
            date(kept.fact.verified_at or kept.fact.at),
            _standing(kept) + flat(kept.fact.text),
        )
        for kept in facts
    ]
    columns = (
        ID,
        Column("Category", dispensable=1),
        Column("Verified", dispensable=2),
        Column("Fact", flexible=True, wrapped=True),
    )
    return Table(columns, rows)


def _standing(kept: KeptFact) -> str:
    """What stands before a fact that is not simply one."""
    if kept.retired_at is not None:
        return f"(retired {date(kept.retired_at)}) "
    return "" if kept.did_not_show is None else f"(did not show on {date(kept.did_not_show)}) "


def show_fact(kept: KeptFact) -> None:
    fact = kept.fact
    output.heading(f"{fact.id}  {flat(fact.text)}")
    output.line(f"  category  {fact.category}")
    _evidence(fact)
    if kept.did_not_show is not None:
        output.line(f"  but       did not show on {date(kept.did_not_show)}")
    if kept.retired_at is not None:
        reason = f": {flat(kept.retired_because)}" if kept.retired_because else ""
        output.line(f"  retired   {date(kept.retired_at)}{reason}")
    for old in kept.was:
        output.line(f"  was       {flat(old.text)}  ({old.id})")
        _evidence(old, "    ")


def _evidence(fact: Fact, indent: str = "  ") -> None:
    for title, text in (("command", fact.command), ("showed", fact.evidence)):
        for number, line in enumerate(text.splitlines()):
            output.line(f"{indent}{title if not number else '':<8}  {line}")
    if fact.verified_at is not None:
        output.line(f"{indent}verified  {date(fact.verified_at)}")
    if kept := origin("", fact.at, fact.session).removeprefix(" · "):
        output.line(f"{indent}kept      {kept}")


# --- decisions, questions, to-dos ----------------------------------------------------------------------


def decision_as_json(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "text": decision.text,
        "rationale": decision.rationale,
        "by": decision.by,
        "session": decision.session,
        "at": iso(decision.at),
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
    return _table((ID, Column("When", dispensable=1), Column("By", dispensable=2)), "Decision", rows)


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
            ),
            question.text,
            f"→ {question.answer or ('(open)' if question.open else '(closed by hand)')}",
        )
        for question in questions
    ]
    return _table((ID, Column("When", dispensable=1), Column("By", dispensable=2)), "Question", rows)


def todo_as_json(item: OpenItem, *, done: bool = False) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "why": item.why,
        "priority": item.priority,
        "owner": item.owner,
        "branch": item.branch,
        "done": done,
        "session": item.session,
        "at": iso(item.at),
    }


def todos_table(items: Sequence[tuple[OpenItem, bool]], *, branches: bool = False) -> Table:
    rows = [
        (
            (
                item.id,
                "done" if done else item.priority,
                item.owner,
                f"session {short_id(item.session)}" if item.session else "by hand",
                date(item.at),
                *([item.branch] if branches else []),
            ),
            item.text,
            _because(item.why),
        )
        for item, done in items
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
    """Rows with what they say and what belongs to it: under it on a terminal, in the same line in a pipe."""
    found = list(rows)
    saying = Column(title, flexible=True, wrapped=True)
    if output.on_terminal():
        shown = [(*cells, flat(text)) for cells, text, _ in found]
        return Table((*columns, saying), shown, below=[flat(more).removeprefix("· ") for _, _, more in found])
    shown = [(*cells, f"{flat(text)} {flat(more)}" if more else flat(text)) for cells, text, more in found]
    return Table((*columns, saying), shown)


def _because(why: str) -> str:
    return f"· because: {why}" if why else ""
