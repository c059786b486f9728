"""Writes a plugin's folder: made anew as a whole where it differs, and never where somebody else's files are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import StoreError
from holdfast.store import files


def written(folder: Path) -> dict[str, bytes]:
    """What is in a folder, by its path there; nothing where there is none."""
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory) / name
            data = files.read(path)
            if data is not None:
                found[path.relative_to(folder).as_posix()] = data
    return found


def write(folder: Path, wanted: Mapping[str, bytes], mark: str, lock: Path) -> bool:
    """Whether anything was changed. `mark` is the file by which a folder of ours is known."""
    before = written(folder)
    if before == dict(wanted):
        return False
    if before and mark not in before:
        raise StoreError("holds other files", where=str(folder), fix="Name a folder that is empty or new")
    for name, data in wanted.items():
        if before.get(name) != data:
            files.replace(folder / name, data, lock, files.ANYTHING)
    for name in before.keys() - wanted.keys():
        (folder / name).unlink(missing_ok=True)
    return True
