"""Whether a team's server is as it should be: versions, policies, indexes, slow queries, members without a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.guard.hidden_text import visible
from holdfast.postgres.address import Address
from holdfast.postgres.connection import OLDEST_SERVER, connected
from holdfast.postgres.migrations import newest_number

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

_POLICIES = {"author": 1, "member": 1, "pack": 4, "project": 1, "statement": 4, "tally": 1}
_OLDEST_VECTOR = (0, 8)
_SLOW_S = 5.0
_SLOW_MEAN_MS = 1_000.0
_MOST_SLOW = 5
_LONGEST = 100


class ServerReport(Struct, frozen=True, kw_only=True):
    """`problems` are sentences; `members` are those of the projects that one may see.

    `slow` are queries with their seconds: those that run now, and those that pg_stat_statements knows, if it is there.
    """

    address: str
    server: str
    extension: str
    schema: int
    newest: int
    login: str
    is_encrypted: bool
    is_replica: bool
    passes_policies: bool
    members: list[tuple[str, str, str]]
    searchable: list[str]
    slow: list[tuple[float, str]]
    problems: list[str]


def check(address: Address) -> ServerReport:
    """How the server is set up, and what is not as it should be."""
    with connected(address) as session:
        extension = str(_one(session, "SELECT extversion FROM pg_extension WHERE extname = 'vector'") or "")
        schema = _one(session, "SELECT max(number) FROM holdfast.migration")
        encrypted = _one(session, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        rows = _rows(session, "SELECT project, login, role FROM holdfast.member ORDER BY 1, 3, 2")
        number = schema if isinstance(schema, int) else 0
        is_searchable = number > 2
        searchable = (
            _rows(session, "SELECT id FROM holdfast.project WHERE is_indexed ORDER BY 1")
            if is_searchable
            else []
        )
        passes = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
        return ServerReport(
            address=address.shown,
            server=session.info.parameter_status("server_version") or "",
            extension=extension,
            schema=number,
            newest=newest_number(),
            login=str(_one(session, "SELECT session_user")),
            is_encrypted=bool(encrypted),
            is_replica=bool(_one(session, "SELECT pg_is_in_recovery()")),
            passes_policies=bool(_one(session, passes)),
            members=[(str(project), str(name), str(role)) for project, name, role in rows],
            searchable=[str(id) for (id,) in searchable],
            slow=_slow(session),
            problems=[
                *_version_problems(session, number, extension),
                *_access_problems(session, is_current=number == newest_number()),
                *_function_problems(session),
                *_index_problems(session),
                *_member_problems(session),
            ],
        )


def _version_problems(session: Session, schema: int, extension: str) -> list[str]:
    problems = []
    if session.info.server_version // 10_000 < OLDEST_SERVER:
        problems.append(f"PostgreSQL {OLDEST_SERVER} or newer is needed.")
    if schema < newest_number():
        problems.append(f"The schema is {schema}, and this holdfast has {newest_number()}: run setup.")
    if not extension:
        problems.append("The extension vector is missing: run setup.")
    elif tuple(int(part) for part in extension.split(".")[:2] if part.isdigit()) < _OLDEST_VECTOR:
        problems.append(f"pgvector is {extension}, and 0.8 is needed: ALTER EXTENSION vector UPDATE.")
    return problems


def _access_problems(session: Session, *, is_current: bool) -> list[str]:
    """What would let somebody see more than the policies say."""
    guarded = _rows(
        session,
        "SELECT c.relname, c.relrowsecurity, (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid) FROM pg_class c "
        "WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relname = ANY (%s) ORDER BY 1",
        list(_POLICIES),
    )
    problems = [f"Row-level security is off for {name}." for name, is_on, _ in guarded if not is_on]
    problems += [
        f"The table {name} has {number} policies instead of {_POLICIES[name]}: run setup on a new database and compare."
        for name, _, number in guarded
        if is_current and number != _POLICIES[name]
    ]
    past = _rows(
        session,
        "SELECT rolname FROM pg_roles WHERE rolcanlogin AND rolbypassrls "
        "AND pg_has_role(oid, 'holdfast_member', 'MEMBER') AND NOT rolsuper",
    )
    problems += [f"The login {name} passes by every policy (BYPASSRLS)." for (name,) in past]
    if is_current and _one(
        session, "SELECT has_column_privilege('holdfast_member', 'holdfast.statement', 'meaning', 'SELECT')"
    ):
        problems.append(
            "Members may order by meaning past the functions: REVOKE SELECT ON holdfast.statement, then setup."
        )
    is_open = _rows(
        session,
        "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector' "
        "AND has_schema_privilege('public', extnamespace, 'CREATE')",
    )
    problems += [
        f"Every login may add operators to the schema {name}: REVOKE CREATE ON SCHEMA {name} FROM PUBLIC."
        for (name,) in is_open
    ]
    partitions = _rows(
        session,
        "SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE c.relkind IN ('r', 'f') AND "
        "c.relnamespace = 'holdfast'::regnamespace AND has_table_privilege('holdfast_member', c.oid, 'SELECT')",
    )
    problems += [
        f"Members can read the partition {name} directly, bypassing the policies." for (name,) in partitions
    ]
    seen = _one(session, "SELECT count(*) FROM holdfast.pack WHERE project <> ALL (holdfast.readable())")
    passes = _one(session, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user")
    owns = _one(
        session, "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'holdfast.pack'::regclass"
    )
    if seen and not (passes or owns):
        problems.append(f"This login sees {seen} packs of projects in which it has no role.")
    return problems


def _function_problems(session: Session) -> list[str]:
    """Functions that look past the policies: only members may call them, and only their tables' owner owns them."""
    open_to_all = _rows(
        session,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace "
        "AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0) ORDER BY 1",
    )
    problems = [f"Every login may call the function {name}." for (name,) in open_to_all]
    owners = _rows(
        session,
        "SELECT DISTINCT pg_get_userbyid(owner) FROM (SELECT proowner AS owner FROM pg_proc "
        "WHERE pronamespace = 'holdfast'::regnamespace UNION SELECT relowner FROM pg_class "
        "WHERE relnamespace = 'holdfast'::regnamespace AND relkind IN ('r', 'p')) AS owners ORDER BY 1",
    )
    if len(owners) > 1:
        names = ", ".join(str(name) for (name,) in owners)
        problems.append(f"Tables and functions have several owners ({names}): REASSIGN them to one.")
    return problems


def _index_problems(session: Session) -> list[str]:
    broken = _rows(
        session,
        "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid "
        "WHERE relnamespace = 'holdfast'::regnamespace AND NOT indisvalid ORDER BY 1",
    )
    problems = [f"The index {name} is not valid: REINDEX INDEX {name}." for (name,) in broken]
    without = _rows(
        session,
        "SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid "
        "WHERE i.inhparent = to_regclass('holdfast.statement') AND c.relkind = 'r' AND NOT EXISTS "
        "(SELECT FROM pg_index x JOIN pg_class y ON y.oid = x.indexrelid JOIN pg_am a ON a.oid = y.relam "
        "WHERE x.indrelid = c.oid AND a.amname = 'hnsw') ORDER BY 1",
    )
    problems += [
        f"The partition {name} has no index of meaning: SELECT holdfast.index_partition('holdfast.{name}')."
        for (name,) in without
    ]
    return problems


def _member_problems(session: Session) -> list[str]:
    """Members who cannot log in: their access waits for whoever gets a login of that name."""
    gone = _rows(
        session,
        "SELECT DISTINCT login FROM holdfast.member WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) "
        "ORDER BY 1",
    )
    problems = [
        f"The member {name} has no login: a new login with that name would get its access."
        for (name,) in gone
    ]
    shut = _rows(
        session,
        "SELECT DISTINCT login FROM holdfast.member JOIN pg_roles ON rolname = login WHERE NOT rolcanlogin "
        "OR rolvaliduntil < now() OR NOT pg_has_role(pg_roles.oid, 'holdfast_member', 'MEMBER') ORDER BY 1",
    )
    return problems + [
        f"The member {name} cannot log in: take its role away (holdfast team server member ADDRESS {name} none)."
        for (name,) in shut
    ]


def _slow(session: Session) -> list[tuple[float, str]]:
    """What this login may see of it; the administrator sees all."""
    running = _rows(
        session,
        "SELECT extract(epoch FROM now() - query_start)::float8, query FROM pg_stat_activity "
        "WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() "
        "AND now() - query_start > make_interval(secs => %s) ORDER BY 1 DESC LIMIT %s",
        _SLOW_S,
        _MOST_SLOW,
    )
    table = _one(session, "SELECT to_regclass('pg_stat_statements')::text") or _one(
        session, "SELECT to_regclass('public.pg_stat_statements')::text"
    )
    known: list[Any] = []
    loaded = "SELECT current_setting('shared_preload_libraries') LIKE '%%pg_stat_statements%%'"
    if table and _rows(session, loaded) == [(True,)]:
        known = _rows(
            session,
            f"SELECT mean_exec_time / 1000, query FROM {table} "
            "WHERE query LIKE '%%holdfast.%%' AND mean_exec_time > %s ORDER BY 1 DESC LIMIT %s",
            _SLOW_MEAN_MS,
            _MOST_SLOW,
        )
    return [
        (round(float(seconds), 1), visible(" ".join(str(query).split()))[:_LONGEST])
        for seconds, query in [*running, *known]
    ]


def _one(session: Session, query: str) -> object:
    rows = _rows(session, query)
    return rows[0][0] if rows else None


def _rows(session: Session, query: str, *values: object) -> list[Any]:
    return session.execute(query.encode(), values or None).fetchall()
