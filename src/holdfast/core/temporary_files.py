"""Temporary files beside the files that they replace: their names, and removing those of dead writers."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

ABANDONED_S = 600.0  # a writer that lives has touched its file since
_OURS = re.compile(r"\.holdfast-.*-[0-9a-f]{8}\.tmp")


def temporary_for(path: Path) -> Path:
    return path.with_name(f"{_prefix(path)}{os.urandom(4).hex()}.tmp")


def _prefix(path: Path) -> str:
    return f".holdfast-{path.name[:200]}-"


def is_temporary(name: str) -> bool:
    return _OURS.fullmatch(name) is not None


def drop(leftovers: Iterable[str | Path]) -> None:
    for leftover in leftovers:
        with contextlib.suppress(OSError):
            os.unlink(leftover)


def sweep(path: Path) -> None:
    """Removes temporary files for this path. The caller holds its lock, so no live process is writing one."""
    ours = re.compile(re.escape(_prefix(path)) + r"[0-9a-f]{8}\.tmp")
    with os.scandir(path.parent) as entries:
        stale = [entry.path for entry in entries if ours.fullmatch(entry.name)]
    drop(stale)


def sweep_abandoned(*roots: Path, deep: bool = False) -> None:
    """Removes temporary files that nobody has written to for minutes, whatever file they were for."""
    for root in roots:
        with contextlib.suppress(OSError), os.scandir(root) as entries:
            for entry in entries:
                if deep and entry.is_dir(follow_symlinks=False):
                    sweep_abandoned(Path(entry.path), deep=True)
                elif entry.name.startswith(".holdfast-") and is_temporary(entry.name) and _is_old(entry):
                    drop([entry.path])


def _is_old(entry: os.DirEntry[str]) -> bool:
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_S
