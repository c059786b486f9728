"""`holdfast history`: which files keep versions, the changes of one, and what a change did."""

from __future__ import annotations

from datetime import datetime

from holdfast.cli import output
from holdfast.cli.options import Machine, Namespace, at_least_one, flag, option
from holdfast.cli.output import Column, Table
from holdfast.flows.undo import FileChange, change_and_diff, changes_of, files_with_versions

SHOWN = 20
DESCRIPTION = """Every file that changes keeps its last 50 versions: current.md, style.md, reference.md and
open-questions.md. Without FILE: which have some. With FILE: its changes, the newest first. What was edited by
hand is a version too; what nobody has saved yet is its newest line."""
EXAMPLES = """examples:
  holdfast history                       the files that keep versions
  holdfast history current.md            what changed it, and when
  holdfast history current.md --diff 12  what change 12 did to it
  holdfast undo current.md --to 12       bring back what it held after change 12
"""


OPTIONS = (
    option("file", nargs="?", metavar="FILE", help="e.g. current.md (default: list the files)"),
    option(
        "-n",
        "--last",
        type=at_least_one,
        metavar="N",
        help=f"only the last N changes, or files (default: {SHOWN})",
    ),
    option("--diff", type=at_least_one, metavar="N", help="show what change N did"),
    flag("--json", "files, changes or the one change as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.diff is not None:
        change, diff = change_and_diff(machine, project, options.diff, options.file)
        if options.json:
            output.show_json({**_as_json(change), "diff": diff})
        else:
            output.heading(f"{change.file}: change {change.n}, {moment(change.at)}, {why(change.reason)}")
            output.show_diff(diff)
    elif options.file is not None:
        changes = changes_of(
            machine, project, options.file, options.last or (None if options.json else SHOWN)
        )
        if options.json:
            output.show_json([_as_json(change) for change in changes])
        elif not changes:
            output.line(f"{options.file} has no versions yet.")
        else:
            _show(changes)
    else:
        _show_files(machine, options.last, as_json=options.json)


def _show_files(machine: Machine, last: int | None, *, as_json: bool) -> None:
    every = files_with_versions(machine, machine.project())
    found = every[: last or (None if as_json else SHOWN)]
    if as_json:
        output.show_json(found)
    elif not found:
        output.line("Nothing has changed here yet, so there are no versions.")
    else:
        columns = [
            Column("File", flexible=True),
            Column("Changes", "right"),
            Column("Last"),
            Column("By", flexible=True),
        ]
        rows = [
            [entry.file, str(entry.changes), moment(entry.last_at), why(entry.last_reason)] for entry in found
        ]
        output.show(Table(columns, rows))
        if more := len(every) - len(found):
            output.note(f"and {more} more file{'s' if more != 1 else ''}: holdfast history -n {len(every)}")


def _show(changes: list[FileChange]) -> None:
    columns = [Column("N", "right"), Column("When"), Column("Lines"), Column("By", flexible=True)]
    rows = [
        [str(change.n), moment(change.at), lines(change.added, change.removed), why(change.reason)]
        for change in changes
    ]
    output.show(Table(columns, rows))


def _as_json(change: FileChange) -> dict[str, object]:
    return {
        "n": change.n,
        "file": change.file,
        "at": change.at,
        "reason": change.reason,
        "group": change.group or None,
        "added": change.added,
        "removed": change.removed,
    }


def moment(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def why(reason: str) -> str:
    return reason or "holdfast"


def lines(added: int | None, removed: int | None) -> str:
    return "?" if added is None or removed is None else f"+{added} -{removed}"
