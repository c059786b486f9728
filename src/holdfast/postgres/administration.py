"""What administrators and owners do on the team's server: set it up, let people in, check it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.postgres.address import Address
from holdfast.postgres.connection import ServerError, connected
from holdfast.postgres.migrations import SEARCH, migrate, newest_number, require_schema

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

ROLES = ("owner", "member", "reader", "none")
_GUARDED = ("author", "member", "pack", "project", "statement")
_LONGEST_LOGIN = 63


class ServerReport(Struct, frozen=True, kw_only=True):
    """`problems` are sentences; `members` are those of the projects that one may see."""

    address: str
    server: str
    extension: str
    schema: int
    newest: int
    login: str
    is_encrypted: bool
    members: list[tuple[str, str, str]]
    problems: list[str]


def set_up(address: Address, *, dry_run: bool = False) -> list[str]:
    """Brings the schema up to date; the names of the migrations that were run, or with `dry_run` would be."""
    with connected(address) as session:
        return [migration.name for migration in migrate(session, address.shown, dry_run=dry_run)]


def add_project(address: Address, project: str, owner: str) -> None:
    """Adds a project with its first owner. Only who set the server up may."""
    with connected(address) as session:
        _require_login(session, owner)
        session.execute("SELECT holdfast.add_project(%s, %s)", [project, owner])


def set_member(address: Address, project: str, login: str, role: str) -> None:
    """Gives a login a role in a project, or with `none` takes it away: from then on it sees nothing of it."""
    with connected(address) as session:
        if role != "none":
            _require_login(session, login)
        session.execute(
            "SELECT holdfast.set_member(%s, %s, %s)", [project, login, None if role == "none" else role]
        )


class SearchAccess(Struct, frozen=True, kw_only=True):
    """Whether a project is searchable on the server, one's own role, and who reads what lies there."""

    is_on: bool
    role: str
    readers: list[tuple[str, str]]


def search_access(address: Address, project: str) -> SearchAccess:
    with connected(address) as session:
        require_schema(session, address.shown, SEARCH)
        rows = session.execute(
            "SELECT login, role, login = session_user FROM holdfast.member WHERE project = %s "
            "ORDER BY array_position(ARRAY['owner', 'member', 'reader'], role), login",
            [project],
        ).fetchall()
        role = next((str(role) for _, role, own in rows if own), "")
        if not role:
            raise ServerError(
                f"you are no member of project {project} here",
                where=address.shown,
                fix="Ask an owner to add you: holdfast team server member",
            )
        is_on = session.execute("SELECT is_indexed FROM holdfast.project WHERE id = %s", [project]).fetchall()
        return SearchAccess(
            is_on=is_on == [(True,)], role=role, readers=[(str(login), str(role)) for login, role, _ in rows]
        )


def set_search(address: Address, project: str, *, on: bool) -> None:
    """As an owner: makes a project searchable, or not any more, which deletes what everybody has there."""
    with connected(address) as session:
        require_schema(session, address.shown, SEARCH)
        session.execute("SELECT holdfast.set_indexed(%s, %s)", [project, on])


def check(address: Address) -> ServerReport:
    """How the server is set up, and what is not as it should be."""
    with connected(address) as session:
        extension = _one(session, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        schema = _one(session, "SELECT max(number) FROM holdfast.migration")
        login = _one(session, "SELECT session_user")
        encrypted = _one(session, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        rows = session.execute("SELECT project, login, role FROM holdfast.member ORDER BY 1, 3, 2").fetchall()
        number = schema if isinstance(schema, int) else 0
        return ServerReport(
            address=address.shown,
            server=session.info.parameter_status("server_version") or "",
            extension=str(extension or ""),
            schema=number,
            newest=newest_number(),
            login=str(login),
            is_encrypted=bool(encrypted),
            members=[(str(project), str(name), str(role)) for project, name, role in rows],
            problems=[*_schema_problems(number, extension), *_access_problems(session)],
        )


def _schema_problems(schema: int, extension: object) -> list[str]:
    problems = []
    if schema < newest_number():
        problems.append(f"The schema is {schema}, and this holdfast has {newest_number()}: run setup.")
    if not extension:
        problems.append("The extension vector is missing: run setup.")
    return problems


def _access_problems(session: Session) -> list[str]:
    """What would let somebody see more than the policies say."""
    problems = []
    guarded = session.execute(
        "SELECT relname, relrowsecurity FROM pg_class "
        "WHERE relnamespace = 'holdfast'::regnamespace AND relname = ANY (%s)",
        [list(_GUARDED)],
    ).fetchall()
    problems += [f"Row-level security is off for {name}." for name, is_on in guarded if not is_on]
    past = session.execute(
        "SELECT rolname FROM pg_roles WHERE rolcanlogin AND (rolsuper OR rolbypassrls) "
        "AND pg_has_role(oid, 'holdfast_member', 'MEMBER') AND NOT rolsuper"
    ).fetchall()
    problems += [f"The login {name} passes by every policy (BYPASSRLS)." for (name,) in past]
    partitions = session.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid "
        "WHERE c.relnamespace = 'holdfast'::regnamespace AND has_table_privilege('holdfast_member', c.oid, 'SELECT')"
    ).fetchall()
    problems += [
        f"Members may read the partition {name} itself, past the policies." for (name,) in partitions
    ]
    dead = session.execute(
        "SELECT DISTINCT login FROM holdfast.member WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login)"
    ).fetchall()
    problems += [
        f"The member {name} has no login: a new one of that name would get its access." for (name,) in dead
    ]
    return problems


def _one(session: Session, query: str) -> object:
    rows = session.execute(query.encode()).fetchall()
    return rows[0][0] if rows else None


def _require_login(session: Session, login: str) -> None:
    if not 0 < len(login.encode()) <= _LONGEST_LOGIN:
        raise UsageError(
            "this is no name of a login", where=login[:_LONGEST_LOGIN], fix="Name a role of the server"
        )
    rows = session.execute(
        "SELECT pg_has_role(oid, 'holdfast_member', 'MEMBER') FROM pg_roles WHERE rolname = %s AND rolcanlogin",
        [login],
    ).fetchall()
    if not rows:
        raise ServerError(
            f"there is no login {login} on this server",
            fix=f"Its administrator runs CREATE ROLE {login} LOGIN PASSWORD '…' IN ROLE holdfast_member",
        )
    if rows[0][0] is not True:
        raise ServerError(
            f"the login {login} may not use holdfast yet",
            fix=f"Its administrator runs GRANT holdfast_member TO {login}",
        )
