"""Looks at every byte below some folders: as it is, unpacked, and through SQLite, which may cut words in two on disk."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

SQLITE = b"SQLite format 3\0"
_DEEPEST = 6


def leftovers(roots: Iterable[Path], needles: Iterable[str]) -> list[str]:
    """`file: word` for each file that holds one of the words in any form, whatever its case."""
    wanted = [needle.casefold().encode() for needle in needles]
    found: dict[str, None] = {}
    for path in files_below(roots):
        name = str(path).casefold().encode()
        data = path.read_bytes()
        for view in [name, *views(data, path)]:
            folded = view.lower()
            found.update(
                (f"{path}: {needle.decode()} in {_around(folded, needle)}", None)
                for needle in wanted
                if needle in folded
            )
    return sorted(found)


def _around(data: bytes, needle: bytes) -> str:
    at = data.find(needle)
    return repr(data[max(0, at - 60) : at + 60])


def files_below(roots: Iterable[Path]) -> list[Path]:
    return sorted(
        Path(folder, name)
        for root in roots
        for folder, _, names in os.walk(root)
        for name in names
        if Path(folder, name).is_file() and not Path(folder, name).is_symlink()
    )


def views(data: bytes, path: Path | None = None, depth: int = 0) -> Iterator[bytes]:
    """The bytes, and what they are when unpacked, again and again."""
    yield data
    if depth > _DEEPEST or not data:
        return
    for inner in (*_unpacked(data), *_decoded(data), *(_rows(data, path) if data[:16] == SQLITE else ())):
        yield from views(inner, None, depth + 1)


def _unpacked(data: bytes) -> Iterator[bytes]:
    with suppress(OSError, EOFError, zlib.error):
        if data[:2] == b"\x1f\x8b":
            yield gzip.decompress(data)
    if data[:6] == b"\xfd7zXZ\x00":
        with suppress(lzma.LZMAError):
            yield lzma.decompress(data)
    if data[:1] == b"\x78":
        with suppress(zlib.error):
            yield zlib.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard  # no file of ours is packed so today: who adds one adds this to the tests

        yield zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    if data[257:262] == b"ustar":
        with suppress(tarfile.TarError, OSError), tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if (file := archive.extractfile(member)) is not None:
                    yield file.read()


def _decoded(data: bytes) -> Iterator[bytes]:
    """Texts that escapes hide: JSON, lines of JSON, msgpack."""
    for part in {data, *data.splitlines()} if data[:1] in b"{[" else ():
        with suppress(ValueError, RecursionError):
            yield json.dumps(json.loads(part), ensure_ascii=False).encode("utf-8", "replace")[1:]
    if data[:1] >= b"\x80":
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            yield repr(msgspec.msgpack.decode(data)).encode("utf-8", "replace")


def _rows(data: bytes, path: Path | None) -> Iterator[bytes]:
    """Every cell of every table of a copy, with what is only in the write-ahead log."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(data)
        for end in ("-wal", "-journal"):
            if path is not None and (beside := path.with_name(path.name + end)).exists():
                shutil.copyfile(beside, f"{copy}{end}")
        with closing(sqlite3.connect(copy)) as database:
            database.text_factory = bytes
            tables = [name.decode() for (name,) in database.execute("SELECT name FROM sqlite_master")]
            for table in tables:
                with suppress(sqlite3.Error):
                    for row in database.execute(f'SELECT * FROM "{table}"'):
                        yield from (cell for cell in row if isinstance(cell, bytes))
