"""What a sync of 1,000 sessions between two machines costs, through each transport: time, bytes, and asking again.

The bound is that of a sync that moves nothing: ten times `python -c pass`, and what the line itself costs: one
`git fetch` with git, one `ssh true` with ssh.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.postgres.server import running_server, set_up, why_none
from tests.sync.bad_line import git_daemon
from tests.sync.sshd import find_sshd, running_sshd, user_name

from bench.corpus import write_corpus
from bench.measuring import PYTHON, outer, report
from holdfast.store.machine import Machine
from holdfast.sync.settings import identity_of, project_id

_SESSIONS, _SIZE = 1_000, 12_000
_MOST = 10.0  # times `python -c pass`
_RUNS = 9


class Home(NamedTuple):
    """A machine: a home, and a clone of the repository."""

    folder: Path
    repo: Path

    def env(self, path: str) -> dict[str, str]:
        cleared = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CI", "HOLDFAST_HOME")
        env = {name: value for name, value in os.environ.items() if name not in cleared}
        return {**env, "HOME": str(self.folder), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}

    def run(self, *words: str | Path, path: str = os.environ["PATH"]) -> tuple[float, str]:
        began = time.perf_counter()
        done = subprocess.run(
            [PYTHON, "-m", "holdfast", *map(str, words)],
            cwd=self.repo,
            env=self.env(path),
            check=True,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        return time.perf_counter() - began, done.stdout

    @property
    def holdfast(self) -> Path:
        return self.folder / ".holdfast"


class Way(NamedTuple):
    """A transport: what a person types, the folder of its programs, and what its line costs by itself."""

    name: str
    words: str
    path: str = os.environ["PATH"]
    line: tuple[str, ...] = ()


def bench_sync_sessions(folder: Path) -> bool:
    served = folder / "served" / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(served)], check=True)
    with git_daemon(folder / "served") as port:
        url = f"git://127.0.0.1:{port}/shop.git"
        one = _machine(folder / "one", url)
        _commit(one.repo)
        write_corpus(folder / "sessions", _SESSIONS, _SIZE, str(one.repo))
        took, _ = one.run("import", "-q", folder / "sessions")
        rows = _rows(one)
        passes = [report("sync: import of the sessions, for comparison", took, "s", None, sessions=rows)]
        for number, way in enumerate(_ways(folder, one)):
            passes.append(_measure(way, one, _machine(folder / f"two-{number}", url), rows))
    return all(passes)


def _ways(folder: Path, one: Home) -> Iterator[Way]:
    (folder / "stick").mkdir()
    yield Way("folder", str(folder / "stick"))
    yield Way("git", "git", line=("git", "fetch", "-q"))
    if find_sshd():
        with running_sshd(folder / "sshd") as (port, programs):
            (folder / "far").mkdir()
            host = f"{user_name()}@127.0.0.1"
            path = f"{programs}{os.pathsep}{os.environ['PATH']}"
            line = ("ssh", "-p", str(port), host, "true")
            yield Way("ssh", f"ssh://{host}:{port}{folder / 'far'}", path, line)
    if not why_none():
        with running_server(folder / "postgres") as server:
            set_up(server)
            machine = Machine(one.env(os.environ["PATH"]), one.repo)
            server.sql("SELECT holdfast.add_project(%s, 'ana')", project_id(identity_of(machine.project())))
            yield Way("postgres", server.address("ana"))


def _machine(folder: Path, url: str) -> Home:
    home = Home(folder / "home", folder / "shop")
    home.folder.mkdir(parents=True)
    home.holdfast.mkdir(mode=0o700)
    (home.holdfast / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")
    subprocess.run(["git", "clone", "-q", url, str(home.repo)], check=True, stderr=subprocess.DEVNULL)
    return home


def _commit(repo: Path) -> None:
    git = ["git", "-C", str(repo), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    (repo / "readme.md").write_text("# shop\n", encoding="utf-8")
    for words in (
        ["add", "readme.md"],
        ["commit", "-q", "-m", "start"],
        ["push", "-q", "origin", "HEAD:main"],
    ):
        subprocess.run([*git, *words], check=True)


def _rows(home: Home) -> int:
    return len(json.loads(home.run("ledger", "list", "--limit", "100000", "--json")[1]))


def _measure(way: Way, one: Home, two: Home, rows: int) -> bool:
    for path in one.holdfast.glob("projects/*/sync.*"):
        path.unlink()  # a first sync each time
    sent_s, sent = _sync(way, one, "--yes")
    keys = two.holdfast / "keys"
    keys.mkdir(mode=0o700)
    shutil.copy(one.holdfast / "keys" / "author.json", keys)
    received_s, received = _sync(way, two, "--yes")
    assert _rows(two) == rows, f"{way.name}: {_rows(two)} of {rows} sessions arrived"
    for home in (one, two):  # until nothing moves
        _sync(way, home)
    again, passes = [], []
    for _ in range(_RUNS):  # in turn: other processes slow both down alike
        again += [_sync(way, home) for home in (one, two)]
        passes.append(outer([PYTHON, "-c", "pass"], runs=3))
    moved = sum(result["sent"] + result["received"] + result["changed"] for _, result in again)
    second, bare = statistics.median(took for took, _ in again), statistics.median(passes)
    line = _line(way, one)
    report(f"sync {way.name}: sent", sent_s, "s", None, entries=sent["sent"], bytes=sent["bytes_sent"])
    report(
        f"sync {way.name}: received",
        received_s,
        "s",
        None,
        entries=received["received"],
        bytes=received["bytes_received"],
    )
    report(f"sync {way.name}: moved by {len(again)} further syncs", moved, "entries", 0)
    ratio = (second - line) / bare
    return (
        report(
            f"sync {way.name}: nothing new",
            ratio,
            "× python -c pass",
            _MOST,
            seconds=round(second, 3),
            line_s=round(line, 3),
            pass_s=round(bare, 4),
        )
        and not moved
    )


def _line(way: Way, home: Home) -> float:
    if not way.line:
        return 0.0
    program = shutil.which(way.line[0], path=way.path) or way.line[0]
    return outer([program, *way.line[1:]], env=home.env(way.path), cwd=home.repo, runs=_RUNS)


def _sync(way: Way, home: Home, *more: str) -> tuple[float, Mapping[str, Any]]:
    took, printed = home.run("sync", way.words, "--json", *more, path=way.path)
    found: dict[str, Any] = json.loads(printed)
    return took, found
