"""Connections to the team's server, and its errors as one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.core.errors import HoldfastError, UsageError
from holdfast.guard.hidden_text import visible
from holdfast.postgres.address import Address
from holdfast.store.installation import how_to_add

if TYPE_CHECKING:
    from psycopg import Connection, Error

    Session = Connection[tuple[object, ...]]

OLDEST_SERVER = 15
_CONNECT_S = 10
_STATEMENT_MS = 120_000
_LONGEST = 200
_SETUP = "Its administrator runs holdfast team server setup once"
_LATER = "Nothing is lost; run the command again later"
_SPACE = "Free some space on the server; nothing here is lost"

# By SQLSTATE, or by the words of an error that never reached the server: what is wrong, and what to do.
_STATES = {
    "28P01": ("the password is wrong or missing", "Put it into ~/.pgpass, or name that file in PGPASSFILE"),
    "28000": ("access denied", "Ask the server's administrator for a login, and for TLS if it is required"),
    "3D000": ("there is no such database", "Check the address"),
    "3F000": ("holdfast was not set up in this database", _SETUP),
    "42P01": ("holdfast was not set up in this database", _SETUP),
    "42883": ("holdfast was not set up in this database", _SETUP),
    "42501": ("permission denied", "Ask an owner of the project to make you a member: holdfast team server member"),
    "53100": ("the server's disk is full", _SPACE),
    "53200": ("the server is out of memory", _LATER),
    "53300": ("the server has no free connection", _LATER),
    "57014": ("the server took too long", _LATER),
    "57P01": ("the server was shut down", _LATER),
    "57P03": ("the server is starting up or shutting down", _LATER),
    "25006": ("this server is a read replica", "Name the primary server"),
    "0A000": ("an extension is missing on the server", "Install pgvector 0.8 or newer there, then run setup again"),
    "58P01": ("an extension is missing on the server", "Install pgvector 0.8 or newer there, then run setup again"),
}  # fmt: skip
_WORDS = (
    (r"role .* does not exist|not permitted to log in|no pg_hba\.conf entry", "access denied",
     "Ask the server's administrator for a login, and for TLS if it is required"),
    (r"database .* does not exist", "there is no such database", "Check the address"),
    (r"password authentication failed", "the password is wrong or missing",
     "Put it into ~/.pgpass, or name that file in PGPASSFILE"),
    (r"too many clients|connection slots", "the server has no free connection", _LATER),
    (r"is (?:starting up|shutting down)|recovery", "the server is starting up or shutting down", _LATER),
    (r"server does not support SSL|SSL was required|no encryption", "the server offers no TLS",
     "Turn TLS on there; without it holdfast connects to this machine only"),
    (r"certificate|root\.crt|SSL error: (?!unexpected eof)", "the server's certificate cannot be trusted",
     "Name its certificate authority with ?sslrootcert=FILE, or use system for those of this machine"),
    (r"no password supplied", "the password is wrong or missing",
     "Put it into ~/.pgpass, or name that file in PGPASSFILE"),
    (r"could not translate host name|Name or service not known|resolve", "no host with this name",
     "Check the name and the network"),
    (r"timeout|timed out", "the server does not answer", _LATER),
    (r"Connection refused|No such file or directory|No route|unreachable", "the server cannot be reached", _LATER),
    (r"closed the connection|connection is closed|connection is lost|terminat|reset|EOF|bad connection|not connected",
     "the connection was cut", "Nothing is lost; run the command again"),
)  # fmt: skip
# What the driver says around it: the address is in our line already.
_WHERE = re.compile(r"(?:connection failed: )?connection to server [^:]*? failed: | Is the server running .*")


class ServerError(HoldfastError):
    """The team's server cannot be reached, refuses, or is not set up. What is here is unchanged."""

    code = "server"


def driver_missing() -> UsageError:
    return UsageError(
        "PostgreSQL needs psycopg, which is not installed", fix=f"Run `{how_to_add('postgres')}`"
    )


@contextmanager
def connected(address: Address) -> Iterator[Session]:
    """A session, each statement of which is a transaction of its own; errors are ServerErrors."""
    try:
        import psycopg
    except ImportError as error:
        raise driver_missing() from error
    with (
        explaining(address.shown),
        psycopg.connect(
            **address.options,  # type: ignore[arg-type]
            connect_timeout=_CONNECT_S,
            application_name="holdfast",
            autocommit=True,
            keepalives_idle=30,
        ) as session,
    ):
        # Nothing that another login could put into `public` is found before what is meant.
        session.execute("SET search_path = pg_catalog, holdfast, pg_temp")
        session.execute("SET jit = off")
        session.execute(f"SET statement_timeout = {_STATEMENT_MS}")
        yield session


def find_vectors(session: Session, where: str) -> str:
    """The schema of the extension, loaded for this session; a schema that everybody may fill is refused."""
    rows = session.execute(
        "SELECT extnamespace::regnamespace::text, has_schema_privilege('public', extnamespace, 'CREATE') "
        "FROM pg_extension WHERE extname = 'vector'"
    ).fetchall()
    if not rows:
        raise ServerError("the extension vector is missing on the server", where=where, fix=_SETUP)
    place, is_open = rows[0]
    if is_open:
        raise ServerError(
            f"every login may put operators and functions into the schema {place}, which has the extension vector",
            where=where,
            fix=f"Its administrator runs REVOKE CREATE ON SCHEMA {place} FROM PUBLIC",
        )
    session.execute(f"SELECT NULL::{place}.halfvec".encode())
    return str(place)


@contextmanager
def explaining(where: str) -> Iterator[None]:
    """Errors of the driver and the server as one line each."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise explained(error, where) from error


def explained(error: Error, where: str) -> ServerError:
    """One line for what the driver or the server says."""
    said = _WHERE.sub("", visible(" ".join((error.diag.message_primary or str(error)).split())))
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
    if error.sqlstate == "42501" and said.endswith("for schema holdfast"):
        fix = "Its administrator runs GRANT holdfast_member TO the login"
        return ServerError(f"this login may not use holdfast ({said})", where=where, fix=fix)
    if error.sqlstate in _STATES:
        problem, fix = _STATES[error.sqlstate]
        return ServerError(f"{problem} ({said})", where=where, fix=fix)
    for pattern, problem, fix in _WORDS:
        if re.search(pattern, said, re.IGNORECASE):
            return ServerError(f"{problem} ({said})", where=where, fix=fix)
    return ServerError(f"the server refused: {said}", where=where, fix=_LATER)
