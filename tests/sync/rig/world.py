"""Five nodes of four people, each with a home and a clone, and processes in them that can be killed at any point.

A process is a fork of this one, which has all modules loaded and no thread, so that a command costs what it does and
`kill -9` is real. Its wall clock is that of its node.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from tests.sync.rig.targets import RigTarget

OWNERS = {"laptop": "ana", "desktop": "ana", "ben": "ben", "cleo": "cleo", "dan": "dan"}
_EVENTS = frozenset(
    [
        "open",
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.chmod",
        "os.truncate",
        "sqlite3.connect",
        "os.listdir",
        "os.scandir",
        "subprocess.Popen",
        "shutil.copyfile",
        "fcntl.flock",
    ]
)
_MOST_S = 120.0


class Node(Struct):
    """`offset` is how far its wall clock is from the true time."""

    name: str
    folder: Path
    offset: timedelta = timedelta()

    @property
    def person(self) -> str:
        return OWNERS[self.name]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repo(self) -> Path:
        return self.folder / "shop"

    @property
    def machine(self) -> Machine:
        machine = Machine(env={**os.environ, **self.env}, cwd=self.repo)
        machine.now = self.now
        return machine

    @property
    def project(self) -> Project:
        return self.machine.project()

    @property
    def memory(self) -> Path:
        return self.project.memory

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    @property
    def env(self) -> dict[str, str]:
        name = self.person.title()
        return {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "TZ": "UTC",
            "USER": name,
        }


class Done(Struct, frozen=True):
    """How a process ended: `code` is negative for the signal that killed it. `events` is how many points it passed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    events: int

    @property
    def crashed(self) -> bool:
        return "Traceback" in self.err or self.code in (-6, -11)


class Kill(Struct, frozen=True):
    """Kill at a point that a process passes, or after some seconds."""

    at_event: int = 0
    after_s: float = 0.0


class World:
    """`folder` holds the remote, the target and the nodes."""

    def __init__(self, folder: Path, target: RigTarget, dice: random.Random) -> None:
        self.folder, self.target, self.dice = folder, target, dice
        self.remote = folder / "served" / "shop.git"
        self.path = os.environ["PATH"]
        self.nodes = {name: Node(name, folder / "nodes" / name) for name in OWNERS}
        self._number = 0

    def build(self) -> None:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.remote)], check=True)
        for node in self.nodes.values():
            (node.home / ".holdfast").mkdir(parents=True, mode=0o700)
            (node.home / ".holdfast" / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")
            (node.folder / "gitconfig").write_text(
                f"[user]\n  name = {node.person.title()}\n  email = {node.person}@example.org\n",
                encoding="utf-8",
            )
        first, line = self.nodes["cleo"], self.target.line
        by_git = line is not None and self.target.words(first) == "git"
        url = f"git://127.0.0.1:{line.port}/shop.git" if by_git and line else str(self.remote)
        self.git(first, "clone", "-q", url, str(first.repo), cwd=self.folder)
        (first.repo / "readme.md").write_text("# shop\n", encoding="utf-8")
        self.git(first, "add", "readme.md")
        self.git(first, "commit", "-q", "-m", "start")
        self.git(first, "push", "-q", "origin", "HEAD:main")
        for node in self.nodes.values():
            if node is not first:
                self.git(node, "clone", "-q", url, str(node.repo), cwd=self.folder)
        self.target.prepare(self)
        os.environ["PATH"] = self.path

    def heal(self) -> None:
        """The line does what it is told to from here on."""
        if self.target.line is not None:
            self.target.line.set()

    def git(self, node: Node, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or node.repo, env={**os.environ, **node.env}, check=True)

    def copy_key(self, one: Node, other: Node) -> None:
        """What `keys export` and `keys restore` do, without the seconds that a passphrase costs by design."""
        source, copy = (node.home / ".holdfast" / "keys" / "author.json" for node in (one, other))
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod(0o600)

    # --- processes -------------------------------------------------------------------------------------

    def run(self, node: Node, *words: str, kill: Kill | None = None) -> Done:
        return self.finish(self.start(node, *words, kill=kill))

    def start(self, node: Node, *words: str, kill: Kill | None = None) -> Running:
        self._number += 1
        running = Running(words, self.folder / "said" / str(self._number), kill)
        running.begin(lambda: _command(node, words), node)
        return running

    def finish(self, running: Running) -> Done:
        return running.end(may_hang=self.target.line is not None)


class Running:
    """A process that was started."""

    def __init__(self, words: tuple[str, ...], said: Path, kill: Kill | None) -> None:
        self._words, self._said, self._kill = words, said, kill
        self._process = 0

    def begin(self, work: Callable[[], int], node: Node) -> None:
        self._said.mkdir(parents=True)
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if not self._process:
            code = 70
            try:
                code = self._child(work, node)
            except BaseException:
                (self._said / "err").write_text(traceback.format_exc(), encoding="utf-8")
            finally:
                os._exit(code)

    def _child(self, work: Callable[[], int], node: Node) -> int:
        os.environ.update(node.env)
        os.chdir(node.repo)
        Machine.now = staticmethod(node.now)  # type: ignore[assignment]
        counted = _count_events(self._kill.at_event if self._kill else 0)
        out, err = io.StringIO(), io.StringIO()
        sys.stdin = io.StringIO()
        sys.stdout, sys.stderr = out, err
        try:
            code = work()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        except BaseException:
            err.write(traceback.format_exc())
            code = 70
        for name, text in (("out", out.getvalue()), ("err", err.getvalue()), ("events", str(counted[0]))):
            (self._said / name).write_text(text, encoding="utf-8", errors="replace")
        return code

    def end(self, *, may_hang: bool = False) -> Done:
        """`may_hang`: a line that repeats bytes may leave both sides waiting, until a person ends it."""
        if self._kill is not None and self._kill.after_s:
            time.sleep(self._kill.after_s)
            os.kill(self._process, signal.SIGKILL)
        end = time.monotonic() + _MOST_S
        while True:
            process, status = os.waitpid(self._process, os.WNOHANG)
            if process:
                break
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
                if may_hang:
                    end += _MOST_S
                    continue
                raise AssertionError(f"holdfast {' '.join(self._words)} did not end in {_MOST_S:g} s")
            time.sleep(0.002)
        texts = {
            name: (self._said / name).read_text(encoding="utf-8") if (self._said / name).exists() else ""
            for name in ("out", "err", "events")
        }
        shutil.rmtree(self._said, ignore_errors=True)
        return Done(
            self._words,
            os.waitstatus_to_exitcode(status),
            texts["out"],
            texts["err"],
            int(texts["events"] or 0),
        )


def _command(node: Node, words: tuple[str, ...]) -> int:
    from holdfast.cli.main import main

    return main(words)


def _count_events(last: int) -> list[int]:
    """Counts what a process does to files; kills it at the point `last`, if that is not 0."""
    counted = [0]

    def passed() -> None:
        counted[0] += 1
        if counted[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def look(event: str, _arguments: object) -> None:
        if event in _EVENTS:
            passed()

    sys.addaudithook(look)
    for name in ("write", "fsync", "replace"):
        _also_counted(name, passed)
    return counted


def _also_counted(name: str, passed: Callable[[], None]) -> None:
    before = getattr(os, name)

    def counted(*arguments: Any, **options: Any) -> Any:
        passed()
        return before(*arguments, **options)

    setattr(os, name, counted)


@contextmanager
def world(folder: Path, transport: str, dice: random.Random) -> Iterator[World]:
    """A world that is removed if nothing went wrong in it."""
    from tests.sync.rig.targets import target_of

    folder.mkdir(parents=True)
    (folder / "served").mkdir()
    path = os.environ["PATH"]
    try:
        with target_of(transport, folder) as target:
            built = World(folder, target, dice)
            built.build()
            yield built
    finally:
        os.environ["PATH"] = path
    shutil.rmtree(folder, ignore_errors=True)


def load_everything() -> None:
    """Imports what commands import, once and before any fork."""
    import holdfast.cli.main as main

    for module, _ in main.COMMANDS.values():
        __import__(module)


def names_below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
