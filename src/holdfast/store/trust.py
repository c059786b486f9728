"""Which lessons of a repository this user trusts: they count only once a person agreed to their content.

Kept outside every repository, one file for each project; by content, so that any change revokes the trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.hashes import sha256
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.project import Project

FORMAT = 1
_KEPT = 50  # contents of one name: branches may differ, and going back and forth must not ask again


class Given(Struct, frozen=True):
    """One agreement: `share` when this machine wrote the content itself, `trust` when a person was shown it."""

    hash: str
    at: float
    by: Literal["share", "trust"]


class _TrustFile(Struct):
    format: int = FORMAT
    lessons: dict[str, list[Given]] = {}


def content_hash(data: bytes) -> str:
    """The same for the same text: a checkout may change line ends."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


class Trust:
    """What was agreed to for one project, read once."""

    def __init__(self, home: Path, project: Project) -> None:
        self._path = home / "trust" / f"{project.memory.name}.json"
        self._lock = home / "locks" / "trust.lock"
        self._given = self._read().lessons

    def given(self, name: str, data: bytes) -> Given | None:
        """The agreement to exactly this content under this name; None when there is none."""
        wanted = content_hash(data)
        return next((given for given in self._given.get(name, ()) if given.hash == wanted), None)

    def ever(self, name: str) -> bool:
        """Whether another content of this name was agreed to: it has changed since."""
        return bool(self._given.get(name))

    def names(self) -> list[str]:
        return list(self._given)

    def give(self, contents: Mapping[str, bytes], at: float, by: Literal["share", "trust"]) -> None:
        def give(lessons: dict[str, list[Given]]) -> None:
            for name, data in contents.items():
                new = Given(content_hash(data), at, by)
                others = [given for given in lessons.get(name, ()) if given.hash != new.hash]
                lessons[name] = [*others, new][-_KEPT:]

        self._change(give)

    def revoke(self, names: Iterable[str]) -> None:
        def revoke(lessons: dict[str, list[Given]]) -> None:
            for name in names:
                lessons.pop(name, None)

        self._change(revoke)

    def _change(self, change: Callable[[dict[str, list[Given]]], None]) -> None:
        files.make_private(self._path.parent.parent)
        files.make_private(self._path.parent)
        with files.lock(self._lock) as held:
            written = self._read()
            change(written.lessons)
            files.replace_held(held, self._path, encode_json(written, indent=1), files.ANYTHING)
        self._given = written.lessons

    def _read(self) -> _TrustFile:
        if self._path.is_symlink():
            raise StoreError("it is a link", where=str(self._path), fix="Move it away; then trust anew")
        return decode_json(files.read(self._path), _TrustFile, self._path, "Delete it; then trust anew")
