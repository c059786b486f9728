"""Setting a server up, upgrading it while people work, and every kind of server that is not as it should be."""

from __future__ import annotations

import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from tests.command import Holdfast
from tests.forked import exit_code, fork
from tests.patience import wait_until
from tests.postgres.server import Server, running_server, set_up
from tests.sync.transports import everything, some_packs

from holdfast.core.errors import UsageError
from holdfast.postgres import migrations
from holdfast.postgres.address import parse_address
from holdfast.postgres.connection import ServerError, connected
from holdfast.sync.postgres import Postgres
from holdfast.sync.transport import SyncError

pytestmark = pytest.mark.promise("T1")
ANA = "aaaaaaaaaaaaaaaa/m1"


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path / "data") as server:
        yield server


def test_from_an_empty_database_to_a_member_who_syncs(
    own_server: Server, holdfast: Holdfast, repo: Path
) -> None:
    admin, ana = own_server.address("postgres"), own_server.address("ana")
    dry = holdfast("team", "server", "setup", admin, "--dry-run", "--json", check=0).json()
    assert dry["migrations"] == [migration.name for migration in migrations.all_migrations()]
    assert own_server.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'") == []
    assert (
        holdfast("team", "server", "setup", admin, "--json", check=0).json()["migrations"]
        == dry["migrations"]
    )
    assert holdfast("team", "server", "setup", admin, check=0).stdout == "The schema is up to date.\n"
    refused = holdfast("team", "server", "project", admin, "ana", check=None)
    assert refused.returncode != 0 and "CREATE ROLE ana LOGIN" in refused.stderr
    own_server.sql("CREATE ROLE ana LOGIN")
    assert "GRANT holdfast_member TO ana" in holdfast("team", "server", "project", admin, "ana").stderr
    own_server.sql("GRANT holdfast_member TO ana")
    own_server.sql("CREATE ROLE ben LOGIN IN ROLE holdfast_member")
    project = holdfast("team", "server", "project", admin, "ana", "--json", check=0).json()["project"]
    holdfast("team", "server", "member", ana, "ben", "member", check=0)
    Postgres(own_server.address("ben"), project).publish("bbbbbbbbbbbbbbbb/m1", some_packs("a"))
    assert len(everything(Postgres(ana, project))) == 1
    report = holdfast("team", "server", "check", ana, "--json", check=0).json()
    assert (
        report["members"] == [[project, "ben", "member"], [project, "ana", "owner"]]
        and report["problems"] == []
    )
    assert report["schema"] == report["newest"] and report["extension"].startswith("0.8")
    assert (
        "only an owner"
        in holdfast("team", "server", "member", own_server.address("ben"), "ben", "owner").stderr
    )
    assert "no longer has access" in holdfast("team", "server", "member", ana, "ben", "none", check=0).stdout
    own_server.sql("ALTER TABLE holdfast.pack DISABLE ROW LEVEL SECURITY")
    own_server.sql("GRANT SELECT ON holdfast.pack_3 TO holdfast_member")
    told = holdfast("team", "server", "check", admin, check=1).stdout
    assert "Row-level security is off for pack." in told and "the partition pack_3 directly" in told


def test_an_upgrade_runs_while_people_push(own_server: Server) -> None:
    set_up(own_server, upto=1)
    own_server.sql("SELECT holdfast.add_project('shop', 'ana')")

    def push() -> None:
        for number in range(20):
            Postgres(own_server.address("ana"), "shop").publish(ANA, some_packs(number))

    pushing = fork(push)
    with connected(parse_address(own_server.address("postgres"))) as session:
        ran = migrations.migrate(session, "here")
    assert [migration.number for migration in ran] == [2, 3, 4]
    assert exit_code(pushing) == 0
    assert len(everything(Postgres(own_server.address("ana"), "shop"))) == 20


def test_a_migration_that_fails_leaves_nothing(own_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = migrations.all_migrations()
    broken = migrations.Migration(2, "0002_broken.sql", "CREATE TABLE holdfast.half (a int); SELECT 1 / 0")
    monkeypatch.setattr(migrations, "all_migrations", lambda: [first, broken])
    with (
        pytest.raises(ServerError, match="division"),
        connected(parse_address(own_server.address("postgres"))) as session,
    ):
        migrations.migrate(session, "here")
    assert own_server.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE holdfast.migration SET oldest = 99, number = 99 WHERE number = 2", "Upgrade holdfast"),
        ("DELETE FROM holdfast.migration", "the schema of this database is 0, and this needs 1"),
        ("DROP SCHEMA holdfast CASCADE", "was not set up in this database"),
        ("REVOKE ALL ON holdfast.pack FROM holdfast_member", "permission denied"),
    ],
)
def test_a_schema_that_does_not_fit_is_one_line(own_server: Server, change: str, words: str) -> None:
    set_up(own_server)
    own_server.sql("SELECT holdfast.add_project('shop', 'ana')")
    own_server.sql(change)
    with pytest.raises(SyncError) as caught:
        Postgres(own_server.address("ana"), "shop").packs()
    assert words in caught.value.line() and "\n" not in caught.value.line()


def test_a_migration_of_another_holdfast_is_not_built_upon(own_server: Server) -> None:
    set_up(own_server)
    own_server.sql("UPDATE holdfast.migration SET digest = 'other' WHERE number = 1")
    with (
        pytest.raises(ServerError, match="is not the one"),
        connected(parse_address(own_server.address("postgres"))) as session,
    ):
        migrations.migrate(session, "here")


def test_a_server_without_pgvector_is_one_line_before_anything_is_made(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", f"extension_control_path={tmp_path}") as server:
        with pytest.raises(ServerError, match="this server has no pgvector"):
            set_up(server)
        assert server.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'") == []


def test_a_server_that_is_too_old_is_one_line_before_anything_is_made(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 99)
    with pytest.raises(ServerError, match="this is PostgreSQL 18, and holdfast needs 99 or newer"):
        set_up(own_server)
    assert own_server.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'") == []


def test_a_server_that_is_killed_in_the_middle_of_a_push_keeps_what_it_acknowledged(
    own_server: Server,
) -> None:
    set_up(own_server)
    own_server.sql("SELECT holdfast.add_project('shop', 'ana')")
    address = own_server.address("ana")
    Postgres(address, "shop").publish(ANA, some_packs("acknowledged"))
    new = some_packs(*range(40), size=100_000)
    slow = psycopg.connect(host=str(own_server.socket), port=own_server.port, user="postgres", dbname="team")
    slow.execute("LOCK TABLE holdfast.pack IN EXCLUSIVE MODE")  # the push waits here
    pushing = fork(
        lambda: _refused(lambda: Postgres(address, "shop").publish(ANA, new, drop=some_packs("acknowledged")))
    )
    waiting = "SELECT 1 FROM pg_stat_activity WHERE usename = 'ana' AND wait_event_type = 'Lock'"
    assert wait_until(lambda: bool(own_server.sql(waiting)), 30)
    own_server.stop(signal.SIGKILL)
    slow.close()
    assert exit_code(pushing) == 0
    (own_server.folder / "postmaster.pid").unlink(missing_ok=True)
    own_server.start()
    reader = Postgres(address, "shop")
    assert {name for _, name in everything(reader)} == set(some_packs("acknowledged"))
    reader.publish(ANA, new, drop=some_packs("acknowledged"))
    assert {name for _, name in everything(reader)} == set(new)


def _refused(attempt: Callable[[], object]) -> None:
    with pytest.raises(SyncError) as caught:
        attempt()
    assert "\n" not in caught.value.line()


def test_a_full_disk_on_the_server_is_one_line_and_costs_nothing(own_server: Server, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0777", "tmpfs", str(small)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        set_up(own_server)
        own_server.sql("SELECT holdfast.add_project('shop', 'ana')")
        own_server.sql(f"CREATE TABLESPACE small LOCATION '{small}'")
        for number in range(8):
            own_server.sql(f"ALTER TABLE holdfast.pack_{number} SET TABLESPACE small")
        transport = Postgres(own_server.address("ana"), "shop")
        transport.publish(ANA, some_packs("a"))
        (small / "ballast").write_bytes(bytes(13_000_000))
        with pytest.raises(SyncError, match="disk is full"):
            transport.publish(ANA, some_packs(*range(40), size=100_000), drop=some_packs("a"))
        assert {name for _, name in everything(transport)} == set(some_packs("a"))
        (small / "ballast").unlink()
        transport.publish(ANA, some_packs("b"))
    finally:
        own_server.stop()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_who_is_not_let_in_gets_one_line(own_server: Server) -> None:
    set_up(own_server)
    own_server.sql("CREATE ROLE gus LOGIN PASSWORD 'secret' IN ROLE holdfast_member")
    (own_server.folder / "pg_hba.conf").write_text(
        "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n", encoding="utf-8"
    )
    own_server.sql("SELECT pg_reload_conf()")
    by_network = f"postgres://gus@127.0.0.1:{own_server.port}/team"
    cases = {
        own_server.address("nobody"): "access denied",
        own_server.address("ana", database="none"): "there is no such database",
        own_server.address("ana"): "you are not a member of project shop",
        by_network: "the password is wrong or missing",
        f"{by_network}?sslmode=require": "the server offers no TLS",
        "postgres://ana@127.0.0.1:1/team": "the server cannot be reached",
        "postgres://ana@nowhere.invalid/team": "no host with this name",
    }
    for address, words in cases.items():
        with pytest.raises(SyncError) as caught:
            Postgres(address, "shop").packs()
        assert words in caught.value.line(), caught.value.line()
        assert "\n" not in caught.value.line() and caught.value.fix and "secret" not in caught.value.line()
        assert "connection to server" not in caught.value.line(), "the address is said once"


def test_a_revoked_login_ends_a_sync_with_one_line(own_server: Server) -> None:
    set_up(own_server)
    own_server.sql("SELECT holdfast.add_project('shop', 'ana')")
    own_server.sql("REVOKE holdfast_member FROM ana")
    with pytest.raises(SyncError, match=r"this login may not use holdfast .*GRANT holdfast_member"):
        Postgres(own_server.address("ana"), "shop").packs()
    own_server.sql("ALTER ROLE ana NOLOGIN")
    with pytest.raises(SyncError, match="access denied"):
        Postgres(own_server.address("ana"), "shop").packs()


# --- addresses: nothing goes over a network in the clear -------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", ""])
def test_this_machine_needs_no_tls(host: str) -> None:
    assert parse_address(f"postgres://ana@{host}/team").options["sslmode"] == "prefer"


@pytest.mark.parametrize(
    "host", ["db.example.org", "10.0.0.5", "localhost.example.org", "[fe80::1]", "128.0.0.1"]
)
def test_another_machine_needs_tls_that_checks_its_name(host: str) -> None:
    assert parse_address(f"postgres://ana@{host}/team").options["sslmode"] == "verify-full"
    assert parse_address(f"postgresql://{host}/team?sslmode=require").options["sslmode"] == "require"
    for weak in ("disable", "allow", "prefer", "nonsense"):
        with pytest.raises(UsageError, match="unencrypted"):
            parse_address(f"postgres://ana@{host}/team?sslmode={weak}")
    with pytest.raises(UsageError, match="unencrypted"):
        parse_address(f"postgres://localhost/team?host={host.strip('[]')}&sslmode=disable")


@pytest.mark.parametrize(
    "address",
    [
        "postgres://ana:secret@db.example.org/team",
        "postgres://db.example.org/team?password=secret",
        "postgres://db.example.org/",
        "postgres://db.example.org:x/team",
        "postgres://db.example.org/team?options=-crole%3Dpostgres",
        "postgres://db.example.org/team?hostaddr=127.0.0.1",
        "postgres://db.example.org/team?service=x",
        "postgres://localhost,db.example.org/team",
        "postgres://localhost/team?host=localhost,db.example.org",
        "postgres://db.example.org/team?passfile=/tmp/x",
        "mysql://db.example.org/team",
        "postgres://[::1/team",
    ],
)
def test_other_addresses_are_refused_without_their_secrets(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(address)
    assert "secret" not in caught.value.line() and "\n" not in caught.value.line()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for localhost, signed by itself, with its key in one file."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate")
    key, path = tmp_path / "server.key", tmp_path / "server.crt"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(path)]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    path.write_text(path.read_text(encoding="ascii") + key.read_text(encoding="ascii"), encoding="ascii")
    return path


def test_a_certificate_that_is_not_the_servers_ends_it_before_anything_is_said(certificate: Path) -> None:
    """The PostgreSQL of these tests is built without TLS, so this server speaks only the beginning of the protocol."""
    with tls_server(certificate) as (port, said):
        where = f"postgres://ana@localhost:{port}/team"
        trusted = f"{where}?sslmode=verify-full&sslrootcert={certificate}"
        for bad in (
            f"{where}?sslmode=verify-full&sslrootcert=system",
            trusted.replace("@localhost", "@127.0.0.1"),
        ):
            with pytest.raises(SyncError, match="certificate cannot be trusted"):
                Postgres(bad, "shop").packs()
        assert not any(said)
        with pytest.raises(SyncError, match="connection was cut"):
            Postgres(trusted, "shop").packs()
        assert b"ana" in said[-1]


@contextmanager
def tls_server(certificate: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and what clients said once they trusted it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    said: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.recv(8)  # SSLRequest
                connection.sendall(b"S")
                with context.wrap_socket(connection, server_side=True) as secured:
                    said.append(secured.recv(1_000))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], said
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
