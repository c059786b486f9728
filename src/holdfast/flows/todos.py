"""To-dos by hand, in current.md: what a person added stays until they say it is done; what is done stays away."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.core.errors import NotFound
from holdfast.flows.notes import by_id, given_text, memory_here, memory_to_change, optional_text, this_second
from holdfast.memory.current import ByHand, Current, CurrentFile, Done, close_by_hand, todos_by_hand
from holdfast.memory.merge import find
from holdfast.memory.read import known_projects
from holdfast.memory.state import MOST_DONE
from holdfast.model.memory import OpenItem, Owner, Priority
from holdfast.store.line_grammar import Problem
from holdfast.store.machine import Machine
from holdfast.store.project import branch_of

LISTING = "holdfast todo list --all"
_ORDER: dict[str, int] = {"high": 0, "normal": 1, "low": 2}


class AddedTodo(Struct, frozen=True):
    item: OpenItem
    status: Literal["added", "merged"]


class ListedTodo(Struct, frozen=True):
    item: OpenItem
    done: bool = False


def list_todos(
    machine: Machine, *, everything: bool = False, name: str = ""
) -> tuple[list[ListedTodo], list[Problem]]:
    """What is to be done on this branch, the urgent first; also what other branches and ticked boxes say.

    `name` is a project of this repository: the one that this branch works on unless told, all with `everything`. What
    a person noted belongs to all of them.
    """
    project = machine.project()
    if name and name not in (known := {project.title, *known_projects(project)}):
        raise NotFound(
            f"no project {name!r} in this repository", fix=f"There are: {', '.join(sorted(known))}"
        )
    store = memory_here(machine)
    file = store.current()
    chosen = name or ("" if everything else store.name)

    def wanted(item: OpenItem) -> bool:
        return not chosen or not item.session or (item.project or project.title) == chosen

    hand = _by_hand(machine, file)
    ours = {item.id for item in file.current.todo}
    left = [*file.current.todo, *(todo.item for todo in hand if not todo.done and todo.item.id not in ours)]
    left = [item for item in left if wanted(item)]
    if everything:
        ticked = [*filter(wanted, file.ticked), *(todo.item for todo in hand if todo.done)]
        shown = [*map(ListedTodo, by_priority(left)), *(ListedTodo(item, done=True) for item in ticked)]
        return shown, file.problems
    branch = branch_of(project.root)
    here = [item for item in left if not branch or item.branch in (branch, "")]
    return [ListedTodo(item) for item in by_priority(here)], file.problems


def _by_hand(machine: Machine, file: CurrentFile) -> list[ByHand]:
    """To-dos that a person wrote into the file themselves, without what they marked as private."""
    whole = machine.clean(file.document.render())
    return [
        replace(todo, item=replace(todo.item, session=""))
        for todo in todos_by_hand(file.document, machine.clean)
        if machine.clean(file.document.lines[todo.line].strip()) in whole
    ]


def by_priority(items: Sequence[OpenItem]) -> list[OpenItem]:
    return sorted(items, key=lambda item: _ORDER.get(item.priority, 1))


def add_todo(
    machine: Machine,
    text: str,
    priority: Priority | None = None,
    owner: Owner | None = None,
    because: str | None = None,
) -> AddedTodo:
    """Note a to-do. One that a session left open in other words becomes yours: captures no longer remove it."""
    said = given_text(machine, text, "the to-do", "holdfast todo add TEXT")
    why = optional_text(machine, because, "the reason")
    new = OpenItem(
        text=said, why=why, owner=owner or "", priority=priority or "normal", at=this_second(machine)
    )
    told: list[AddedTodo] = []
    if not (priority or owner or why):
        for todo in _by_hand(machine, memory_here(machine).current()):
            if todo.item.id == new.id and not todo.done:
                return AddedTodo(todo.item, "merged")

    def noted(file: CurrentFile) -> Current:
        items = file.current.todo
        known = next((item for item in items if item.id == new.id), None) or find(items, said, Meanings())
        if known is None:
            told.append(AddedTodo(new, "added"))
            return replace(file.current, todo=(*items, new))
        merged = replace(
            known,
            session="",
            why=why or known.why,
            priority=priority or known.priority,
            owner=owner or known.owner,
        )
        told.append(AddedTodo(merged, "merged"))
        return replace(file.current, todo=tuple(merged if item is known else item for item in items))

    _change(machine, noted, "todo add")
    return told[-1]


def close_todos(machine: Machine, wanted: Sequence[str], *, done: bool) -> list[OpenItem]:
    """Take to-dos out, all or none of them; they do not come back when their session is captured again.

    What a person wrote themselves is ticked where it stands when it is done, and its line goes when it is dropped.
    """
    file = memory_here(machine).current()
    hand = _by_hand(machine, file)
    ours = [*file.current.todo, *file.ticked]
    named = _named([*ours, *(todo.item for todo in hand)], wanted)  # an unknown id prepares nothing
    ids = {item.id for item in named}
    reason = "todo done" if done else "todo drop"
    if noted := [todo for todo in hand if todo.item.id in ids]:
        with memory_to_change(machine) as store:
            store.change(
                store.current_file, lambda text: close_by_hand(text, ids, machine.clean, tick=done), reason
            )
            store.dismiss(*ids, *(todo.was for todo in noted if todo.was))
    if any(item.id in ids for item in ours):
        _close_ours(machine, ids, reason, done=done)
    return named


def _close_ours(machine: Machine, ids: set[str], reason: str, *, done: bool) -> None:
    now = this_second(machine)

    def closed(file: CurrentFile) -> Current:
        gone = [item for item in (*file.current.todo, *file.ticked) if item.id in ids]
        left = tuple(item for item in file.current.todo if item.id not in ids)
        state = replace(file.current, todo=left)
        return _with_done(state, [item for item in gone if item not in file.ticked], now) if done else state

    _change(machine, closed, reason, ids)


def _named(items: Sequence[OpenItem], wanted: Sequence[str]) -> list[OpenItem]:
    found = [by_id(name, items, lambda item: item.id, "to-do", LISTING) for name in wanted]
    return list(dict.fromkeys(found))


def _change(
    machine: Machine,
    change: Callable[[CurrentFile], Current],
    reason: str,
    dismissed: Collection[str] = (),
) -> None:
    """Write the state. To-dos that a person ticked are removed and dismissed, as by `holdfast todo done`."""
    ticked: list[str] = []
    now = this_second(machine)

    def rewrite(file: CurrentFile) -> Current:
        after = change(file)
        kept = {item.id for item in after.todo}
        gone = [item for item in file.ticked if item.id not in kept]
        ticked[:] = [item.id for item in gone]
        return _with_done(after, gone, now)

    with memory_to_change(machine) as store:
        store.change_current(rewrite, reason)
        if gone := [*ticked, *dismissed]:
            store.dismiss(*gone)


def _with_done(state: Current, items: Sequence[OpenItem], now: float) -> Current:
    """What was done last, the newest first, with these to-dos among it."""
    new = [Done(text=item.text, branch=item.branch, at=now) for item in items]
    return replace(state, done=(*new, *state.done)[:MOST_DONE]) if new else state
