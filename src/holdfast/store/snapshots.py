"""Snapshots of what was seen of a directory at the last look: derived, bounded, replaced as a whole."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holdfast.core import files

MOST_PLACES = 20
_FORMAT = "1"  # of the memory; `store.project.FORMAT` is the original, and too much to load for this


def keep_snapshot(memory: Path, name: str, data: bytes) -> bool:
    """Writes a snapshot where there is a memory of this format, and says whether it did."""
    if not memory.is_dir() or (files.read(memory / "format") or b"").strip() != _FORMAT.encode():
        return False
    with files.lock(memory / "locks" / "context.lock") as held:
        files.replace_held(held, memory / name, data, files.ANYTHING)
        _thin(memory, name.partition("-")[0] + "-")
    return True


def _thin(memory: Path, prefix: str) -> None:
    """Keeps the snapshots of the directories that were looked at last."""
    with os.scandir(memory) as entries:
        kept = [entry for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".json")]
    if len(kept) > MOST_PLACES:
        kept.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
        for entry in kept[:-MOST_PLACES]:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
