"""A folder as the transport: a USB stick, a network drive, or what another program keeps equal on two machines.

<folder>/holdfast/<project>/<author>/<machine>/<name>.pack
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holdfast.core import files
from holdfast.core.sync_folders import new_name_in
from holdfast.sync.transport import LARGEST_PACK, NAME, PLACE, SyncError, name_of

_SUFFIX = ".pack"
_TEMPORARY = ".holdfast-"
_OLD_S = 86_400.0


class Folder:
    """`project` names the project in the folder, which may hold those of others."""

    def __init__(self, folder: Path, project: str) -> None:
        self.shown = str(folder)
        self._folder = folder
        self._root = folder / "holdfast" / project

    def state(self) -> str:
        return ""

    def packs(self) -> dict[tuple[str, str], int]:
        self._require()
        found = {}
        for place in self._places():
            with self._explained("read"):
                entries = list(os.scandir(self._root / place))
            for entry in entries:
                name = entry.name.removesuffix(_SUFFIX)
                if (
                    entry.name.endswith(_SUFFIX)
                    and NAME.fullmatch(name)
                    and entry.is_file(follow_symlinks=False)
                ):
                    found[place, name] = entry.stat(follow_symlinks=False).st_size
        return found

    def _places(self) -> Iterator[str]:
        for author in self._names(self._root):
            for machine in self._names(self._root / author):
                if PLACE.fullmatch(place := f"{author}/{machine}"):
                    yield place

    def _names(self, folder: Path) -> list[str]:
        if not folder.is_dir() or folder.is_symlink():
            return []
        with self._explained("read"):
            return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        self._require()
        for place, name in wanted:
            path = self._root / place / f"{name}{_SUFFIX}"
            with self._explained("read"):
                try:
                    if path.is_symlink() or path.stat().st_size > LARGEST_PACK:
                        continue
                    data = path.read_bytes()
                except FileNotFoundError:
                    continue
            if name_of(data) == name:  # else it is not copied as a whole yet
                yield (place, name), data

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        self._require()
        folder = self._root / place
        with self._explained("written"):
            folder.mkdir(parents=True, exist_ok=True)
            for name, data in add.items():
                self._put(folder, name, data)
            for name in drop:
                (folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)
            self._sweep(folder)
            new_name_in(folder)

    def _put(self, folder: Path, name: str, data: bytes) -> None:
        target = folder / f"{name}{_SUFFIX}"
        try:
            if name_of(target.read_bytes()) == name:
                return
        except FileNotFoundError:
            pass
        temporary = folder / f"{_TEMPORARY}{os.getpid()}-{name}.tmp"
        temporary.unlink(missing_ok=True)
        with files.open_new(temporary, 0o600) as file:
            file.write(data)
            files.finish(file)
        os.replace(temporary, target)
        new_name_in(folder)

    def _sweep(self, folder: Path) -> None:
        """Removes what a crash left half written, once nobody can be writing it any more."""
        now = max((entry.stat().st_mtime for entry in os.scandir(folder)), default=0.0)
        for entry in os.scandir(folder):
            if entry.name.startswith(_TEMPORARY) and now - entry.stat().st_mtime > _OLD_S:
                os.unlink(entry.path)

    def _require(self) -> None:
        if not self._folder.is_dir():
            raise SyncError(
                "there is no such folder",
                where=self.shown,
                fix="Plug the drive in or make the folder; what is here waits until then",
            )

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Turns an error of the disk into one line that names the target."""
        try:
            yield
        except OSError as error:
            raise SyncError(
                f"it cannot be {doing}: {(error.strerror or str(error)).lower()}",
                where=self.shown,
                fix="Nothing is lost; run holdfast sync again when it can",
            ) from error
