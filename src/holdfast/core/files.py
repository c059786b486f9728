"""The only code that writes files: locks, appends that never tear a row, atomic replacements.

Nothing here deletes a lock file: deleting one that is held would let a second holder in.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

from holdfast.core import open_files
from holdfast.core.errors import StoreError
from holdfast.core.hashes import sha256
from holdfast.core.sync_folders import new_name_in, sync
from holdfast.core.temporary_files import drop, sweep, temporary_for

ANYTHING = "anything"
"""For `replace`: overwrite the file whatever it holds now."""

_FILE_MODE = 0o666  # before the umask
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK, because opening a FIFO would wait for a writer.
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | _NOFOLLOW | _FLAGS
_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | _NOFOLLOW | _FLAGS
_NOTE_LIMIT = 1 << 20
_PAUSES = (0.001, 0.02)
_ATTEMPTS = 50
T = TypeVar("T")


class Conflict(StoreError):
    """The file has changed since the caller read it: read it again and repeat the change."""

    code = "conflict"


def until_undisturbed(attempt: Callable[[], T]) -> T:
    """Retries after a Conflict: a person may be editing the file at the same time."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()


# Error messages

_OWNER = "Check who owns it and its directory"
_SPACE = "Free some space and try again"
_IN_THE_WAY = "Move it away: a file is needed here"
_CAUSES = {
    errno.ENOSPC: ("the disk is full", _SPACE),
    errno.EDQUOT: ("the disk quota is used up", _SPACE),
    errno.EACCES: ("permission denied", _OWNER),
    errno.EPERM: ("permission denied", _OWNER),
    errno.EROFS: ("read-only file system", "Make it writable, or point HOLDFAST_HOME at a place that is"),
    errno.EISDIR: ("it is a directory", _IN_THE_WAY),
    errno.ENOTDIR: ("a part of the path is not a directory", "Move that file away"),
    errno.ELOOP: ("it is a symbolic link", "Name the file that it points to"),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter one"),
    errno.EMFILE: ("too many open files", "Raise the limit (ulimit -n) and try again"),
    errno.EFBIG: ("the file would grow too large", "Archive it, or raise the limit (ulimit -f)"),
    errno.EIO: ("the disk reported an error", "Check the disk before trying again"),
    errno.ENOLCK: ("this file system has no locks", "Point HOLDFAST_HOME at a local disk"),
}


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn an OSError into a StoreError that says what happened and what to do."""
    try:
        yield
    except OSError as error:
        raise refusal(error, str(path), f"cannot {doing}: ") from error


def refusal(error: OSError, where: str, doing: str = "") -> StoreError:
    """What the system refused, in words of ours."""
    words = (error.strerror or str(error)).lower()
    cause, fix = _CAUSES.get(error.errno or 0, (words, "Try again, or run holdfast doctor"))
    return StoreError(f"{doing}{cause}", where=where, fix=fix)


def _require_regular(mode: int) -> None:
    """Refuses links, which lead elsewhere, directories, and FIFOs and devices, which never end."""
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "symbolic link")
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "directory")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _status(path: Path) -> os.stat_result | None:
    """The status of the file, None when it does not exist; raises when it is not a regular file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    _require_regular(status.st_mode)
    return status


# Locking


class Held:
    """A lock that is held. Its file may carry a note to the next holder: a hint, never authoritative."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def note(self) -> bytes:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, _NOTE_LIMIT)

    def leave_note(self, note: bytes) -> None:
        # A full disk may lose the hint, but not the work done under the lock.
        with contextlib.suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.ftruncate(self._descriptor, os.write(self._descriptor, note))


@contextmanager
def lock(path: Path, timeout: float | None = None) -> Iterator[Held]:
    """Holds the lock file at `path`; waits without limit, or for `timeout` seconds."""
    with explained(path, "lock"):
        descriptor = _acquire(path, None if timeout is None else time.monotonic() + timeout)
    if descriptor is None:
        raise StoreError(
            f"another process has held this lock for {timeout:g} s",
            where=str(path),
            fix="Wait for it to finish and try again; do not delete the lock",
        )
    try:
        yield Held(descriptor)
    finally:
        # Closing is not enough: a child forked in the meantime shares the lock.
        _unlock(descriptor)
        open_files.leave(path, _LOCK_FLAGS, descriptor)


def _acquire(path: Path, deadline: float | None) -> int | None:
    while True:
        _make_directory(path.parent)
        descriptor = open_files.descriptor_for(path, _LOCK_FLAGS, 0o600)
        try:
            _require_regular(os.fstat(descriptor).st_mode)
            acquired = _wait_for(descriptor, deadline)
            if acquired and _is_still_at(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not acquired:
            return None


def _is_still_at(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to our lock: the file may have been deleted while we waited."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _wait_for(descriptor: int, deadline: float | None) -> bool:
    if deadline is None and _lock_blocking(descriptor):
        return True
    pause, longest = _PAUSES
    while not _try_lock(descriptor):
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, longest)
    return True


if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 30  # Windows forbids reading locked bytes, and the note is at the beginning

    def _lock_blocking(descriptor: int) -> bool:
        return False  # Windows cannot wait longer than ten seconds

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock_blocking(descriptor: int) -> bool:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# Reading


def read(path: Path) -> bytes | None:
    """The content of a regular file; None when it does not exist."""
    with explained(path, "read"):
        if open_files.is_remembering():
            try:
                status = os.stat(path)
            except FileNotFoundError:
                return None
            if (cached := open_files.remembered(path, status)) is not None:
                return cached
        appended = open_files.waiting(path, _APPEND_FLAGS)
        descriptor = _open_to_read(path) if appended is None else appended
        if descriptor is None:
            return None
        try:
            with open(descriptor, "rb", closefd=appended is None) as file:
                file.seek(0)
                status = os.fstat(descriptor)
                data = file.read()
        finally:
            if appended is not None:
                open_files.leave(path, _APPEND_FLAGS, appended)
        open_files.remember(path, status, data)
        return data


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a regular file with their line ends; none when it does not exist."""
    return iter(BytesIO(read(path) or b""))


def _open_to_read(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return None
    try:
        _require_regular(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def digest(data: bytes | None) -> str | None:
    """The hash of what `read` returned, as `replace` expects it; None for None."""
    return None if data is None else sha256(data).hexdigest()


# Appending


def append(path: Path, data: bytes, lock_path: Path, *, timeout: float | None = None) -> None:
    """Adds whole lines at the end, durably or not at all."""
    with lock(lock_path, timeout) as held:
        append_held(held, path, data)


def append_held(_held: Held, path: Path, data: bytes) -> None:
    """`append` for a caller who holds the lock already."""
    with explained(path, "append"):
        descriptor, created = _open_to_append(path)
        try:
            _append(descriptor, data)
        except BaseException:
            drop([path] if created else ())
            raise
        finally:
            open_files.leave(path, _APPEND_FLAGS, descriptor)
        if created:
            new_name_in(path.parent)


def _open_to_append(path: Path) -> tuple[int, bool]:
    if _status(path) is not None:
        return open_files.descriptor_for(path, _APPEND_FLAGS), False
    _make_directory(path.parent)
    return os.open(path, _APPEND_FLAGS | os.O_CREAT | os.O_EXCL, _FILE_MODE), True


def _append(descriptor: int, data: bytes) -> None:
    before = os.fstat(descriptor)
    _require_regular(before.st_mode)
    if before.st_size and _last_byte(descriptor) != b"\n":
        data = b"\n" + data
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
        sync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            # A program that does not use our locks may have appended too; do not cut off its bytes.
            if os.fstat(descriptor).st_size == before.st_size + written:
                os.ftruncate(descriptor, before.st_size)
        raise


def _last_byte(descriptor: int) -> bytes:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1)


# Replacing


def replace(
    path: Path, data: bytes, lock_path: Path, expected: str | None, *, timeout: float | None = None
) -> None:
    """Replaces the content of the file with `data`, completely or not at all.

    `expected` is the `digest` of what the caller read; raises Conflict when the file has changed since.
    """
    with lock(lock_path, timeout) as held:
        replace_held(held, path, data, expected)


def replace_held(_held: Held, path: Path, data: bytes, expected: str | None) -> None:
    """`replace` for a caller who holds the lock already."""
    with explained(path, "replace"):
        temporary = temporary_for(path)
        try:
            mark = _stage(path, temporary, data, expected, alone=True)
            os.replace(temporary, path)
            open_files.remember_written(path, data, mark)
        except BaseException:
            drop([temporary])
            raise
        new_name_in(path.parent)


def _as_expected(path: Path, expected: str | None) -> os.stat_result | None:
    before = _status(path)
    if expected != ANYTHING and digest(read(path)) != expected:
        fix = "Read it again and repeat the change"
        raise Conflict("it has been changed by someone else", where=str(path), fix=fix)
    return before


def replace_all_held(
    _held: Held, contents: Mapping[Path, tuple[bytes, str | None]], *, new_may_be_lost: bool = False
) -> None:
    """`replace_held` for many files, each replaced completely or not at all: data and expected digest of each.

    New files that can be recreated need not wait for the disk: a power cut may leave an empty one.
    """
    temporaries: dict[Path, Path] = {}
    marks: dict[Path, int | None] = {}
    try:
        for path, (data, expected) in contents.items():
            with explained(path, "replace"):
                temporaries[path] = temporary_for(path)
                marks[path] = _stage(path, temporaries[path], data, expected, alone=False)
        for path, temporary in temporaries.items():
            if not (new_may_be_lost and contents[path][1] is None):
                with explained(path, "replace"):
                    _sync_file(temporary)
        for path, temporary in temporaries.items():
            with explained(path, "replace"):
                os.replace(temporary, path)
                open_files.remember_written(path, contents[path][0], marks[path])
    except BaseException:
        drop(temporaries.values())
        raise
    for folder in {path.parent for path in contents}:
        with explained(folder, "replace"):
            new_name_in(folder)


def _stage(path: Path, temporary: Path, data: bytes, expected: str | None, *, alone: bool) -> int | None:
    """Writes the new content to a temporary file, if the file is still what the caller read."""
    before = _as_expected(path, expected)
    _make_directory(path.parent)
    if alone:
        sweep(path)
    return _write_new(temporary, data, before, durable=alone)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | _FLAGS)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, data: bytes, like: os.stat_result | None, *, durable: bool = True) -> int | None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600 if like else _FILE_MODE)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if like is not None:
            _take_after(path, like)
        mark = open_files.mark_written(file.fileno())
        if durable:
            sync(file.fileno())
    return mark


def _take_after(path: Path, like: os.stat_result) -> None:
    """Copies the mode and, where permitted, the owner of the replaced file."""
    if sys.platform != "win32" and (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.chown(path, like.st_uid, like.st_gid)
    os.chmod(path, stat.S_IMODE(like.st_mode))


def open_to_read(path: Path) -> BinaryIO | None:
    """Opens a regular file that is too large to read at once; None when it does not exist."""
    with explained(path, "read"):
        descriptor = _open_to_read(path)
        return None if descriptor is None else open(descriptor, "rb")


def open_new(path: Path, mode: int = _FILE_MODE) -> BinaryIO:
    """Creates a file that must not exist yet; `finish` makes it durable."""
    with explained(path, "write"):
        _make_directory(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _FLAGS
        return open(os.open(path, flags, mode), "w+b")


def finish(file: BinaryIO) -> None:
    file.flush()
    sync(file.fileno())


def make_private(path: Path) -> None:
    """Creates a folder that only this user can read. An existing one keeps its mode."""
    with explained(path, "make"):
        if not path.is_dir():
            _make_directory(path.parent)
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
                new_name_in(path.parent)


def _make_directory(path: Path) -> None:
    if path.is_dir():
        return
    _make_directory(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        new_name_in(path.parent)


def discard(paths: Iterable[Path]) -> None:
    """Removes files so that a power cut does not bring them back."""
    emptied: dict[Path, Path] = {}
    for path in paths:
        with explained(path, "remove"), contextlib.suppress(FileNotFoundError):
            path.unlink()
            emptied[path.parent] = path
    for folder, path in emptied.items():
        with explained(path, "remove"):
            new_name_in(folder)
