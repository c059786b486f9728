"""Which files of a memory are the memory itself: all but what is derived, bound to this machine or in passing."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from msgspec import Struct

from holdfast.guard.visible import has_hidden

CAPTURE = "capture.db"
# Bound to this machine: what hooks may do here, what they left and said, where the work tree lies.
MACHINE_FILES = ("root", "format", "switches.json", "why.jsonl", "why.jsonl.1", "hook.log", "hook.log.1")
MACHINE_FOLDERS = ("inbox", "locks")
_DERIVED_FILES = re.compile(r"(?:resume|index)\.json|hot\.words|(?:context|stamps)-[0-9a-f]{8}\.json")
_DERIVED = (".npy", ".vec", ".tmp", "-wal", "-shm", "-journal")
_LONGEST_NAME = 255
_LONGEST_PATH = 1000


class Listing(Struct, frozen=True):
    """Paths from the top of the memory, in order; and what stands there and cannot be taken along, with the reason."""

    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def belongs(path: str) -> bool:
    """Whether a file at this place is part of the memory. By exclusion: what a later version adds belongs to it."""
    top, _, rest = path.partition("/")
    if top in MACHINE_FOLDERS or (not rest and (path in MACHINE_FILES or _DERIVED_FILES.fullmatch(path))):
        return False
    return path == CAPTURE or not path.endswith((".db", *_DERIVED))


def why_not(path: str) -> str:
    """Why a path cannot be one of a memory's files; '' when it can."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in path:
        return "it leads elsewhere"
    if not path.isprintable() or has_hidden(path):
        return "its name holds hidden characters"
    if os.name == "nt" and ":" in path:
        return "a colon makes it a drive or a stream"
    if len(path) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return "its name is too long"
    return ""


def canonical_files(memory: Path) -> Listing:
    files: list[str] = []
    left_out: list[tuple[str, str]] = []
    for folder, folders, names in os.walk(memory):
        for name in sorted(folders):
            if os.path.islink(os.path.join(folder, name)):
                names.append(name)
        for name in names:
            path = os.path.join(folder, name)
            shown = Path(path).relative_to(memory).as_posix()
            if not belongs(shown):
                continue
            reason = _why_not_file(path) or why_not(shown)
            (left_out.append((shown, reason)) if reason else files.append(shown))
    return Listing(tuple(sorted(files)), tuple(sorted(left_out)))


def _why_not_file(path: str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return (error.strerror or "it cannot be read").lower()
    if stat.S_ISLNK(mode):
        return "it is a link"
    return "" if stat.S_ISREG(mode) else "it is no regular file"
