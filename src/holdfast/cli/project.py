"""`holdfast project`: several projects in one repository, and which one a branch works on."""

from __future__ import annotations

from holdfast.briefing.projects import ProjectSeen, choose, projects_of
from holdfast.core.errors import UsageError
from holdfast.flows.refresh import refresh
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, Verb, flag, of_verb, option
from holdfast.terminal.output import Column, table_of
from holdfast.views.ledger import day

DESCRIPTION = """A repository can hold several projects, each with its own log, reference and open questions. A
session belongs to the project of its branch; else to the one whose path rule (table [projects] in
.holdfast/config.toml or ~/.holdfast/config.toml) matches the files it touched; else to the repository's own."""
EXAMPLES = """examples:
  holdfast project                              the projects of this repository
  holdfast project use payments                 from now on, sessions on this branch belong to payments
  holdfast project use payments --branch pay-2  the same for another branch
  holdfast project use --default                this branch goes back to the repository's own project
"""


OPTIONS = (flag("--json", "the projects as a JSON array"),)
VERBS = {
    "list": Verb("list the projects of this repository (the default)", of_verb(*OPTIONS)),
    "use": Verb(
        "assign a branch to a project",
        (
            option("name", nargs="?", metavar="NAME", help="the project (it may be new)"),
            option("--branch", default="", metavar="B", help="that branch (default: the one checked out)"),
            flag("--default", "back to the repository's own project"),
            flag("--json", "the branch and its project as JSON", default=SUPPRESS),
        ),
    ),
}


def run(options: Namespace, machine: Machine) -> None:
    seen = projects_of(machine, machine.project())
    output.answer(options, seen, lambda: _show(seen))


def run_use(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if bool(options.name) == options.default:
        raise UsageError("no project named", fix="holdfast project lists all projects")
    branch, name = choose(machine, project, options.name or "", options.branch)
    refresh(machine, project)
    output.answer(
        options, {"branch": branch, "project": name}, f"Sessions on {branch} belong to {name} from now on."
    )


def _show(seen: list[ProjectSeen]) -> None:
    table = table_of(
        seen,
        (Column(""), lambda entry: "*" if entry.current else ""),
        (Column("Project"), lambda entry: entry.name),
        (Column("Sessions", "right"), lambda entry: str(entry.sessions)),
        (Column("Last"), lambda entry: day(entry.last)[:10] if entry.last else "-"),
        (
            Column("Branches", flexible=True),
            lambda entry: ", ".join(entry.branches) or ("all others" if entry.default else "-"),
        ),
        (Column("Paths", flexible=True), lambda entry: ", ".join(entry.paths) or "-"),
    )
    output.show(table)
    output.line("* marks the project of the current branch.")
