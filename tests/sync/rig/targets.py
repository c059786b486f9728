"""Where the nodes of the rig meet: a folder, or a server behind a line that cuts, delays and repeats.

Each says what a person types on a node, what lies at the target as bytes, and how its server dies and comes back.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from tests.postgres.server import Server, running_server, set_up
from tests.sync.bad_line import served_by_git
from tests.sync.rig.line import RemoteLine, remote_line
from tests.sync.rig.world import Node, World, names_below
from tests.sync.sshd import running_sshd, user_name

TRANSPORTS = ("folder", "git", "ssh", "postgres")


class RigTarget(Protocol):
    line: RemoteLine | None
    folder: Path | None
    """Where packs lie as files, if they do."""

    def words(self, node: Node) -> str: ...

    def contents(self) -> dict[str, bytes]:
        """Every byte at the target, under names that stay."""

    def crash(self) -> bool:
        """`kill -9` of the server, and its start; False if there is none."""

    def prepare(self, world: World) -> None:
        """After the clones were made."""


class FolderTarget:
    line: RemoteLine | None = None

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        folder.mkdir(parents=True)

    def words(self, node: Node) -> str:
        return str(self.folder)

    def contents(self) -> dict[str, bytes]:
        assert self.folder is not None
        return {str(path): path.read_bytes() for path in names_below(self.folder)}

    def crash(self) -> bool:
        return False

    def prepare(self, world: World) -> None:
        pass


class SshTarget(FolderTarget):
    """A real sshd. Its line stands between, and `ssh` knows the same key at both ports."""

    def __init__(self, folder: Path, line: RemoteLine, path: Path) -> None:
        super().__init__(folder)
        self.line, self._path = line, path

    def words(self, node: Node) -> str:
        assert self.line is not None
        return f"ssh://{user_name()}@127.0.0.1:{self.line.port}{self.folder}"

    def prepare(self, world: World) -> None:
        world.path = f"{self._path}{os.pathsep}{os.environ['PATH']}"


class GitTarget:
    folder: Path | None = None

    def __init__(self, remote: Path, line: RemoteLine, restart: Callable[[], None]) -> None:
        self._remote, self.line, self._restart = remote, line, restart

    def words(self, node: Node) -> str:
        return "git"

    def contents(self) -> dict[str, bytes]:
        """Each object as it is when unpacked, and the refs."""
        git = ["git", "-C", str(self._remote)]
        names = subprocess.run(
            [*git, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects"],
            capture_output=True,
            check=True,
        ).stdout
        objects = subprocess.run(
            [*git, "cat-file", "--batch", "--batch-all-objects"], capture_output=True, check=True
        ).stdout
        refs = subprocess.run([*git, "for-each-ref"], capture_output=True, check=True).stdout
        return {"names": names, "objects": objects, "refs": refs}

    def crash(self) -> bool:
        self._restart()
        return True

    def prepare(self, world: World) -> None:
        pass


class PostgresTarget:
    folder: Path | None = None

    def __init__(self, server: Server, line: RemoteLine) -> None:
        self._server, self.line = server, line

    def words(self, node: Node) -> str:
        assert self.line is not None
        return f"postgres://{node.person}@127.0.0.1:{self.line.port}/team"

    def contents(self) -> dict[str, bytes]:
        rows = self._server.sql("SELECT author || '/' || machine || '/' || name, data FROM holdfast.pack")
        return {str(name): bytes(data) for name, data in rows}  # type: ignore[call-overload]

    def crash(self) -> bool:
        self._server.stop(signal.SIGKILL)
        self._server.start()
        return True

    def prepare(self, world: World) -> None:
        from holdfast.sync.settings import identity_of, project_id

        project = project_id(identity_of(world.nodes["cleo"].project))
        self._server.sql("SELECT holdfast.add_project(%s, 'cleo')", project)
        # The removed one keeps a login: that he reads nothing is not left to the server here.
        for login in ("ana", "ben", "dan"):
            self._server.sql("SELECT holdfast.set_member(%s, %s, 'member')", project, login, login="cleo")


@contextmanager
def target_of(transport: str, folder: Path) -> Iterator[RigTarget]:
    with ExitStack() as stack:
        if transport == "folder":
            yield FolderTarget(folder / "stick")
        elif transport == "ssh":
            port, path = stack.enter_context(running_sshd(folder / "sshd"))
            line = stack.enter_context(remote_line(port))
            known = folder / "sshd" / "known_hosts"
            text = known.read_text("utf-8")
            known.write_text(text + text.replace(f":{port} ", f":{line.port} "), encoding="utf-8")
            yield SshTarget(folder / "stick", line, path)
        elif transport == "git":
            daemon = stack.enter_context(served_by_git(folder / "served"))
            line = stack.enter_context(remote_line(daemon.port))
            yield GitTarget(folder / "served" / "shop.git", line, daemon.restart)
        else:
            server = stack.enter_context(running_server(folder / "pgdata"))
            set_up(server)
            yield PostgresTarget(server, stack.enter_context(remote_line(server.port)))


def fares(dice: random.Random) -> dict[str, float | int | None]:
    """How a line treats the next connections: mostly well."""
    what = dice.random()
    if what < 0.12:
        return {"cut_after": int(10 ** dice.uniform(1, 5))}
    if what < 0.18:
        return {"repeat_at": int(10 ** dice.uniform(1, 4.3))}
    if what < 0.3:
        return {"delay_s": dice.random() * 0.02}
    return {}
