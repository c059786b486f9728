"""Writes ledger rows as Parquet: one file, or a folder partitioned by month and project.

A folder is for the ledgers of many people. Every machine writes files of its own name there, and replaces only those.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import UsageError
from holdfast.core.hashes import blake2b
from holdfast.ledger.column_store import add_rows, create_table, literal, open_database
from holdfast.ledger.export_columns import NAMES
from holdfast.ledger.rows import NamedLedger
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MONTH = "coalesce(strftime(timestamp, '%Y-%m'), 'unknown')"
"""The partition of a row: the month in which its session began."""
_COLUMNS = ", ".join(NAMES)


class Partitions(Struct, frozen=True):
    """What an export into a folder wrote."""

    folder: Path
    files: int
    rows: int


def parquet_bytes(entries: Sequence[LedgerEntry]) -> bytes:
    """One file with all rows in their order."""
    with open_database() as (database, folder):
        create_table(database, "exported")
        add_rows(database, "exported", entries, "")
        return _file(database, folder, f"SELECT {_COLUMNS} FROM exported ORDER BY place")


def write_partitions(
    machine: Machine, project: Project, ledgers: Sequence[NamedLedger], folder: Path
) -> Partitions:
    """Writes `month=…/project=…/<machine>-<ledger>.parquet`, and removes files of the last export that are not needed.

    Tombstones are written too: they end a session that another export still has.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is a file, not a folder", where=str(folder), fix="Name a folder after --out")
    written: set[Path] = set()
    with files.lock(project.lock("export")) as held, open_database() as (database, scratch):
        for number, ledger in enumerate(ledgers):
            table = f"exported{number}"
            create_table(database, table)
            add_rows(database, table, ledger.entries, "")
            for path, data in _partitions(database, scratch, table, machine, ledger):
                files.replace_held(held, folder / path, data, files.ANYTHING)
                written.add(folder / path)
            stale = set(folder.glob(f"month=*/project=*/{_file_name(machine, ledger)}")) - written
            files.discard(stale)
            database.execute(f"DROP TABLE {table}")
    return Partitions(folder, len(written), sum(len(ledger.entries) for ledger in ledgers))


def _partitions(
    database: DuckDBPyConnection, scratch: Path, table: str, machine: Machine, ledger: NamedLedger
) -> list[tuple[Path, bytes]]:
    months = database.execute(f"SELECT DISTINCT {MONTH} FROM {table} ORDER BY 1").fetchall()
    project = f"project={quote(ledger.project, safe='')}"
    return [
        (
            Path(f"month={month}", project, _file_name(machine, ledger)),
            _file(
                database,
                scratch,
                f"SELECT {_COLUMNS} FROM {table} WHERE {MONTH} = {literal(month)} ORDER BY place",
            ),
        )
        for (month,) in months
    ]


def _file_name(machine: Machine, ledger: NamedLedger) -> str:
    """The same for every export of a ledger by this machine, and no other's."""
    path = str(ledger.path.resolve()).encode("utf-8", "surrogateescape")
    return f"{machine.clock.letters}-{blake2b(path, digest_size=6).hexdigest()}.parquet"


def _file(database: DuckDBPyConnection, scratch: Path, query: str) -> bytes:
    """What DuckDB writes goes through the private folder: the store alone puts files where people look."""
    path = scratch / "partition.parquet"
    database.execute(f"COPY ({query}) TO {literal(path.as_posix())} (FORMAT parquet, COMPRESSION zstd)")
    return files.read(path) or b""
