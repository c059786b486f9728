"""`holdfast recall`: the few lines of memory that a task needs, without looking for an answer first."""

from __future__ import annotations

from holdfast.briefing.recall import BUDGET, Briefing, recall, recall_as_prompt
from holdfast.core.errors import UsageError
from holdfast.search.periods import period_in
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, in_words, places

DESCRIPTION = """Tells what memory has for a task. First what was decided and found about it, as the prompt hook tells
it; where less speaks for it than the hook needs, the reason says "weak evidence". Then facts, decisions, dead ends,
like sessions and the files they worked on, and what another project on this machine has solved already. What of these
comes first depends on the task: facts for commands and interfaces, decisions and history for a spec, dead ends for a
fix; "start" or "where were we" is told the state. Each line has its reason and source (on a terminal, with --why, and
in --json); when nothing is good enough, nothing is told. Before a large task: holdfast search --brief SUBJECT."""
EXAMPLES = """examples:
  holdfast recall "fix the flaky refresh test"
  holdfast recall "add a discount rule" --budget 400 --why
  holdfast recall "add a discount rule" --as-prompt"""

OPTIONS = (
    option("task", nargs="+", metavar="TASK", help="what is to be done, in your own words"),
    option("--budget", type=int, default=BUDGET, metavar="N", help=f"tokens at most (default: {BUDGET})"),
    flag("--why", "also say why, and where it stands (as on a terminal)"),
    flag("--as-prompt", "exactly what the prompt hook would add if a session were asked this"),
    option(
        "--session", default="", metavar="ID", help="with --as-prompt: leave out what this session was told"
    ),
    flag("--json", "the briefing as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    task = " ".join(options.task).strip()
    if not task:
        raise UsageError("there is no task", fix='Say what is to be done: holdfast recall "fix the login"')
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
        raise UsageError("--budget cannot be negative", fix=f"Leave it out for {BUDGET} tokens")
    if options.as_prompt:
        return recall_as_prompt(machine, machine.project(), task, options.session, options.budget)
    if options.session:
        raise UsageError(
            "--session goes with --as-prompt", fix="holdfast recall TASK --as-prompt --session ID"
        )
    return recall(machine, machine.project(), task, options.budget)


def _nothing(options: Namespace, machine: Machine, task: str, briefing: Briefing) -> str:
    if options.as_prompt:
        return f"A session would be told nothing: {briefing.nothing}."
    if briefing.nothing:
        return f"{briefing.budget} tokens are too few for this task: {briefing.nothing}."
    period = period_in(task, machine.now())
    if period is not None and period.is_all:
        return f"Nothing here is dated {period.name}."
    return "Memory has nothing for this task that is good enough."
