"""`holdfast project`: several projects in one repository, and which one a branch works on."""

from __future__ import annotations

import argparse

from holdfast.briefing.projects import ProjectSeen, choose, projects_of
from holdfast.cli import output
from holdfast.cli.output import Column, Table
from holdfast.core.errors import UsageError
from holdfast.flows.refresh import refresh
from holdfast.store.machine import Machine

DESCRIPTION = """A repository may hold several projects, each with its own log, reference and open questions. Sessions
belong to the project that their branch uses; else to the one whose path rule (a table [projects] in
.holdfast/config.toml or ~/.holdfast/config.toml) fits the files they touched; else to the repository's own."""
EXAMPLES = """examples:
  holdfast project                              the projects of this repository
  holdfast project use payments                 sessions on this branch belong to payments from now on
  holdfast project use payments --branch pay-2  the same for another branch
  holdfast project use --default                this branch belongs to the repository's own project again
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the projects as a JSON array")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    listing = verbs.add_parser("list", help="the projects of this repository (the default)")
    using = verbs.add_parser("use", help="let a branch work on a project")
    using.add_argument("name", nargs="?", metavar="NAME", help="the project; it need not exist yet")
    using.add_argument("--branch", default="", metavar="B", help="that branch (default: the one checked out)")
    using.add_argument("--default", action="store_true", help="the repository's own project again")
    for verb, about in (
        (listing, "the projects as a JSON array"),
        (using, "the branch and its project as JSON"),
    ):
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=about)


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    if options.verb == "use":
        if bool(options.name) == options.default:
            raise UsageError("name a project, or say --default", fix="holdfast project lists them")
        branch, name = choose(machine, project, options.name or "", options.branch)
        refresh(machine, project)
        if options.json:
            output.show_json({"branch": branch, "project": name})
        else:
            output.line(f"Sessions on {branch} belong to {name} from now on.")
        return 0
    seen = projects_of(machine, project)
    if options.json:
        output.show_json(seen)
    else:
        _show(seen)
    return 0


def _show(seen: list[ProjectSeen]) -> None:
    columns = [
        Column(""),
        Column("Project"),
        Column("Sessions", "right"),
        Column("Last"),
        Column("Branches", flexible=True),
        Column("Paths", flexible=True),
    ]
    rows = [
        [
            "*" if entry.current else "",
            entry.name,
            str(entry.sessions),
            entry.last.astimezone().strftime("%Y-%m-%d") if entry.last else "-",
            ", ".join(entry.branches) or ("all others" if entry.default else "-"),
            ", ".join(entry.paths) or "-",
        ]
        for entry in seen
    ]
    output.show(Table(columns, rows))
    output.line("* is the project that the branch checked out here works on.")
