"""`holdfast history`: lists files with versions, the changes of one file, and the diff of a change."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.flows.undo import FileChange, FileVersions, change_and_diff, changes_of, files_with_versions
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, at_least_one, flag, limit, option
from holdfast.terminal.output import Column, plural, table_of
from holdfast.views.ledger import day

SHOWN = 20
_CALLED_TODAY = {"decide": "note decision", "fact": "note fact", "answer": "note answer"}
DESCRIPTION = """Shows the versions of current.md, style.md, reference.md and open-questions.md, the last 50 of each.
Without FILE, lists the files. With FILE, lists its changes with their numbers, newest first, including your own edits.
holdfast undo FILE --to N restores what the file held after change N."""
EXAMPLES = """examples:
  holdfast history                       the files that keep versions
  holdfast history current.md            what changed it, and when
  holdfast history current.md --diff 12  what change 12 did to it
  holdfast undo current.md --to 12       restore it as it was after change 12
"""


OPTIONS = (
    option("file", nargs="?", metavar="FILE", help="e.g. current.md (default: list the files)"),
    *limit("changes or files, the newest", f"default: {SHOWN}"),
    option("--diff", type=at_least_one, metavar="N", help="show what change N did"),
    flag("--json", "files, changes or the one change as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    most = options.limit or (None if options.json else SHOWN)
    if options.diff is not None:
        change, diff = change_and_diff(machine, project, options.diff, options.file)
        output.answer(options, {**_as_json(change), "diff": diff}, lambda: _show_change(change, diff))
    elif options.file is not None:
        changes = changes_of(machine, project, options.file, most)
        table = table_of(
            changes,
            (Column("Change", "right"), lambda change: str(change.n)),
            (Column("When"), lambda change: day(change.at)),
            (Column("Lines"), lambda change: lines(change.added, change.removed)),
            (Column("By", flexible=True), lambda change: why(change.reason)),
        )
        nothing = f"{options.file} has no versions yet."
        output.answer(options, [_as_json(change) for change in changes], table if changes else nothing)
    else:
        _list_files(options, files_with_versions(machine, project), most)


def _show_change(change: FileChange, diff: str) -> None:
    output.heading(f"{change.file}: change {change.n}, {day(change.at)}, {why(change.reason)}")
    output.show_diff(diff)


def _list_files(options: Namespace, every: Sequence[FileVersions], most: int | None) -> None:
    table = table_of(
        every[:most],
        (Column("File", flexible=True), lambda entry: entry.file),
        (Column("Changes", "right"), lambda entry: str(entry.changes)),
        (Column("Last"), lambda entry: day(entry.last_at)),
        (Column("By", flexible=True), lambda entry: why(entry.last_reason)),
    )
    nothing = "No versions yet: nothing has changed."
    output.answer(options, every[:most], table if every else nothing)
    if not options.json and most is not None and len(every) > most:
        output.note(f"and {plural(len(every) - most, 'more file')}: holdfast history -n {len(every)}")


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


def why(reason: str) -> str:
    """What changed a file, as its command is called today. Reasons are stored under the names of before 1.0."""
    first_word, _, rest = reason.partition(" ")
    return f"{_CALLED_TODAY.get(first_word, first_word)} {rest}".strip() or "holdfast"


def lines(added: int | None, removed: int | None) -> str:
    return "?" if added is None or removed is None else f"+{added} -{removed}"
