"""What one command has open and has read, so that it opens a file once, however many parts of it ask.

Contents are given again only while the file's inode, size and times are those of the content. A kernel stamps changes
by a coarse clock, so two changes within a tick look alike: a file that has just changed is not remembered, and one that
we write ourselves gets a time of finer grain, which no later change can have.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_LARGEST = 8 << 20
_MOST_OPEN = 24
_SETTLED_NS = 100_000_000  # longer than a tick of any kernel
_SETTLED_COARSE_NS = 2_500_000_000  # where times have no microseconds: FAT counts in steps of two seconds

_READ_FLAGS = os.O_RDONLY
for _name in ("O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):  # not every system has each
    _READ_FLAGS |= getattr(os, _name, 0)

Stamp = tuple[int, int, int, int, int]


class _Opened:
    def __init__(self) -> None:
        self.contents: dict[str, tuple[Stamp, bytes]] = {}
        self.descriptors: dict[tuple[str, int], int] = {}


# A thread has its own: two that shared the descriptor of a lock would both hold it.
_opened: ContextVar[_Opened | None] = ContextVar("opened", default=None)


@contextlib.contextmanager
def opened_once() -> Iterator[None]:
    """Within, files that were read are not read again until they change, and descriptors wait for their next use."""
    if _opened.get() is not None:
        yield
        return
    own = _Opened()
    token = _opened.set(own)
    try:
        yield
    finally:
        _opened.reset(token)
        for descriptor in own.descriptors.values():
            os.close(descriptor)


def is_remembering() -> bool:
    return _opened.get() is not None


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def remembered(path: Path, status: os.stat_result) -> bytes | None:
    """What the file holds that has this status; None when that must be read."""
    own = _opened.get()
    known = own.contents.get(os.fspath(path)) if own else None
    return known[1] if known is not None and known[0] == stamp_of(status) else None


def remember(path: Path, status: os.stat_result, data: bytes) -> None:
    """`status` was taken before `data` was read."""
    own = _opened.get()
    if own is None or len(data) > _LARGEST:
        return
    wait = _SETTLED_NS if status.st_mtime_ns % 1_000_000 else _SETTLED_COARSE_NS
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > wait and status.st_size == len(data):
        own.contents[os.fspath(path)] = stamp_of(status), data


def mark_written(descriptor: int) -> int | None:
    """Gives a new file, still under its temporary name, a time of its own for `remember_written` to check."""
    if _opened.get() is None or os.utime not in os.supports_fd:
        return None
    now = time.time_ns()
    with contextlib.suppress(OSError):
        os.utime(descriptor, ns=(now, now))
    return now


def remember_written(path: Path, data: bytes, mark: int | None) -> None:
    """The file is in its place. One whose time is not ours, or was cut to what the disk can hold, is read again."""
    own = _opened.get()
    if own is None:
        return
    own.contents.pop(os.fspath(path), None)
    with contextlib.suppress(OSError):
        status = os.lstat(path)  # the renaming has changed its ctime
        if len(data) <= _LARGEST and (status.st_mtime_ns, status.st_size) == (mark, len(data)):
            own.contents[os.fspath(path)] = stamp_of(status), data


def descriptor_for(path: Path, flags: int, mode: int = 0o777) -> int:
    """An open descriptor: one that was left with `leave`, if the path still leads to its file, or a new one."""
    known = waiting(path, flags)
    return os.open(path, flags, mode) if known is None else known


def waiting(path: Path, flags: int) -> int | None:
    """One that was left, if the path still leads to its file; the caller leaves it again."""
    own = _opened.get()
    known = own.descriptors.pop((os.fspath(path), flags), None) if own else None
    if known is not None:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(path), os.fstat(known)):
                return known
        os.close(known)
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


def leave(path: Path, flags: int, descriptor: int) -> None:
    """The caller is done with it: it waits for the next one who wants it, or is closed."""
    own = _opened.get()
    if own is None or os.name == "nt":  # there an open file cannot be replaced or removed
        os.close(descriptor)
        return
    before = own.descriptors.pop((os.fspath(path), flags), None)
    if before is not None:
        os.close(before)
    elif len(own.descriptors) >= _MOST_OPEN:
        os.close(own.descriptors.pop(next(iter(own.descriptors))))
    own.descriptors[os.fspath(path), flags] = descriptor
