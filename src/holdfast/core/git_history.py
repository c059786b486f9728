"""Reads git's history for the memory: the branches, and commits with their messages, streamed and bounded."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.git import GitStream, run_git
from holdfast.core.hashes import blake2b
from holdfast.core.place import find_checkout

MOST_COMMITS = 300_000  # of one reading; older ones are not read
MOST_BRANCHES = 200  # besides the default branch, the latest ones
_MOST_MESSAGE = 40_000  # bytes of one message
_LOG_SECONDS = 60.0  # without a word
_SECONDS = 60.0
_MOST_BYTES = 60_000_000
_FIELDS = 6
# Neither mailmap nor notes nor decorations: only what the commit itself says, in UTF-8.
_LOG = (
    *("log", "-z", "--topo-order", "--no-notes", "--no-decorate", "--no-color", "--no-patch"),
    *("--encoding=UTF-8", "--format=tformat:%H%x00%P%x00%ct%x00%an%x00%ae%x00%B"),
)
_USUAL_NAMES = ("main", "master", "trunk", "develop")


class Commit(NamedTuple):
    """A commit as git prints it; the message may hold anything."""

    sha: str
    parents: tuple[str, ...]
    at: float | None
    name: str
    email: str
    message: str


class Branches(NamedTuple):
    """The tips of the default branch (here and at the remote), and those of the other local branches by name."""

    default: str
    tips: tuple[str, ...]
    others: dict[str, str]


def git_dir_of(root: Path) -> Path | None:
    """The git directory of a work tree, a submodule, or of a bare repository; None without git."""
    checkout = find_checkout(os.fspath(root))
    if checkout is not None:
        return Path(checkout.private)
    is_bare = (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir()
    return root.absolute() if is_bare else None


def branches_of(git_dir: Path) -> Branches:
    """The default branch is the remote's, else one with a usual name, else the one that is checked out."""
    local: dict[str, str] = {}
    remote_tips: dict[str, str] = {}
    remote_name = remote_tip = ""
    layout = "--format=%(refname)%00%(objectname)%00%(symref)"
    known = [f"refs/remotes/origin/{name}" for name in _USUAL_NAMES]
    refs = ("--sort=-committerdate", layout, "refs/heads", "refs/remotes/*/HEAD", *known)
    for line in _lines(git_dir, "for-each-ref", *refs):
        name, sha, target = (*line.split("\0"), "", "")[:3]
        if name.startswith("refs/heads/"):
            local[name[11:]] = sha
        elif not name.endswith("/HEAD"):
            remote_tips[name[20:]] = sha
        elif not remote_tip or name == "refs/remotes/origin/HEAD":
            remote_tip = sha
            remote_name = target.removeprefix(name[: -len("HEAD")])
    head, head_sha = head_of(git_dir)
    usual = (name for name in _USUAL_NAMES if name in local or name in remote_tips)
    default = remote_name or next(usual, "") or head
    remote_tip = remote_tip or remote_tips.get(default, "")
    tips = [tip for tip in (local.pop(default, ""), remote_tip) if tip] or [head_sha] * bool(head_sha)
    return Branches(default, tuple(sorted(set(tips))), dict(list(local.items())[:MOST_BRANCHES]))


def head_of(git_dir: Path) -> tuple[str, str]:
    """The branch and the commit that are checked out: no branch if HEAD is detached, no commit before the first."""
    branch = next(iter(_lines(git_dir, "symbolic-ref", "--quiet", "--short", "HEAD")), "")
    return branch, next(iter(_lines(git_dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")), "")


def shallow_mark(git_dir: Path) -> str:
    """What changes when a shallow clone is deepened; '' for a whole one."""
    common = _lines(git_dir, "rev-parse", "--git-path", "shallow")
    try:
        content = (git_dir / common[0]).read_bytes() if common else b""
    except OSError:
        content = b""
    return blake2b(content, digest_size=8).hexdigest() if content else ""


class CommitLog:
    """Commits that are reachable from some tips and not from others, children before parents."""

    def __init__(
        self, git_dir: Path, tips: Collection[str], without: Collection[str] = (), most: int = MOST_COMMITS
    ) -> None:
        limit = f"--max-count={most}"
        self._range = range_of(tips, without)
        self._git_dir = git_dir
        self._stream = GitStream(git_dir, *_LOG, limit, *self._range, seconds=_LOG_SECONDS)
        self._empty = not tips
        self._is_damaged = False

    @property
    def whole(self) -> bool:
        """Whether git came to the end; known after all commits were read."""
        return self._empty or (self._stream.whole and not self._is_damaged)

    def count(self) -> int:
        """How many commits there are, for a progress display; 0 if git does not answer in time."""
        lines = [] if self._empty else _lines(self._git_dir, "rev-list", "--count", *self._range)
        return min(int(lines[0]), MOST_COMMITS) if lines and lines[0].isdigit() else 0

    def __iter__(self) -> Iterator[Commit]:
        fields: list[str] = []
        for field in () if self._empty else fields_of(self._stream):
            fields.append(field.decode("utf-8", "replace"))
            if len(fields) == _FIELDS:
                commit = _commit_of(fields)
                if commit is None:
                    self._is_damaged = True
                    return
                yield commit
                fields = []


def fields_of(parts: Iterator[bytes] | GitStream, most: int = _MOST_MESSAGE) -> Iterator[bytes]:
    """The pieces between NUL characters, each cut at `most` bytes: a message may have any size."""
    rest, is_cut = b"", False
    for part in parts:
        pieces = part.split(b"\0")
        if len(pieces) > 1:
            yield rest if is_cut else (rest + pieces[0])[:most]
            for piece in pieces[1:-1]:
                yield piece[:most]
            rest, is_cut = pieces[-1], False
        elif not is_cut:
            rest += part
        if len(rest) > most:
            rest, is_cut = rest[:most], True


def _commit_of(fields: list[str]) -> Commit | None:
    sha, parents, seconds, name, email, message = fields
    if not is_sha(sha):
        return None
    at = float(seconds) if seconds.isdigit() and len(seconds) < 13 else None
    return Commit(sha, tuple(parents.split()), at, name, email, message)


def is_sha(text: str) -> bool:
    return len(text) in (40, 64) and set(text) <= set("0123456789abcdef")


def commits_named(git_dir: Path, shas: Collection[str]) -> list[Commit]:
    """These commits themselves, without their ancestors."""
    found: list[Commit] = []
    names = sorted(shas)
    for start in range(0, len(names), 500):
        log = (
            *_LOG[:2],
            "--no-walk=unsorted",
            *_LOG[3:],
            "--ignore-missing",
            *names[start : start + 500],
            "--",
        )
        stream = GitStream(git_dir, *log, seconds=_SECONDS)
        texts = [field.decode("utf-8", "replace") for field in fields_of(stream)]
        groups = zip(*[iter(texts)] * _FIELDS, strict=False)
        found += [commit for group in groups if (commit := _commit_of(list(group)))]
    return found


def shas_between(git_dir: Path, tips: Collection[str], without: Collection[str], most: int) -> list[str]:
    """The commits reachable from some tips and not from others, at most `most`."""
    if not tips:
        return []
    return _lines(git_dir, "rev-list", f"--max-count={most}", *range_of(tips, without))


def all_present(git_dir: Path, shas: Collection[str]) -> bool:
    """Whether these commits are still in the repository with all that `rev-list` needs of them."""
    if not shas:
        return True
    answer = run_git(
        git_dir,
        "rev-list",
        "--no-walk",
        *shas,
        "--",
        seconds=_SECONDS,
        most_bytes=_MOST_BYTES,
        is_git_dir=True,
    )
    return answer.whole


def commit_titled(git_dir: Path, tips: Collection[str], words: str) -> Iterator[tuple[str, str]]:
    """The latest commits whose message holds these words, with their subjects."""
    grep = (
        "log",
        "-z",
        "-n50",
        "--topo-order",
        "--fixed-strings",
        f"--grep={words}",
        "--format=tformat:%H%n%s",
    )
    answer = run_git(git_dir, *grep, *tips, "--", seconds=_SECONDS, most_bytes=_MOST_BYTES, is_git_dir=True)
    for record in answer.data.decode("utf-8", "replace").split("\0") if answer.whole else ():
        sha, _, subject = record.partition("\n")
        if sha:
            yield sha, subject


def full_sha(git_dir: Path, abbreviation: str) -> str:
    return next(iter(_lines(git_dir, "rev-parse", "--verify", "--quiet", f"{abbreviation}^{{commit}}")), "")


def merged_by(git_dir: Path, merge: str, most: int = 2000) -> list[str]:
    """The commits that a merge brought into its first parent; none if it is no merge."""
    parents = _lines(git_dir, "rev-list", "--no-walk", "--parents", merge, "--")
    names = parents[0].split() if parents else []
    return shas_between(git_dir, names[2:], names[1:2], most) if len(names) > 2 else []


def own_emails(root: Path) -> frozenset[str]:
    """The addresses that this user commits with here, in lower case: git's `user.email` of every scope."""
    git_dir = git_dir_of(root)
    lines = _lines(git_dir, "config", "--get-all", "user.email") if git_dir else []
    return frozenset(line.strip().casefold() for line in lines if line.strip())


def range_of(tips: Collection[str], without: Collection[str]) -> list[str]:
    excluded = sorted(f"^{sha}" for sha in without)
    return [*sorted(tips), *excluded, "--"]


def _lines(git_dir: Path, *arguments: str) -> list[str]:
    answer = run_git(git_dir, *arguments, seconds=_SECONDS, most_bytes=_MOST_BYTES, is_git_dir=True)
    # Not `splitlines`: the name of a branch may hold other characters that end a line.
    return (
        [line for line in answer.data.decode("utf-8", "replace").split("\n") if line] if answer.whole else []
    )
