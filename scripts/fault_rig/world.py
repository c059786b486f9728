"""A small machine in a folder: a home, a repository, and processes of holdfast that run there, on a disk that may fail."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pkgutil
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.fault_rig.shim import Fault, Shim

PATIENCE_S = 120.0
HUNG = 1000  # in place of an exit code


@dataclass(frozen=True)
class Ended:
    """How a process ended, what it said, and which of its calls was hit. A signal is a negative code."""

    code: int
    out: str = ""
    err: str = ""
    calls: int = 0
    hit: int = 0
    hit_path: str = ""

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL


@dataclass(frozen=True)
class Saved:
    """Everything below a folder, to be put back."""

    folders: dict[str, int]
    links: dict[str, str]
    files: dict[str, tuple[bytes, int, int]]

    @classmethod
    def of(cls, root: Path) -> Saved:
        saved = cls({}, {}, {})
        for folder, names, files in os.walk(root):
            for name in (*names, *files):
                path = os.path.join(folder, name)
                status, short = os.lstat(path), os.path.relpath(path, root)
                if os.path.islink(path):
                    saved.links[short] = os.readlink(path)
                elif os.path.isdir(path):
                    saved.folders[short] = status.st_mode & 0o7777
                else:
                    data = Path(path).read_bytes()
                    saved.files[short] = data, status.st_mode & 0o7777, status.st_mtime_ns
        return saved

    def put_back(self, root: Path) -> None:
        empty(root)
        for name in self.folders:  # parents come first
            os.mkdir(root / name)
        for name, (data, mode, mtime_ns) in self.files.items():
            path = os.path.join(root, name)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with contextlib.closing(os.fdopen(descriptor, "wb")) as file:
                file.write(data)
            os.chmod(path, mode)
            os.utime(path, ns=(mtime_ns, mtime_ns))
        for name, target in self.links.items():
            os.symlink(target, root / name)
        for name, mode in self.folders.items():
            os.chmod(root / name, mode)


def empty(root: Path) -> None:
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


class World:
    """`home` and `repo` in one folder. Commands run in copies of this process, which has holdfast loaded already."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.root = folder / "world"
        self.scratch = folder
        self.home, self.repo = self.root / "home", self.root / "repo"
        self.root.mkdir(parents=True)
        self.shim = Shim(library, self.root)
        self.log = folder / "calls.log"
        self.forks = True
        for name in list(os.environ):
            if name.startswith(("HOLDFAST", "CLAUDE", "GIT_")) or name in ("CI", "CODEX_SANDBOX"):
                del os.environ[name]
        nowhere = folder / "tmp"
        nowhere.mkdir(exist_ok=True)
        os.environ |= {
            "HOME": str(self.home), "TMPDIR": str(nowhere), "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONUTF8": "1",
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{role}_NAME": "Ada Example" for role in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
        }  # fmt: skip
        time.tzset()
        tempfile.tempdir = None

    @property
    def memory(self) -> Path:
        (found,) = [path for path in self.projects if not path.name.startswith(".")]
        return found

    @property
    def projects(self) -> list[Path]:
        return sorted((self.home / ".holdfast" / "projects").iterdir())

    def git(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.repo, check=True, stdout=subprocess.DEVNULL)

    def holdfast(self, *words: str | Path, cwd: Path | None = None) -> Ended:
        """A command on a sound disk that has to succeed."""
        if not self.forks:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(cwd or self.repo):
                return Ended(command(*map(str, words))())
        ended = self.run(command(*map(str, words)), cwd=cwd)
        if ended.code:
            raise RuntimeError(f"holdfast {' '.join(map(str, words))}: {ended.code}\n{ended.out}{ended.err}")
        return ended

    def run(
        self,
        work: Callable[[], int],
        fault: Fault | None = None,
        *,
        cwd: Path | None = None,
        log: bool = False,
        data: bool = False,
        later_s: int = 0,
    ) -> Ended:
        """Does the work in a process of its own, with a fault, a log of its calls, or a clock that is ahead."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                self._be_a_process(
                    work, fault, cwd or self.repo, (out, err), log=log, data=data, later_s=later_s
                )
            code = _await(child)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace"))
        shared = self.shim.shared
        return Ended(code, *texts, shared.count, shared.hit, shared.hit_path.decode(errors="replace"))

    def _be_a_process(
        self,
        work: Callable[[], int],
        fault: Fault | None,
        cwd: Path,
        streams: Any,
        *,
        log: bool,
        data: bool,
        later_s: int,
    ) -> None:
        code = 70
        try:
            os.setpgid(0, 0)
            os.chdir(cwd)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, stream in enumerate(streams, 1):
                os.dup2(stream.fileno(), number)
            sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
            sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
            if later_s:
                self.shim.set_clock_ahead(later_s)
            self.shim.arm(fault, self.log if log else None, data=data)
            try:
                code = work()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            code = 71
            with contextlib.suppress(BaseException):
                traceback.print_exc()
                sys.stderr.flush()
        finally:
            self.shim.disarm()
            os._exit(code)


def _await(child: int) -> int:
    ready = select.poll()
    handle = os.pidfd_open(child)
    try:
        ready.register(handle, select.POLLIN)
        hung = not ready.poll(PATIENCE_S * 1000)
        if hung:
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return HUNG if hung else code
    finally:
        os.close(handle)


def command(*words: str) -> Callable[[], int]:
    """`holdfast WORDS` as the installed command runs it."""

    def run() -> int:
        from holdfast.cli.main import main

        return main(list(words))

    return run


def load_everything(folder: Path, library: Path, use: Callable[[World], None]) -> None:
    """Imports every module and uses them once in a folder of its own: patterns are compiled, and copies are ready at once."""
    import holdfast

    for module in _modules(holdfast.__path__):
        with contextlib.suppress(ImportError):  # an extra is not installed
            importlib.import_module(module)
    world = World(folder, library)
    world.forks = False
    use(world)
    gc.collect()
    gc.freeze()


def _modules(path: Any) -> Iterator[str]:
    left_out = {"__main__", "mcp", "hook_entry", "hot"}
    for found in pkgutil.walk_packages(path, "holdfast."):
        if not left_out.intersection(found.name.split(".")):
            yield found.name
