"""`holdfast know`: what this repository shows of itself, and what sessions learned of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.cli import output
from holdfast.cli.options import SUPPRESS, Machine, Namespace, Verb, flag, option
from holdfast.cli.output import Column, Table, counted, on_screen
from holdfast.core.errors import UsageError
from holdfast.flows.repo_scan import RepositoryLook, look
from holdfast.model.knowledge import Convention, Items, Knowledge, usefulness

if TYPE_CHECKING:
    from holdfast.knowledge.scan import Progress

DESCRIPTION = """How things are done in this repository: its package manager, commands, tools, naming, layout of tests,
style, commits and libraries, the structures of its code, its hot and complex files, and facts that sessions learned.
Each with how sure it is and the files that show it. Nothing is run, nothing is sent; AGENTS.md and its kin are not
read."""
EXAMPLES = """examples:
  holdfast know                     what is known, as of now; writes nothing
  holdfast know scan                look at the checkout and keep what was found
  holdfast know context --max 2000  the same as markdown for a system prompt, at most 2000 characters
  holdfast know --json              with evidence, for programs"""
_SHOWN_FILES = 12
_SHOWN_FACTS = 15


OPTIONS = (flag("--json", "everything as JSON, with evidence"),)
_JSON = flag("--json", "the same as JSON", default=SUPPRESS)
VERBS = {
    "scan": Verb("look at the checkout and keep what was found", (_JSON,)),
    "context": Verb(
        "markdown for a system prompt",
        (option("--max", type=int, metavar="N", help="at most so many characters (default: all)"), _JSON),
    ),
}


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    with scan_progress(show=not options.json and sys.stderr.isatty()) as progress:
        found = look(machine, project, keep=options.verb == "scan", progress=progress)
    if options.verb == "context":
        return _context(found.knowledge.now, options.max, options.json)
    if options.json:
        return output.show_json(as_json(found.knowledge))
    if options.verb == "scan":
        return _show_scan(found)
    _show(found.knowledge)
    if not found.knowledge.scanned_at:
        output.note("Nothing of this is kept yet: holdfast know scan does that.")


def _context(items: Items, most: int | None, as_object: bool) -> None:
    from holdfast.knowledge.store import render

    if most is not None and most < 1:
        raise UsageError("--max must be at least 1", fix="Give a number of characters, e.g. --max 2000")
    text = render(items, most)
    if as_object:
        return output.show_json({"context": text, "characters": len(text), "max": most})
    if not text:
        output.note(f"Nothing fits into {most} characters.")
    sys.stdout.write(on_screen(text) if output.on_terminal() else text)


def as_json(known: Knowledge) -> dict[str, Any]:
    """As docs/json.md says; evidence with the field where there is one."""
    import msgspec

    now: dict[str, Any] = msgspec.to_builtins(known.now)
    for kind in now.values():
        for item in kind:
            for inner in ("by", "confirmed"):
                item.pop(inner, None)
    return {
        **now,
        "scan": {
            "at": _iso(known.scanned_at),
            "files": known.looked.listed,
            "sources": known.looked.sources,
            "read": known.looked.read,
            "commits": known.looked.commits,
            "listed_by": known.looked.listed_by,
            "trees": known.looked.trees,
            "notes": list(known.looked.notes),
        },
        "archived": {kind: len(getattr(known.archive, kind)) for kind in now},
    }


def _iso(at: float) -> str | None:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else None


def _show_scan(found: RepositoryLook) -> None:
    known = found.knowledge
    if found.unchanged:
        output.line(f"Nothing changed since the last look ({counted(known.looked.listed, 'file')}).")
        return
    looked = known.looked
    output.line(
        f"{counted(looked.listed, 'file')}, {looked.read:,} of {counted(looked.sources, 'source')} read, "
        f"{counted(looked.commits, 'commit')}: {counted(len(known.now.conventions), 'convention')}, "
        f"{counted(len(known.now.patterns), 'pattern')}, {counted(len(known.now.facts), 'fact')}, "
        f"{len(known.now.files)} notes on files."
    )
    for note in looked.notes:
        output.line(f"  {note}")
    output.line("See them with: holdfast know")


def _show(known: Knowledge) -> None:
    for table in (_conventions(known.now), _patterns(known.now), _facts(known.now), _files(known.now)):
        if table.rows:
            output.show(table)
            output.line()
    looked = known.looked
    if not looked.listed and not any(
        getattr(known.now, kind) for kind in ("conventions", "patterns", "facts")
    ):
        output.line("There are no files here to learn from.")
        return
    told = [
        f"{counted(looked.listed, 'file')} listed by {looked.listed_by or 'nobody'}",
        f"{counted(looked.read, 'source')} read",
        counted(looked.commits, "commit"),
        *looked.notes,
    ]
    output.aside(f"{', '.join(told)}.")


def _conventions(now: Items) -> Table:
    columns = (
        Column("Convention", style="bold"),
        Column("For", flexible=True, dispensable=1),
        Column("What is done", flexible=True, wrapped=True),
        Column("Sure", align="right"),
        Column("Seen", align="right", dispensable=2),
        Column("Shown by", flexible=True, dispensable=3, style="dim"),
    )
    return Table(columns, [_row(one) for one in sorted(now.conventions, key=usefulness)])


def _patterns(now: Items) -> Table:
    columns = (
        Column("Pattern", style="bold"),
        Column("What it is", flexible=True, wrapped=True),
        Column("Files", align="right"),
        Column("Sure", align="right"),
        Column("For example", flexible=True, dispensable=1, style="dim"),
    )
    rows = [
        [
            one.name,
            one.description,
            str(one.count or len(one.files)),
            f"{one.confidence:.2f}",
            *(one.files[:1] or [""]),
        ]
        for one in now.patterns
    ]
    return Table(columns, rows)


def _facts(now: Items) -> Table:
    columns = (
        Column("Fact", flexible=True),
        Column("Kind"),
        Column("Session", dispensable=1),
        Column("Sure", align="right"),
    )
    shown = now.facts[:_SHOWN_FACTS]
    return Table(
        columns, [[one.statement, one.category, one.session[:8], f"{one.confidence:.2f}"] for one in shown]
    )


def _files(now: Items) -> Table:
    columns = (
        Column("File", flexible=True, style="bold"),
        Column("Complexity", align="right"),
        Column("Changes", align="right"),
        Column("", dispensable=1),
        Column("Changes with", flexible=True, dispensable=2, style="dim"),
    )
    rows = [
        [
            one.path,
            str(one.complexity),
            str(one.changes),
            "hot" if one.is_hot else "",
            *(one.neighbours[:1] or [""]),
        ]
        for one in now.files[:_SHOWN_FILES]
    ]
    return Table(columns, rows)


def _row(one: Convention) -> list[str]:
    seen = f"{one.count:,}/{one.count + one.counter:,}" if one.counter else f"{one.count:,}"
    where = one.evidence[0] if one.evidence else None
    shown = f"{where.path}: {where.field}" if where and where.field else where.path if where else ""
    return [one.category.replace("_", " "), one.scope, one.pattern, f"{one.confidence:.2f}", seen, shown]


@contextmanager
def scan_progress(*, show: bool) -> Iterator[Progress | None]:
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("looking", total=None)

        def advance(what: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None, description=f"looking at {what}")

        yield advance
