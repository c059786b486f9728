"""The screen Memory: decisions with their reasons and what was turned down for them, and the way to its other views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.briefing.replaced import replaced_passages, successor
from holdfast.core.errors import NotFound
from holdfast.ledger.rows import session_titles
from holdfast.memory.decisions import SessionPassages
from holdfast.memory.listing import matching
from holdfast.model.memory import Passage
from holdfast.model.origin import origin_text
from holdfast.model.statement import Statement
from holdfast.store.origins import Origins
from holdfast.web import memory_facts, memory_past, memory_rules, memory_steps, memory_writes
from holdfast.web.contract import Page, Request, Route, Screen, Slice
from holdfast.web.memory_lists import MEMORY, WHO, statements_of, views

STATUSES = (
    ("agreed", "Holds"),
    ("proposed", "Proposed"),
    ("rejected", "Turned down"),
    ("superseded", "Superseded"),
)
TONES = {"agreed": "good", "proposed": "warn", "rejected": "plain", "superseded": "plain", "retired": "plain"}
WORDS = {"agreed": "holds", "rejected": "turned down"}
_IN_PASSING = {"agreed": "plain"}, {"agreed": "said in passing"}
BASES = {"person": "said by a person", "agent": "said by an agent", "command": "shown by a command"}


class ShownDecision(Struct, frozen=True):
    """A decision as a row of the list, with what is beside it."""

    said: Statement
    turned_down: Sequence[Statement]
    replaced_by: SessionPassages | None
    successor: Passage | None
    title: str
    origin: str

    @property
    def status(self) -> str:
        return "superseded" if self.replaced_by is not None else self.said.status

    @property
    def basis(self) -> str:
        return BASES.get(self.said.basis, "")

    @property
    def can_confirm(self) -> bool:
        return self.status in ("agreed", "proposed") and self.said.who != "user"


def show(request: Request) -> Page:
    asked = request.query
    likely, others = statements_of(request).likely("decision")
    passing = asked.get("likely") == "no"
    rows = others if passing else likely
    filters = asked.get("q", ""), asked.get("status", ""), asked.get("who", "")
    chosen = matching(rows, *filters)
    part = request.page(chosen)
    return Page(
        "memory.html",
        title="Memory",
        views=views(request),
        part=part,
        total=len(rows),
        less_likely=len(others),
        in_passing=0 if chosen or passing else len(matching(others, *filters)),
        decisions=shown_decisions(request, [row.said for row in part.items]),
        asked=asked,
        statuses=STATUSES,
        who=WHO,
        tones=TONES | _IN_PASSING[0] if passing else TONES,
        words=WORDS | _IN_PASSING[1] if passing else WORDS,
    )


def show_one(request: Request) -> Page:
    """A statement by itself: what a link from elsewhere opens."""
    said = statements_of(request).find(request.path["id"])
    if said is None:
        raise NotFound(
            f"no statement {request.path['id'][:40]!r}",
            fix="It was changed or forgotten; Search finds others",
        )
    return Page(
        "memory.html",
        title="Memory",
        views=views(request),
        part=Slice([said], 1, 1, 1),
        total=1,
        less_likely=0,
        in_passing=0,
        decisions=shown_decisions(request, [said]),
        asked=None,
        statuses=STATUSES,
        who=WHO,
        tones=TONES,
        words=WORDS,
    )


def shown_decisions(request: Request, said: Sequence[Statement]) -> list[ShownDecision]:
    listed = statements_of(request)
    sessions = {statement.session for statement in said if statement.session}
    replaced: Mapping[str, SessionPassages] = replaced_passages(request.project, listed.memory, sessions)
    titles = session_titles(request.project, list(sessions))
    origins = Origins(request.project.memory)
    return [
        ShownDecision(
            statement,
            listed.turned_down(statement),
            replaced.get(statement.id),
            successor(statement.text, replaced[statement.id]) if statement.id in replaced else None,
            titles.get(statement.session, ""),
            origin_text(origins.origin(statement.id, statement.session)),
        )
        for statement in said
    ]


SCREEN = Screen(
    "memory",
    "Memory",
    "m",
    "tab",
    (
        Route("/memory", show),
        Route("/memory/statement/{id}", show_one),
        *memory_facts.ROUTES,
        *memory_rules.ROUTES,
        *memory_steps.ROUTES,
        *memory_past.ROUTES,
        *memory_writes.ROUTES,
    ),
)
__all__ = ["MEMORY", "SCREEN"]
