"""`holdfast uninstall AGENT`: takes the hooks out again, to the byte where nothing else changed."""

from __future__ import annotations

import argparse

from holdfast.app.hosting import HOSTS, SCOPES, Plan, host_for, plan_uninstall, uninstall
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.cli.consent import agreed
from holdfast.cli.install import as_json, show
from holdfast.errors import UsageError

DESCRIPTION = """Takes holdfast's hooks out of an agent's configuration. A file that nobody changed since becomes
what it was before, to the byte; from any other only our entries are removed. Memory stays where it is."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", metavar="AGENT", help=f"one of: {', '.join(HOSTS)}")
    parser.add_argument("--all", action="store_true", help="every agent")
    parser.add_argument("--scope", choices=SCOPES, help="only there (default: yours and this repository's)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--json", action="store_true", help="what was changed as JSON; implies --yes")


def run(options: argparse.Namespace, machine: Machine) -> int:
    if bool(options.agent) == options.all:
        raise UsageError("name an agent, or say --all", fix=f"Known: {', '.join(HOSTS)}")
    project = machine.project()
    scopes = (options.scope,) if options.scope else SCOPES
    agents = list(HOSTS) if options.all else [options.agent]
    plans = [plan_uninstall(machine, project, agent, scopes) for agent in agents]
    if not options.json:
        for plan in plans:
            show(plan)
    wanted = any(_changes(plan) for plan in plans) and not options.dry_run
    if wanted and not (options.yes or options.json) and not agreed("Write this?"):
        output.line("Nothing was changed.")
        return 1
    if not options.dry_run:
        for plan in plans:
            uninstall(machine, plan)
    if options.json:
        output.show_json([as_json(plan, done=not options.dry_run) for plan in plans])
    elif not options.dry_run:
        for plan in plans:
            state = "hooks removed" if _changes(plan) else "no hooks of ours were there"
            output.line(f"{host_for(plan.agent).title}: {state}.")
    return 0


def _changes(plan: Plan) -> bool:
    return any(change.changes for change in plan.changes)
