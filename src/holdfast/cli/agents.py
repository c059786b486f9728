"""`holdfast agents`: which agents are on this machine and what they recorded."""

from __future__ import annotations

import argparse

from holdfast.app.status import agents_of
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.cli.ledger_views import day
from holdfast.cli.output import Column, Table


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the list as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    seen = agents_of(machine, machine.project())
    if options.json:
        output.show_json(seen)
        return 0
    output.show(
        Table(
            columns=(
                Column("Agent", style="cyan"),
                Column("Name"),
                Column("Found"),
                Column("Sessions", "right"),
                Column("Here", "right"),
                Column("Last"),
                Column("Importer", dispensable=2),
                Column("Hooks", dispensable=1),
                Column("Folder", flexible=True),
            ),
            rows=[
                (
                    agent.agent,
                    agent.title,
                    "yes" if agent.found else "no",
                    str(agent.sessions) if agent.found else "",
                    str(agent.here) if agent.found else "",
                    day(agent.last) if agent.last else "",
                    "yes" if agent.importer else "no",
                    "yes" if agent.host else "not yet",
                    agent.folders[0] if agent.folders else "",
                )
                for agent in seen
            ],
        )
    )
    return 0
