"""What administrators and owners do on the team's server: set it up, let people in, make a project searchable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.postgres.address import Address
from holdfast.postgres.connection import ServerError, connected
from holdfast.postgres.migrations import SEARCH, migrate, require_schema

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

ROLES = ("owner", "member", "reader", "none")
_LONGEST_LOGIN = 63


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
                f"you are not a member of project {project}",
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


def _require_login(session: Session, login: str) -> None:
    if not 0 < len(login.encode()) <= _LONGEST_LOGIN:
        raise UsageError(
            "this is not a login name", where=login[:_LONGEST_LOGIN], fix="Name a role of the server"
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
            f"the login {login} is not allowed to use holdfast yet",
            fix=f"Its administrator runs GRANT holdfast_member TO {login}",
        )
