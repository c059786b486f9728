"""`holdfast agents`: which agents are on this machine and what they recorded; their wiring is in other modules."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agents.registry import problems
from holdfast.flows.status import AgentSeen, agents_of
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, Verb, flag, of_verb
from holdfast.terminal.output import Column, place, table_of
from holdfast.views.ledger import day

DESCRIPTION = """Lists the agents on this machine, how many sessions each recorded, and whether holdfast is connected
to it. `install` and `uninstall` change an agent's own configuration, `plugin` makes a plugin instead, `on` and `off`
switch hooks in this directory."""
EXAMPLES = """examples:
  holdfast agents
  holdfast agents install --dry-run          what connecting every agent here would change
  holdfast agents off --inject               sessions here are recorded, and see nothing
"""
_KNOWN = {
    "run": "its real client",
    "recorded": "published sessions",
    "documented": "documentation",
    "ours": "our own format",
    "package": "a plug-in package",
}

OPTIONS = (flag("--json", "the list as JSON"),)
VERBS = {"list": Verb("list the agents on this machine (the default)", of_verb(*OPTIONS))}


def run(options: Namespace, machine: Machine) -> None:
    seen = agents_of(machine, machine.project())
    output.warn_all(problems)
    output.answer(options, seen, lambda: _show(seen))


def _show(seen: Sequence[AgentSeen]) -> None:
    if present := [agent for agent in seen if agent.found]:
        table = table_of(
            present,
            (Column("Agent", style="cyan"), lambda agent: agent.agent),
            (Column("Name", dispensable=2), lambda agent: agent.title),
            (Column("Sessions", "right"), lambda agent: str(agent.sessions)),
            (Column("Here", "right"), lambda agent: str(agent.here)),
            (Column("Last"), lambda agent: day(agent.last) if agent.last else ""),
            (Column("Hooks"), _hooks),
            (Column("Tested with", dispensable=3), lambda agent: _KNOWN[agent.known]),
            (
                Column("Folder", flexible=True, dispensable=1),
                lambda agent: place(agent.folders[0]) if agent.folders else "",
            ),
        )
        output.show(table)
        output.line()
    if absent := [agent.title for agent in seen if not agent.found and agent.agent != "generic"]:
        output.line(f"Not on this machine: {', '.join(absent)}.")


def _hooks(agent: AgentSeen) -> str:
    return "connected" if agent.wired else "available" if agent.host else "none: read only"
