"""What a transport does: it keeps packs for others to fetch, and never looks inside them.

A pack is bytes under a name that is the hash of the bytes. Each machine of each author publishes at a place of its
own, so that nobody overwrites anybody:

    <place>/<name>      place: <author>/<machine>, as in 3f9a01c2d4e5b677/kfmt

A transport may be slow, cut off or hostile: readers check the hash, the seal and every signature themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from holdfast.core.errors import HoldfastError
from holdfast.core.hashes import sha256

PLACE = re.compile(r"[0-9a-f]{16}/[a-z0-9]{1,12}")
NAME = re.compile(r"[0-9a-f]{40}")
SUFFIX = ".pack"  # of a pack's file, where packs are files
LARGEST_PACK = 64_000_000  # bytes: more is not read


class SyncError(HoldfastError):
    """A target cannot be reached, read or written. What is here is unchanged, and the next sync goes on."""

    code = "sync"


def name_of(pack: bytes) -> str:
    return sha256(pack).hexdigest()[:40]


class Transport(Protocol):
    """One target for the packs of one project. All methods raise SyncError if the target fails.

    Each method may be called again after a failure: all of them are idempotent.
    """

    shown: str
    """The target as a person knows it."""

    def state(self) -> str:
        """What changes whenever the packs do: cheap to ask, and compared with the last answer. '' if unknown."""

    def packs(self) -> dict[tuple[str, str], int]:
        """The place and name of each pack that is there as a whole, with its size in bytes."""

    def fetch(self, wanted: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
        """The packs that are still there. Bytes that do not have the hash of their name are not returned."""

    def publish(self, place: str, add: Mapping[str, bytes], drop: Collection[str] = ()) -> None:
        """Adds packs at a place, then removes others. Returns when both are durable and visible to others.

        If it fails, each pack is there as a whole or not at all, and none is removed before all are added.
        """
