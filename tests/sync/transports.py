"""The transports that the contract suite runs over, each with a target of its own that several machines open."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres.server import running_server, set_up
from tests.sync.sshd import running_sshd, stub_ssh, user_name

from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.targets import open_transport
from holdfast.sync.transport import Transport, name_of

PROJECT = "a1b2c3d4e5"
ANA = "0123456789abcdef/kfmt"
BEN = "fedcba9876543210/x7"


class Target:
    """A target, and how a machine opens it. `folder` is where its packs lie as files, if they do."""

    def __init__(
        self,
        words: str,
        env: dict[str, str],
        project: Callable[[str], Project],
        folder: Path | None,
        remove: Callable[[], object],
    ) -> None:
        self.words = words
        self.folder = folder
        self.remove = remove
        self._env = env
        self._project = project

    def open(self, machine: str = "one") -> Transport:
        project = self._project(machine)
        return open_transport(
            Machine({**os.environ, **self._env}, project.root), project, self.words, PROJECT
        )

    def place(self, place: str) -> Path:
        assert self.folder is not None
        return self.folder / "holdfast" / PROJECT / place


def some_packs(*seeds: object, size: int = 2_000) -> dict[str, bytes]:
    packs = [repr(seed).encode().ljust(size, b".") for seed in seeds]
    return {name_of(pack): pack for pack in packs}


def everything(transport: Transport) -> dict[tuple[str, str], bytes]:
    return dict(transport.fetch(transport.packs()))


def at(place: str, packs: dict[str, bytes]) -> dict[tuple[str, str], bytes]:
    return {(place, name): data for name, data in packs.items()}


def project_at(root: Path) -> Project:
    memory = root.parent / f"memory-{root.name}"
    memory.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    return Project(root, root / ".holdfast", memory, root / ".git" / "holdfast-id")


@contextmanager
def folder_target(tmp_path: Path) -> Iterator[Target]:
    folder = tmp_path / "a drive"
    folder.mkdir()
    yield Target(str(folder), {}, _plain(tmp_path), folder, lambda: folder.rename(tmp_path / "away"))


@contextmanager
def stub_target(tmp_path: Path) -> Iterator[Target]:
    """ssh without a network, whose other side greets before it obeys."""
    home = tmp_path / "other home"
    path = stub_ssh(tmp_path / "bin", home, noise="echo 'Welcome!  You have 3 mails.'; printf '> '")
    folder = home / "it's a folder"
    folder.mkdir()
    env = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    remove = lambda: folder.rename(home / "away")  # noqa: E731
    yield Target("ben@box:it's a folder", env, _plain(tmp_path), folder, remove)


@contextmanager
def sshd_target(tmp_path: Path) -> Iterator[Target]:
    folder = tmp_path / "far away"
    folder.mkdir()
    with running_sshd(tmp_path / "sshd") as (port, path):
        env = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        words = f"ssh://{user_name()}@127.0.0.1:{port}{str(folder).replace(' ', '%20')}"
        yield Target(words, env, _plain(tmp_path), folder, lambda: folder.rename(tmp_path / "away"))


@contextmanager
def git_target(tmp_path: Path) -> Iterator[Target]:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    remove = lambda: remote.rename(tmp_path / "away.git")  # noqa: E731
    yield Target("git", {}, _cloned(tmp_path, remote.as_uri()), None, remove)


@contextmanager
def postgres_target(tmp_path: Path) -> Iterator[Target]:
    with running_server(tmp_path / "pgdata") as server:
        set_up(server)
        server.sql("SELECT holdfast.add_project(%s, 'ana')", PROJECT)
        yield Target(server.address("ana"), {}, _plain(tmp_path), None, server.stop)


def _plain(tmp_path: Path) -> Callable[[str], Project]:
    return lambda name: project_at(tmp_path / name)


def _cloned(tmp_path: Path, url: str) -> Callable[[str], Project]:
    def project(name: str) -> Project:
        root = tmp_path / name
        if not root.exists():
            subprocess.run(["git", "init", "-q", str(root)], check=True)
            subprocess.run(["git", "-C", str(root), "remote", "add", "origin", url], check=True)
        return project_at(root)

    return project


TARGETS = {
    "folder": folder_target,
    "ssh, stub": stub_target,
    "ssh, sshd": sshd_target,
    "git": git_target,
    "postgres": postgres_target,
}
