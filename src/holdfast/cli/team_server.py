"""`holdfast team server`: PostgreSQL for a team that outgrew a folder: set it up, let people in, check it."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.postgres import administration, health
from holdfast.postgres.address import FORM, parse_address
from holdfast.sync import team_index
from holdfast.sync.settings import identity_of, project_id, read_settings
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace, Verb, flag, option
from holdfast.terminal.output import plural

DESCRIPTION = """Stores what a team syncs on a PostgreSQL server: `holdfast sync postgres://…` publishes to it, and
the server decides who sees which project. The database administrator sets it up and adds projects; owners add
members. Passwords go into ~/.pgpass, never into an address."""
EXAMPLES = """examples:
  holdfast team server setup postgres://admin@db.example.org/team --dry-run
  holdfast team server project postgres://admin@db.example.org/team ana
  holdfast team server member postgres://ana@db.example.org/team ben member
  holdfast team server index postgres://ana@db.example.org/team on
  holdfast team server check postgres://ana@db.example.org/team
  holdfast sync postgres://ben@db.example.org/team
"""
_ADDRESS = option("address", metavar="ADDRESS", help=FORM)
_LOGIN = option("login", metavar="LOGIN", help="a login of the server")
_JSON = flag("--json", "the answer as JSON")
VERBS = {
    "setup": Verb(
        "create or upgrade the schema, as database administrator",
        (_ADDRESS, flag("--dry-run", "show what would run, and change nothing"), _JSON),
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
    "index": Verb(
        "let the server search what you share, which it then stores in clear text (default: off)",
        (
            _ADDRESS,
            option(
                "choice", choices=("on", "off"), metavar="on|off", help="turn search on the server on or off"
            ),
            flag("--own", "with off: only for what you share (an owner's off is for everyone)"),
            flag("--yes", "do not ask"),
            _JSON,
        ),
    ),
    "check": Verb(
        "check version, schema, policies and members; exit code 1 if there is a problem", (_ADDRESS, _JSON)
    ),
}
OPTIONS = (_JSON,)


def run(options: Namespace, machine: Machine) -> None:
    raise UsageError(
        "a verb is missing: setup, project, member, index or check", fix="See holdfast team server --help"
    )


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
        text = f"{options.login} no longer has access to project {project}, but keeps what it has already fetched."
    output.answer(options, {"project": project, "login": options.login, "role": options.role}, text)


def run_index(options: Namespace, machine: Machine) -> int | None:
    require_person(machine)
    project, address = machine.project(), parse_address(options.address)
    if options.address not in read_settings(project).targets:
        raise UsageError(
            "this project is not synced with that server",
            where=address.shown,
            fix="holdfast sync ADDRESS first",
        )
    access = administration.search_access(address, _project(machine))
    is_owner = access.role == "owner"
    if options.choice == "off":
        _index_off(options, machine, is_owner=is_owner and not options.own)
        return None
    if not access.is_on and not is_owner:
        raise UsageError(
            "no owner has made this project searchable on the server",
            where=address.shown,
            fix="Ask one: " + ", ".join(login for login, role in access.readers if role == "owner"),
        )
    own = team_index.own_statements(machine, project)
    if not options.yes:
        for text in _consent(access, len(own), is_first=not access.is_on):
            output.wrapped(text, indent=0)
        if not agreed("Make it searchable?", fix="Add --yes to agree"):
            output.line("Nothing was changed.")
            return 1
    if not access.is_on:
        administration.set_search(address, _project(machine), on=True)
    team_index.answer(project, options.address, agree=True)
    done = team_index.keep(machine, project, options.address)
    if done.problem:
        output.warn(done.problem)
    output.answer(
        options,
        {"index": "on", "statements": len(own), "readers": access.readers},
        f"{plural(len(own), 'statement')} of yours can be searched on the server; each sync brings it up to date.",
    )
    return 1 if done.problem else None


def _consent(access: administration.SearchAccess, own: int, *, is_first: bool) -> list[str]:
    """The exact words of what becomes readable by whom."""
    readers = ", ".join(f"{login} ({role})" for login, role in access.readers)
    return [
        "Search on the server needs clear text. What you share with the team then lies readable in its database, "
        f"{plural(own, 'statement')} now and what you share later: the text, its reason, rejected alternatives, the "
        "command that showed it, its date, and your key's fingerprint. Nothing else goes there.",
        f"Every login with a role in this project (now {readers}) can read it, in the team or not; so can the "
        "administrators, and anyone with access to backups, replicas or disks.",
        *(
            [
                "You decide this for the project. Every other member is asked before their own statements go there."
            ]
            if is_first
            else []
        ),
        "Your next sync deletes there what you make private or forget; `index … off` deletes everything. Backups "
        "of the server keep their copies.",
    ]


def _index_off(options: Namespace, machine: Machine, *, is_owner: bool) -> None:
    project, address = machine.project(), parse_address(options.address)
    if is_owner:
        administration.set_search(address, _project(machine), on=False)
        text = "Search on the server is off for this project; everyone's statements there are deleted."
    else:
        number = team_index.take_back(machine, project, options.address)
        text = f"{plural(number, 'statement')} of yours deleted from the server."
    team_index.answer(project, options.address, agree=False)
    output.answer(options, {"index": "off", "everybody": is_owner}, f"{text} Backups keep their copies.")


def run_check(options: Namespace, machine: Machine) -> int:
    return check(options, options.address)


def check(options: Namespace, address: str) -> int:
    report = health.check(parse_address(address))
    output.answer(options, report, lambda: _show(report))
    return 1 if report.problems else 0


def _show(report: health.ServerReport) -> None:
    how = "with TLS" if report.is_encrypted else "on this machine, without TLS"
    replica = ", a read replica" if report.is_replica else ""
    output.line(
        f"{report.address}: PostgreSQL {report.server}, pgvector {report.extension or 'missing'}, {how}{replica}"
    )
    all_of_it = ", who bypasses all policies" if report.passes_policies else ""
    output.line(f"schema {report.schema} of {report.newest}; you are {report.login}{all_of_it}")
    output.line(f"{plural(len(report.members), 'member')} of the projects that you can see")
    for project, login, role in report.members:
        searched = ", searchable on the server" if project in report.searchable else ""
        output.item(f"{project}{searched}  {login}  {role}")
    for seconds, query in report.slow:
        output.item(f"slow, {seconds:g} s: {query}")
    for problem in report.problems:
        output.line(problem)
    if not report.problems:
        output.line("No problems found.")


def _project(machine: Machine) -> str:
    """The id under which this project is synced, the same on every machine."""
    project = machine.project()
    settings = read_settings(project)
    return settings.project or project_id(settings.identity or identity_of(project))
