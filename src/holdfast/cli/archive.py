"""`holdfast archive`: moves older sessions of a long log to the archive, where search still finds them."""

from __future__ import annotations

from holdfast.briefing.history import archive
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, at_least_one, flag, option

DESCRIPTION = """Moves the oldest sessions of a long log to archive/<year-month>.md. Nothing is rewritten, and
archived sessions are read and searched as before. This also happens automatically whenever a session is logged."""
EXAMPLES = """examples:
  holdfast archive --dry-run
  holdfast archive --longest 200    move the oldest sessions until the log has 200 lines
"""

OPTIONS = (
    option(
        "--longest", type=at_least_one, metavar="N", help="how long the log may be, in lines (default: 500)"
    ),
    flag("--dry-run", "show what would be moved"),
    flag("--json", "what was moved as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    done = archive(machine, machine.project(), longest=options.longest, dry_run=options.dry_run)
    if done.moved:
        moved = f"{'Would move' if options.dry_run else 'Moved'} {output.plural(done.moved, 'session')}"
        rest = f"{done.left} stay{'s' if done.left == 1 else ''} in the log"
        text = f"{moved} of {done.project} to {output.place(done.folder)}; {rest}."
    else:
        text = f"The log of {done.project} has {output.counted(done.lines, 'line')}: nothing to move."
    output.answer(options, done, text)
