"""Objects of a git repository, read by git itself: refs, trees, blobs. Nothing is written, fetched or run.

Git is told not to fetch what a partial clone lacks and not to take locks: a repository that came from
elsewhere must not be able to reach out through its own configuration.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from holdfast.errors import TranscriptError

_QUIET = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.fsmonitor=false",
)
_TREE_LINE = re.compile(rb"\d{6} blob ([0-9a-f]{40,64}) +(\d+|-)\t(.+)", re.DOTALL)
WAIT_SECONDS = 120


class Ref(Struct, frozen=True):
    name: str
    target: str


class Blob(Struct, frozen=True):
    identity: str
    size: int
    path: str


def common_folder(work_tree: Path) -> Path | None:
    """The folder in which a work tree's objects lie: its `.git`, the one that a worktree points to, itself if bare."""
    entry = work_tree / ".git"
    try:
        if entry.is_file():
            named = entry.read_text(encoding="utf-8", errors="replace").partition("gitdir:")[2].strip()
            entry = (work_tree / named).resolve()
        elif not entry.is_dir():
            entry = work_tree
        shared = entry / "commondir"
        if shared.is_file():
            entry = (entry / shared.read_text(encoding="utf-8", errors="replace").strip()).resolve()
        return entry if (entry / "HEAD").is_file() and (entry / "objects").is_dir() else None
    except OSError:
        return None


def work_tree_of(common: Path) -> str:
    """A work tree that uses the objects: beside a `.git`, or the first linked one of a bare repository."""
    if common.name == ".git":
        return str(common.parent)
    for pointer in sorted(common.glob("worktrees/*/gitdir")):
        try:
            return str(Path(pointer.read_text(encoding="utf-8", errors="replace").strip()).parent)
        except OSError:
            continue
    return str(common)


def refs(git: Path, *patterns: str) -> list[Ref]:
    lines = _output(git, "for-each-ref", "--format=%(objectname) %(refname)", *patterns).splitlines()
    parts = (line.decode("utf-8", "replace").partition(" ") for line in lines)
    return [Ref(name, target) for target, _, name in parts if name]


def blobs(git: Path, tree: str) -> Iterator[Blob]:
    for line in _output(git, "ls-tree", "-r", "-l", "-z", "--full-tree", tree).split(b"\0"):
        if found := _TREE_LINE.fullmatch(line):
            size = int(found[2]) if found[2] != b"-" else 0
            yield Blob(found[1].decode(), size, found[3].decode("utf-8", "replace"))


def contents(git: Path, identities: Iterable[str]) -> Iterator[bytes]:
    """Small blobs, in the order asked for, by one process; an empty one for each that is missing."""
    process = _start(git, "cat-file", "--batch")
    assert process.stdin is not None and process.stdout is not None
    try:
        for identity in identities:
            process.stdin.write(identity.encode() + b"\n")
            process.stdin.flush()
            header = process.stdout.readline().split()
            if len(header) != 3 or not header[2].isdigit():
                yield b""
                continue
            content = process.stdout.read(int(header[2]))
            process.stdout.read(1)
            yield content
    except OSError as error:
        raise _refused(git, str(error)) from error
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(WAIT_SECONDS)


def start_of(git: Path, identity: str, length: int) -> bytes:
    """The first bytes of a blob, without waiting for the rest."""
    process = _start(git, "cat-file", "blob", identity)
    assert process.stdin is not None and process.stdout is not None
    try:
        return process.stdout.read(length)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait(WAIT_SECONDS)


def copy_blob(git: Path, identity: str, target: IO[bytes]) -> None:
    """A blob of any size, straight from git into a file."""
    try:
        done = subprocess.run(
            _command(git, "cat-file", "blob", identity),
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            check=False,
        )
    except OSError as error:
        raise _refused(git, str(error)) from error
    if done.returncode:
        raise _refused(git, f"object {identity[:12]} is missing")


def _output(git: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            _command(git, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
            timeout=WAIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _refused(git, str(error)) from error
    if done.returncode:
        raise _refused(git, done.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    return done.stdout


def _start(git: Path, *arguments: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            _command(git, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError as error:
        raise _refused(git, str(error)) from error


def _command(git: Path, *arguments: str) -> list[str]:
    return ["git", f"--git-dir={git}", *_QUIET, *arguments]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _refused(git: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"git cannot read this repository: {why or 'no reason given'}",
        where=str(git),
        fix="Check that git is installed and that the repository is whole",
    )
