"""The schema of the team's server, as numbered files that are run forwards, each once and whole.

An older program works with a newer schema as long as `holdfast.migration` says so: `oldest` is the least number that a
program must know to use a database with this migration.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.core.hashes import sha256
from holdfast.postgres.connection import OLDEST_SERVER, ServerError

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

SEARCH = 4
"""The migration that search needs."""

_LOCK = 7_236_450_019_001  # an advisory lock: one setup at a time
_OLDEST = {1: 1, 2: 1, 3: 1, 4: 1}  # a program that knows only the packs leaves the statements alone
# Where the extension is, if somebody installed it already: its types are named without a schema.
_PATH = (
    "SELECT set_config('search_path', concat_ws(', ', 'pg_catalog', 'holdfast', "
    "(SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'), 'pg_temp'), true)"
)
_TABLE = """CREATE TABLE IF NOT EXISTS holdfast.migration (
    number integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL, oldest integer NOT NULL,
    run timestamptz NOT NULL DEFAULT now())"""


class Migration(Struct, frozen=True):
    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


def all_migrations() -> list[Migration]:
    folder = resources.files("holdfast.postgres").joinpath("schema")
    found = [
        Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found, key=lambda migration: migration.number)


def newest_number() -> int:
    return all_migrations()[-1].number


def migrate(
    session: Session, where: str, *, dry_run: bool = False, upto: int | None = None
) -> list[Migration]:
    """Runs what this database does not have yet, and returns it. With `dry_run` everything is rolled back at the end.

    Programs that are connected go on: a migration takes locks that wait for their transactions, and not for long.
    """
    _require_server(session, where)
    ran: list[Migration] = []
    with session.transaction(force_rollback=dry_run):
        session.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        session.execute("SET LOCAL lock_timeout = '20s'")
        session.execute("CREATE SCHEMA IF NOT EXISTS holdfast")
        session.execute(_PATH)
        session.execute(_TABLE)
        session.execute("REVOKE ALL ON holdfast.migration FROM PUBLIC")
        rows = session.execute("SELECT number, digest FROM holdfast.migration").fetchall()
        known = dict[object, object]((number, digest) for number, digest in rows)
        _refuse_others(known, where)
        for migration in all_migrations():
            if migration.number in known or (upto is not None and migration.number > upto):
                continue
            session.execute(migration.sql.encode())
            session.execute(
                "INSERT INTO holdfast.migration (number, name, digest, oldest) VALUES (%s, %s, %s, %s)",
                [migration.number, migration.name, migration.digest, _OLDEST[migration.number]],
            )
            ran.append(migration)
        session.execute("GRANT SELECT ON holdfast.migration TO holdfast_member")
    return ran


def require_schema(session: Session, where: str, needed: int) -> None:
    """Refuses a database whose schema is too old for what is wanted, or too new for this program."""
    rows = session.execute("SELECT max(number), max(oldest) FROM holdfast.migration").fetchall()
    number, oldest = rows[0]
    if not isinstance(number, int) or number < needed:
        raise ServerError(
            f"the schema of this database is {number or 0}, and this needs {needed}",
            where=where,
            fix="Its administrator runs holdfast team server setup",
        )
    if isinstance(oldest, int) and oldest > newest_number():
        raise ServerError(
            f"the schema of this database is {number}, and this holdfast knows {newest_number()}",
            where=where,
            fix="Upgrade holdfast",
        )


def _require_server(session: Session, where: str) -> None:
    version = session.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise ServerError(
            f"this is PostgreSQL {version}, and holdfast needs {OLDEST_SERVER} or newer",
            where=where,
            fix="Upgrade it",
        )
    rows = session.execute(
        "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchall()
    offered = str(rows[0][0]) if rows else ""
    if tuple(int(part) for part in offered.split(".")[:2] if part.isdigit()) < (0, 8):
        raise ServerError(
            f"this server has pgvector {offered}, and holdfast needs 0.8"
            if offered
            else "this server has no pgvector",
            where=where,
            fix="Install the extension vector 0.8 or newer there, then run setup again",
        )


def _refuse_others(known: dict[object, object], where: str) -> None:
    ours = {migration.number: migration.digest for migration in all_migrations()}
    for number, digest in known.items():
        if isinstance(number, int) and number in ours and ours[number] != digest:
            raise ServerError(
                f"migration {number} of this database is not the one that this holdfast has",
                where=where,
                fix="Use the version of holdfast that created it",
            )
