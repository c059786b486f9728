"""A few things that memory knows of a project, each with where it comes from: what `holdfast init` ends with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, islice, zip_longest

from msgspec import Struct

from holdfast.core.session_id import short_session
from holdfast.core.tokens import count_tokens
from holdfast.flows.questions import read_decisions
from holdfast.knowledge import store
from holdfast.language.prose import plain
from holdfast.memory.offering import best_first, stands_alone
from holdfast.memory.read import ProjectMemory
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST = 5
_KINDS = ("decision", "rule", "cause", "measurement", "preference")
_LEAST_WORTH = 0.5
_TOKENS = range(6, 60)
_MOST_KEPT = 10  # cases of a convention that are enough to be sure of it


class Highlight(Struct, frozen=True, kw_only=True):
    text: str
    source: str
    kind: str


def highlights(machine: Machine, project: Project, most: int = MOST) -> list[Highlight]:
    """The best of each kind in turn, so that five of them show what there is."""
    memory = ProjectMemory(project)
    kinds = (
        _settled(memory),
        _facts(machine),
        _stumbles(memory),
        _conventions(project),
    )
    in_turn = chain.from_iterable(zip_longest(*kinds))
    found = {one.text: one for one in in_turn if one is not None}
    return list(islice(found.values(), most))


def _settled(memory: ProjectMemory) -> Iterator[Highlight]:
    said = [
        one
        for one in chain(memory.register("decision"), memory.passage_statements())
        if one.status == "agreed"
        and one.kind in _KINDS
        and one.basis != "agent"
        and (one.worth >= _LEAST_WORTH or not one.session)
        and stands_alone(one)
        and count_tokens(one.text) in _TOKENS
    ]
    said.sort(key=best_first)
    for one in said:
        reason = f" (because {one.reason})" if one.reason else ""
        yield Highlight(text=_line(one.text) + reason, source=_source(one), kind=one.kind)


def _facts(machine: Machine) -> Iterator[Highlight]:
    for kept in read_decisions(machine).reference.facts:
        fact = kept.fact
        if kept.retired_at is None and kept.did_not_show is None and fact.command:
            said = f"shown by `{fact.command}`"
            yield Highlight(
                text=_line(fact.text), source=f"{said}, {_day(fact.verified_at or fact.at)}", kind="fact"
            )


def _stumbles(memory: ProjectMemory) -> Iterator[Highlight]:
    for one in sorted(memory.current.stumbles, key=lambda one: -one.sessions):
        if one.instead:
            text = f"`{one.tried}` fails here; `{one.instead}` works"
            times = f"seen in {one.sessions} sessions" if one.sessions > 1 else "seen in a session"
            yield Highlight(text=_line(text), source=f"{times}, last {_day(one.at)}", kind="dead_end")


def _conventions(project: Project) -> Iterator[Highlight]:
    known = store.load(project).now.conventions
    for one in sorted(known, key=lambda one: -(min(one.count, _MOST_KEPT) * one.confidence)):
        files = list(dict.fromkeys(evidence.path for evidence in one.evidence if evidence.path))
        if one.count > 1 and files:
            where = f"{one.count} cases, such as {files[0]}"
            yield Highlight(text=_line(f"{one.category}: {one.pattern}"), source=where, kind="convention")


def _source(said: Statement) -> str:
    who = "you" if said.who in ("user", "") else said.who
    where = f"session {short_session(said.session)}" if said.session else said.id
    return f"{who}, {_day(said.at)}, {where}"


def _day(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") if at else "undated"


def _line(text: str) -> str:
    return " ".join(plain(text).split())
