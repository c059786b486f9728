"""`holdfast undo`: takes back the last change of holdfast, and says what it was and how it comes back."""

from __future__ import annotations

import argparse

from holdfast.app.undoing import UNDO, Undone, undo, undo_personal
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.cli.history import lines, moment, why
from holdfast.cli.numbers import at_least_one
from holdfast.errors import UsageError

DESCRIPTION = """Takes back the last thing that holdfast did to current.md, style.md, reference.md, open-questions.md
and lessons: all files that one command or capture changed, or none. With FILE only that one. What a person edited by
hand is never taken back. The log and the ledger are only added to, so they stay as they are."""
EXAMPLES = """examples:
  holdfast undo                     take back the last change; again, and it is back
  holdfast undo current.md          only in this file
  holdfast undo current.md --to 12  what it held after change 12 (holdfast history current.md lists them)
  holdfast undo --dry-run           only show what would change
  holdfast undo --personal          the last change of your personal lessons
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="only this file, e.g. current.md")
    parser.add_argument(
        "--to", type=at_least_one, metavar="N", help="bring back what a file held after change N"
    )
    parser.add_argument(
        "--personal", action="store_true", help="take back the last change of your personal lessons instead"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--json", action="store_true", help="what was taken back as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    if options.personal and (options.file or options.to):
        raise UsageError("--personal takes no FILE and no --to", fix="Say holdfast undo --personal")
    if options.personal:
        done = undo_personal(machine, machine.project(), dry_run=options.dry_run)
    else:
        done = undo(machine, machine.project(), options.file, to=options.to, dry_run=options.dry_run)
    if options.json:
        output.show_json({"done": bool(done) and not options.dry_run, "files": done})
    elif not done:
        what = (
            f"{options.file or 'It'} holds that already." if options.to else "There is nothing to take back."
        )
        output.line(what)
    else:
        _show(done, options)
    return 0


def _show(done: list[Undone], options: argparse.Namespace) -> None:
    if options.to:
        word = "Would bring back" if options.dry_run else "Brought back"
        output.line(f"{word} what {done[0].file} held after change {options.to}.")
    else:
        newest = max((change for undone in done for change in undone.changes), key=lambda change: change.n)
        word = "Would take back" if options.dry_run else "Taken back"
        what = "the undo" if newest.reason == UNDO else why(newest.reason)
        output.line(f"{word}: {what} of {moment(newest.at)}.")
    width = max(len(undone.file) for undone in done)
    for undone in done:
        what = "removed, as it was new" if undone.gone else f"{lines(undone.added, undone.removed)} lines"
        if undone.file.startswith(".holdfast/"):
            what = "taken out of git" if undone.gone else "tracked in git again, not committed"
        numbers = ", ".join(str(change.n) for change in undone.changes[:5])
        more = " …" if len(undone.changes) > 5 else ""
        of = f"  (change {numbers}{more})" if numbers and not options.to else ""
        output.line(f"  {undone.file:<{width}}  {what}{of}")
    if options.dry_run:
        for undone in done:
            output.show_diff(undone.diff)
        return
    file = f" {options.file or done[0].file}" if options.to or options.file else ""
    file = " --personal" if options.personal else file
    output.line(f"holdfast undo{file} brings it back; holdfast history FILE lists every version.")
