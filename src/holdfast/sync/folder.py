"""A folder as the transport: a USB stick, a network drive, or what another program keeps equal on two machines.

<folder>/holdfast/<project>/<author>/<machine>/<name>.pack
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.hashes import sha256
from holdfast.core.reading import NotAFile, open_regular
from holdfast.core.sync_folders import names_together, new_name_in, sync, sync_names
from holdfast.core.temporary_files import drop as remove_files
from holdfast.sync.transport import LARGEST_PACK, NAME, PLACE, SUFFIX, SyncError, name_of

_TEMPORARY = ".holdfast-"
_OLD_S = 86_400.0
_LATER = "Nothing is lost; run holdfast sync again when it can"


class Folder:
    """`project` names the project in the folder, which may hold those of others."""

    def __init__(self, folder: Path, project: str) -> None:
        self.shown = str(folder)
        self._folder = folder
        self._root = folder / "holdfast" / project

    def state(self) -> str:
        with self._open():
            packs = sorted((path, status.st_size, status.st_mtime_ns) for path, status in self._listed())
        return sha256(repr(packs).encode()).hexdigest()

    def packs(self) -> dict[tuple[str, str], int]:
        with self._open():
            return {pack: status.st_size for pack, status in self._listed()}

    def _listed(self) -> Iterator[tuple[tuple[str, str], os.stat_result]]:
        for author in _folders_in(self._root):
            for machine in _folders_in(self._root / author):
                if PLACE.fullmatch(place := f"{author}/{machine}"):
                    for name, status in _packs_in(self._root / place):
                        yield (place, name), status

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        for place, name in wanted:
            with self._open():
                data = _read(self._root / place / f"{name}{SUFFIX}")
            if data and name_of(data) == name:  # else it is not copied as a whole yet
                yield (place, name), data

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        with self._open(), names_together():
            folder = self._root / place
            others = 0o070 & self._folder.stat().st_mode if self._is_shared() else 0
            for part in (self._root.parent, self._root, folder.parent, folder):
                _make(part, 0o700 | others)
            for name, data in add.items():
                _put(folder, name, data, 0o600 | (others & 0o060))
            sync_names()
            for name in drop:
                (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
            _sweep(folder)
            new_name_in(folder)

    def _is_shared(self) -> bool:
        """Whether the folder's owner lets its group write: then they may read what we write, too."""
        return os.name != "nt" and bool(self._folder.stat().st_mode & stat.S_IWGRP)

    def _here(self) -> tuple[int, int]:
        try:
            status = self._folder.stat()
            is_folder = stat.S_ISDIR(status.st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
        except OSError as error:
            problem = files.refusal(error, "").problem
            raise SyncError(problem, where=self.shown, fix=_LATER) from error
        if not is_folder:
            raise SyncError(
                "there is no such folder",
                where=self.shown,
                fix=f"Connect the drive, or create it: mkdir -p {self.shown}. Nothing here is lost",
            )
        return status.st_dev, status.st_ino

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Turns an error of the disk into one line that names the target.

        A drive that is pulled out leaves an empty folder behind, which must not look like one without packs.
        """
        drive = self._here()
        try:
            yield
        except OSError as error:
            self._here()
            path = os.fspath(error.filename or "") if isinstance(error.filename, str | os.PathLike) else ""
            problem = files.refusal(error, "").problem
            raise SyncError(problem, where=path or self.shown, fix=_LATER) from error
        except StoreError as error:
            raise SyncError(error.problem, where=error.where or self.shown, fix=_LATER) from error
        if self._here() != drive:
            raise SyncError("the drive was removed", where=self.shown, fix=_LATER)


def _folders_in(folder: Path) -> list[str]:
    """The folders in one; links are not followed, they may lead anywhere."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _packs_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """What may be a pack: a regular file that is neither empty nor too large, under a pack's name."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.removesuffix(SUFFIX)
            if not entry.name.endswith(SUFFIX) or not NAME.fullmatch(name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # just dropped
                continue
            if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= LARGEST_PACK:
                yield name, status


def _read(path: Path) -> bytes | None:
    """The bytes of a regular file; None for anything else that may lie there."""
    try:
        if path.parent.is_symlink() or path.is_symlink():
            return None
        descriptor = open_regular(path, follow=False)
    except (FileNotFoundError, NotADirectoryError, NotAFile):
        return None
    with open(descriptor, "rb") as file:
        data = file.read(LARGEST_PACK + 1)
    return data if len(data) <= LARGEST_PACK else None


def _make(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        if folder.is_symlink():
            raise OSError(0, "it is a link", os.fspath(folder)) from None
        return
    if mode & 0o070:
        folder.chmod(mode | (folder.stat().st_mode & stat.S_ISGID))  # whatever the umask says
    new_name_in(folder.parent)


def _put(folder: Path, name: str, data: bytes, mode: int) -> None:
    target = folder / f"{name}{SUFFIX}"
    if _read(target) == data:
        return
    temporary = folder / f"{_TEMPORARY}{os.getpid()}-{name}.tmp"
    remove_files([temporary])
    try:
        with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.write(data)
            file.flush()
            if mode & 0o060:
                temporary.chmod(mode)
            sync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        remove_files([temporary])
        raise
    new_name_in(folder)


def _sweep(folder: Path) -> None:
    """Removes what a crash left half written, once nobody can be writing it any more."""
    newest = folder.stat().st_mtime
    for path in folder.glob(f"{_TEMPORARY}*.tmp"):
        with contextlib.suppress(OSError):  # a process that lives has just put it in its place
            if newest - path.lstat().st_mtime > _OLD_S:
                path.unlink()
