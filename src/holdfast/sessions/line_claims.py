"""Decides which source counts a line: resuming or forking a session copies its history, and each line counts once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from struct import unpack
from typing import Protocol

from holdfast.core.hashes import blake2b

MOST_IN_MEMORY = 250_000  # claims of one run, about 40 MB


class ClaimStore(Protocol):
    """Where claims are kept: keys as 64-bit integers, each with the number of the source that has it."""

    def claims_exist(self) -> bool: ...

    def claimed_by(self, key: int) -> int | None: ...

    def claim(self, keys: Iterable[int], source: int) -> None: ...

    def transaction(self) -> AbstractContextManager[None]: ...


class ClaimRun:
    """The claims of one run over transcripts. Earlier claims are looked up only if the store has any."""

    def __init__(self, store: ClaimStore) -> None:
        self.store = store
        self.owners: dict[str, int] = {}
        self.look_up = store.claims_exist()

    def stored_owner(self, key: str) -> int | None:
        return self.store.claimed_by(_numbers([key])[0]) if self.look_up else None

    def rest(self) -> None:
        """Drop claims from memory when all are stored, so that a long import does not hold them twice."""
        if len(self.owners) > MOST_IN_MEMORY:
            self.owners.clear()
            self.look_up = True


class OnceClaims:
    """Counts a line that one reading meets again once, and knows of no other reading."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        known = key in self._seen
        self._seen.add(key)
        return known

    def foreign(self, key: str) -> bool:
        return False


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
        """Move the claims of a huge transcript to disk. If the import stops midway, they are released."""
        with self._run.store.transaction():
            self.save()
        for key in [key for key, owner in self._owners.items() if owner == self._source]:
            del self._owners[key]
        self._run.look_up = True

    def save(self) -> None:
        self._run.store.claim(_numbers(self._new), self._source)
        self._new = []


def _numbers(keys: Sequence[str]) -> tuple[int, ...]:
    """Hash keys to the 64-bit integers SQLite stores best; in bulk, because there is one for every line."""
    digests = [blake2b(key.encode("utf-8", "replace"), digest_size=8).digest() for key in keys]
    return unpack(f">{len(digests)}q", b"".join(digests))
