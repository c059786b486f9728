"""Replaces a whole folder atomically: after a crash either the old or the new folder is in place.

Linux and macOS exchange two folders in one step. Elsewhere the old one is renamed first; after a crash between the two
steps `recover` renames it back.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core import files
from holdfast.core.errors import NameRefused, StoreError
from holdfast.core.names import inside
from holdfast.core.place import BOUNDARY
from holdfast.core.reuse import for_same_arguments
from holdfast.core.sync_folders import sync_directory

# Every command that writes calls `recover`, so what only a swap needs is imported there.

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def swap(new: Path, place: Path) -> Path:
    """Puts `new` in place of the folder, and returns the new path of the old one."""
    with files.explained(place, "replace"):
        if _exchange(new, place):
            old = new
        else:
            old = _aside(place)
            os.rename(place, old)
            try:
                os.rename(new, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.rename(old, place)
                raise
        sync_directory(place.parent)
        if new.parent != place.parent:
            sync_directory(new.parent)
    return old


def put(new: Path, place: Path) -> None:
    """Moves `new` to a path where no folder exists."""
    with files.explained(place, "make"):
        os.rename(new, place)
        sync_directory(place.parent)


def recover(place: Path) -> None:
    """Restores a folder that was renamed and not replaced."""
    old = _aside(place)
    if not os.path.lexists(place) and old.is_dir():
        with files.explained(place, "bring back"):
            os.rename(old, place)


def remove(folder: Path) -> None:
    """Removes a folder of ours as far as possible."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def sweep(place: Path) -> None:
    """Removes what earlier attempts left beside a folder. The caller holds its locks, and the folder exists."""
    for leftover in [*place.parent.glob(f".{place.name}-stage-*"), _aside(place)]:
        if os.path.lexists(place) and leftover.is_dir():
            remove(leftover)


@contextlib.contextmanager
def staging(place: Path) -> Iterator[Path]:
    """A private temporary folder beside another, on the same disk, that is never taken for a project."""
    for folder in (place.parent.parent, place.parent):
        files.make_private(folder)
    stage = place.parent / f".{place.name}-stage-{os.urandom(4).hex()}"
    files.make_private(stage)
    try:
        yield stage
    finally:
        remove(stage)


def _aside(place: Path) -> Path:
    return place.parent / f".{place.name}-aside"


def _exchange(one: Path, other: Path) -> bool:
    """Returns False where the system or the file system cannot do this."""
    import ctypes

    names = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, _EXCHANGE) == 0)
        return bool(library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):
        return False


# Memory files are neither read nor written through links, which could lead anywhere.


@for_same_arguments
def checked(root: Path, path: Path) -> Path:
    """Returns the path if it is not a link and no link on the way leads out of the memory."""
    fix = "Replace it with the file itself"
    if path.is_symlink():
        raise StoreError(f"it is a link to {os.readlink(path)!r}", where=str(path), fix=fix)
    try:
        inside(root, path)
    except NameRefused as error:
        raise StoreError("a link on the way leads out of the memory", where=str(path), fix=fix) from error
    return path


def text_of(root: Path, path: Path) -> str:
    """The text of a memory file; '' when it does not exist. Bytes that are not UTF-8 survive a round trip."""
    return (files.read(checked(root, path)) or b"").decode("utf-8", "surrogateescape")


# A folder for temporary files.


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A temporary empty folder that only this user can read."""
    from tempfile import TemporaryDirectory

    try:
        folder = TemporaryDirectory(prefix=f"holdfast-{purpose}-", ignore_cleanup_errors=True)
    except OSError as error:
        where = str(error.filename or "")
        fix = "Set TMPDIR to a folder that you may write to"
        raise StoreError(f"no folder for temporary files: {error.strerror}", where=where, fix=fix) from error
    with folder as name:
        yield Path(name)


@contextmanager
def scratch_projects(purpose: str) -> Iterator[Path]:
    """A temporary folder for projects of its own: none above it, in TMPDIR or around it, is ever theirs."""
    with scratch(purpose) as folder:
        (folder / BOUNDARY).touch()
        yield folder
