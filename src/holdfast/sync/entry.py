"""Entries: one change of one item by one author, signed, and never changed again.

On the wire an entry is a line of JSON with sorted keys, and its signature. Its id is the hash of that line, so that the
same change is the same entry on every machine, and nobody can change it without being noticed.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from holdfast.core.hashes import sha256
from holdfast.core.stamp import NEVER, Stamp, parse_stamp

VERSION = 1
Scope = Literal["own", "team"]
"""`own` travels between the machines of one person, `team` to all members."""


class Entry(Struct, frozen=True, kw_only=True):
    """What one author said of one item: its new content, or None if it is gone.

    `parents` are the entries of the same item that the author had seen. `by` names the author for people.
    """

    stamp: str
    author: str
    by: str
    project: str
    scope: Scope
    key: str
    body: Any = None
    parents: tuple[str, ...] = ()
    v: int = VERSION

    @property
    def order(self) -> Stamp:
        try:
            return parse_stamp(self.stamp)
        except ValueError:
            return NEVER


class Signed(Struct, frozen=True):
    """An entry as it travels: the line, its signature, and the entry that the line says."""

    line: bytes
    signature: bytes
    entry: Entry

    @property
    def id(self) -> str:
        return id_of(self.line)


class _Head(Struct):
    v: int = 0


def encode(entry: Entry) -> bytes:
    return msgspec.json.encode(entry, order="deterministic")


def decode(line: bytes) -> Entry:
    """The entry of a line. ValueError for what is none."""
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError("it is not an entry") from error


def version_of(line: bytes) -> int:
    try:
        return msgspec.json.decode(line, type=_Head).v
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return 0


def id_of(line: bytes) -> str:
    return sha256(line).hexdigest()[:32]


def digest_of(body: Any) -> str:
    """What tells whether two bodies are the same."""
    return "" if body is None else sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()[:32]
