"""What is to be blamed: `FILE`, `FILE:LINE` or `FILE:LINE-LINE`, checked before git is asked."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import find_checkout
from holdfast.guard.hidden_text import path_text

_LINES = lazy_regex(r"(\d{1,9})(?:[-,](\d{1,9})?)?")
_FILE_AND_LINES = lazy_regex(r"(.+):(\d{1,9}(?:[-,](?:\d{1,9})?)?)")
_LOOKED_AT = 8_000  # bytes of a file, as git decides whether it is binary
_LARGEST = 200_000_000


class Target(Struct, frozen=True):
    """A file of a work tree: `path` from its `root`, with slashes, and the lines that are wanted."""

    root: Path
    path: str
    lines: tuple[int, int] | None = None


def target_from(words: str, directory: Path, lines: str = "") -> Target:
    """The file and the lines that a person means. Raises a HoldfastError of one line for what cannot be blamed."""
    name, wanted = words, lines
    if not words or "\0" in words:
        raise UsageError("there is no file", fix="Name one: holdfast blame FILE[:LINE[-LINE]]")
    if not wanted and (match := _FILE_AND_LINES.fullmatch(words)):
        as_it_is, without = directory / words, directory / match[1]
        if os.path.lexists(as_it_is) and os.path.lexists(without):
            raise UsageError(
                f"{path_text(words)!r} is a file, and {path_text(match[1])!r} is one too",
                fix="Say which lines with --lines, and FILE is taken as it is",
            )
        if not os.path.lexists(as_it_is):
            name, wanted = match[1], match[2]
    elif not wanted and ":" in words and not os.path.lexists(directory / words):
        before, _, after = words.rpartition(":")
        if before and os.path.lexists(directory / before):
            name, wanted = before, after or " "
    root, path = _place(name, directory)
    return Target(root, path, _span(wanted, root, path) if wanted else None)


def _place(name: str, directory: Path) -> tuple[Path, str]:
    file = Path(os.path.realpath(directory / name))
    shown = path_text(name)
    checkout = find_checkout(os.fspath(directory))
    if checkout is None:
        raise UsageError(
            "not in a git repository", where=path_text(str(directory)), fix="Run it inside a work tree"
        )
    root = Path(os.path.realpath(checkout.root))
    if not file.is_relative_to(root):
        raise UsageError(
            f"is outside the repository {path_text(str(root))}", where=shown, fix="Name a file in it"
        )
    if file.is_dir():
        raise UsageError("is a folder", where=shown, fix="Name a file in it")
    if not file.exists():
        raise NotFound("no such file", where=shown, fix="Name a file of the work tree, from this directory")
    if not file.is_file():
        raise UsageError("is no regular file", where=shown, fix="Name a text file")
    if file.is_relative_to(root / ".git"):
        raise UsageError("belongs to git itself", where=shown, fix="Name a file of the work tree")
    if file.stat().st_size > _LARGEST:
        raise UsageError(f"has more than {_LARGEST:,} bytes", where=shown, fix="Name a source file")
    if b"\0" in (files.read(file) or b"")[:_LOOKED_AT]:
        raise UsageError("is a binary file, which has no lines", where=shown, fix="Name a text file")
    return root, file.relative_to(root).as_posix()


def _span(wanted: str, root: Path, path: str) -> tuple[int, int]:
    match = _LINES.fullmatch(wanted.strip())
    if match is None:
        raise UsageError(f"{wanted[:40]!r} is no line number", fix="Write LINE or LINE-LINE, counted from 1")
    data = files.read(root / path) or b""
    total = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    first = int(match[1])
    has_range = "-" in wanted or "," in wanted
    last = int(match[2]) if match[2] else total if has_range else first
    if not 1 <= first <= last:
        raise UsageError(
            f"there are no lines {first} to {last}",
            fix="Lines count from 1, and the smaller number comes first",
        )
    if first > total:
        raise UsageError(f"line {first} is beyond the end: the file has {total}", where=path_text(path))
    return first, min(last, total)
