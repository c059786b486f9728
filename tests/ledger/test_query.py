"""`ledger query` and the Parquet folder of `ledger export --out`: many ledgers as one, and nothing else is read or changed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace
from tests.cli.test_ledger_figures import write_ledger
from tests.command import Holdfast
from tests.ledger.ledgers import twelve_sessions

from holdfast.ledger.export import exported
from holdfast.model.ledger import LedgerEntry

COUNT = "SELECT count(*) AS n, sum(cost_usd) AS cost FROM {}"


def digests(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def export(holdfast: Holdfast, repo: Path, tmp_path: Path) -> Callable[[Sequence[LedgerEntry]], Path]:
    def written(entries: Sequence[LedgerEntry]) -> Path:
        write_ledger(repo, entries)
        holdfast("ledger", "export", "--format", "parquet", "--out", tmp_path / "fleet", check=0)
        return tmp_path / "fleet"

    return written


def test_sql_over_this_projects_ledger_as_json_csv_and_table(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, twelve_sessions())
    sql = "SELECT model, count(*) AS n, min(timestamp) AS first FROM ledger GROUP BY model ORDER BY n DESC"
    found = holdfast("ledger", "query", sql, "--json", check=0).json()
    assert [row["n"] for row in found] == [8, 4] and found[0]["first"].endswith("Z")
    lines = holdfast("ledger", "query", sql, "--csv", check=0).stdout
    assert [row["n"] for row in csv.DictReader(io.StringIO(lines))] == ["8", "4"]
    table = holdfast("ledger", "query", sql, check=0).stdout.splitlines()
    assert table[0].split() == ["model", "n", "first"] and len(table) == 3
    assert holdfast("ledger", "query", "FROM ledger WHERE false", check=0).stdout == "No rows.\n"


def test_sql_agrees_with_the_figures(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, twelve_sessions())
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    (row,) = holdfast("ledger", "query", COUNT.format("ledger"), "--json", check=0).json()
    assert row["n"] == stats["total_sessions"] and row["cost"] == pytest.approx(stats["total_cost"])


@pytest.mark.promise("T4")
def test_ledgers_of_two_people_in_one_folder_count_each_session_once(
    holdfast: Holdfast, repo: Path, tmp_path: Path, export: Callable[[Sequence[LedgerEntry]], Path]
) -> None:
    first = twelve_sessions()
    later = replace(first[0], cost_usd=Decimal(7), clock="29991118T162703.123-0-zz")
    gone = LedgerEntry(session=first[1].session, outcome="forgotten")
    fleet = export([*first, later])
    other = tmp_path / "other" / "web"
    write_ledger_at(other, [*first[:3], gone, replace(first[0], session="only-here")])
    holdfast("ledger", "export", other, "--format", "parquet", "--out", fleet, check=0)
    (row,) = holdfast("ledger", "query", COUNT.format("ledger"), fleet, "--json", check=0).json()
    assert row["n"] == 12, "twelve, one of them forgotten, and one that the other has alone"
    (row,) = holdfast("ledger", "query", COUNT.format("rows"), fleet, "--json", check=0).json()
    assert row["n"] == 18
    sql = f"SELECT cost_usd FROM ledger WHERE session = '{first[0].session}'"
    assert holdfast("ledger", "query", sql, fleet, "--json", check=0).json() == [{"cost_usd": 7.0}]
    both = holdfast("ledger", "query", COUNT.format("ledger"), repo, fleet, other, "--json", check=0).json()
    assert both[0]["n"] == 12, "ledgers and exports of them are one"


def write_ledger_at(folder: Path, entries: Sequence[LedgerEntry]) -> None:
    folder.mkdir(parents=True)
    write_ledger(folder, entries)


@pytest.mark.promise("T4")
def test_an_export_is_partitioned_by_month_and_project_and_replaces_its_own_files_only(
    holdfast: Holdfast, repo: Path, export: Callable[[Sequence[LedgerEntry]], Path]
) -> None:
    fleet = export(twelve_sessions())
    months = {path.parent.parent.name for path in fleet.rglob("*.parquet")}
    assert all(month.startswith("month=20") for month in months)
    assert {path.parent.name for path in fleet.rglob("*.parquet")} == {"project=shop"}
    other = fleet / "month=2024-01" / "project=shop" / "zz-0123456789ab.parquet"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"".join(exported([LedgerEntry(session="theirs")], "parquet", "p")))
    again = export(twelve_sessions()[:1])
    mine = [path for path in again.rglob("*.parquet") if path != other]
    assert len(mine) == 1 and other.exists()
    rows = holdfast("ledger", "query", "SELECT DISTINCT project FROM rows", fleet, "--json", check=0).json()
    assert rows == [{"project": "shop"}]
    assert not [path for path in fleet.rglob("*") if path.is_file() and path.suffix != ".parquet"]


def test_names_with_slashes_and_quotes_come_back(holdfast: Holdfast, tmp_path: Path, repo: Path) -> None:
    strange = tmp_path / "o'brien [x]"
    write_ledger_at(strange, twelve_sessions())
    fleet = tmp_path / "it's [a] folder*"
    holdfast("ledger", "export", strange, "--format", "parquet", "--out", fleet, check=0)
    (row,) = holdfast("ledger", "query", "SELECT count(*) n FROM ledger", fleet, "--json", check=0).json()
    assert row["n"] == 12


def test_files_of_an_older_version_lack_columns(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    duckdb.sql("SELECT 'a' AS session, 3::INTEGER AS tasks").write_parquet(str(old))
    new.write_bytes(b"".join(exported(twelve_sessions(), "parquet", "p")))
    sql = (
        "SELECT count(*) AS n, count(clock) AS clocks, sum(tasks) FILTER (session = 'a') AS tasks FROM ledger"
    )
    assert holdfast("ledger", "query", sql, old, new, "--json", check=0).json() == [
        {"n": 13, "clocks": 0, "tasks": 3}
    ]


READS = [
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_blob('{fleet}/*/*/../../../secret.csv')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM read_text('https://example.org/')",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM machine",
    "SELECT getenv('HOME')",
    "ATTACH '{folder}/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_external_access",
    "CALL enable_logging(storage = 'file', storage_path = '{folder}/log')",
]
WRITES = [
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{own}' (USE_TMP_FILE false)",
    "WITH a AS (COPY (SELECT 1) TO '{own}' (USE_TMP_FILE false)) SELECT 1",
    "WITH a AS (COPY (SELECT 1) TO '{own}' (USE_TMP_FILE false)) SELECT * FROM ledger, a",
    "/* SELECT */ with a as materialized (copy (select 1) to '{own}' (use_tmp_file false)) from ledger",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{own}' (USE_TMP_FILE false)",
    "SELECT * FROM query('WITH a AS (COPY (SELECT 1) TO ''{own}'' (USE_TMP_FILE false)) SELECT 1')",
    "WITH a AS (INSERT INTO _ledgers (session) VALUES ('x') RETURNING *) SELECT * FROM a",
    "WITH a AS (DELETE FROM _ledgers RETURNING *) SELECT * FROM a",
    "WITH a AS (UPDATE _ledgers SET session = 'x' RETURNING *) SELECT * FROM a",
    "SELECT 1; COPY (SELECT 1) TO '{own}' (USE_TMP_FILE false)",
    "DROP VIEW ledger",
    "CREATE TABLE x AS SELECT 1",
    "EXPORT DATABASE '{folder}/all'",
]


@pytest.mark.parametrize("sql", READS + WRITES)
def test_a_query_reads_no_other_file_and_changes_nothing(
    holdfast: Holdfast, repo: Path, tmp_path: Path, export: Callable[[Sequence[LedgerEntry]], Path], sql: str
) -> None:
    fleet = export(twelve_sessions())
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nxyzzy\n", encoding="utf-8")
    before = digests(tmp_path)
    own = min(fleet.rglob("*.parquet"))
    filled = sql.format(secret=secret, fleet=fleet, folder=tmp_path, own=own)
    refused = holdfast("ledger", "query", filled, fleet, check=2)
    assert refused.stdout == "" and "xyzzy" not in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and "Traceback" not in refused.stderr
    assert digests(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("SELECT nothing FROM ledger",), "the query failed: Binder Error"),
        (("SELECT",), "the query failed: Parser Error"),
        (("",), "only one SELECT can be asked"),
        (("SELECT 1 / 'x'",), "the query failed: Conversion Error"),
        (("SELECT 1", "no-such"), "no ledger here"),
        (("SELECT 1", "no-such.parquet"), "there is no such file"),
        (("SELECT 1", "broken.parquet"), "Parquet that cannot be read"),
        (("SELECT 1", "foreign.parquet"), "it has no column session"),
        (("SELECT 1", "empty"), "no ledger here"),
    ],
)
def test_bad_input_is_one_clear_line(
    holdfast: Holdfast, repo: Path, arguments: tuple[str, ...], words: str
) -> None:
    (repo / "broken.parquet").write_bytes(b"PAR1 and no more")
    duckdb.sql("SELECT 1 AS other").write_parquet(str(repo / "foreign.parquet"))
    (repo / "empty").mkdir()
    done = holdfast("ledger", "query", *arguments, check=None)
    assert done.returncode in (1, 2) and done.stdout == "" and words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [("--format", "csv"), ("--format", "parquet", "--since", "7d"), ("--format", "parquet", "-o", "x")],
)
def test_a_folder_takes_whole_ledgers_as_parquet(
    holdfast: Holdfast, repo: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    refused = holdfast("ledger", "export", "--out", tmp_path / "fleet", *arguments, check=2)
    assert "--out writes whole ledgers as Parquet" in refused.stderr and not (tmp_path / "fleet").exists()


def test_values_of_every_type_are_shown(holdfast: Holdfast, repo: Path) -> None:
    sql = (
        "SELECT DATE '2026-01-02' AS d, TIMESTAMPTZ '2026-01-02 03:04:05+02' AS z, 1.5::DECIMAL(9, 2) AS dec, "
        "170141183460469231731687303715884105727 AS huge, 'nan'::DOUBLE AS nan, [1, NULL] AS list, {'a': 1} AS struct, "
        "MAP {'k': 2} AS map, INTERVAL 90 SECONDS AS span, '\\xAA'::BLOB AS bytes, true AS yes, 1 AS yes"
    )
    assert holdfast("ledger", "query", sql, "--json", check=0).json() == [
        {
            "d": "2026-01-02",
            "z": "2026-01-02T01:04:05Z",
            "dec": 1.5,
            "huge": pytest.approx(1.7e38, rel=0.01),
            "nan": None,
            "list": [1, None],
            "struct": {"a": 1},
            "map": {"k": 2},
            "span": 90.0,
            "bytes": "aa",
            "yes": True,
            "yes_1": 1,
        }
    ]


def test_the_dashboard_reads_the_folder(
    holdfast: Holdfast, repo: Path, export: Callable[[Sequence[LedgerEntry]], Path]
) -> None:
    entries = twelve_sessions()
    fleet = export([*entries, replace(entries[0], cost_usd=Decimal(7), clock="29991118T162703.123-0-zz")])
    board = holdfast("ledger", "export", "--format", "grafana", check=0).json()
    (row,) = [panel for panel in board["panels"] if panel["type"] == "row"]
    asked = [target["rawSql"] for panel in row["panels"] for target in panel["targets"]]
    answers = [duckdb.sql(sql.replace("${parquet}", str(fleet))).fetchall() for sql in asked]
    (cost,) = holdfast("ledger", "query", COUNT.format("ledger"), "--json", check=0).json()
    assert len(answers) == 3 and all(answers)
    assert sum(row[-1] for row in answers[0]) == pytest.approx(cost["cost"])
    assert sum(row[1] for row in answers[2]) == 12
