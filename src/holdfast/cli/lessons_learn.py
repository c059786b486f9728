"""`holdfast lessons learn`: reads sessions again that an older holdfast could not learn from."""

from __future__ import annotations

import argparse
import sys

from holdfast.cli import output
from holdfast.cli.import_ import progress_bar
from holdfast.flows.lesson_upkeep import Relearned, relearn
from holdfast.store.machine import Machine


def run(options: argparse.Namespace, machine: Machine) -> int:
    with progress_bar(show=not options.json and sys.stderr.isatty()) as progress:
        done = relearn(machine, machine.project(), progress, everything=options.all)
    if options.json:
        output.show_json(
            {"sessions": done.behind, "read": done.read, "gone": done.gone, "lessons": done.lessons}
        )
        return 0
    output.line(_said(done))
    if done.lessons:
        output.note("holdfast lessons list shows them, holdfast lessons review goes through them.")
    return 0


def _said(done: Relearned) -> str:
    if not done.behind:
        return "Nothing to read again: every session was read by this holdfast. --all reads all of them."
    gone = f", {done.gone} have no transcript any more" if done.gone else ""
    new = f"{done.lessons} new lesson{'s' if done.lessons != 1 else ''}" if done.lessons else "nothing new"
    return f"Read {done.read} of {done.behind} session{'s' if done.behind != 1 else ''} again{gone}: {new}."
