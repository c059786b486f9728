"""`holdfast handoff`: leaves the next steps for the next session."""

from __future__ import annotations

import os
import sys

from holdfast.briefing.recovery import hand_over, handed_over, take_back
from holdfast.core.tokens import count_tokens
from holdfast.flows.refresh import refresh
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Owner
from holdfast.relay.clients import STARTS, command_of, start_of
from holdfast.store.gate import gate
from holdfast.store.line_grammar import render_minute
from holdfast.store.project import Project, branch_of
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, terminal
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Records what is next on this branch, one step per line. The next session sees it first. A new
handoff replaces the last one on its branch; without TEXT, shows the current one. --to AGENT hands the running or
latest session over to another agent and starts it: the handoff noted for this branch, then the session's request,
remaining steps, failures, decisions and the diff."""
EXAMPLES = """examples:
  holdfast handoff "Migrate the tests to the new client, then delete http_old.py"
  holdfast handoff - < notes.txt
  holdfast handoff --to codex           after a rate limit: continue in Codex
  holdfast handoff --to codex --print   only print the text
  holdfast handoff --clear              the handoff is done
  holdfast undo current.md              the last change was a mistake"""
MOST_READ = 100_000


OPTIONS = (
    option("text", nargs="?", metavar="TEXT", help="what is next; - reads standard input"),
    option("--branch", metavar="NAME", help="default: the branch that is checked out"),
    flag("--everywhere", "for every branch"),
    option(
        "--by", choices=["user", "agent"], help="who wrote it (default: agent inside an agent, else user)"
    ),
    flag("--add", "keep the earlier handoff as well"),
    flag("--clear", "remove the handoff of this branch"),
    option("--to", metavar="AGENT", help=f"continue in another agent: {', '.join(STARTS)}"),
    option(
        "--session", metavar="ID", default="", help="with --to: hand over this session (default: the latest)"
    ),
    flag("--print", "with --to: only print the text"),
    flag("--yes", "with --to: do not ask"),
    flag("--json", "the current handoff, or with --to the text and the command, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.to:
        _hand_to(options, machine, project)
        return
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
            f"The next session on {target} sees {'this' if count == 1 else f'these {count} steps'} first."
        )
    if changed:
        refresh(machine, project)
    steps = handed_over(project, branch)
    listed = [f"{render_minute(step.at)}  by the {step.by}  {step.text}" for step in steps]
    nothing = f"No handoff for {target}. holdfast resume shows what a session sees."
    output.answer(
        options,
        [{"text": step.text, "branch": step.branch, "by": step.by} for step in steps],
        lambda: output.lines(*([changed] if changed else listed or [nothing])),
    )


def _decisions(project: Project) -> list[str]:
    """What was decided by hand and holds, the latest first."""
    said = [one for one in ProjectMemory(project).register("decision") if one.who == "user"]
    said.sort(key=lambda one: -(one.at or 0.0))
    return [f"{one.text} (because {one.reason})" if one.reason else one.text for one in said]


def _hand_to(options: Namespace, machine: Machine, project: Project) -> None:
    """Hands a session over to another agent's client, which takes this terminal."""
    from holdfast.relay.find import find_session
    from holdfast.relay.package import package

    agent, start = start_of(options.to)
    found = find_session(machine, project, options.session, agent)
    text = package(
        found.record,
        project,
        found.title,
        gate(machine, project),
        steps=[step.text for step in handed_over(project, branch_of(project.root))],
        decisions=_decisions(project),
    )
    if options.print:
        output.write(f"{text}\n")
        return
    words = command_of(start, text, machine.env.get("PATH"))
    if options.json:
        value = {"session": found.record.session, "from": found.record.agent, "to": agent, "text": text}
        output.show_json({**value, "tokens": count_tokens(text), "command": words})
        return
    output.note(f"From {found.title} to {start.title}: {count_tokens(text)} tokens. Use --print to see them.")
    if found.others:
        output.note(
            f"Also active recently: {', '.join(found.others)}; use --session ID to choose one of them."
        )
    if not terminal():
        output.write(f"{text}\n")
        output.note(f"No terminal to start {start.title} in. Paste the text there.")
        return
    if options.yes or agreed(f"Start {start.title} here?"):
        sys.stdout.flush()
        os.chdir(project.root)
        os.execv(words[0], words)
