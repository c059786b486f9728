"""Finds a statement by its id, by the beginning of one, or by an id that it had before it was reworded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from holdfast.core.errors import NotFound, UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.memory.read import ProjectMemory
from holdfast.memory.store import MemoryStore
from holdfast.model.statement import Statement

T = TypeVar("T")
DECISIONS = "holdfast note decision list"
_MOST_NAMED = 6
_ID = lazy_regex(r"[DFLNQTX]-[0-9a-z]{0,6}", re.IGNORECASE)


def is_id(text: str) -> bool:
    """Whether a text is an id or the start of one."""
    return _ID.fullmatch(text.strip()) is not None


def by_id(wanted: str, items: Sequence[T], id_of: Callable[[T], str], noun: str, listing: str) -> T:
    """The item with this id, ignoring case, or the only one whose id starts with it."""
    typed = wanted.strip().casefold()
    if not typed:
        raise UsageError(f"the id of the {noun} is empty", fix=f"{listing} shows them")
    exact = [item for item in items if id_of(item).casefold() == typed]
    close = exact[:1] or [item for item in items if id_of(item).casefold().startswith(typed)]
    if not close:
        raise NotFound(f"no {noun} {wanted.strip()[:40]!r}", fix=f"{listing} shows them")
    names = list(dict.fromkeys(id_of(item) for item in close))
    if len(names) > 1:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        raise NotFound(
            f"{wanted.strip()!r} may be {', '.join(names[:_MOST_NAMED])}{more}", fix="Type more of the id"
        )
    return close[0]


def find_decision(store: MemoryStore, memory: ProjectMemory, wanted: str) -> Statement:
    """A decision of the register or of a session, by its id, one it had before it was reworded, or the beginning."""
    known = every_decision(memory)
    try:
        return by_id(wanted, known, lambda said: said.id, "decision", DECISIONS)
    except NotFound:
        changed = reworded(store, wanted, {said.id for said in known})
        if changed:
            return by_id(changed, known, lambda said: said.id, "decision", DECISIONS)
        typed = wanted.strip().casefold()
        if typed in {id.casefold() for id in store.dismissed_at()} and typed[:2] == "d-":
            problem = f"{wanted.strip()} was retired"
            raise NotFound(problem, fix="holdfast history reference.md shows it; holdfast undo") from None
        raise


def reworded(store: MemoryStore, wanted: str, known: Iterable[str]) -> str:
    """The id that a reworded decision has now; '' if none had this one."""
    successors, kept = store.successors(), set(known)
    typed = wanted.strip().casefold()
    if len(typed) < 3:
        return ""
    found = {_last(successors, id) for id in successors if id.casefold().startswith(typed)} & kept
    return found.pop() if len(found) == 1 else ""


def _last(successors: dict[str, str], id: str) -> str:
    seen = {id}
    while (now := successors.get(id, "")) and now not in seen:
        seen.add(now)
        id = now
    return id


def earlier_ids(successors: dict[str, str], id: str) -> list[str]:
    """The ids that lead to this one, the latest first."""
    found = [id]
    for name in found:
        found += [old for old, now in successors.items() if now == name and old not in found]
    return found[1:]


def every_decision(memory: ProjectMemory) -> list[Statement]:
    return [*memory.register("decision"), *memory.passage_statements()]
