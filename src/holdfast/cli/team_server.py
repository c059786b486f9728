"""`holdfast team server`: PostgreSQL for a team that outgrew a folder: set it up, let people in, check it."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.postgres import administration
from holdfast.postgres.address import FORM, parse_address
from holdfast.sync.settings import identity_of, project_id, read_settings
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, Verb, flag, option
from holdfast.terminal.output import plural

DESCRIPTION = """Keeps what a team syncs on a PostgreSQL server: `holdfast sync postgres://…` publishes there, and the
server itself decides who sees which project. The administrator of the database sets it up once and adds projects;
owners let people in. Passwords are in ~/.pgpass, never in an address."""
EXAMPLES = """examples:
  holdfast team server setup postgres://admin@db.example.org/team --dry-run
  holdfast team server project postgres://admin@db.example.org/team ana
  holdfast team server member postgres://ana@db.example.org/team ben member
  holdfast team server check postgres://ana@db.example.org/team
  holdfast sync postgres://ben@db.example.org/team
"""
_ADDRESS = option("address", metavar="ADDRESS", help=FORM)
_LOGIN = option("login", metavar="LOGIN", help="a login of the server")
_JSON = flag("--json", "the answer as JSON")
VERBS = {
    "setup": Verb(
        "make or upgrade the schema, as administrator of the database",
        (_ADDRESS, flag("--dry-run", "run it, and take everything back"), _JSON),
    ),
    "project": Verb("add this project with its first owner, as administrator", (_ADDRESS, _LOGIN, _JSON)),
    "member": Verb(
        "give a login a role in this project, as its owner",
        (
            _ADDRESS,
            _LOGIN,
            option(
                "role", choices=administration.ROLES, metavar="ROLE", help="owner, member, reader or none"
            ),
            _JSON,
        ),
    ),
    "check": Verb("version, schema, policies and members; exit code 1 with a problem", (_ADDRESS, _JSON)),
}
OPTIONS = (_JSON,)


def run(options: Namespace, machine: Machine) -> None:
    raise UsageError("say what to do: setup, project, member or check", fix="See holdfast team server --help")


def run_setup(options: Namespace, machine: Machine) -> None:
    names = administration.set_up(parse_address(options.address), dry_run=options.dry_run)
    did = "Would run" if options.dry_run else "Ran"
    text = f"{did} {', '.join(names)}." if names else "The schema is up to date."
    output.answer(options, {"migrations": names, "dry_run": options.dry_run}, text)


def run_project(options: Namespace, machine: Machine) -> None:
    project = _project(machine)
    administration.add_project(parse_address(options.address), project, options.login)
    output.answer(
        options,
        {"project": project, "owner": options.login},
        f"Added project {project}; {options.login} is its owner.",
    )


def run_member(options: Namespace, machine: Machine) -> None:
    project = _project(machine)
    administration.set_member(parse_address(options.address), project, options.login, options.role)
    text = f"{options.login} is {options.role} of project {project} now."
    if options.role == "none":
        text = f"{options.login} sees nothing of project {project} any more; what was fetched before stays there."
    output.answer(options, {"project": project, "login": options.login, "role": options.role}, text)


def run_check(options: Namespace, machine: Machine) -> int:
    report = administration.check(parse_address(options.address))
    output.answer(options, report, lambda: _show(report))
    return 1 if report.problems else 0


def _show(report: administration.ServerReport) -> None:
    how = "with TLS" if report.is_encrypted else "on this machine, without TLS"
    output.line(
        f"{report.address}: PostgreSQL {report.server}, pgvector {report.extension or 'missing'}, {how}"
    )
    output.line(f"schema {report.schema} of {report.newest}; you are {report.login}")
    output.line(f"{plural(len(report.members), 'member')} of projects that you see")
    for project, login, role in report.members:
        output.item(f"{project}  {login}  {role}")
    for problem in report.problems:
        output.line(problem)


def _project(machine: Machine) -> str:
    """The id under which this project is synced, the same on every machine."""
    project = machine.project()
    settings = read_settings(project)
    return settings.project or project_id(settings.identity or identity_of(project))
