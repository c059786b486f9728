"""One archive for a whole memory: a tar in gzip whose first member, manifest.json, names and hashes all others.

What comes in is somebody else's file. It is read to its end and compared with its manifest before anything is
written; the reader is never let further than the manifest allows, so nothing unpacks to more than it says.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

import msgspec
from msgspec import Struct

from holdfast.errors import FormatTooNew, NameRefused, StoreError
from holdfast.guard.names import safe_name
from holdfast.store import files
from holdfast.store.canonical import belongs, why_not
from holdfast.store.layout import FORMAT as MEMORY_FORMAT

FORMAT = 1
MANIFEST = "manifest.json"
MEMORY = "memory/"
SHARED_LEDGER = "shared/ledger.md"
MOST_FILES = 20_000
MOST_BYTES = 4 << 30
_MOST_MANIFEST = 8 << 20
_MOST_RATIO = 300  # text and databases shrink to a tenth; zeros, of which bombs are made, to a thousandth
_SMALL = 64 << 20  # whatever its ratio, this much can be looked at
_HEADERS = 64 << 10  # what may stand between two members, and after the last
PIECE = 1 << 18
_VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, UnicodeError)


class Member(Struct, frozen=True):
    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What an archive holds, and where it comes from."""

    format: int
    holdfast: str
    made: str
    title: str
    memory_format: int
    members: tuple[Member, ...]

    @property
    def bytes(self) -> int:
        return sum(member.size for member in self.members)


def check_bundle(path: Path) -> Manifest:
    """The manifest of an archive in which everything is as it says; StoreError for any other. Writes nothing."""
    return _read(path, None)


def unpack_bundle(path: Path, manifest: Manifest, folder: Path) -> None:
    """Writes the members of an archive that was checked into a new folder, and checks them once more."""

    if _read(path, folder) != manifest:
        raise _refused(path, "it was changed while it was read")


def _read(path: Path, folder: Path | None) -> Manifest:
    """Reads an archive to its end; its members go into a folder, if there is one."""
    opened = files.open_to_read(path)
    if opened is None:
        raise StoreError("there is no such file", where=str(path), fix="Name an archive of holdfast export")
    with opened as packed:
        size = os.fstat(packed.fileno()).st_size
        stream = _Bounded(path, gzip.GzipFile(fileobj=packed, mode="rb"))
        try:
            with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
                return _read_members(path, archive, stream, size, folder)
        except _DAMAGED as error:
            what = str(error).partition("\n")[0] or type(error).__name__
            raise _refused(path, f"it is damaged, or no archive of holdfast ({what})") from error


def _read_members(
    path: Path,
    archive: tarfile.TarFile,
    stream: _Bounded,
    size: int,
    folder: Path | None,
) -> Manifest:
    first = archive.next()
    if first is None or first.name != MANIFEST or first.size > _MOST_MANIFEST:
        raise _refused(path, f"it does not begin with {MANIFEST}")
    _require_plain(path, first)
    stream.allow(first.size)
    manifest = _parse_manifest(path, b"".join(_pieces(path, archive, first)))
    _check_manifest(path, manifest, size)
    for member in manifest.members:
        entry = archive.next()
        if entry is None:
            raise _refused(path, f"{member.path} is missing")
        if (entry.name, entry.size) != (member.path, member.size):
            raise _refused(path, f"{entry.name!a} stands where {member.path} should be")
        _require_plain(path, entry)
        stream.allow(entry.size)
        pieces = _pieces(path, archive, entry)
        hashed = _hash(pieces) if folder is None else _copy(pieces, folder / member.path)
        if hashed != member.sha256:
            raise _refused(path, f"{member.path} is not what it was when it was exported")
    if archive.next() is not None:
        raise _refused(path, f"it holds more than its {MANIFEST} says")
    stream.drain()
    return manifest


def _require_plain(path: Path, entry: tarfile.TarInfo) -> None:
    if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.sparse is not None:
        raise _refused(path, f"{entry.name!a} is a link, a device or no plain file")


def _pieces(path: Path, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
    data = archive.extractfile(entry)
    if data is None:
        raise _refused(path, f"{entry.name!a} cannot be read")
    while piece := data.read(PIECE):
        yield piece


def _hash(pieces: Iterator[bytes]) -> str:
    hashed = sha256()
    for piece in pieces:
        hashed.update(piece)
    return hashed.hexdigest()


def _copy(pieces: Iterator[bytes], target: Path) -> str:
    hashed = sha256()
    with files.explained(target, "write"), files.open_new(target) as file:
        for piece in pieces:
            hashed.update(piece)
            file.write(piece)
        files.finish(file)
    return hashed.hexdigest()


def _parse_manifest(path: Path, data: bytes) -> Manifest:
    class Number(Struct):
        format: int

    try:
        number = msgspec.json.decode(data, type=Number).format
        if number > FORMAT:  # before the rest, which a newer format may have changed
            raise FormatTooNew(
                f"its format is {number}, and this holdfast knows {FORMAT}",
                where=str(path),
                fix="Upgrade holdfast and restore it then",
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(path, f"its {MANIFEST} cannot be read: {error}") from error


def _check_manifest(path: Path, manifest: Manifest, size: int) -> None:
    """Everything that is said here is a stranger's word until it is looked at."""
    if manifest.memory_format > MEMORY_FORMAT:
        raise FormatTooNew(
            f"its memory has format {manifest.memory_format}, and this holdfast knows {MEMORY_FORMAT}",
            where=str(path),
            fix="Upgrade holdfast and restore it then",
        )
    try:
        safe_name(manifest.title)
        datetime.fromisoformat(manifest.made)
    except (NameRefused, ValueError) as error:
        raise _refused(path, f"its {MANIFEST} cannot be believed: {error}") from error
    numbers = manifest.format == FORMAT and manifest.memory_format == MEMORY_FORMAT
    if not numbers or not _VERSION.fullmatch(manifest.holdfast):
        raise _refused(path, f"its {MANIFEST} says what no holdfast writes")
    if len(manifest.members) > MOST_FILES:
        raise _refused(path, f"it holds {len(manifest.members)} files, and {MOST_FILES} are the most")
    if any(member.size < 0 or not _SHA256.fullmatch(member.sha256) for member in manifest.members):
        raise _refused(path, f"its {MANIFEST} says what no holdfast writes")
    if manifest.bytes > MOST_BYTES or (manifest.bytes > _SMALL and manifest.bytes > size * _MOST_RATIO):
        raise _refused(path, f"it would unpack to {manifest.bytes >> 20} MB")
    _check_paths(path, [member.path for member in manifest.members])


def _check_paths(path: Path, names: Sequence[str]) -> None:
    known = set(names)
    if len(known) != len(names):
        raise _refused(path, "it names a file twice")
    for name in names:
        inner = name.removeprefix(MEMORY)
        reason = why_not(name)
        if not reason and name != SHARED_LEDGER and (inner == name or not belongs(inner)):
            reason = "no export writes it"
        if not reason and any(name[:end] in known for end in _slashes(name)):
            reason = "a file stands where its folder should be"
        if reason:
            raise _refused(path, f"it holds {name[:100]!a}: {reason}")


def _slashes(name: str) -> list[int]:
    return [place for place, char in enumerate(name) if char == "/"]


def _refused(path: Path, problem: str) -> StoreError:
    return StoreError(problem, where=str(path), fix="Nothing was changed; take another copy of the archive")


class _Bounded(io.RawIOBase):
    """What is unpacked of an archive, read forward only and no further than allowed."""

    def __init__(self, path: Path, stream: gzip.GzipFile) -> None:
        self._path = path
        self._stream = stream
        self._end = _HEADERS

    def allow(self, size: int) -> None:
        """A member of this size follows; after it there is room for the next header."""
        self._end = self._stream.tell() + size + _HEADERS

    def drain(self) -> None:
        """To the end, where gzip keeps the checksum."""
        while self.read(tarfile.BLOCKSIZE):
            pass

    def read(self, size: int = -1) -> bytes:
        if size < 0 or self._stream.tell() + size > self._end:
            raise _refused(self._path, "it holds more than it says")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or not self._stream.tell() <= offset <= self._end:
            raise _refused(self._path, "it holds more than it says")
        return self._stream.seek(offset)

    def tell(self) -> int:
        return self._stream.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
