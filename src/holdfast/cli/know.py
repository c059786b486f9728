"""`holdfast know`: what is known about this repository, from its files and from sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import UsageError
from holdfast.core.session_id import short_session
from holdfast.flows.repo_scan import RepositoryLook, look
from holdfast.model.knowledge import Convention, Items, Knowledge, usefulness
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, Verb, flag, option
from holdfast.terminal.output import Column, Table, counted, on_screen, table_of
from holdfast.terminal.progress import progress_bar
from holdfast.views.memory import iso

if TYPE_CHECKING:
    from holdfast.knowledge.scan import Progress

DESCRIPTION = """Shows how things are done in this repository: package manager, commands, tools, naming, tests, style,
commits, libraries, structure, hot and complex files, and facts from sessions. Each statement shows how sure it is and
the files behind it. Nothing is run or sent; AGENTS.md and similar files are not read."""
EXAMPLES = """examples:
  holdfast know                     what is known now; writes nothing
  holdfast know scan                scan the checkout and keep what was found
  holdfast know context --max 2000  as markdown for a system prompt, at most 2000 characters
  holdfast know --json              with evidence, for programs"""
_SHOWN_FILES = 12
_SHOWN_FACTS = 15


OPTIONS = (flag("--json", "everything as JSON, with evidence"),)
_JSON = flag("--json", "the same as JSON", default=SUPPRESS)
VERBS = {
    "scan": Verb("scan the checkout and keep what was found", (_JSON,)),
    "context": Verb(
        "print markdown for a system prompt",
        (option("--max", type=int, metavar="N", help="at most N characters (default: all)"), _JSON),
    ),
}


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    with scan_progress(show=not options.json) as progress:
        scan = look(machine, project, keep=options.verb == "scan", progress=progress)
    if options.verb == "context":
        return _context(scan.knowledge.now, options.max, options.json)
    if options.json:
        return output.show_json(as_json(scan.knowledge))
    if options.verb == "scan":
        return _show_scan(scan)
    _show(scan.knowledge)
    if not scan.knowledge.scanned_at:
        output.note("Not saved yet: holdfast know scan saves it.")


def _context(items: Items, most: int | None, as_object: bool) -> None:
    from holdfast.knowledge.store import render

    if most is not None and most < 1:
        raise UsageError("--max must be at least 1", fix="Give a number of characters, e.g. --max 2000")
    text = render(items, most)
    if as_object:
        return output.show_json({"context": text, "characters": len(text), "max": most})
    if not text:
        output.note(f"Nothing fits in {most} characters.")
    output.write(on_screen(text) if output.on_terminal() else text)


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
            "at": iso(known.scanned_at or None),
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


def _show_scan(found: RepositoryLook) -> None:
    knowledge = found.knowledge
    if found.unchanged:
        output.line(f"Nothing has changed since the last scan ({counted(knowledge.looked.listed, 'file')}).")
        return
    looked = knowledge.looked
    output.line(
        f"{counted(looked.listed, 'file')}, {looked.read:,} of {counted(looked.sources, 'source')} read, "
        f"{counted(looked.commits, 'commit')}: {counted(len(knowledge.now.conventions), 'convention')}, "
        f"{counted(len(knowledge.now.patterns), 'pattern')}, {counted(len(knowledge.now.facts), 'fact')}, "
        f"{len(knowledge.now.files)} notes on files."
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
    counts = [
        f"{counted(looked.listed, 'file')} listed by {looked.listed_by or 'holdfast'}",
        f"{counted(looked.read, 'source')} read",
        counted(looked.commits, "commit"),
        *looked.notes,
    ]
    output.aside(f"{', '.join(counts)}.")


def _conventions(now: Items) -> Table:
    return table_of(
        sorted(now.conventions, key=usefulness),
        (Column("Convention", style="bold"), lambda habit: habit.category.replace("_", " ")),
        (Column("For", flexible=True, dispensable=1), lambda habit: habit.scope),
        (Column("What is done", flexible=True, wrapped=True), lambda habit: habit.pattern),
        (Column("Sure", align="right"), lambda habit: f"{habit.confidence:.2f}"),
        (
            Column("Seen", align="right", dispensable=2),
            lambda habit: f"{habit.count:,}{f'/{habit.count + habit.counter:,}' if habit.counter else ''}",
        ),
        (Column("Shown by", flexible=True, dispensable=3, style="dim"), _first_evidence),
    )


def _first_evidence(habit: Convention) -> str:
    for where in habit.evidence[:1]:
        return f"{where.path}: {where.field}" if where.field else where.path
    return ""


def _patterns(now: Items) -> Table:
    return table_of(
        now.patterns,
        (Column("Pattern", style="bold"), lambda pattern: pattern.name),
        (Column("What it is", flexible=True, wrapped=True), lambda pattern: pattern.description),
        (Column("Files", align="right"), lambda pattern: str(pattern.count or len(pattern.files))),
        (Column("Sure", align="right"), lambda pattern: f"{pattern.confidence:.2f}"),
        (
            Column("For example", flexible=True, dispensable=1, style="dim"),
            lambda pattern: pattern.files[0] if pattern.files else "",
        ),
    )


def _facts(now: Items) -> Table:
    return table_of(
        now.facts[:_SHOWN_FACTS],
        (Column("Fact", flexible=True), lambda fact: fact.statement),
        (Column("Kind"), lambda fact: fact.category),
        (Column("Session", dispensable=1), lambda fact: short_session(fact.session)),
        (Column("Sure", align="right"), lambda fact: f"{fact.confidence:.2f}"),
    )


def _files(now: Items) -> Table:
    return table_of(
        now.files[:_SHOWN_FILES],
        (Column("File", flexible=True, style="bold"), lambda file: file.path),
        (Column("Complexity", align="right"), lambda file: str(file.complexity)),
        (Column("Changes", align="right"), lambda file: str(file.changes)),
        (Column("", dispensable=1), lambda file: "hot" if file.is_hot else ""),
        (
            Column("Changes with", flexible=True, dispensable=2, style="dim"),
            lambda file: file.neighbours[0] if file.neighbours else "",
        ),
    )


@contextmanager
def scan_progress(*, show: bool) -> Iterator[Progress | None]:
    with progress_bar(show=show, text="looking", columns=("MofNCompleteColumn",)) as update:
        yield update and (lambda part, done, total: update(done, total or None, f"looking at {part}"))
