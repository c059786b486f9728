"""What a sync did."""

from __future__ import annotations

from msgspec import Struct


class Refused(Struct, frozen=True, kw_only=True):
    """Entries that do not count, or packs that cannot be read. `who` is the author that they name."""

    why: str
    who: str
    number: int


class SyncResult(Struct, frozen=True, kw_only=True):
    """`sent` and `received` count entries; `changed` how many items of this memory are different now.

    `index_asks` is how many of one's own statements a search on the server would find if this person agreed.
    `removed_from` is the team that this person is not in any more.
    """

    target: str
    sent: int = 0
    received: int = 0
    changed: int = 0
    conflicts: int = 0
    sealed: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    refused: list[Refused] = []
    problems: list[str] = []
    joined: list[str] = []
    waits_for: list[str] = []
    index_asks: int = 0
    removed_from: str = ""
    seconds: float = 0.0
    done: bool = True
