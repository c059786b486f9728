"""Names that survive a power cut: a directory is synced when a file in it is new, or once after many are.

Each sync makes the disk write its journal, and an import makes dozens of names of which none is told as done before
all are. What a file holds is synced as ever.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from holdfast.core import open_files
from holdfast.core.errors import StoreError

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_waiting: ContextVar[dict[Path, None] | None] = ContextVar("waiting", default=None)


@contextmanager
def names_together() -> Iterator[None]:
    """Within, directories wait: each is synced once at the end, or when `sync_names` asks for it."""
    if _waiting.get() is not None:
        yield
        return
    token = _waiting.set({})
    try:
        try:
            yield
        finally:
            sync_names()
    finally:
        _waiting.reset(token)


def sync_names() -> None:
    """Syncs what waits. Call it before removing a file: the copy that stays must have its name by then."""
    waiting = _waiting.get() or {}
    while waiting:
        path, _ = waiting.popitem()
        try:
            with contextlib.suppress(FileNotFoundError):  # gone again: its name need not survive
                sync_directory(path)
        except OSError as error:
            problem = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise StoreError(problem, where=str(path), fix="Check the disk before trying again") from error


def new_name_in(directory: Path) -> None:
    """A name was made: it survives a power cut from now on, or from the end of `names_together` on."""
    waiting = _waiting.get()
    if waiting is None:
        sync_directory(directory)
    else:
        waiting[directory] = None


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut now, where the system can."""
    if sys.platform == "win32":
        return
    try:
        descriptor = open_files.descriptor_for(path, os.O_RDONLY | _FLAGS)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        open_files.leave(path, os.O_RDONLY | _FLAGS, descriptor)
