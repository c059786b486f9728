"""To-dos given on the command line, in current.md. They stay until a person closes them, and then stay closed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.meaning import Meanings
from holdfast.core.errors import NotFound
from holdfast.flows.notes import given_text, memory_here, memory_to_change, optional_text, this_second
from holdfast.memory.current import (
    ByHand,
    ClosedTodo,
    Current,
    CurrentFile,
    Done,
    close_by_hand,
    todos_by_hand,
)
from holdfast.memory.ids import by_id
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
    """A to-do; `closed` says how it ended if it is not open: done, dropped or replaced."""

    item: OpenItem
    closed: str = ""

    @property
    def done(self) -> bool:
        return self.closed == "done"


def list_todos(
    machine: Machine, *, everything: bool = False, name: str = ""
) -> tuple[list[ListedTodo], list[Problem]]:
    """The to-dos of this branch, the most urgent first; with `everything` also other branches and closed ones.

    `name` is a project of this repository. The default is the project of this branch; with `everything`, all
    projects. To-dos that a person added belong to all projects.
    """
    project = machine.project()
    if name and name not in (projects := {project.title, *known_projects(project)}):
        raise NotFound(
            f"no project {name!r} in this repository", fix=f"There are: {', '.join(sorted(projects))}"
        )
    store = memory_here(machine)
    file = store.current()
    chosen = name or ("" if everything else store.name)

    def wanted(item: OpenItem) -> bool:
        return not chosen or not item.session or (item.project or project.title) == chosen

    handwritten = _by_hand(machine, file)
    ids = {item.id for item in file.current.todo}
    open_items = [
        *file.current.todo,
        *(todo.item for todo in handwritten if not todo.done and todo.item.id not in ids),
    ]
    open_items = [item for item in open_items if wanted(item)]
    if everything:
        ticked = [*filter(wanted, file.ticked), *(todo.item for todo in handwritten if todo.done)]
        listed = [
            *map(ListedTodo, by_priority(open_items)),
            *(ListedTodo(item, "done") for item in ticked),
            *(ListedTodo(_as_item(item), item.how) for item in file.current.closed),
        ]
        return listed, file.problems
    branch = branch_of(project.root)
    on_branch = [item for item in open_items if not branch or item.branch in (branch, "")]
    return [ListedTodo(item) for item in by_priority(on_branch)], file.problems


def _as_item(closed: ClosedTodo) -> OpenItem:
    return OpenItem(
        text=closed.text,
        why=closed.why,
        branch=closed.branch,
        project=closed.project,
        session=closed.session,
        at=closed.at,
    )


def _by_hand(machine: Machine, file: CurrentFile) -> list[ByHand]:
    """To-dos that a person wrote into the file, except those marked as private."""
    text = machine.clean(file.document.render())
    return [
        replace(todo, item=replace(todo.item, session=""))
        for todo in todos_by_hand(file.document, machine.clean)
        if machine.clean(file.document.lines[todo.line].strip()) in text
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
    """Add a to-do. If a session left the same one open in other words, it becomes yours: captures keep it."""
    statement = given_text(machine, text, "the to-do", "holdfast todo add TEXT")
    why = optional_text(machine, because, "the reason")
    new = OpenItem(
        text=statement, why=why, owner=owner or "", priority=priority or "normal", at=this_second(machine)
    )
    todos: list[AddedTodo] = []
    if not (priority or owner or why):
        for todo in _by_hand(machine, memory_here(machine).current()):
            if todo.item.id == new.id and not todo.done:
                return AddedTodo(todo.item, "merged")

    def noted(file: CurrentFile) -> Current:
        items = file.current.todo
        match = next((item for item in items if item.id == new.id), None) or find(
            items, statement, Meanings()
        )
        if match is None:
            todos.append(AddedTodo(new, "added"))
            return replace(file.current, todo=(*items, new))
        merged = replace(
            match,
            session="",
            why=why or match.why,
            priority=priority or match.priority,
            owner=owner or match.owner,
        )
        todos.append(AddedTodo(merged, "merged"))
        return replace(file.current, todo=tuple(merged if item is match else item for item in items))

    _change(machine, noted, "todo add")
    return todos[-1]


def change_todo(
    machine: Machine,
    wanted: str,
    text: str | None,
    because: str | None = None,
    priority: Priority | None = None,
) -> OpenItem:
    """Put other words in the place of a to-do. It is yours from then on; a session does not bring the old one back."""
    new = None if text is None else given_text(machine, text, "the to-do", "Say what is to be done")
    why = None if because is None else optional_text(machine, because, "the reason")
    (old,) = _named(memory_here(machine).current().current.todo, [wanted])
    changed = replace(
        old,
        text=old.text if new is None else new,
        why=old.why if why is None else why,
        priority=priority or old.priority,
        session="",
    )

    def reworded(file: CurrentFile) -> Current:
        return replace(
            file.current, todo=tuple(changed if item.id == old.id else item for item in file.current.todo)
        )

    _change(machine, reworded, "todo change", {old.id} - {changed.id})
    return changed


def close_todos(machine: Machine, wanted: Sequence[str], *, done: bool) -> list[OpenItem]:
    """Close to-dos, all or none of them. They do not come back when their session is captured again.

    A line that a person wrote is ticked in place if the to-do is done, and removed if it is dropped.
    """
    file = memory_here(machine).current()
    handwritten = _by_hand(machine, file)
    managed = [*file.current.todo, *file.ticked]
    items = _named([*managed, *(todo.item for todo in handwritten)], wanted)  # an unknown id prepares nothing
    ids = {item.id for item in items}
    reason = "todo done" if done else "todo drop"
    if noted := [todo for todo in handwritten if todo.item.id in ids]:
        with memory_to_change(machine) as store:
            store.change(
                store.current_file, lambda text: close_by_hand(text, ids, machine.clean, tick=done), reason
            )
            store.dismiss(*ids, *(todo.was for todo in noted if todo.was))
    if any(item.id in ids for item in managed):
        _close_ours(machine, ids, reason, done=done)
    return items


def _close_ours(machine: Machine, ids: set[str], reason: str, *, done: bool) -> None:
    now = this_second(machine)

    def closed(file: CurrentFile) -> Current:
        closed_items = [item for item in (*file.current.todo, *file.ticked) if item.id in ids]
        remaining = tuple(item for item in file.current.todo if item.id not in ids)
        state = replace(file.current, todo=remaining)
        return (
            _with_done(state, [item for item in closed_items if item not in file.ticked], now)
            if done
            else state
        )

    _change(machine, closed, reason, ids)


def _named(items: Sequence[OpenItem], wanted: Sequence[str]) -> list[OpenItem]:
    items_named = [by_id(name, items, lambda item: item.id, "to-do", LISTING) for name in wanted]
    return list(dict.fromkeys(items_named))


def _change(
    machine: Machine,
    change: Callable[[CurrentFile], Current],
    reason: str,
    dismissed: Collection[str] = (),
) -> None:
    """Write the state. To-dos that a person ticked are removed and dismissed, as `holdfast todo done` does."""
    ticked: list[str] = []
    now = this_second(machine)

    def rewrite(file: CurrentFile) -> Current:
        updated = change(file)
        ids = {item.id for item in updated.todo}
        removed = [item for item in file.ticked if item.id not in ids]
        ticked[:] = [item.id for item in removed]
        return _with_done(updated, removed, now)

    with memory_to_change(machine) as store:
        store.change_current(rewrite, reason)
        if gone := [*ticked, *dismissed]:
            store.dismiss(*gone)


def _with_done(state: Current, items: Sequence[OpenItem], now: float) -> Current:
    """The state with these to-dos added to its last completed ones, the newest first."""
    new = [Done(text=item.text, branch=item.branch, at=now) for item in items]
    return replace(state, done=(*new, *state.done)[:MOST_DONE]) if new else state
