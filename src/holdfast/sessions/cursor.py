"""How far a transcript was read, and whether it changed since."""

from __future__ import annotations

from msgspec import Struct


class SourceStamp(Struct, frozen=True):
    """Size and time of a file: a cheap way to see whether it changed."""

    size: int
    mtime_ns: int


class SourceCursor(Struct, frozen=True, kw_only=True):
    """How far one transcript was read, and the state to continue from.

    `own` is the id the transcript gives itself, `session` the one it counts for: a subagent's parent.
    """

    id: int
    path: str
    agent: str
    own: str
    session: str
    position: int
    stamp: SourceStamp
    head: bytes
    reader: bytes
    digest: bytes
