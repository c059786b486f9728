"""`holdfast agents`: which agents are on this machine and what they recorded."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agents.registry import problems
from holdfast.cli import output
from holdfast.cli.ledger_views import day
from holdfast.cli.options import Machine, Namespace, flag
from holdfast.cli.output import Column, Table, place
from holdfast.flows.status import AgentSeen, agents_of

OPTIONS = (flag("--json", "the list as JSON"),)


def run(options: Namespace, machine: Machine) -> None:
    seen = agents_of(machine, machine.project())
    output.warn_all(problems)
    if options.json:
        return output.show_json(seen)
    found = [agent for agent in seen if agent.found]
    if found:
        output.show(_table(found))
        output.line()
    absent = ", ".join(agent.title for agent in seen if not agent.found and agent.agent != "generic")
    if absent:
        output.line(f"Not found on this machine: {absent}.")


def _table(found: Sequence[AgentSeen]) -> Table:
    columns = (
        Column("Agent", style="cyan"),
        Column("Name", dispensable=2),
        Column("Sessions", "right"),
        Column("Here", "right"),
        Column("Last"),
        Column("Hooks"),
        Column("Folder", flexible=True, dispensable=1),
    )
    rows = [
        (
            agent.agent,
            agent.title,
            str(agent.sessions),
            str(agent.here),
            day(agent.last) if agent.last else "",
            "installed" if agent.wired else "available" if agent.host else "none: read only",
            place(agent.folders[0]) if agent.folders else "",
        )
        for agent in found
    ]
    return Table(columns, rows)
