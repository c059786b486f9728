"""`holdfast archive`: moves older sessions of a long log to the archive, whole, where they are still found."""

from __future__ import annotations

import argparse

from holdfast.cli import output
from holdfast.cli.output import at_least_one, counted, place
from holdfast.flows.history import archive
from holdfast.store.machine import Machine

DESCRIPTION = """Moves the oldest sessions of this project's log to archive/<year-month>.md once the log is longer
than --longest lines, until it has three fifths of that. Nothing is rewritten, and archived sessions are read and
searched as before. It happens by itself whenever a session is logged."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--longest", type=at_least_one, metavar="N", help="lines that the log may have (default: 500)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be moved")
    parser.add_argument("--json", action="store_true", help="what was moved as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    done = archive(machine, machine.project(), longest=options.longest, dry_run=options.dry_run)
    if options.json:
        output.show_json(done)
        return 0
    if not done.moved:
        output.line(f"The log of {done.project} has {counted(done.lines, 'line')}: nothing to move.")
        return 0
    word = "Would move" if options.dry_run else "Moved"
    sessions = f"{done.moved} session{'s' if done.moved != 1 else ''}"
    rest = f"{done.left} stay{'s' if done.left == 1 else ''} in the log"
    output.line(f"{word} {sessions} of {done.project} to {place(done.folder)}; {rest}.")
    return 0
