"""Changes hosts' own configuration files so that they can be undone to the byte.

Beside the change a record is kept: the file as it was, and the hash of what we made of it.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.errors import StoreError
from holdfast.store import files


class Record(Struct, frozen=True, kw_only=True):
    """`before` is None where there was no file."""

    path: str
    before: bytes | None
    after: str
    made_directory: bool = False  # as written before several could be made at once
    made: tuple[str, ...] = ()  # directories, the innermost first


class HostFiles:
    """The host files changed by this user, under `~/.holdfast/hosts/`."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def put(self, path: Path, before: bytes | None, after: bytes) -> None:
        """Writes `after` in the place of `before`. A file that was changed by us already keeps its first record."""
        known = self.record(path)
        first = before
        if known is not None and known.after == files.digest(before):
            first = known.before
        made = tuple(str(folder) for folder in _missing(path.parent))
        if known is not None:
            made += known.made or ((str(path.parent),) if known.made_directory else ())
        entry = Record(path=str(path), before=first, after=files.digest(after) or "", made=made)
        # The record comes first: should we be killed in between, its hash does not fit and nothing is undone blindly.
        self._keep(path, entry)
        files.replace(path, after, self._lock(path), files.digest(before))

    def undo(self, path: Path) -> bool:
        """Puts back what was there; False when the file has changed since, or when we know of no change."""
        known = self.record(path)
        current = files.read(path)
        if known is None or current is None or files.digest(current) != known.after:
            return False
        if known.before is not None:
            files.replace(path, known.before, self._lock(path), known.after)
        else:
            self._remove(path, known)
        self.forget(path)
        return True

    def remove(self, path: Path, before: bytes) -> None:
        """Takes away a file that is ours alone, and the directories that were made for it."""
        known = self.record(path)
        with files.lock(self._lock(path)):
            if files.read(path) == before:
                path.unlink()
        _leave(known.made if known is not None else ())

    def before(self, path: Path) -> bytes | None:
        """What `undo` would put back; None when it would remove the file, or do nothing."""
        known = self.record(path)
        return known.before if known is not None else None

    def undoable(self, path: Path) -> bool:
        known = self.record(path)
        return known is not None and files.digest(files.read(path)) == known.after

    def record(self, path: Path) -> Record | None:
        data = files.read(self._record(path))
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Record)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"is not a record of a change: {error}",
                where=str(self._record(path)),
                fix="Delete it; holdfast then removes its own entries only",
            ) from error

    def paths(self) -> list[Path]:
        """The files that we changed and have not undone, in whatever repository; a broken record names none."""
        found = []
        for record in sorted((self.home / "hosts").glob("*.json")):
            with contextlib.suppress(msgspec.MsgspecError, StoreError):
                found.append(Path(msgspec.json.decode(files.read(record) or b"", type=Record).path))
        return found

    def forget(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._record(path).unlink()

    def _remove(self, path: Path, known: Record) -> None:
        with files.lock(self._lock(path)):
            if files.digest(files.read(path)) == known.after:
                path.unlink()
        _leave(known.made or ((str(path.parent),) if known.made_directory else ()))

    def _keep(self, path: Path, entry: Record) -> None:
        files.replace(self._record(path), msgspec.json.encode(entry), self._lock(path), files.ANYTHING)

    def _record(self, path: Path) -> Path:
        return self.home / "hosts" / f"{self._name(path)}.json"

    def _lock(self, path: Path) -> Path:
        return self.home / "hosts" / "locks" / f"{self._name(path)}.lock"

    @staticmethod
    def _name(path: Path) -> str:
        return f"{path.stem[:40]}-{blake2b(os.fsencode(path), digest_size=6).hexdigest()}"


def _missing(folder: Path) -> list[Path]:
    """The folders that would have to be made for this one, itself first."""
    found = []
    while not folder.is_dir() and folder != folder.parent:
        found.append(folder)
        folder = folder.parent
    return found


def _leave(folders: tuple[str, ...]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:  # others have put something there
            return
