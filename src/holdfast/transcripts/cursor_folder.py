"""Which folder a Cursor transcript belongs to: its project directory is the folder's path with dashes for the rest.

Dashes may stand for anything, so a folder is only believed when the transcript names a path below it, or when
it is the one folder of this machine that is spelt so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.transcripts.lines import HEAD

_ABSOLUTE = re.compile(rb'(?<![\w.~/])/[^\s"\\<>|*?:,;()\[\]{}\']{2,300}')
_MOST_LISTINGS = 200


def folder_of(path: Path, head: bytes | None = None) -> str:
    """The folder, or '' where it cannot be told."""
    spelling = _project_name(path)
    if not spelling:
        return ""
    for place in _named(_head(path) if head is None else head):
        if spelt(place) == spelling:
            return place
    budget = [_MOST_LISTINGS]
    found = list(_on_disk(Path(path.anchor or "/"), spelling, budget)) if spelling else []
    return str(found[0]) if len(found) == 1 else ""


def spelt(place: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", place).strip("-").lower()


def _project_name(path: Path) -> str:
    for parent in path.parents:
        if parent.name == "agent-transcripts":
            return parent.parent.name.strip("-").lower()
    return ""


def _named(head: bytes) -> Iterator[str]:
    seen: set[str] = set()
    for found in _ABSOLUTE.finditer(head):
        place = found[0].decode("utf-8", "replace").rstrip("/.")
        while len(place) > 1 and place not in seen:
            seen.add(place)
            yield place
            place = place.rpartition("/")[0]


def _on_disk(folder: Path, rest: str, budget: list[int]) -> Iterator[Path]:
    """Folders below this one whose path is spelt like the rest; the budget keeps the search short."""
    if budget[0] <= 0:
        return
    budget[0] -= 1
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in names:
        spelling = spelt(name)
        if spelling and spelling == rest:
            yield folder / name
        elif spelling and rest.startswith(f"{spelling}-"):
            yield from _on_disk(folder / name, rest[len(spelling) + 1 :], budget)


def _head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""
