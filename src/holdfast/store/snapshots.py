"""Snapshots of directories from the last look: derived files, limited in number, always replaced as a whole."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holdfast.core import files

MOST_PLACES = 20
_FORMAT = "1"  # of the memory; a copy of `store.project.FORMAT`, which would take too long to import


def keep_snapshot(memory: Path, name: str, data: bytes) -> bool:
    """Writes a snapshot if there is a memory of this format. Returns whether it did."""
    if not memory.is_dir() or (files.read(memory / "format") or b"").strip() != _FORMAT.encode():
        return False
    with files.lock(memory / "locks" / "context.lock") as held:
        files.replace_held(held, memory / name, data, files.ANYTHING)
        _thin(memory, name.partition("-")[0] + "-")
    return True


def _thin(memory: Path, prefix: str) -> None:
    """Removes all but the newest snapshots."""
    with os.scandir(memory) as entries:
        snapshots = [
            entry for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".json")
        ]
    if len(snapshots) > MOST_PLACES:
        snapshots.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
        for entry in snapshots[:-MOST_PLACES]:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
