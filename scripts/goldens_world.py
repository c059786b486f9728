"""The pinned world of goldens.py: one place, one clock and one environment for the code of any checkout.

A `World` is one scratch project with a home of its own. What is run in it starts at the next tick of a clock that stands
still while it runs, and nothing goes on before every process that it left behind has ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# One place for every checkout: absolute paths stand in outputs. Another one for a run beside another.
BASE = Path(os.environ.get("HOLDFAST_GOLDENS_BASE") or "/tmp/holdfast-goldens")
CODE = BASE / "code"
PYTHON = BASE / "venv" / "bin" / "python"
CLOCK = BASE / "clock.so"
TICK_S = 20  # from one command to the next
LATER_S = 10  # how much later a child lives that a hook left behind
LONGEST_S = 600  # no command takes so long
RUNNING = "1"  # a process that always runs, as the host's
GONE = "4194305"  # a number that Linux gives to no process
UNIT = "HOLDFAST_GOLDENS_UNIT"
UNORDERED = ("resume.json",)  # written by the order of a set, and read by key: compared with sorted keys
# Held by one process only, or a cache of the repository whose stamps are packed (what it says is in `know --json`).
SKIPPED_FOLDERS = frozenset(("locks", "__pycache__", "node_modules"))
SKIPPED_ENDINGS = ("-wal", "-shm", ".lock", "scan.cache")


class Fault(Exception):
    """Something that keeps the comparison from being made, in one line."""


@dataclass(frozen=True)
class Done:
    command: Sequence[str]
    code: int
    out: str
    err: str

    def text(self) -> str:
        """What is compared of a command."""
        shown = " ".join(word if word and " " not in word else repr(word) for word in self.command)
        parts = [f"$ {shown}", f"exit {self.code}", "--- stdout", self.out]
        if self.err:
            parts += ["--- stderr", self.err]
        return "\n".join(parts)

    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError:
            return None


@dataclass
class World:
    """One scratch project, and the folder that takes what came out."""

    name: str
    title: str
    began: int
    out: Path
    mask: Callable[[str], str]
    step: int = 0
    _seen: dict[str, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def base(self) -> Path:
        return BASE / "units" / self.name.replace("/", "--")

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def work(self) -> Path:
        return self.base / "work" / self.title

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def now(self) -> int:
        return self.began + self.step * TICK_S

    # --- running ---------------------------------------------------------------------------------------------

    def holdfast(self, *words: str, stdin: str = "", cwd: Path | None = None) -> Done:
        return self.run(
            [str(PYTHON), "-m", "holdfast", *words], stdin=stdin, cwd=cwd, shown=["holdfast", *words]
        )

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        shown: Sequence[str] = (),
    ) -> Done:
        """Runs a command at the next tick, and waits for whatever it left behind."""
        self.step += 1
        try:
            done = subprocess.run(
                command,
                input=stdin.encode(),
                capture_output=True,
                env={**self.environment(), **(env or {})},
                cwd=cwd or self.work,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Fault(f"{self.name}: not done within {LONGEST_S} s: {' '.join(command)}") from None
        self.settle()
        texts = [data.decode("utf-8", "replace") for data in (done.stdout, done.stderr)]
        return Done(shown or command, done.returncode, *texts)

    def environment(self) -> dict[str, str]:
        git = shutil.which("git")
        folders = [str(Path(git).parent) if git else "", "/usr/bin", "/bin"]
        return {
            "PATH": ":".join(dict.fromkeys(folder for folder in folders if folder)),
            "HOME": str(self.home),
            "TMPDIR": str(self.base / "tmp"),
            "USER": "dev",
            "LOGNAME": "dev",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "110",
            "LINES": "40",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Dev" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "dev@example.org" for who in ("AUTHOR", "COMMITTER")},
            "LD_PRELOAD": str(CLOCK),
            "HOLDFAST_GOLDENS_CLOCK": str(self.now),
            "HOLDFAST_GOLDENS_LATER": str(LATER_S),
            "HOLDFAST_HOST_PID": RUNNING,
            UNIT: self.name,
        }

    def settle(self) -> None:
        """Waits until no process of this world is left."""
        end = time.monotonic() + LONGEST_S
        while left := list(_processes(f"{UNIT}={self.name}".encode())):
            if time.monotonic() > end:
                raise Fault(f"{self.name}: still running after {LONGEST_S} s: process {left[0]}")
            time.sleep(0.01)

    # --- what came out ---------------------------------------------------------------------------------------

    def keep(self, place: str, text: str) -> None:
        path = self.out / self.name / self.mask(f"{place}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.mask(text), encoding="utf-8", newline="\n")

    def keep_next(self, folder: str, name: str, text: str) -> None:
        """Keeps a text under the next number of a folder."""
        number = self._numbers[folder] = self._numbers.get(folder, 0) + 1
        self.keep(f"{folder}/{number:03d}-{name}", text)

    def keep_memory(self, place: str) -> None:
        """Everything that the memory holds, a text for each file."""
        for name, path in self.files():
            self.keep(f"{place}/{name}", readable(path))

    def changes(self) -> str:
        """The files of the memory that are not what they were when this was asked last, whole."""
        now = {
            self.mask(name): self.mask(readable(path)) for name, path in self.files() if path.suffix != ".db"
        }
        gone = sorted(self._seen.keys() - now.keys())
        new = [name for name in sorted(now) if self._seen.get(name) != now[name]]
        self._seen = now
        return "\n".join([*(f"gone: {name}" for name in gone), *(f"=== {name}\n{now[name]}" for name in new)])

    def files(self) -> Iterator[tuple[str, Path]]:
        """The memory's files: of the home, of the repository, and what git was told of them.

        Compiled patterns are left out: they are derived from the code, which is what differs.
        """
        for title, top in (("home", self.home / ".holdfast"), ("repository", self.work / ".holdfast")):
            paths = (path for path in _walk(top) if path != top / "cache" / "regex")
            yield from ((f"{title}/{path.relative_to(top)}", path) for path in paths)
        for name in ("holdfast-id", "info/exclude"):
            if (path := self.work / ".git" / name).is_file():
                yield f"git/{name}", path

    def configuration(self) -> dict[str, bytes]:
        """The files of agents in this home."""
        ours = self.home / ".holdfast"
        found = (path for path in _walk(self.home) if ours not in path.parents)
        return {str(path.relative_to(self.home)): path.read_bytes() for path in found}


def _walk(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(folder) / name
            if not name.endswith(SKIPPED_ENDINGS) and path.is_file():
                yield path


def _processes(mark: bytes) -> Iterator[int]:
    """Processes whose environment has a line; not those that have ended and are only still listed."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                found = mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if found:
                yield int(name)


# --- files as text -------------------------------------------------------------------------------------------


def readable(path: Path) -> str:
    """A file as text that can be compared: a database as its rows, an archive as its members."""
    if path.suffix == ".db":
        return "\n".join(rows_of(path))
    if path.name.endswith(".tar.gz"):
        return "\n".join(members_of(path))
    if path.name in UNORDERED:
        return json.dumps(json.loads(path.read_bytes()), ensure_ascii=False, indent=1, sort_keys=True)
    return shown(path.read_bytes())


def shown(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return f"<{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}>" if "\0" in text else text


def rows_of(path: Path) -> Iterator[str]:
    """All tables of a database that somebody filled, rows sorted: in what order they came is nobody's matter."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            if (part := path.with_name(path.name + ending)).is_file():
                shutil.copy(part, Path(folder) / (f"copy.db{ending}"))
        database = sqlite3.connect(Path(folder) / "copy.db")
        try:
            yield from _tables(database)
        except sqlite3.Error as error:
            yield f"<{error}>"
        finally:
            database.close()


def _tables(database: sqlite3.Connection) -> Iterator[str]:
    found = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
    ).fetchall()
    virtual = tuple(f"{name}_" for name, sql in found if (sql or "").upper().startswith("CREATE VIRTUAL"))
    for name, sql in found:
        yield f"=== {name}: {' '.join((sql or '').split())}"
        if not name.startswith(virtual) or not virtual:
            rows = database.execute(f'SELECT * FROM "{name}"')  # of our own scratch file
            yield from sorted(" | ".join(map(_value, row)) for row in rows)


def _value(value: object) -> str:
    return shown(value) if isinstance(value, bytes) else repr(value)


def members_of(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            yield f"{member.name} {member.mode:o}"


# --- making it -----------------------------------------------------------------------------------------------


def make_ready(python: str, source: Path) -> None:
    """The clock, and an environment of its own whose `holdfast` is whatever lies at the pinned place."""
    BASE.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Fault("no C compiler for the pinned clock: apt-get install gcc libc6-dev")
    _quiet([compiler, "-O1", "-shared", "-fPIC", "-o", str(CLOCK), str(source)])
    asked = "import sysconfig, msgspec, mcp, numpy, yaml; print(sysconfig.get_path('purelib'))"
    packages = _quiet([python, "-I", "-c", asked]).strip()
    shutil.rmtree(BASE / "venv", ignore_errors=True)
    _quiet([python, "-m", "venv", "--without-pip", str(BASE / "venv")])
    (site,) = (BASE / "venv" / "lib").glob("python*/site-packages")
    # Our code before the packages; .pth files among them, which may name another checkout, are not read from there.
    (site / "goldens.pth").write_text(f"{CODE / 'src'}\n{packages}\n", encoding="utf-8")


def put_code(tree: Path) -> None:
    """Lays the code of a checkout at the pinned place, compiled, and looks whether that is what is imported."""
    shutil.rmtree(CODE, ignore_errors=True)
    shutil.copytree(tree / "src", CODE / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    _quiet([str(PYTHON), "-m", "compileall", "-q", str(CODE / "src")])
    for flags in (("-E", "-P"), ("-P",)):
        found = _quiet([str(PYTHON), *flags, "-c", "import holdfast; print(holdfast.__file__)"]).strip()
        if Path(found).parent != CODE / "src" / "holdfast":
            raise Fault(f"python {' '.join(flags)} imports {found} and not the code at {CODE}")


def _quiet(command: list[str]) -> str:
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no word").splitlines()[-1]
        raise Fault(f"{' '.join(command[:3])} … failed: {last} (--python names one that has all packages)")
    return done.stdout
