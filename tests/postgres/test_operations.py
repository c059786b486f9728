"""What a DBA does: look whether all is well, back up and restore, put partitions on a second server, upgrade under load."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from tests.command import Holdfast
from tests.forked import exit_code, fork
from tests.patience import wait_until
from tests.postgres.server import Server, binaries, running_server, set_up
from tests.sync.transports import everything, some_packs

from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import connected
from holdfast.postgres.health import check
from holdfast.postgres.index import TeamIndex
from holdfast.postgres.migrations import migrate
from holdfast.search import Chunk
from holdfast.sync.postgres import Postgres

ANA = "aaaaaaaaaaaaaaaa"
NOTES = [
    Chunk(id="D-1", text="The export client makes at most five attempts", kind="decision", when=1.7e9),
    Chunk(id="D-2", text="Invoices are kept in the blue mailbox", kind="decision", when=1.7e9 + 60),
    Chunk(id="F-1", text="The staging database listens on port 5433", kind="fact"),
    Chunk(id="H-1", text="Row one of the dump is dull.\n" * 80 + "The zeppelin landed."),
]
QUESTIONS = ["export attempts", "where are invoices", "5433", "zeppelin", "reliable uploads"]


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path / "data") as server:
        set_up(server)
        yield server


def searchable(server: Server, project: str = "shop") -> None:
    server.sql("SELECT holdfast.add_project(%s, 'ana')", project)
    server.sql("SELECT holdfast.set_indexed(%s, true)", project, login="ana")


def fill(server: Server, project: str = "shop") -> None:
    with TeamIndex(parse_address(server.address("ana")), project, ANA) as index:
        index.put_many(NOTES)


def answers(server: Server, login: str = "ana", project: str = "shop") -> list[list[str]]:
    with TeamIndex(parse_address(server.address(login)), project) as index:
        return [[hit.id for hit in index.search(question)] for question in QUESTIONS]


# --- is all well? ------------------------------------------------------------------------------------------------


@pytest.mark.promise("T2")
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("ALTER TABLE holdfast.statement DISABLE ROW LEVEL SECURITY", "Row-level security is off for statement."),
        ("DROP POLICY read ON holdfast.pack", "The table pack has 3 policies instead of 4"),
        ("CREATE POLICY all_of_it ON holdfast.tally USING (true)", "The table tally has 2 policies instead of 1"),
        ("GRANT SELECT ON holdfast.statement_2 TO holdfast_member", "the partition statement_2 directly"),
        ("GRANT CREATE ON SCHEMA pg_catalog TO PUBLIC", "Every login may add operators to the schema pg_catalog"),
        ("GRANT SELECT (meaning) ON holdfast.statement TO holdfast_member", "Members may order by meaning"),
        ("ALTER ROLE ben BYPASSRLS", "The login ben passes by every policy"),
        ("GRANT EXECUTE ON FUNCTION holdfast.add_project(text, name) TO PUBLIC", "may call the function add_project"),
        ("ALTER TABLE holdfast.pack OWNER TO dan", "several owners (dan, postgres)"),
        ("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'holdfast.pack_1_pkey'::regclass", "is not valid"),
        ("ALTER ROLE ana NOLOGIN", "The member ana cannot log in"),
        ("REVOKE holdfast_member FROM ana", "The member ana cannot log in"),
        ("ALTER ROLE ana VALID UNTIL '2001-01-01'", "The member ana cannot log in"),
        ("INSERT INTO holdfast.member VALUES ('shop', 'gone', 'member')", "The member gone has no login"),
        ("DELETE FROM holdfast.migration WHERE number > 2", "The schema is 2, and this holdfast has 4"),
        ("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'", "pgvector is 0.7.4"),
    ],
)  # fmt: skip
def test_the_doctor_names_what_is_wrong(shared_server: Server, harm: str, said: str) -> None:
    address = parse_address(shared_server.address("postgres"))
    assert check(address).problems == []
    with connected(address) as session:
        session.execute("BEGIN")
        session.execute(harm.encode())
        problems = _check_inside(session)
        session.execute("ROLLBACK")
    assert any(said in problem for problem in problems), problems
    assert check(address).problems == []


def _check_inside(session: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """The same look, inside the transaction that did the harm."""
    from contextlib import contextmanager

    @contextmanager
    def same(_: object) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        yield session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.postgres.health.connected", same)
        return check(parse_address("postgres://localhost/team")).problems


@pytest.fixture(scope="module")
def shared_server(bare_server: Server) -> Server:
    set_up(bare_server)
    searchable(bare_server)
    return bare_server


def test_the_doctor_names_what_is_slow(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.postgres.health._SLOW_S", 0.0)
    with psycopg.connect(
        host=str(shared_server.socket), port=shared_server.port, user="ana", dbname="team", autocommit=True
    ) as session:
        sleeping = fork(lambda: _sleep(shared_server))
        running = "SELECT pid FROM pg_stat_activity WHERE usename = 'ana' AND query LIKE '%pg_sleep(60)%'"
        assert wait_until(lambda: bool(shared_server.sql(running)), 30)
        slow = check(parse_address(shared_server.address("postgres"))).slow
        assert any("pg_sleep(60)" in query for _, query in slow)
        assert all(
            "pg_sleep" not in query for _, query in check(parse_address(shared_server.address("dan"))).slow
        )
        session.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
        )
    assert exit_code(sleeping) == 0


def _sleep(server: Server) -> None:
    with suppress(psycopg.errors.QueryCanceled):
        server.sql("SELECT pg_sleep(60)", login="ana")


def test_team_doctor_asks_the_server_that_is_named_or_synced_with(
    shared_server: Server, holdfast: Holdfast, repo: Path
) -> None:
    address = shared_server.address("ana")
    assert "No problems found." in holdfast("team", "doctor", address, check=0).stdout
    assert holdfast("team", "doctor", address, "--json", check=0).json()["passes_policies"] is False
    assert "not synced with a server" in holdfast("team", "doctor").stderr
    admin = holdfast("team", "doctor", shared_server.address("postgres"), check=0).stdout
    assert "who bypasses all policies" in admin


# --- backup and restore ------------------------------------------------------------------------------------------


@pytest.mark.promise("T1")
def test_a_backup_restored_on_a_new_server_has_everything_with_its_policies(
    own_server: Server, tmp_path: Path
) -> None:
    searchable(own_server)
    fill(own_server)
    Postgres(own_server.address("ana"), "shop").publish(f"{ANA}/m1", some_packs("a", "b"))
    own_server.sql("SELECT holdfast.add_project('vault', 'dan')")
    before, packs = answers(own_server), everything(Postgres(own_server.address("ana"), "shop"))
    dump, roles = tmp_path / "team.dump", tmp_path / "roles.sql"
    _run(own_server, "pg_dump", "--format=custom", f"--file={dump}", "team")
    _run(own_server, "pg_dumpall", "--roles-only", f"--file={roles}")
    with running_server(tmp_path / "restored") as restored:
        _run(restored, "psql", "--quiet", "--dbname=postgres", f"--file={roles}")
        _run(restored, "pg_restore", "--dbname=team", "--exit-on-error", str(dump))
        assert everything(Postgres(restored.address("ana"), "shop")) == packs
        assert answers(restored) == before and before[0][0] == "D-1"
        assert answers(restored, "dan") == [[] for _ in QUESTIONS]
        assert check(parse_address(restored.address("postgres"))).problems == []
        Postgres(restored.address("ana"), "shop").publish(f"{ANA}/m1", some_packs("c"))


def _run(server: Server, program: str, *words: str) -> None:
    where = ["--host", str(server.socket), "--port", str(server.port), "--username", "postgres"]
    done = subprocess.run(
        [str(binaries() / program), *where, *words], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr


# --- two servers ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("T1")
@pytest.mark.promise("T2")
def test_a_partition_on_a_second_server_answers_the_same_and_lets_nobody_else_in(
    own_server: Server, tmp_path: Path
) -> None:
    searchable(own_server)
    fill(own_server)
    before = answers(own_server)
    ((local,),) = own_server.sql("SELECT tableoid::regclass::text FROM holdfast.statement LIMIT 1")
    name = str(local).removeprefix("holdfast.")
    remainder = name.removeprefix("statement_")
    with running_server(tmp_path / "second") as second:
        set_up(second)
        second.sql("CREATE ROLE first LOGIN")
        second.sql(f"ALTER TABLE holdfast.statement DETACH PARTITION holdfast.{name}")
        second.sql("GRANT USAGE ON SCHEMA holdfast TO first")
        second.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.{name} TO first")
        for statement in (
            "CREATE EXTENSION postgres_fdw",
            f"CREATE SERVER second FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{second.socket}', "
            f"port '{second.port}', dbname 'team', extensions 'vector', use_remote_estimate 'true')",
            "CREATE USER MAPPING FOR PUBLIC SERVER second OPTIONS (user 'first', password_required 'false')",
            f"ALTER TABLE holdfast.statement DETACH PARTITION holdfast.{name}",
            f"ALTER TABLE holdfast.{name} RENAME TO moved",
            f"CREATE FOREIGN TABLE holdfast.{name} PARTITION OF holdfast.statement "
            f"FOR VALUES WITH (MODULUS 8, REMAINDER {remainder}) SERVER second OPTIONS (schema_name 'holdfast')",
            "INSERT INTO holdfast.statement SELECT * FROM holdfast.moved",
        ):
            if statement.startswith("INSERT"):  # generated columns are made where the rows lie
                ((columns,),) = own_server.sql(
                    "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attgenerated = '' "
                    "AND attrelid = 'holdfast.statement'::regclass AND attnum > 0 AND NOT attisdropped"
                )
                statement = f"INSERT INTO holdfast.statement ({columns}) SELECT {columns} FROM holdfast.moved"
            own_server.sql(statement)
        own_server.sql("DROP TABLE holdfast.moved")
        assert second.sql(f"SELECT count(*) FROM holdfast.{name}") != [(0,)]
        assert answers(own_server) == before
        with TeamIndex(parse_address(own_server.address("ana")), "shop", ANA) as index:
            index.put("D-3", "The lighthouse is painted every summer", "decision")
            assert index.search("painted lighthouse")[0].id == "D-3"
            assert index.delete("D-3") and "D-3" not in list(index.ids())
        assert answers(own_server, "dan") == [[] for _ in QUESTIONS]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            own_server.sql(f"SELECT * FROM holdfast.{name}", login="dan")


# --- upgrade ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("T1")
def test_the_schema_of_search_comes_while_people_push_and_loses_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        set_up(server, upto=2)
        server.sql("SELECT holdfast.add_project('shop', 'ana')")
        server.sql("SELECT holdfast.set_member('shop', 'ben', 'member')", login="ana")
        places = {"ana": "aaaaaaaaaaaaaaaa/m1", "ben": "bbbbbbbbbbbbbbbb/m2"}

        def push(login: str) -> None:
            for number in range(40):
                Postgres(server.address(login), "shop").publish(places[login], some_packs(login, number))

        pushing = [fork(lambda login=login: push(login)) for login in places]  # type: ignore[misc]
        assert wait_until(lambda: server.sql("SELECT count(*) FROM holdfast.pack") > [(5,)], 60)
        with connected(parse_address(server.address("postgres"))) as session:
            assert [migration.number for migration in migrate(session, "here")] == [3, 4]
        assert [exit_code(one) for one in pushing] == [0, 0]
        assert len(everything(Postgres(server.address("ana"), "shop"))) == 82
        server.sql("SELECT holdfast.set_indexed('shop', true)", login="ana")
        fill(server)
        assert answers(server)[0][0] == "D-1"
        assert check(parse_address(server.address("postgres"))).problems == []
