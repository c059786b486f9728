"""The screen Repository: how things are done here, which files matter, and which session is behind their lines."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.file_names import tracked
from holdfast.core.wording import counted
from holdfast.flows.repo_scan import look
from holdfast.knowledge.store import load, title
from holdfast.model.knowledge import Convention, FileNote, Knowledge, usefulness
from holdfast.web import repository_file
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Page, Request, Route, Screen

_MOST_EVIDENCE = 4


def knowledge_of(request: Request) -> Knowledge:
    return request.kept("knowledge", lambda: load(request.project), "knowledge")


def views(request: Request) -> list[tuple[str, str, str]]:
    known = knowledge_of(request).now
    return [
        ("Conventions", request.url("repository"), f"{len(known.conventions):,}"),
        ("Patterns", request.url("repository.patterns"), f"{len(known.patterns):,}"),
        ("Files", request.url("repository.files"), f"{len(known.files):,}"),
    ]


def show(request: Request) -> Page:
    known, asked = knowledge_of(request), request.query
    wanted = asked.get("q", "").casefold().split()
    chosen = [
        habit
        for habit in sorted(known.now.conventions, key=usefulness)
        if all(
            word in f"{habit.category} {habit.scope} {habit.pattern} {habit.example}".casefold()
            for word in wanted
        )
    ]
    return Page(
        "repository.html",
        title="Repository",
        views=views(request),
        known=known,
        asked=asked,
        part=request.page(chosen),
        name_of=title,
        seen=seen,
        most_evidence=_MOST_EVIDENCE,
    )


def seen(habit: Convention) -> str:
    """How often it was kept, and how often not."""
    if not habit.count and not habit.counter:
        return "as configured"
    if habit.counter:
        return f"{habit.count:,} of {habit.count + habit.counter:,}, {habit.counter:,} against it"
    return f"{counted(habit.count, 'time')}, none against it"


def show_patterns(request: Request) -> Page:
    known = knowledge_of(request)
    return Page(
        "repository_patterns.html",
        title="Patterns",
        views=views(request),
        known=known,
        part=request.page(known.now.patterns),
    )


def show_files(request: Request) -> Page:
    known, asked = knowledge_of(request), request.query
    notes = {note.path: note for note in known.now.files}
    wanted = asked.get("q", "").casefold().split()
    if wanted:
        names = [
            name for name in tracked(request.project.root) if all(word in name.casefold() for word in wanted)
        ]
        chosen: Sequence[FileNote] = [notes.get(name) or FileNote(path=name) for name in names]
    else:
        chosen = sorted(
            known.now.files, key=lambda note: (not note.is_hot, -note.changes, -note.complexity, note.path)
        )
    return Page(
        "repository_files.html",
        title="Files",
        views=views(request),
        known=known,
        asked=asked,
        part=request.page(chosen),
        most=max((note.changes for note in known.now.files), default=0),
    )


def scan(request: Request) -> Changed:
    """Looks at the checkout as `know scan` does. What it learned before and no longer sees is kept in its archive."""
    return change(
        request,
        lambda done: (
            f"Looked at {counted(done.knowledge.looked.listed, 'file')}: "
            f"{counted(len(done.knowledge.now.conventions), 'convention')}"
        ),
        lambda: look(request.here, request.project, keep=True),
    )


SCREEN = Screen(
    "repository",
    "Repository",
    "r",
    "link",
    (
        Route("/repository", show),
        Route("/repository/patterns", show_patterns),
        Route("/repository/files", show_files),
        Route("/repository/scan", scan, "POST"),
        *repository_file.ROUTES,
    ),
)
