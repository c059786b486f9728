"""What this user trusts of what came from elsewhere: lessons in git, and archives of other machines.

Both are used only after a person has agreed to their content. Stored outside every repository, one file per project, by
content hash: any change revokes the trust.
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
_KEPT = 50  # contents per name: branches may differ, and switching back must not ask again


class Given(Struct, frozen=True):
    """One agreement: `share` if this machine wrote the content itself, `trust` if a person reviewed it."""

    hash: str
    at: float
    by: Literal["share", "trust"]


class _TrustFile(Struct):
    format: int = FORMAT
    lessons: dict[str, list[Given]] = {}
    archives: dict[str, Given] = {}


def content_hash(data: bytes) -> str:
    """The hash of the text, whatever its line endings: a checkout may change them."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


class Trust:
    """The agreements of one project, read once."""

    def __init__(self, home: Path, project: Project) -> None:
        self._path = home / "trust" / f"{project.memory.name}.json"
        self._lock = home / "locks" / "trust.lock"
        read = self._read()
        self._given, self._archives = read.lessons, read.archives

    def given(self, name: str, data: bytes) -> Given | None:
        """The agreement to exactly this content under this name; None if there is none."""
        digest = content_hash(data)
        return next((agreement for agreement in self._given.get(name, ()) if agreement.hash == digest), None)

    def ever(self, name: str) -> bool:
        """Whether any content of this name was trusted: if not this one, the lesson has changed since."""
        return bool(self._given.get(name))

    def has_archive(self, hash: str) -> bool:
        """Whether a person agreed to an archive with exactly this content."""
        return hash in self._archives

    def give_archive(self, hash: str, at: float) -> None:
        def give(trust_file: _TrustFile) -> None:
            trust_file.archives[hash] = Given(hash, at, "trust")

        self._change(give)

    def names(self) -> list[str]:
        return list(self._given)

    def give(self, contents: Mapping[str, bytes], at: float, by: Literal["share", "trust"]) -> None:
        def give(trust_file: _TrustFile) -> None:
            lessons = trust_file.lessons
            for name, data in contents.items():
                agreement = Given(content_hash(data), at, by)
                others = [entry for entry in lessons.get(name, ()) if entry.hash != agreement.hash]
                lessons[name] = [*others, agreement][-_KEPT:]

        self._change(give)

    def revoke(self, names: Iterable[str]) -> None:
        def revoke(trust_file: _TrustFile) -> None:
            for name in names:
                trust_file.lessons.pop(name, None)

        self._change(revoke)

    def _change(self, change: Callable[[_TrustFile], None]) -> None:
        files.make_private(self._path.parent.parent)
        files.make_private(self._path.parent)
        with files.lock(self._lock) as held:
            trust_file = self._read()
            change(trust_file)
            files.replace_held(held, self._path, encode_json(trust_file, indent=1), files.ANYTHING)
        self._given, self._archives = trust_file.lessons, trust_file.archives

    def _read(self) -> _TrustFile:
        if self._path.is_symlink():
            raise StoreError("it is a link", where=str(self._path), fix="Move it away; then trust again")
        return decode_json(files.read(self._path), _TrustFile, self._path, "Delete it; then trust again")
