"""`holdfast resume`: shows what a new session here sees at its start."""

from __future__ import annotations

from holdfast.briefing.recovery import BUDGET, knows_branch, recovery
from holdfast.core.tokens import count_tokens
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Prints what a new session needs to continue here: next steps on this branch, what keeps failing,
open questions, to-dos, and what was done last. To change it, edit .holdfast/local/current.md, or use holdfast
handoff TEXT."""
EXAMPLES = """examples:
  holdfast resume                     for the branch that is checked out
  holdfast resume --branch feat/jwt   for another one
  holdfast resume --why               with where each line comes from"""


OPTIONS = (
    option("--branch", metavar="NAME", help="default: the branch that is checked out"),
    option("--project", default="", metavar="NAME", help="default: the one this branch works on"),
    option("--budget", type=int, default=BUDGET, metavar="N", help=f"at most N tokens (default: {BUDGET})"),
    flag("--why", "also show where each line comes from"),
    flag("--json", "the lines as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    _catch_up(machine, project)
    if options.branch and not knows_branch(project, options.branch):
        output.warn(
            f"there is no branch {options.branch!r}: this is what any other branch sees. git branch lists them"
        )
    lines = recovery(machine, project, options.branch, max(options.budget, 0), options.project)
    tokens = sum(count_tokens(line.text) for line in lines)
    if options.json:
        return output.show_json({"tokens": tokens, "lines": [line.as_json() for line in lines]})
    for line in lines:
        output.line(line.text)
        if options.why:
            output.line(f"    {line.reason}")
    if not lines and recovery(machine, project, options.branch, BUDGET):
        output.note(
            f"A budget of {options.budget} tokens is too small for any line. The default is {BUDGET}."
        )
    elif not lines:
        output.note("Nothing is known here yet. holdfast import reads what your agents recorded.")
    elif output.on_terminal():
        output.note(f"{output.counted(len(lines), 'line')}, {output.counted(tokens, 'token')}")


def _catch_up(machine: Machine, project: Project) -> None:
    """Captures a session that ended without a stop event, before work continues from it."""
    inbox = project.memory / "inbox"
    if inbox.is_dir() and any(inbox.glob("*.json")):
        from holdfast.flows.capture import catch_up

        catch_up(machine, project)
