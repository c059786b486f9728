"""The format of current.md: the state of a repository, read at the start of a session.

Managed parts: next steps per branch, to-dos, open questions, recurring failures and what works instead, checks that
passed, what was done last, to-dos that were closed, active projects, the file index. A person's lines, even inside a
part, are never treated as ours and never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from holdfast.core.patterns import lazy_regex
from holdfast.model.memory import OpenItem, Owner, Question, content_id
from holdfast.store import line_grammar as md
from holdfast.store import sections
from holdfast.store.line_grammar import Field, Form, Problem
from holdfast.store.sections import Document

BEGINNING = """\
# Current state

Read this first; load other files when a task needs them. Times are UTC. Your own words survive anywhere.
"""
_BULLET = lazy_regex(r"- ")
_BOX = lazy_regex(r"- (?:\[([ xX])\] )?")
_BOX_BY_HAND = lazy_regex(r"\s*[-*+] \[([ xX])\]\s+(?=\S)")
_SHOWN_ID = lazy_regex(r" · (T-[0-9a-z]{6})(?=\s*(?:<!-- session .* -->)?\s*$)")
FENCE = lazy_regex(r"\s*(```|~~~)")


class ActiveProject(Struct, frozen=True, kw_only=True):
    """A project in one line, and where to read more."""

    name: str
    status: str = ""
    branch: str = ""
    pointers: tuple[str, ...] = ()
    at: float | None = None


class NextStep(Struct, frozen=True, kw_only=True):
    """What to do next on a branch. `by` is set for a handoff by a person or an agent, not for derived steps."""

    text: str
    branch: str = ""
    project: str = ""  # '' is the repository's main project
    by: Owner = ""
    session: str = ""
    at: float | None = None


class Done(Struct, frozen=True, kw_only=True):
    """What a session did, in one line."""

    text: str
    branch: str = ""
    project: str = ""
    agent: str = ""
    session: str = ""
    at: float | None = None


class ClosedTodo(Struct, frozen=True, kw_only=True):
    """A to-do or next step that is not listed any more, and how it ended: none vanishes without a word.

    `session` is the session that left it, `at` the time it was closed.
    """

    text: str
    how: Literal["done", "dropped", "replaced"] = "done"
    why: str = ""
    branch: str = ""
    project: str = ""
    session: str = ""
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("T", self.text)


class RecurringFailure(Struct, frozen=True, kw_only=True):
    """What failed in several sessions, how, and what worked instead."""

    tried: str
    failed: str = ""
    instead: str = ""
    sessions: int = 0
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("X", self.tried)


class Check(Struct, frozen=True, kw_only=True):
    """A command that passed when it was last run; `kind` is test, lint, build …"""

    command: str
    kind: str = ""
    at: float | None = None


class FileHint(Struct, frozen=True, kw_only=True):
    """A file and when it is worth loading."""

    path: str
    when: str = ""


class Current(Struct, frozen=True, kw_only=True):
    """The state of all projects of a repository."""

    next: tuple[NextStep, ...] = ()
    todo: tuple[OpenItem, ...] = ()
    questions: tuple[Question, ...] = ()
    stumbles: tuple[RecurringFailure, ...] = ()
    checks: tuple[Check, ...] = ()
    done: tuple[Done, ...] = ()
    closed: tuple[ClosedTodo, ...] = ()
    projects: tuple[ActiveProject, ...] = ()
    files: tuple[FileHint, ...] = ()


class CurrentFile(Struct):
    """A parsed current.md. `ticked` are our to-dos that a person ticked; they are not in `current.todo`."""

    document: Document
    current: Current
    ticked: tuple[OpenItem, ...] = ()
    person: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)


class ByHand(Struct, frozen=True):
    """A to-do that a person wrote or reworded, and its `line` in the file, counted from 0.

    `was` is the id of our to-do that they reworded, if the line still shows it.
    """

    item: OpenItem
    done: bool
    line: int
    was: str = ""


class _PartForm(Struct, frozen=True):
    name: str  # of the part, and of the attribute of Current
    heading: str
    form: Form[Any]
    box: bool = False
    optional: bool = False  # left out while it is empty


_BRANCH = Field("branch", "branch")
_PROJECT = Field("project", "project")
_ASKED = Form(Question, "text", (*md.QUESTION.fields, _PROJECT))
_BY = Field("by", "by", one_of=("user", "agent", ""))
_PARTS = (
    _PartForm("next", "Next", Form(NextStep, "text", (_BRANCH, _PROJECT, _BY, md.AT))),
    _PartForm("todo", "TODO", md.OPEN_ITEM, box=True),
    _PartForm("questions", "Open questions", _ASKED),
    _PartForm(
        "stumbles",
        "Fails here, and what works",
        Form(
            RecurringFailure,
            "tried",
            (
                Field("failed", "failed", sign="→"),
                Field("instead", "instead", sign="→"),
                Field("sessions", "sessions", "count"),
                md.AT,
            ),
        ),
    ),
    _PartForm("checks", "Checks that passed", Form(Check, "command", (Field("kind", "kind"), md.AT))),
    _PartForm("done", "Done last", Form(Done, "text", (_BRANCH, _PROJECT, Field("agent", "agent"), md.AT))),
    _PartForm(
        "closed",
        "Closed to-dos",
        Form(
            ClosedTodo,
            "text",
            (
                Field("how", "how", one_of=("done", "dropped", "replaced")),
                Field("because", "why"),
                _BRANCH,
                _PROJECT,
                md.AT,
            ),
        ),
        optional=True,
    ),
    _PartForm(
        "projects",
        "Active projects",
        Form(
            ActiveProject,
            "name",
            (Field("status", "status"), _BRANCH, Field("see", "pointers", "list"), md.AT),
        ),
    ),
    _PartForm("files", "File index", Form(FileHint, "path", (Field("load when", "when"),))),
)


def render_current(document: Document, current: Current) -> str:
    """The file with this state in its managed parts, and a person's lines unchanged."""
    for part in _PARTS:
        items = getattr(current, part.name)
        if part.optional and not items and document.part(part.name) is None:
            continue
        bullet = "- [ ] " if part.box else "- "
        lines = [f"{bullet}{part.form.render(item)}" for item in items] or ["(none)"]
        document = document.replace(part.name, lines, heading=part.heading)
    return document.render()


def parse_current(text: str, where: str = "current.md") -> CurrentFile:
    """Parses a current.md. Raises StoreError if its markers are broken."""
    document = sections.parse(text, where)
    file = CurrentFile(document, Current())
    values: dict[str, tuple[Any, ...]] = {}
    for part in _PARTS:
        values[part.name] = _read_part(file, part)
    file.current = Current(**values)
    return file


def todos_by_hand(document: Document, clean: Callable[[str], str] = str) -> list[ByHand]:
    """The to-dos in a person's lines, anywhere in the file except in code blocks. `clean` is applied to their text."""
    our_lines = {part.start + 1 + number for part in document.parts for number in document.ours(part.name)}
    todos: list[ByHand] = []
    fenced = False
    for number, line in enumerate(document.lines):
        if number in our_lines:
            continue
        fenced ^= FENCE.match(line) is not None
        todos += [] if fenced else filter(None, [_by_hand(line, number, clean)])
    return todos


def bare_todo(line: str, clean: Callable[[str], str] = str) -> tuple[OpenItem, bool] | None:
    """The to-do of a line with a box, and whether the box is ticked; None if it is not a to-do."""
    box = _BOX_BY_HAND.match(line)
    if box is None:
        return None
    words = clean(md.readable(line[box.end() :].strip()))
    try:
        item = md.OPEN_ITEM.parse(words)
    except (ValueError, OverflowError):  # a person's words need not follow our grammar
        item = OpenItem(text=words)
    return (item, box[1] != " ") if item.text.strip() else None


def _by_hand(line: str, number: int, clean: Callable[[str], str]) -> ByHand | None:
    if (todo := bare_todo(line, clean)) is None:
        return None
    id = _SHOWN_ID.search(line)
    return ByHand(*todo, number, id[1] if id and id[1] != todo[0].id else "")


def settled_by_hand(document: Document) -> set[str]:
    """Ids of to-dos that a person reworded or ticked in their own lines: sessions must not add them again."""
    todos = todos_by_hand(document)
    return {todo.was for todo in todos if todo.was} | {todo.item.id for todo in todos if todo.done}


def close_by_hand(text: str, wanted: set[str], clean: Callable[[str], str], *, tick: bool) -> str:
    """The file with these to-dos of a person ticked in place, or with their lines removed; nothing else changes."""
    document = sections.parse(text, "current.md")
    lines = list(document.lines)
    for todo in todos_by_hand(document, clean):
        if todo.item.id not in wanted:
            continue
        lines[todo.line] = lines[todo.line].replace("[ ]", "[x]", 1) if tick else ""
    return "".join(lines)


def by_session(items: Sequence[OpenItem]) -> list[OpenItem]:
    """The newest session's items first, each session's in order: a list is worked off from the top."""
    newest: dict[str, float] = {}
    for item in items:
        newest[item.session] = max(newest.get(item.session, 0.0), item.at or 0.0)
    return sorted(items, key=lambda item: -newest[item.session])


def edit_current(
    text: str, edit: Callable[[Any], Any], prose: Callable[[str], str], where: str = "current.md"
) -> str:
    """The file with `edit` applied to each item (None removes it) and `prose` to a person's lines."""
    document = sections.parse(text, where)
    parts = {part.name: part for part in _PARTS}

    def line(name: str, line: str) -> str | None:
        part = parts.get(name)
        bullet = (_BOX if part.box else _BULLET).match(line) if part else None
        if part is None or bullet is None:
            return line
        try:
            item = part.form.parse(line[bullet.end() :])
        except (ValueError, OverflowError):
            return prose(line) or None
        edited = edit(item)
        if edited is None or edited == item:
            return None if edited is None else line
        return f"{bullet[0]}{part.form.render(edited)}"

    return document.edited(document.ours, line, prose)


def _read_part(file: CurrentFile, part: _PartForm) -> tuple[Any, ...]:
    items: list[Any] = []
    our_lines = file.document.ours(part.name)
    for number, line in enumerate(file.document.body(part.name)):
        if number not in our_lines:
            file.person += (md.readable(line),) if line.strip() else ()
            continue
        bullet = (_BOX if part.box else _BULLET).match(line)
        if bullet is None:
            continue
        try:
            item = part.form.parse(line[bullet.end() :])
        except (ValueError, OverflowError) as error:
            place = file.document.line_number(part.name, number)
            file.problems.append(md.problem(file.document.where, place, str(error)))
            continue
        if part.box and bullet[1] in ("x", "X"):
            file.ticked += (item,)
        else:
            items.append(item)
    return tuple(items)
