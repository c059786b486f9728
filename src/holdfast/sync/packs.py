"""Packs: many entries of one scope in one piece of bytes, compressed, and sealed unless a person says `--plain`.

holdfast-pack 1\\n  zlib( signature base64, space, line of the entry, newline … )        plain
age-encryption.org/v1 …                                                                 the same, sealed
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator

from holdfast.sync.entry import VERSION, Signed, decode, version_of
from holdfast.sync.keys import KeyPair, seal, unseal

_MAGIC = b"holdfast-pack "
_FORMAT = 1
_HEADER = b"%s%d\n" % (_MAGIC, _FORMAT)
READS = f"{_FORMAT} {VERSION}"
"""The formats of packs and entries that this holdfast reads."""
_AGE = b"age-encryption.org/"
_LARGEST = 128_000_000  # bytes unpacked: more is not read
MOST_BYTES = 8_000_000  # of entries in one pack


class BadPack(Exception):
    """Why a pack cannot be read: `sealed` for others, `newer`, or `damaged`."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def pack(entries: Iterable[Signed], recipients: Iterable[str]) -> bytes:
    """The bytes of a pack; in the clear if there are no recipients."""
    lines = b"".join(base64.b64encode(signed.signature) + b" " + signed.line + b"\n" for signed in entries)
    plain = _HEADER + zlib.compress(lines, 6)
    recipients = tuple(recipients)
    return seal(plain, recipients) if recipients else plain


def split(entries: Iterable[Signed]) -> Iterator[list[Signed]]:
    """The entries in groups that make packs of a bounded size."""
    group: list[Signed] = []
    size = 0
    for signed in entries:
        if group and size + len(signed.line) > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(signed)
        size += len(signed.line) + 90
    if group:
        yield group


def is_sealed(data: bytes) -> bool:
    return data.startswith(_AGE)


def unpack(data: bytes, pairs: Iterable[KeyPair]) -> Iterator[Signed | str]:
    """The entries of a pack, unchecked, and why a line is none. Raises BadPack."""
    if is_sealed(data):
        opened = unseal(data, pairs)
        if opened is None:
            raise BadPack("sealed")
        data = opened
    if not data.startswith(_HEADER):
        raise BadPack("newer" if data.startswith(_MAGIC) else "damaged")
    reader = zlib.decompressobj()
    try:
        lines = reader.decompress(data[len(_HEADER) :], _LARGEST)
    except zlib.error as error:
        raise BadPack("damaged") from error
    if reader.unconsumed_tail or not reader.eof:
        raise BadPack("damaged")
    for line in lines.split(b"\n"):
        if line:
            yield _read(line)


def _read(line: bytes) -> Signed | str:
    coded, _, content = line.partition(b" ")
    try:
        signature = base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        return "damaged"
    if version_of(content) > VERSION:
        return "newer"
    try:
        return Signed(content, signature, decode(content))
    except ValueError:
        return "damaged"
