"""`holdfast handoff`: leaves the next steps for the next session."""

from __future__ import annotations

import sys

from holdfast.briefing.recovery import hand_over, handed_over, take_back
from holdfast.flows.refresh import refresh
from holdfast.model.memory import Owner
from holdfast.store.line_grammar import render_minute
from holdfast.store.project import branch_of
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Writes down what is next on this branch, a step per line. The next session is told these words
first, before what holdfast derives from sessions. A new handoff takes the place of the last one on its branch;
without TEXT the one that stands is shown."""
EXAMPLES = """examples:
  holdfast handoff "Migrate the tests to the new client, then delete http_old.py"
  holdfast handoff - < notes.txt
  holdfast handoff --clear            what was handed over is done
  holdfast undo current.md            the last change was a mistake"""
MOST_READ = 100_000


OPTIONS = (
    option("text", nargs="?", metavar="TEXT", help="what is next; - reads standard input"),
    option("--branch", metavar="NAME", help="default: the branch that is checked out"),
    flag("--everywhere", "for every branch"),
    option("--by", choices=["user", "agent"], help="who says it (default: agent inside one, else user)"),
    flag("--add", "keep what was handed over before"),
    flag("--clear", "remove what was handed over on this branch"),
    flag("--json", "what stands now, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    branch = "" if options.everywhere else options.branch
    branch = branch_of(project.root) if branch is None else branch
    target = f"branch {branch}" if branch else "every branch"
    changed = ""
    if options.clear:
        gone = take_back(project, branch)
        changed = f"Removed {output.plural(gone, 'step')} for {target}."
    elif options.text is not None:
        text = sys.stdin.read(MOST_READ) if options.text == "-" else options.text
        by: Owner = options.by or ("agent" if machine.inside_agent else "user")
        count = hand_over(machine, project, text, branch, by, add=options.add)
        changed = (
            f"The next session on {target} is told {'this' if count == 1 else f'these {count} steps'} first."
        )
    if changed:
        refresh(machine, project)
    steps = handed_over(project, branch)
    listed = [f"{render_minute(step.at)}  by the {step.by}  {step.text}" for step in steps]
    nothing = f"Nothing is handed over for {target}. holdfast resume shows what a session is told."
    output.answer(
        options,
        [{"text": step.text, "branch": step.branch, "by": step.by} for step in steps],
        lambda: output.lines(*([changed] if changed else listed or [nothing])),
    )
