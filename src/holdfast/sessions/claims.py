"""Which source counts a line: histories are copied when a session is resumed or forked, and each line counts once."""

from __future__ import annotations

from collections.abc import Sequence
from struct import unpack

from holdfast.core.hashes import blake2b
from holdfast.sessions.store import MOST_IN_MEMORY, CaptureStore


class ClaimRun:
    """What one import has claimed so far. What was stored before is looked up only where there is such."""

    def __init__(self, store: CaptureStore) -> None:
        self.store = store
        self.owners: dict[str, int] = {}
        self.look_up = store.claims_exist()

    def stored_owner(self, key: str) -> int | None:
        return self.store.claimed_by(_numbers([key])[0]) if self.look_up else None

    def rest(self) -> None:
        """Called when all claims are stored: a long import need not hold them in memory as well."""
        if len(self.owners) > MOST_IN_MEMORY:
            self.owners.clear()
            self.look_up = True


class SourceClaims:
    """The claims of one source while it is read; written by `save` together with its cursor."""

    def __init__(self, run: ClaimRun, source: int) -> None:
        self._run = run
        self._owners = run.owners
        self._source = source
        self._new: list[str] = []

    def repeated(self, key: str) -> bool:
        if key in self._owners or (self._run.look_up and self._run.stored_owner(key) is not None):
            return True
        self._claim(key)
        return False

    def foreign(self, key: str) -> bool:
        owner = self._owners.get(key)
        if owner is None and self._run.look_up:
            owner = self._run.stored_owner(key)
        if owner is None:
            self._claim(key)
            return False
        return owner != self._source

    def _claim(self, key: str) -> None:
        self._owners[key] = self._source
        self._new.append(key)
        if len(self._new) > MOST_IN_MEMORY:
            self._spill()

    def _spill(self) -> None:
        """A giant transcript: what it claimed so far moves to disk. Should it not be finished, it is released."""
        with self._run.store.transaction():
            self.save()
        for key in [key for key, owner in self._owners.items() if owner == self._source]:
            del self._owners[key]
        self._run.look_up = True

    def save(self) -> None:
        self._run.store.claim(_numbers(self._new), self._source)
        self._new = []


def _numbers(keys: Sequence[str]) -> tuple[int, ...]:
    """Keys as SQLite stores them best, 64 bits of a hash; many at once, for there is one for every line."""
    digests = [blake2b(key.encode("utf-8", "replace"), digest_size=8).digest() for key in keys]
    return unpack(f">{len(digests)}q", b"".join(digests))
