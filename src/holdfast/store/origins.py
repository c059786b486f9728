"""Which archives a memory was restored from, and what came with each: `<memory>/origins.json`, bound to this machine.

Sessions and ids are kept as hashes, so that what is forgotten is not named here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.hashes import blake2b
from holdfast.model.origin import Origin
from holdfast.store.json_files import decode_json, encode_json

NAME = "origins.json"
_FIX = "Delete it: restored content then counts as this machine's own"


class TakenIn(Struct, frozen=True, kw_only=True):
    """An archive whose contents are in this memory. `keys` are hashes of the sessions and ids that came with it."""

    hash: str
    origin: Origin
    title: str
    made: str
    at: float
    keys: tuple[str, ...] = ()


class _Origins(Struct):
    format: int = 1
    archives: list[TakenIn] = []


class Origins:
    """The origins of one memory, read once."""

    def __init__(self, memory: Path) -> None:
        self._path = memory / NAME
        self.archives = self._read().archives
        self._by_key = {key: archive for archive in self.archives for key in archive.keys}

    def archive_of(self, *names: str) -> TakenIn | None:
        """The archive that one of these sessions or ids came with; None if it is of this machine alone."""
        if not self._by_key:
            return None
        return next(
            (self._by_key[key] for name in names if name and (key := key_of(name)) in self._by_key), None
        )

    def origin(self, id: str = "", session: str = "") -> Origin:
        """Where an item comes from: the archive that it came with, else a session of this machine or a person."""
        archive = self.archive_of(id, session)
        return archive.origin if archive is not None else "session" if session else "person"

    def is_foreign(self, session: str) -> bool:
        """Whether a session was recorded on another machine."""
        archive = self.archive_of(session)
        return archive is not None and archive.origin == "other_archive"

    def _read(self) -> _Origins:
        return decode_json(files.read(self._path), _Origins, self._path, _FIX)


def key_of(name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def add_archive(memory: Path, lock: Path, archive: TakenIn, names: Iterable[str]) -> None:
    """Notes an archive and what came with it, beside what is noted of it already: a restore may have died.

    What was in this memory before keeps its origin.
    """
    path = memory / NAME
    with files.lock(lock) as held:
        before = Origins(memory)
        known = {key for other in before.archives if other.hash == archive.hash for key in other.keys}
        keys = tuple(sorted(known.union(key_of(name) for name in names if name)))
        noted = TakenIn(
            hash=archive.hash,
            origin=archive.origin,
            title=archive.title,
            made=archive.made,
            at=archive.at,
            keys=keys,
        )
        others = [other for other in before.archives if other.hash != archive.hash]
        files.replace_held(
            held, path, encode_json(_Origins(archives=[*others, noted]), indent=0), files.ANYTHING
        )
