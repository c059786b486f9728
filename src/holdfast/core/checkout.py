"""Where git keeps things, told from its files. `store/project.py` is the original; here nothing may be loaded."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.reading import text_of


class Checkout:
    """A work tree. `private` is its own git directory, `common` the one that all its work trees share."""

    __slots__ = ("common", "private", "root")

    def __init__(self, root: str, private: str, common: str) -> None:
        self.root = root
        self.private = private
        self.common = common

    @property
    def first_tree(self) -> str:
        """The work tree that the repository was made with; '' for a bare one."""
        return os.path.dirname(self.common) if os.path.basename(self.common) == ".git" else ""

    def head(self) -> tuple[str, str]:
        """The branch that is checked out, or the commit where none is."""
        head = (text_of(os.path.join(self.private, "HEAD"), 1000) or "").strip()
        return (head[16:], "") if head.startswith("ref: refs/heads/") else ("", head)


def find_checkout(start: str) -> Checkout | None:
    directory = os.path.abspath(start)
    while True:
        marker = os.path.join(directory, ".git")
        if os.path.isdir(marker):
            return Checkout(directory, marker, marker)
        pointer = (text_of(marker, 5000) or "") if os.path.isfile(marker) else ""
        if pointer.startswith("gitdir:"):
            private = os.path.realpath(os.path.join(directory, pointer[7:].strip()))
            shared = (text_of(os.path.join(private, "commondir"), 5000) or "").strip()
            return Checkout(
                directory, private, os.path.realpath(os.path.join(private, shared)) if shared else private
            )
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


_OWN = {".git", ".holdfast"}


def is_checkout(root: Path) -> bool:
    """Whether there are files to look for: sessions may have been imported into an empty folder."""
    try:
        with os.scandir(root) as entries:
            return any(entry.name not in _OWN for entry in entries)
    except OSError:
        return False
