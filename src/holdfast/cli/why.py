"""`holdfast why`: what was injected into a session, when, at what cost and why; or why nothing."""

from __future__ import annotations

from datetime import datetime

from holdfast.briefing.explain import Injection, injections_of, origin_of_line, why_silent
from holdfast.guard.hidden_text import visible
from holdfast.model.origin import origin_text
from holdfast.store.origins import Origins
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, in_words, places
from holdfast.views.ledger import day

DESCRIPTION = """Shows exactly what holdfast added to a session, with tokens and reasons, or why it added nothing.
SESSION is an id or `last`. Given a decision's id, shows the decision with its reason, its source and who was told."""
EXAMPLES = """examples:
  holdfast why             the latest session that saw something from memory
  holdfast why 847ff7d2    one session, by its id or a prefix of it
  holdfast why D-k3f9ab    one decision: why it was made, and which sessions were told
"""

OPTIONS = (
    option("session", nargs="?", default="last", metavar="SESSION", help="default: last"),
    flag("--json", "the injections as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.session[:2].casefold() == "d-":
        from holdfast.upkeep.one_decision import view_decision
        from holdfast.views.decision import show_decision

        return show_decision(options, view_decision(machine, options.session))
    project = machine.project()
    silent = why_silent(machine, project, machine.cwd)
    entries = injections_of(project, options.session)
    origins = Origins(project.memory)
    if options.json:
        return output.show_json({"now": silent, "injections": [entry.as_json(origins) for entry in entries]})
    for entry in entries:
        _show(entry, origins)
    if not entries:
        output.line("No session here has seen anything from memory yet.")
    if silent:
        output.line(f"A session started here now would see nothing: {places(silent)}.")


def _local(time: str) -> str:
    """A time in the format of all commands; another format in the trace is shown unchanged."""
    try:
        return day(datetime.fromisoformat(time))
    except ValueError:
        return time


def _show(entry: Injection, origins: Origins) -> None:
    details = ", ".join(
        part for part in (entry.source, entry.tool, entry.agent and f"agent {entry.agent}") if part
    )
    where = f" ({visible(details)})" if details else ""
    count = f"{counted(len(entry.lines), 'line')}, {counted(entry.tokens, 'token')}"
    amount = count if entry.lines else "shown to you only" if entry.shown else "nothing"
    output.heading(
        f"{_local(entry.time)}  {entry.session or '?'}  {entry.host} {entry.event}{where}: {amount}"
    )
    for line in (*entry.lines, *entry.shown):
        output.line(f"  {visible(line.text)}")
        if line.reason:
            output.line(f"      because: {visible(in_words(line.reason))}")
        if source := origin_text(origin_of_line(line, origins)):
            output.line(f"      from: {source}")
    if entry.left_out:
        output.line(f"  {entry.left_out} more did not fit")
    if entry.nothing:
        output.line(f"      because: {visible(entry.nothing)}")
