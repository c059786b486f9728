"""The lines of a file as git knows them: which commit each came with, when, and under which name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import NotFound
from holdfast.core.git import run_git
from holdfast.core.place import find_checkout
from holdfast.core.reading import bytes_of
from holdfast.guard.hidden_text import path_text

BLAME_SECONDS = 600.0
MOST_BYTES = 400_000_000
UNCOMMITTED = "0" * 40
_UNTRACKED = ("no such path", "no such ref", "no such file")


class BlamedCommit(Struct):
    """A commit as far as blame tells of it. At the `boundary` of a shallow clone it may have any older line."""

    sha: str
    author: str = ""
    email: str = ""
    authored: float = 0.0
    committed: float = 0.0
    subject: str = ""
    boundary: bool = False

    @property
    def uncommitted(self) -> bool:
        return not self.sha.strip("0")


class BlamedLine(Struct, frozen=True, gc=False):
    """A line with its number now, its commit, and the name of the file and the number of the line there."""

    number: int
    text: str
    commit: BlamedCommit
    path: str
    original: int


def blamed(root: Path, path: str, ignored: Sequence[str] = ()) -> list[BlamedLine]:
    """The lines of a file in the work tree. White space and moved lines do not count as changes."""
    arguments = ["--porcelain", "--root", "-w", "-M", "-C", *(f"--ignore-rev={sha}" for sha in ignored)]
    answer = run_git(root, "blame", *arguments, "--", path, seconds=BLAME_SECONDS, most_bytes=MOST_BYTES)
    if answer.whole:
        return list(_parsed(answer.data, path, shallow_commits(root)))
    why = answer.complaint.removeprefix("fatal: ")
    if why.startswith(_UNTRACKED):
        return _uncommitted(root, path)
    raise NotFound(
        f"git cannot blame this file: {'it took too long' if answer.late else why or 'no reason given'}",
        where=path_text(path),
        fix="Check that git knows it: git log -- FILE",
    )


def shallow_commits(root: Path) -> frozenset[str]:
    """The oldest commits of a shallow clone: git ascribes to them what is older. Empty for a whole history."""
    checkout = find_checkout(os.fspath(root))
    data = bytes_of(os.path.join(checkout.common, "shallow"), 10_000_000) if checkout else None
    return frozenset((data or b"").decode("ascii", "replace").split())


def _uncommitted(root: Path, path: str) -> list[BlamedLine]:
    """The lines of a file that git does not know yet."""
    text = (files.read(root / path) or b"").decode("utf-8", "replace")
    lines = text.split("\n")[: -1 if text.endswith("\n") or not text else None]
    commit = BlamedCommit(UNCOMMITTED)
    return [BlamedLine(number, line, commit, path, number) for number, line in enumerate(lines, 1)]


def _parsed(data: bytes, path: str, shallow: frozenset[str]) -> Iterator[BlamedLine]:
    commits: dict[str, BlamedCommit] = {}
    names: dict[str, str] = {}
    commit, number, original = BlamedCommit(""), 0, 0
    for raw in data.split(b"\n"):
        if raw.startswith(b"\t"):
            text = raw[1:].decode("utf-8", "replace")
            yield BlamedLine(number, text, commit, names.get(commit.sha, path), original)
            continue
        head, _, rest = raw.partition(b" ")
        if len(head) >= 40 and (words := rest.split()) and len(words) >= 2:
            sha = head.decode("ascii", "replace")
            commit = commits.setdefault(sha, BlamedCommit(sha, boundary=sha in shallow))
            original, number = int(words[0]), int(words[1])
        elif head == b"filename":
            names[commit.sha] = _unquoted(rest)
        elif head == b"author":
            commit.author = rest.decode("utf-8", "replace")
        elif head == b"author-mail":
            commit.email = rest.decode("utf-8", "replace").strip("<>")
        elif head == b"author-time":
            commit.authored = float(rest)
        elif head == b"committer-time":
            commit.committed = float(rest)
        elif head == b"summary":
            commit.subject = rest.decode("utf-8", "replace")


def _unquoted(name: bytes) -> str:
    """A name as the file system has it; git quotes unusual ones like a C string."""
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return os.fsdecode(name)
    plain = name[1:-1].decode("latin-1").encode("latin-1").decode("unicode_escape").encode("latin-1")
    return os.fsdecode(plain)
