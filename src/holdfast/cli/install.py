"""`holdfast install AGENT`: hooks in an agent's own configuration, shown before they are written."""

from __future__ import annotations

import argparse

from holdfast.app.hosting import HOSTS, SCOPES, Plan, host_for, install, plan_install
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.cli.consent import agreed

DESCRIPTION = """Lets an agent's sessions be remembered and told: writes holdfast's hooks into the agent's own
configuration and enables this project. The change is shown first, everything else in the file stays as it is,
and holdfast uninstall undoes it to the byte. Other projects stay untouched until you run this inside them."""
EXAMPLES = """examples:
  holdfast install claude-code                   for all your sessions of Claude Code
  holdfast install claude-code --scope project   only in this repository, in a file that git ignores
  holdfast install claude-code --dry-run         only show what would change
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help=f"one of: {', '.join(HOSTS)}")
    parser.add_argument("--scope", choices=SCOPES, default="user", help="whose configuration (default: user)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--json", action="store_true", help="what was changed as JSON; implies --yes")


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    plan = plan_install(machine, project, options.agent, options.scope)
    changed = any(change.changes for change in plan.changes)
    if not options.json:
        show(plan)
    for warning in plan.warnings:
        output.warn(warning)
    if not options.dry_run:
        if changed and not (options.yes or options.json) and not agreed("Write this?"):
            output.line("Nothing was changed.")
            return 1
        install(machine, project, plan)
    if options.json:
        output.show_json(as_json(plan, done=not options.dry_run))
    elif not options.dry_run:
        state = "installed" if changed else "already installed"
        output.line(f"{host_for(options.agent).title}: {state}. {project.name} is enabled on this machine.")
        output.line("holdfast why shows what a session was told, holdfast off stops it here.")
    return 0


def show(plan: Plan) -> None:
    for change in plan.changes:
        if change.changes:
            output.show_diff(change.diff())


def as_json(plan: Plan, *, done: bool) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "done": done,
        "changes": [
            {"path": str(change.path), "changed": change.changes, "diff": change.diff()}
            for change in plan.changes
        ],
        "warnings": list(plan.warnings),
    }
