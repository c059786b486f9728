"""CPU time of processes, and installations of two states of the code side by side.

CPU time is user and system time as the kernel counts it: neighbours on the machine disturb it less than wall time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measuring import PYTHON

ROOT = Path(__file__).parents[2]
YARDSTICK = [PYTHON, "-I", "-S", "-c", "import json, sqlite3"]

# Adopts what the command leaves behind (PR_SET_CHILD_SUBREAPER), so that a detached child is waited for and counted.
_REAPER = """
import ctypes, json, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
started = subprocess.Popen(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE)
printed = started.stdout.read().decode("utf-8", "replace")
_, status, own = os.wait4(started.pid, 0)
while True:
    try: os.wait()
    except ChildProcessError: break
every = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, own.ru_utime + own.ru_stime, every.ru_utime + every.ru_stime, printed]))
"""


class Cost(NamedTuple):
    """CPU seconds of a process, with and without the processes that it left behind."""

    own: float
    with_children: float
    printed: str


def cost_of(
    command: Sequence[str | Path],
    env: Mapping[str, str],
    cwd: Path,
    payload: object = None,
    check: bool = True,
) -> Cost:
    """Runs a command and everything that it starts to the end."""
    if not sys.platform.startswith("linux"):
        raise OSError("counting a detached child needs Linux")
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-c", _REAPER, *map(str, command)],
        env=dict(env),
        cwd=cwd,
        input=json.dumps(payload) if payload is not None else "",
        capture_output=True,
        text=True,
        check=True,
    )
    status, own, every, printed = json.loads(done.stdout)
    if check and status:
        raise RuntimeError(f"{command[0]} ended with {status}: {done.stderr[-300:]}")
    return Cost(own, every, printed)


class Installation(NamedTuple):
    """A state of the code with an interpreter that imports it, isolated or not."""

    python: Path
    source: Path

    def holdfast(self, *arguments: str | Path) -> list[str | Path]:
        return [self.python, "-m", "holdfast", *arguments]


def installed(source: Path, folder: Path, extra: str = "") -> Installation:
    """A virtual environment that finds this source first, then the dependencies of the running one.

    PYTHONPATH would not do: hooks and their children run isolated. `extra` is code that each interpreter runs at its
    start.
    """
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.check_output(asked, text=True).strip())
    paths = f"{source}\n{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    (packages / "score.pth").write_text(paths, encoding="utf-8")
    if extra:
        (packages / "score_extra.py").write_text(extra, encoding="utf-8")
        (packages / "score_extra.pth").write_text("import score_extra\n", encoding="utf-8")
    subprocess.run([python, "-m", "compileall", "-q", source / "holdfast"], check=True)
    return Installation(python, source)


def base_source(folder: Path, commit: str, checkout: Path | None = None) -> Path:
    """The source of the release that is compared with: a checkout, or an archive of a commit of this repository."""
    folder.mkdir(parents=True)
    if checkout:
        shutil.copytree(checkout / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        return folder / "src"
    archive = folder / "base.tar"
    subprocess.run(
        ["git", "-C", ROOT, "archive", "-o", archive, commit, "src"], check=True, capture_output=True
    )
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def current_source(folder: Path) -> Path:
    """The source as it is now, as a copy at a like place: both sides of a comparison lie on the same disk."""
    return base_source(folder, "", ROOT)
