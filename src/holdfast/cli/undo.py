"""`holdfast undo`: shows the last change, asks, reverts it, and says how to restore it."""

from __future__ import annotations

from holdfast.cli.history import lines, why
from holdfast.core.errors import StoreError, UsageError
from holdfast.flows.undo import Undone, changes_of, undo, undo_personal
from holdfast.store.versions import UNDO
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, at_least_one, flag, option
from holdfast.terminal.output import Column, Table, counted
from holdfast.views.ledger import day

DESCRIPTION = """Undoes the last change holdfast made to current.md, style.md, reference.md, open-questions.md and
lessons: everything that one command or session changed. Shows the change first, and asks. Your own edits are never
undone. The log and the ledger are append-only and stay as they are."""
EXAMPLES = """examples:
  holdfast undo                     show the last change, ask, and undo it; run it again to redo it
  holdfast undo --yes               the same without a question, for scripts
  holdfast undo current.md          only in this file
  holdfast undo current.md --to 12  as it was after change 12 (holdfast history current.md lists them)
  holdfast undo --dry-run           only show what would change
  holdfast undo --personal          the last change to your personal lessons
"""


_NAMES = {UNDO: "the undo", "capture": "what sessions left in memory"}


OPTIONS = (
    option("file", nargs="?", metavar="FILE", help="only this file, e.g. current.md"),
    option("--to", type=at_least_one, metavar="N", help="restore a file as it was after change N"),
    flag("--personal", "undo the last change to your personal lessons instead"),
    flag("--yes", "do not ask"),
    flag("--dry-run", "only show what would change, line by line"),
    flag("--json", "what was undone, as JSON; implies --yes"),
)


def run(options: Namespace, machine: Machine) -> int:
    if options.personal and (options.file or options.to):
        raise UsageError("--personal cannot be used with FILE or --to", fix="Run holdfast undo --personal")
    planned = _undo(options, machine, dry_run=True)
    if not planned:
        output.answer(
            options,
            {"done": False, "files": []},
            f"{options.file or 'It'} is already as it was then."
            if options.to
            else "There is nothing to undo.",
        )
        return 0
    asks = not (options.yes or options.json or options.dry_run)
    if not options.json and (asks or options.dry_run):
        _show(planned, options, ("Would restore", "Would undo"))
    if asks and not agreed("Go ahead?"):
        output.line("Nothing was changed.")
        return 1
    done = planned if options.dry_run else _as_planned(options, machine, planned)
    if options.json:
        output.show_json({"done": not options.dry_run, "files": done})
    elif options.dry_run:
        for undone in done:
            output.show_diff(undone.diff)
    else:
        _tell(machine, done, options, shown=asks)
    return 0


def _undo(options: Namespace, machine: Machine, *, dry_run: bool) -> list[Undone]:
    if options.personal:
        return undo_personal(machine, machine.project(), dry_run=dry_run)
    return undo(machine, machine.project(), options.file, to=options.to, dry_run=dry_run)


def _as_planned(options: Namespace, machine: Machine, planned: list[Undone]) -> list[Undone]:
    """A session may have ended while the person was asked: changes that they have not seen are not reverted."""
    if _undo(options, machine, dry_run=True) != planned:
        raise StoreError("the files changed in the meantime", fix="Run holdfast undo again")
    return _undo(options, machine, dry_run=False)


def _show(files: list[Undone], options: Namespace, words: tuple[str, str]) -> None:
    brought, taken = words
    if options.to:
        output.line(f"{brought} {files[0].file} as it was after change {options.to}.")
    else:
        newest = max(
            (change for undone_file in files for change in undone_file.changes), key=lambda change: change.n
        )
        change_name = _NAMES.get(newest.reason) or why(newest.reason)
        of = f", {counted(len(files), 'file')}" if len(files) > 1 else ""
        output.line(f"{taken}: {change_name} of {day(newest.at)}{of}.")
    _list(files, options)


def _list(files: list[Undone], options: Namespace) -> None:
    columns = [Column("File", flexible=True), Column("Result"), Column("Change", dispensable=1)]
    output.show(Table(columns, [_row(undone, options) for undone in files]))


def _row(undone: Undone, options: Namespace) -> tuple[str, str, str]:
    again = any(change.reason == UNDO for change in undone.changes)
    gone = "removed again" if again else "removed, because it was new"
    description = gone if undone.gone else f"{lines(undone.added, undone.removed)} lines"
    if undone.file.startswith(".holdfast/"):
        description = "no longer tracked in git" if undone.gone else "tracked in git again, not committed"
    numbers = ", ".join(str(change.n) for change in undone.changes[:5])
    more = " …" if len(undone.changes) > 5 else ""
    return undone.file, description, "" if options.to else f"{numbers}{more}"


def _tell(machine: Machine, done: list[Undone], options: Namespace, *, shown: bool) -> None:
    """What the person has just confirmed is not listed again, except for news from the undo itself."""
    if shown:
        output.line("Done.")
        if shared := [undone for undone in done if undone.file.startswith(".holdfast/")]:
            _list(shared, options)
    else:
        _show(done, options, ("Restored", "Undone"))
    file = f" {options.file or done[0].file}" if options.to or options.file else ""
    file = " --personal" if options.personal else file
    output.line(f"holdfast undo{file} redoes it; holdfast history FILE lists every version.")
    if not options.personal and (earlier := _earlier(machine, done)):
        output.line(f"To go further back: holdfast undo {earlier}")


def _earlier(machine: Machine, done: list[Undone]) -> str:
    """The words that bring back the version before the one that is there now; '' for several files, or none before."""
    if len(done) != 1 or not done[0].changes:
        return ""
    taken = min(change.n for change in done[0].changes)
    before = [change for change in changes_of(machine, machine.project(), done[0].file) if change.n < taken]
    return f"{done[0].file} --to {before[1].n}" if len(before) > 1 else ""
