"""The files of a checkout, for a scan: all names, a digest of them, and bounded, careful reading of one file.

With git the names are what git tracks; in a repository where nothing is tracked yet, what it would not ignore; without
git a bounded walk. Nothing that the repository's own configuration names is ever run.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.file_names import walked
from holdfast.core.git import git_text, run_git
from holdfast.core.hashes import blake2b
from holdfast.core.place import checkout_at
from holdfast.core.reading import beginning_of

MOST_NAMES = 400_000
_MOST_BYTES = 60_000_000
_SECONDS = 60.0
LARGEST = 400_000  # a larger file is data or generated


class FileListing(Struct, frozen=True):
    """The names as they came, to be compared with those of last time before anything is made of them."""

    raw: bytes
    by: str  # git, walk
    head: str
    whole: bool = True

    @property
    def digest(self) -> str:
        return blake2b(self.raw, digest_size=16).hexdigest()

    def names(self) -> list[str]:
        return [os.fsdecode(name) for name in self.raw.split(b"\0") if name][:MOST_NAMES]


def listed(root: Path) -> FileListing:
    """The names of all files. Raises UsageError if there is no work tree."""
    if (
        not os.path.lexists(root / ".git")
        and (root / "HEAD").is_file()
        and (root / "objects").is_dir()
        and (root / "refs").is_dir()
    ):
        raise UsageError(
            "is a bare repository: it has no files to look at", where=str(root), fix="Run this in a work tree"
        )
    if os.path.lexists(root / ".git"):
        for words in (("ls-files", "-z"), ("ls-files", "-z", "--others", "--exclude-standard")):
            answer = run_git(root, *words, seconds=_SECONDS, most_bytes=_MOST_BYTES)
            if raw := answer.data:
                return FileListing(raw[: raw.rfind(b"\0") + 1], "git", head_of(root), answer.whole)
    names = walked(root)
    return FileListing(
        b"\0".join(os.fsencode(name) for name in names) + b"\0", "walk", "", len(names) < 20_000
    )


def head_of(root: Path) -> str:
    """The commit that is checked out, from git's own files where they are plain; '' before the first one."""
    marker = root / ".git"
    try:
        if marker.is_dir():
            head = (marker / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
            if not head.startswith("ref: "):
                return head
            loose = marker / head[5:]
            if loose.is_file():
                return loose.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return git_text(root, "rev-parse", "--verify", "--quiet", "HEAD")


def index_stamp(root: Path) -> str:
    """What changes with the list of tracked files: where it is the same, git need not be asked; '' without an index."""
    checkout = checkout_at(str(root))
    try:
        status = os.stat(os.path.join(checkout.private, "index")) if checkout else None
    except (OSError, ValueError):
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}" if status else ""


class FileStamp(Struct, frozen=True, array_like=True):
    """What changes when a file changes."""

    mtime: int
    size: int


def stamp_of(root: str, name: str) -> FileStamp | None:
    """The stamp of a file; None for a missing file, a link or anything else that is not read."""
    try:
        status = os.lstat(f"{root}/{name}")
    except (OSError, ValueError):
        return None
    return FileStamp(status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def bytes_of(root: Path, name: str, most: int = LARGEST) -> bytes | None:
    """The content of a regular file inside the checkout; None when it is too large, binary, a link or gone."""
    content = beginning_of(f"{root}/{name}", most + 1, follow=False)
    return None if content is None or content[1] > most or b"\0" in content[0][:8000] else content[0]


def text_of(root: Path, name: str, most: int = LARGEST) -> str:
    data = bytes_of(root, name, most)
    return data.decode("utf-8-sig", "replace") if data else ""


def printable(name: str) -> bool:
    """Whether a name is valid UTF-8; other names are counted but not shown."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return name.isprintable()
