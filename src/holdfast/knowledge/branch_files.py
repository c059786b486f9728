"""Which files a branch is about: what differs from where it left the default branch, uncommitted changes included."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.git import run_git
from holdfast.core.place import find_checkout
from holdfast.core.reading import text_of

MOST_FILES = 8  # a branch that changes more says little about any one of them
_SECONDS = 2.0
_MOST_BYTES = 20_000
_MOST_REFS_BYTES = 2_000_000
_USUAL_NAMES = ("main", "master", "trunk", "develop")
_REMOTE = "refs/remotes/origin/"


def branch_files(root: Path, branch: str) -> list[str]:
    """The files that a branch changes, or only those with uncommitted changes on the default branch itself.

    [] if there are none, if there are many, and if git does not answer in time. One process at most.
    """
    checkout = find_checkout(os.fspath(root))
    if checkout is None or not branch:
        return []
    base = _default(checkout.common)
    since = ("HEAD",) if base.rpartition("/")[2] == branch else ("--merge-base", base) if base else ()
    if not since:
        return []
    words = ("--relative", "--no-renames", "--name-only", "-z", *since, "--")
    answer = run_git(root, "diff", *words, seconds=_SECONDS, most_bytes=_MOST_BYTES)
    if not answer.whole:
        return []
    files = [os.fsdecode(name) for name in answer.data.split(b"\0") if name]
    return files if len(files) <= MOST_FILES else []


def _default(git_dir: str) -> str:
    """The name of the default branch, of the remote's if there is one; '' if unknown. Reads files, runs nothing."""
    packed = text_of(os.path.join(git_dir, "packed-refs"), _MOST_REFS_BYTES) or ""
    head = text_of(os.path.join(git_dir, *f"{_REMOTE}HEAD".split("/")), 1000) or ""
    if head.startswith(f"ref: {_REMOTE}"):
        return head.removeprefix("ref: refs/remotes/").strip()
    for name in _USUAL_NAMES:
        for prefix, short in ((_REMOTE, f"origin/{name}"), ("refs/heads/", name)):
            ref = f"{prefix}{name}"
            if os.path.isfile(os.path.join(git_dir, *ref.split("/"))) or f" {ref}\n" in packed:
                return short
    return ""
