"""Makes new file names survive a power cut: syncs a directory after each new file, or once after many.

Each sync makes the disk write its journal, and an import creates dozens of files before it reports success. The
contents of files are always synced.
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
_discarding: ContextVar[bool] = ContextVar("discarding", default=False)


@contextmanager
def to_be_discarded() -> Iterator[None]:
    """Within this context nothing is synced: what is written is deleted at the end."""
    token = _discarding.set(True)
    try:
        yield
    finally:
        _discarding.reset(token)


def is_discarding() -> bool:
    return _discarding.get()


def sync(descriptor: int) -> None:
    """Makes the content of an open file survive a power cut."""
    if not _discarding.get():
        os.fsync(descriptor)


@contextmanager
def names_together() -> Iterator[None]:
    """Within this context, each directory is synced once at the end, or by `sync_names`."""
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
    """Syncs pending directories. Call it before removing a file: the remaining copy must have a durable name."""
    waiting = _waiting.get() or {}
    while waiting:
        path, _ = waiting.popitem()
        try:
            with contextlib.suppress(FileNotFoundError):  # removed since: its name need not survive
                sync_directory(path)
        except OSError as error:
            problem = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise StoreError(problem, where=str(path), fix="Check the disk before trying again") from error


def new_name_in(directory: Path) -> None:
    """Makes a new name durable, or the absence of a removed one, now or at the end of `names_together`."""
    waiting = _waiting.get()
    if waiting is None:
        sync_directory(directory)
    else:
        waiting[directory] = None


def sync_directory(path: Path) -> None:
    """Makes the names in a directory survive a power cut, where the system supports it."""
    if sys.platform == "win32" or _discarding.get():
        return
    try:
        descriptor = open_files.descriptor_for(path, os.O_RDONLY | _FLAGS)
    except PermissionError:
        return
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        open_files.leave(path, os.O_RDONLY | _FLAGS, descriptor)
