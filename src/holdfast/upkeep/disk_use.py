"""What takes room in `~/.holdfast`: every file by kind and project, and what may go when there is too much."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.core import files
from holdfast.core.reading import small_text
from holdfast.store.machine import Machine

MB = 1_000_000
_DAY_S = 86_400.0
_ABANDONED_S = 3_600.0
_JOURNALS = ("-wal", "-shm", "-journal")

RoomKind = Literal[
    "memory",
    "versions",
    "sessions",
    "transcripts",
    "usage",
    "hooks",
    "derived",
    "traces",
    "backups",
    "cache",
    "leftovers",
    "other",
]
"""Files people read, their older versions, capture.db, copies of transcripts, what agents used, what hooks need, what
can be made again, bounded logs, archives before a change, compiled rules, what a crash left, and the rest."""

# Within a project's memory; the first match counts. What no line names is memory: it is never removed.
_KINDS: tuple[tuple[RoomKind, str], ...] = (
    ("leftovers", r"(?:.*/)?\.holdfast-.*\.tmp"),
    ("sessions", r"(?:capture|edits)\.db(?:-wal|-shm|-journal)?"),
    ("transcripts", r"kept\.db(?:-wal|-shm|-journal)?"),
    ("hooks", r"hot\.(?:db|words)(?:-wal|-shm|-journal)?"),
    (
        "derived",
        r"(?:told|index)\.db(?:-wal|-shm|-journal)?|[^/]+\.(?:npy|vec)|(?:resume|index)\.json|scan\.cache"
        r"|(?:context|stamps)-[0-9a-f]{8}\.json",
    ),
    ("traces", r"(?:why\.jsonl|hook\.log)(?:\.1)?"),
    ("versions", r"history/.*"),
    ("memory", r".*"),
)
# What prune may remove, the first first. Decisions, lessons, the ledger and all else that is canonical are not here.
ORDER: tuple[RoomKind, ...] = ("leftovers", "backups", "cache", "derived")


class StoredFile(Struct, frozen=True, kw_only=True):
    """A file and whose it is: the name of a project's folder, or '' for what belongs to none."""

    path: Path
    project: str
    kind: RoomKind
    size: int
    changed_at: float


class Room(Struct, frozen=True, kw_only=True):
    """What one kind of file of one project takes. `root` is the project's work tree, '' where there is none."""

    project: str
    kind: RoomKind
    size: int
    files: int
    root: str = ""


class Going(Struct, frozen=True, kw_only=True):
    """A file that would go, and why."""

    path: str
    project: str
    kind: RoomKind
    size: int
    why: str


def stored_files(machine: Machine) -> list[StoredFile]:
    return list(_walk(machine.home))


def _walk(home: Path) -> Iterator[StoredFile]:
    for directory, _, names in os.walk(home):
        for name in names:
            path = Path(directory, name)
            try:
                status = path.lstat()
            except OSError:
                continue  # gone meanwhile
            parts = path.relative_to(home).parts
            project = parts[1] if parts[0] == "projects" and len(parts) > 2 else ""
            yield StoredFile(
                path=path,
                project=project,
                kind=_kind(parts),
                size=status.st_size,
                changed_at=status.st_mtime,
            )


def _kind(parts: tuple[str, ...]) -> RoomKind:
    if parts[0] == "projects" and len(parts) > 2:
        if parts[1].startswith("."):
            return "other"  # a memory on its way in or out: `recover` looks after it
        relative = "/".join(parts[2:])
        return next(kind for kind, pattern in _KINDS if re.fullmatch(pattern, relative, re.DOTALL))
    if parts[0] == "backups" and parts[-1].endswith(".tar.gz"):
        return "backups"
    if parts[0] == "cache":  # what agents used is known from nowhere else once they deleted their transcripts
        return "usage" if parts[-1].startswith("usage.db") else "cache"
    return "memory" if parts[0] in ("lessons", "config.toml", "trust") else "other"


def rooms(machine: Machine) -> list[Room]:
    """What takes room by project and kind, the largest first."""
    sums: dict[tuple[str, RoomKind], tuple[int, int]] = {}
    for file in stored_files(machine):
        size, count = sums.get((file.project, file.kind), (0, 0))
        sums[file.project, file.kind] = size + file.size, count + 1
    found = [
        Room(project=project, kind=kind, size=size, files=count, root=_root(machine, project))
        for (project, kind), (size, count) in sums.items()
    ]
    return sorted(found, key=lambda room: (-room.size, room.project, room.kind))


def _root(machine: Machine, project: str) -> str:
    return small_text(machine.home / "projects" / project / "root").strip() if project else ""


def plan_prune(machine: Machine) -> list[Going]:
    """What would go: always what a crash left and old backups; above the cap also what can be made again.

    Projects whose work tree is gone lose their derived files first, then those that were not used for longest.
    """
    settings = machine.settings()
    now = machine.now().timestamp()
    stored = stored_files(machine)
    going: list[Going] = []
    total = sum(file.size for file in stored)
    for file in stored:
        if file.kind == "leftovers" and now - file.changed_at > _ABANDONED_S:
            going.append(_going(file, "an interrupted write left it"))
        elif file.kind == "backups" and settings.prune_backup_days:
            days = int((now - file.changed_at) / _DAY_S)
            if days >= settings.prune_backup_days:
                going.append(
                    _going(file, f"{days} days old; prune_backup_days is {settings.prune_backup_days}")
                )
    excess = total - sum(file.size for file in going) - settings.prune_cap_mb * MB
    if not settings.prune_cap_mb or excess <= 0:
        return going
    last_used: dict[str, float] = {}
    for file in stored:
        last_used[file.project] = max(last_used.get(file.project, 0.0), file.changed_at)
    for file in sorted(
        (file for file in stored if file.kind in ("cache", "derived") and not _is_journal(file.path)),
        key=lambda file: (
            ORDER.index(file.kind),
            os.path.isdir(_root(machine, file.project)),
            last_used[file.project],
            -file.size,
        ),
    ):
        if excess > 0:
            # A database goes with its journals: a new one must not find those of the old.
            parts = [
                file,
                *(one for one in stored if _is_journal(one.path) and _belongs(one.path, file.path)),
            ]
            why = f"it can be rebuilt; prune_cap_mb is {settings.prune_cap_mb}"
            going += [_going(part, why) for part in parts]
            excess -= sum(part.size for part in parts)
    return going


def _is_journal(path: Path) -> bool:
    return path.name.endswith(_JOURNALS)


def _belongs(journal: Path, database: Path) -> bool:
    return journal.parent == database.parent and journal.name.rpartition("-")[0] == database.name


def _going(file: StoredFile, why: str) -> Going:
    return Going(path=str(file.path), project=file.project, kind=file.kind, size=file.size, why=why)


def prune(machine: Machine, going: list[Going]) -> None:
    """Removes these files. A memory that is being written keeps its derived files: whoever writes holds its lock."""
    for one in going:
        if one.project:
            folder = machine.home / "projects" / one.project
            with files.lock(folder / "locks" / "memory.lock"):
                files.discard([Path(one.path)])
        else:
            files.discard([Path(one.path)])
