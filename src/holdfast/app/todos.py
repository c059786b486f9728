"""To-dos by hand, in current.md: what a person added stays until they say it is done; what is done stays away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.keeping import by_id, given_text, moment, optional_text, reading, writing
from holdfast.app.wiring import Machine
from holdfast.distill.merging import find
from holdfast.distill.state import MOST_DONE
from holdfast.model.memory import OpenItem, Owner, Priority
from holdfast.text.current_md import Current, CurrentFile, Done

LISTING = "holdfast todo list"
_ORDER: dict[str, int] = {"high": 0, "normal": 1, "low": 2}


class Noted(Struct, frozen=True):
    item: OpenItem
    status: Literal["added", "merged"]


def read_todos(machine: Machine) -> CurrentFile:
    return reading(machine).current()


def by_priority(items: Sequence[OpenItem]) -> list[OpenItem]:
    return sorted(items, key=lambda item: _ORDER.get(item.priority, 1))


def add_todo(
    machine: Machine,
    text: str,
    priority: Priority | None = None,
    owner: Owner | None = None,
    because: str | None = None,
) -> Noted:
    """Note a to-do. One that a session left open in other words becomes yours: captures no longer remove it."""
    said = given_text(machine, text, "the to-do", "holdfast todo add TEXT")
    why = optional_text(machine, because, "the reason")
    new = OpenItem(text=said, why=why, owner=owner or "", priority=priority or "normal", at=moment(machine))
    told: list[Noted] = []

    def noted(file: CurrentFile) -> Current:
        items = file.current.todo
        known = next((item for item in items if item.id == new.id), None) or find(items, said)
        if known is None:
            told.append(Noted(new, "added"))
            return replace(file.current, todo=(*items, new))
        merged = replace(
            known,
            session="",
            why=why or known.why,
            priority=priority or known.priority,
            owner=owner or known.owner,
        )
        told.append(Noted(merged, "merged"))
        return replace(file.current, todo=tuple(merged if item is known else item for item in items))

    _change(machine, noted, "todo add")
    return told[-1]


def close_todos(machine: Machine, wanted: Sequence[str], *, done: bool) -> list[OpenItem]:
    """Take to-dos out, all or none of them; they do not come back when their session is captured again."""
    _named(read_todos(machine), wanted)  # an unknown id prepares nothing
    now = moment(machine)
    told: list[list[OpenItem]] = []

    def closed(file: CurrentFile) -> Current:
        gone = _named(file, wanted)
        told.append(gone)
        ids = {item.id for item in gone}
        left = tuple(item for item in file.current.todo if item.id not in ids)
        state = replace(file.current, todo=left)
        return _with_done(state, [item for item in gone if item not in file.ticked], now) if done else state

    reason = "todo done" if done else "todo drop"
    _change(machine, closed, reason, lambda: [item.id for item in told[-1]])
    return told[-1]


def _named(file: CurrentFile, wanted: Sequence[str]) -> list[OpenItem]:
    items = (*file.current.todo, *file.ticked)
    found = [by_id(name, items, lambda item: item.id, "to-do", LISTING) for name in wanted]
    return list(dict.fromkeys(found))


def _change(
    machine: Machine,
    change: Callable[[CurrentFile], Current],
    reason: str,
    dismissed: Callable[[], list[str]] = list,
) -> None:
    """Write the state anew. What a person ticked goes with that, and is dismissed as if they had said it here."""
    ticked: list[str] = []
    now = moment(machine)

    def rewrite(file: CurrentFile) -> Current:
        after = change(file)
        kept = {item.id for item in after.todo}
        gone = [item for item in file.ticked if item.id not in kept]
        ticked[:] = [item.id for item in gone]
        return _with_done(after, gone, now)

    with writing(machine) as store:
        store.change_current(rewrite, reason)
        if gone := [*ticked, *dismissed()]:
            store.dismiss(*gone)


def _with_done(state: Current, items: Sequence[OpenItem], now: float) -> Current:
    """What was done last, the newest first, with these to-dos among it."""
    new = [Done(text=item.text, branch=item.branch, at=now) for item in items]
    return replace(state, done=(*new, *state.done)[:MOST_DONE]) if new else state
