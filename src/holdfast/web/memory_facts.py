"""Memory, facts: what was verified, with its evidence; and what sessions noted without a check that can be repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.ledger.rows import session_titles
from holdfast.memory.listing import matching
from holdfast.memory.reference import KeptFact
from holdfast.model.statement import StatementKind
from holdfast.web.contract import Page, Request, Route
from holdfast.web.memory_lists import facts_of, statements_of, views

NOTED: tuple[tuple[StatementKind, str], ...] = (
    ("finding", "Findings"),
    ("cause", "Causes"),
    ("measurement", "Measurements"),
    ("dead_end", "Dead ends"),
    ("rule", "Rules that were said"),
    ("answer", "Answers that were given"),
)


def show(request: Request) -> Page:
    asked, statements = request.query, statements_of(request)
    counts = statements.counts()
    kinds = [(kind, f"{name} ({counts[kind]:,})") for kind, name in NOTED if counts.get(kind)]
    kind = next((kind for kind, _ in NOTED if kind == asked.get("kind")), None)
    if kind is not None:
        rows = matching(statements.rows(kind), asked.get("q", ""))
        part = request.page(rows)
        noted = [row.said for row in part.items]
        sessions = [said.session for said in noted if said.session]
        return Page(
            "memory_facts.html",
            title="Facts",
            views=views(request),
            asked=asked,
            kinds=kinds,
            part=part,
            noted=noted,
            categories=[],
            titles=session_titles(request.project, sessions),
        )
    every = facts_of(request)
    part = request.page(_chosen(every, asked.get("q", ""), asked.get("category", ""), asked.get("state", "")))
    sessions = [kept.fact.session for kept in part.items if kept.fact.session]
    counted = Counter(kept.fact.category for kept in every if kept.retired_at is None)
    return Page(
        "memory_facts.html",
        title="Facts",
        views=views(request),
        asked=asked,
        kinds=kinds,
        part=part,
        noted=None,
        categories=[(name, f"{name.capitalize()} ({count:,})") for name, count in sorted(counted.items())],
        titles=session_titles(request.project, sessions),
    )


def _chosen(facts: Sequence[KeptFact], text: str, category: str, state: str) -> Sequence[KeptFact]:
    wanted = text.casefold().split()

    def fits(kept: KeptFact) -> bool:
        fact = kept.fact
        said = f"{fact.text} {fact.evidence} {fact.command} {fact.id}".casefold()
        return (
            (kept.retired_at is not None) == (state == "retired")
            and (state != "failed" or kept.did_not_show is not None)
            and (not category or fact.category == category)
            and all(word in said for word in wanted)
        )

    return [kept for kept in facts if fits(kept)]


ROUTES = (Route("/memory/facts", show),)
