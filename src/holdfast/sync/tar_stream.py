"""Packs as a stream that every tar reads and writes: the only framing that each machine knows.

Reading expects anything: the other side may send what it likes. It takes plain files under plain names, and skips all
else without keeping it.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator

BLOCK = 512
_END = b"\0" * (2 * BLOCK)
_MOST_SKIPPED = 1_000_000_000  # bytes of what nobody asked for


class NotATar(Exception):
    """The bytes are no tar file, or too many of them are not what was asked for."""


def entry(name: str, data: bytes, mode: int) -> Iterator[bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    yield info.tobuf(tarfile.USTAR_FORMAT)
    yield data
    yield b"\0" * (-len(data) % BLOCK)


def end() -> bytes:
    return _END


def read_entries(
    read_exactly: Callable[[int], bytes], wanted: Callable[[str], int], stop: bytes
) -> Iterator[tuple[str, bytes]]:
    """The files whose names are wanted, up to the block that begins with `stop`.

    `wanted` says how many bytes a name may have at most, 0 for none. Raises EOFError if the stream ends before.
    """
    skipped = 0
    while not (block := read_exactly(BLOCK)).startswith(stop):
        if len(block) < BLOCK:
            raise EOFError
        if block.strip(b"\0") == b"":  # an archive ends; another may follow
            continue
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        except tarfile.HeaderError as error:
            raise NotATar from error
        size = max(info.size, 0)
        padded = size + -size % BLOCK
        name = info.name.removeprefix("./")
        if info.isreg() and size <= wanted(name):
            data = read_exactly(padded)
            if len(data) < padded:
                raise EOFError
            yield name, data[:size]
            continue
        skipped += padded
        if skipped > _MOST_SKIPPED:
            raise NotATar
        while padded:
            if not (part := read_exactly(min(padded, 1 << 20))):
                raise EOFError
            padded -= len(part)
