"""Writes the archive of a whole memory: whole or not at all, and read back before it takes its place."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec
from msgspec import Struct

from holdfast.errors import StoreError
from holdfast.store import files
from holdfast.store.bundle import MANIFEST, PIECE, Manifest, Member, check_bundle
from holdfast.store.syncing import sync_directory


class Source(Struct, frozen=True):
    """A member to be written: its bytes, or the file that holds them."""

    path: str
    data: bytes | Path

    def member(self) -> Member:
        if isinstance(self.data, bytes):
            return Member(self.path, len(self.data), sha256(self.data).hexdigest())
        size, hashed = 0, sha256()
        with self.stream() as file:
            while piece := file.read(PIECE):
                size += len(piece)
                hashed.update(piece)
        return Member(self.path, size, hashed.hexdigest())

    def stream(self) -> BinaryIO:
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        file = files.open_to_read(self.data)
        if file is None:
            raise StoreError("it is gone", where=str(self.data), fix="Try again")
        return file


def write_bundle(path: Path, manifest: Manifest, sources: Sequence[Source], *, force: bool) -> int:
    """Writes an archive that only its owner can read, whole or not at all; its size.

    It is read back before it takes its place: what cannot be restored is not worth keeping.
    """
    if not force and os.path.lexists(path):
        raise _in_the_way(path)
    temporary = path.with_name(f".holdfast-{path.name[:200]}-{os.urandom(4).hex()}.tmp")
    try:
        with files.explained(path, "write"):
            with files.open_new(temporary, 0o600) as file:
                _write(file, manifest, sources)
                files.finish(file)
                size = file.tell()
            check_bundle(temporary)
            _put(temporary, path, force=force)
            sync_directory(path.parent)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return size


def _write(file: BinaryIO, manifest: Manifest, sources: Sequence[Source]) -> None:
    """The same bytes for the same memory and moment: no times, owners or names of this machine."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=cast(IO[bytes], packed), mode="w:", format=tarfile.PAX_FORMAT) as archive,
    ):
        for source in (Source(MANIFEST, text), *sources):
            with source.stream() as data:
                entry = tarfile.TarInfo(source.path)
                entry.size = data.seek(0, os.SEEK_END)
                entry.mode = 0o600
                data.seek(0)
                archive.addfile(entry, data)


def _put(temporary: Path, path: Path, *, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # unlike a rename, never over something
    except FileExistsError:
        raise _in_the_way(path) from None
    except OSError:  # a file system without such links
        os.replace(temporary, path)


def _in_the_way(path: Path) -> StoreError:
    return StoreError("is there already", where=str(path), fix="Name another file, or say --force")
