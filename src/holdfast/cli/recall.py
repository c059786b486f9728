"""`holdfast recall`: the few lines of memory that a task needs, without looking for an answer first."""

from __future__ import annotations

from holdfast.briefing.recall import BUDGET, Briefing, recall, recall_as_prompt
from holdfast.core.errors import UsageError
from holdfast.search.periods import period_in
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, in_words, places

DESCRIPTION = """Prints the lines an agent would need for a task, each with its reason and source: decisions,
findings, facts, dead ends, similar sessions and their files, and what another project on this machine solved. "Weak
evidence" marks lines that a hook would leave out. Before a large task, use holdfast search --brief SUBJECT."""
EXAMPLES = """examples:
  holdfast recall "fix the flaky refresh test"
  holdfast recall "add a discount rule" --budget 400 --why
  holdfast recall "add a discount rule" --as-prompt"""

OPTIONS = (
    option("task", nargs="+", metavar="TASK", help="the task, in your own words"),
    option("--budget", type=int, default=BUDGET, metavar="N", help=f"at most N tokens (default: {BUDGET})"),
    flag("--why", "also show the reason and source (as on a terminal)"),
    flag("--as-prompt", "exactly what the prompt hook would add to this prompt"),
    option(
        "--session", default="", metavar="ID", help="with --as-prompt: leave out what this session has seen"
    ),
    flag("--json", "the briefing as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    task = " ".join(options.task).strip()
    if not task:
        raise UsageError("no task given", fix='Describe the task: holdfast recall "fix the login"')
    briefing = _briefing(options, machine, task)
    if options.json:
        return output.show_json(briefing.as_json())
    show_lines(briefing, why=options.why)
    if not briefing.lines:
        output.note(_nothing(options, machine, task, briefing))
    elif output.on_terminal():
        output.note(f"{counted(len(briefing.lines), 'line')}, {briefing.tokens} of {briefing.budget} tokens")


def show_lines(briefing: Briefing, *, why: bool) -> None:
    """The lines, on a terminal or with `why` each with its reason and source."""
    for line in briefing.written or briefing.lines:
        output.line(line.text)
        if why or output.on_terminal():
            output.aside(" · ".join(filter(None, (in_words(line.reason), places(line.source)))), indent=4)


def _briefing(options: Namespace, machine: Machine, task: str) -> Briefing:
    if options.budget < 0:
        raise UsageError("--budget cannot be negative", fix=f"Omit it for {BUDGET} tokens")
    if options.as_prompt:
        return recall_as_prompt(machine, machine.project(), task, options.session, options.budget)
    if options.session:
        raise UsageError("--session needs --as-prompt", fix="holdfast recall TASK --as-prompt --session ID")
    return recall(machine, machine.project(), task, options.budget)


def _nothing(options: Namespace, machine: Machine, task: str, briefing: Briefing) -> str:
    if options.as_prompt:
        return f"A session would see nothing: {briefing.nothing}."
    if briefing.nothing:
        return f"{briefing.budget} tokens are not enough for this task: {briefing.nothing}."
    period = period_in(task, machine.now())
    if period is not None and period.is_all:
        return f"Nothing here is dated {period.name}."
    return "Memory has nothing relevant enough for this task."
