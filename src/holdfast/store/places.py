"""Files of the memory are neither read nor written through links: one could lead anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.errors import NameRefused, StoreError
from holdfast.guard.names import inside
from holdfast.store import files


def checked(root: Path, path: Path) -> Path:
    """The path, if it is no link and no link on the way leads out of the memory."""
    fix = "Move it away and put the file itself there"
    if path.is_symlink():
        raise StoreError(f"it is a link to {os.readlink(path)!r}", where=str(path), fix=fix)
    try:
        inside(root, path)
    except NameRefused as error:
        raise StoreError("a link on the way leads out of the memory", where=str(path), fix=fix) from error
    return path


def text_of(root: Path, path: Path) -> str:
    """What a file of the memory holds; '' when there is none. Bytes that are no UTF-8 pass through unharmed."""
    return (files.read(checked(root, path)) or b"").decode("utf-8", "surrogateescape")
