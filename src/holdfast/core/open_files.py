"""Caches the files that a command opens and reads, so that it opens each file only once.

A cached content is used only while the file's inode, size and times are unchanged. A kernel stamps changes with a
coarse clock, so two changes within a tick look the same: a file that has just changed is not cached, and a file that we
write gets a time of finer grain, which no later change can have.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from holdfast.core.hashes import blake2b

MARK_BYTES = 1024  # enough to notice that a path holds another file than before
_LARGEST = 8 << 20
_MOST_OPEN = 24
_SETTLED_NS = 100_000_000  # longer than a tick of any kernel
_SETTLED_COARSE_NS = 2_500_000_000  # where times have no microseconds: FAT has a resolution of two seconds

_READ_FLAGS = os.O_RDONLY
for _name in ("O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):  # not every system has each
    _READ_FLAGS |= getattr(os, _name, 0)

Stamp = tuple[int, int, int, int, int]


class _Opened:
    def __init__(self) -> None:
        self.contents: dict[str, tuple[Stamp, bytes]] = {}
        self.descriptors: dict[tuple[str, int], int] = {}


# One per thread: two threads that shared the descriptor of a lock would both hold it.
_opened: ContextVar[_Opened | None] = ContextVar("opened", default=None)


@contextlib.contextmanager
def opened_once() -> Iterator[None]:
    """Within this context, files are read again only when they change, and descriptors stay open for reuse."""
    if _opened.get() is not None:
        yield
        return
    opened = _Opened()
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)
        for descriptor in opened.descriptors.values():
            os.close(descriptor)


def is_remembering() -> bool:
    return _opened.get() is not None


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def remembered(path: Path, status: os.stat_result) -> bytes | None:
    """The cached content of the file with this status; None when it must be read."""
    opened = _opened.get()
    cached = opened.contents.get(os.fspath(path)) if opened else None
    return cached[1] if cached is not None and cached[0] == stamp_of(status) else None


def remember(path: Path, status: os.stat_result, data: bytes) -> None:
    """Caches `data`; `status` was taken before `data` was read."""
    opened = _opened.get()
    if opened is None or len(data) > _LARGEST:
        return
    wait = _SETTLED_NS if status.st_mtime_ns % 1_000_000 else _SETTLED_COARSE_NS
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > wait and status.st_size == len(data):
        opened.contents[os.fspath(path)] = stamp_of(status), data


def mark_written(descriptor: int) -> int | None:
    """Gives a new file, still under its temporary name, a unique time for `remember_written` to check."""
    if _opened.get() is None or os.utime not in os.supports_fd:
        return None
    now = time.time_ns()
    with contextlib.suppress(OSError):
        os.utime(descriptor, ns=(now, now))
    return now


def remember_written(path: Path, data: bytes, mark: int | None) -> None:
    """Caches a file that was just moved into place, unless its time is not ours or the disk truncated it."""
    opened = _opened.get()
    if opened is None:
        return
    opened.contents.pop(os.fspath(path), None)
    with contextlib.suppress(OSError):
        status = os.lstat(path)  # the rename has changed its ctime
        if len(data) <= _LARGEST and (status.st_mtime_ns, status.st_size) == (mark, len(data)):
            opened.contents[os.fspath(path)] = stamp_of(status), data


def descriptor_for(path: Path, flags: int, mode: int = 0o777) -> int:
    """An open descriptor: one kept by `leave`, if the path still leads to its file, or a new one."""
    descriptor = waiting(path, flags)
    return os.open(path, flags, mode) if descriptor is None else descriptor


def waiting(path: Path, flags: int) -> int | None:
    """A descriptor kept by `leave`, if the path still leads to its file; the caller passes it to `leave` again."""
    opened = _opened.get()
    descriptor = opened.descriptors.pop((os.fspath(path), flags), None) if opened else None
    if descriptor is not None:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(path), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)
    return None


def part_of(path: Path, start: int, size: int) -> bytes:
    """Reads `size` bytes of a file that may be large, and keeps it open for the next part."""
    descriptor = descriptor_for(path, _READ_FLAGS)
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        parts = []
        while size > 0 and (part := os.read(descriptor, size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
    finally:
        leave(path, _READ_FLAGS, descriptor)


def marks_of(path: Path, position: int) -> bytes:
    """Hashes of the start of a file and of the bytes before a position, to detect another file at its path."""
    start = part_of(path, 0, min(position, MARK_BYTES))
    end = part_of(path, max(position - MARK_BYTES, 0), min(position, MARK_BYTES))
    return blake2b(start, digest_size=8).digest() + blake2b(end, digest_size=8).digest()


def leave(path: Path, flags: int, descriptor: int) -> None:
    """Keeps a descriptor for its next use, or closes it."""
    opened = _opened.get()
    if opened is None or os.name == "nt":  # Windows cannot replace or remove an open file
        os.close(descriptor)
        return
    previous = opened.descriptors.pop((os.fspath(path), flags), None)
    if previous is not None:
        os.close(previous)
    elif len(opened.descriptors) >= _MOST_OPEN:
        os.close(opened.descriptors.pop(next(iter(opened.descriptors))))
    opened.descriptors[os.fspath(path), flags] = descriptor
