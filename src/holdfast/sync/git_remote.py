"""The address of a project's git remote. It is all that is taken from the checkout's configuration."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.git import run_git

_SECONDS = 20.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?")
_PASSWORD = re.compile(r"(://[^/:@]*):[^/@]*@")


class Remote(Struct, frozen=True):
    """`push_url` is the same address, unless the project pushes to another."""

    name: str
    url: str
    push_url: str

    @property
    def shown(self) -> str:
        address = _PASSWORD.sub(r"\1:…@", self.url)
        return f"{self.name} ({address})"


def remote_of(root: Path, name: str) -> Remote:
    """Raises UsageError if the project has no such remote."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "this is not the name of a git remote", where=name, fix="git remote shows their names"
        )
    url = _address(root, name, "url")
    if not url:
        raise UsageError(
            f"this project has no git remote {name!r}",
            where=str(root),
            fix="git remote -v shows what it has; a folder and ssh are other ways to sync",
        )
    return Remote(name, url, _address(root, name, "pushurl") or url)


def _address(root: Path, name: str, key: str) -> str:
    answer = run_git(root, "config", "--null", "--get-all", f"remote.{name}.{key}", seconds=_SECONDS)
    address = os.fsdecode(answer.data).partition("\0")[0] if answer.whole else ""
    if not address or _is_elsewhere(address):
        return address
    return os.path.join(root, address)  # git would take it relative to where it runs


def _is_elsewhere(address: str) -> bool:
    """Whether git takes it for an address of a network: a path has a slash before its first colon, if any."""
    before, colon, _ = address.partition(":")
    return bool(_URL.match(address)) or bool(colon and "/" not in before)


def object_format(root: Path) -> str:
    """The kind of hashes of the project, and so of its remote."""
    answer = run_git(root, "rev-parse", "--show-object-format", seconds=_SECONDS)
    kind = answer.data.decode("ascii", "replace").strip() if answer.whole else ""
    return kind if kind in ("sha1", "sha256") else "sha1"
