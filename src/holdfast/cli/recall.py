"""`holdfast recall`: the few lines of memory that a task needs."""

from __future__ import annotations

import argparse

import msgspec

from holdfast.app.recalling import BUDGET, recall
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.errors import UsageError

DESCRIPTION = """Tells what memory has for a task: facts, decisions, dead ends, like sessions, and what another
project on this machine has solved already. Each line says why it is told and where it stands; when nothing is
good enough, nothing is told."""
EXAMPLES = """examples:
  holdfast recall "fix the flaky refresh test"
  holdfast recall "add a discount rule" --budget 400 --why"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="+", metavar="TASK", help="what is to be done, in your own words")
    parser.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"tokens at most (default: {BUDGET})"
    )
    parser.add_argument("--why", action="store_true", help="also say why, and where it stands")
    parser.add_argument("--json", action="store_true", help="the briefing as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    task = " ".join(options.task).strip()
    if not task:
        raise UsageError("there is no task", fix='Say what is to be done: holdfast recall "fix the login"')
    briefing = recall(machine, machine.project(), task, max(options.budget, 0))
    if options.json:
        output.show_json({**msgspec.to_builtins(briefing), "text": briefing.text})
        return 0
    for line in briefing.lines:
        output.line(line.text)
        if options.why:
            output.aside(f"    {line.why} · {line.source}")
    if not briefing.lines:
        output.note("Memory has nothing for this task that is good enough.")
    elif output.on_terminal():
        output.note(f"{len(briefing.lines)} lines, {briefing.tokens} of {briefing.budget} tokens")
    return 0
