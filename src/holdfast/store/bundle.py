"""The archive of a whole memory: a gzipped tar whose first member, manifest.json, lists and hashes all others.

An archive may come from an untrusted source. It is read to its end and compared with its manifest before anything is
written, and the reader stops where the manifest does, so that nothing unpacks to more than it declares.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, NameRefused, StoreError
from holdfast.core.hashes import sha256
from holdfast.core.names import safe_name
from holdfast.core.patterns import lazy_regex
from holdfast.core.sync_folders import sync_directory
from holdfast.core.temporary_files import drop, sweep_abandoned, temporary_for
from holdfast.guard.hidden_text import has_hidden
from holdfast.store.json_files import encode_json
from holdfast.store.memory_files import kind_of, walk_memory
from holdfast.store.project import FORMAT as MEMORY_FORMAT

FORMAT = 1
MANIFEST = "manifest.json"
MEMORY = "memory/"
SHARED_LEDGER = "shared/ledger.md"
MOST_FILES = 20_000
MOST_BYTES = 4 << 30
_MOST_MANIFEST = 8 << 20
_MOST_RATIO = 300  # text and databases compress to a tenth, the zeros of a bomb to a thousandth
_SMALL = 64 << 20  # a smaller archive is read whatever its ratio
_HEADERS = 64 << 10  # bytes allowed between two members, and after the last
PIECE = 1 << 18
_VERSION = lazy_regex(r"[0-9A-Za-z.+!-]{1,40}")
_SHA256 = lazy_regex(r"[0-9a-f]{64}")
_LONGEST_NAME = 255
_LONGEST_PATH = 1000
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, UnicodeError)


class Member(Struct, frozen=True):
    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The contents of an archive, and its origin."""

    format: int
    holdfast: str
    made: str
    title: str
    memory_format: int
    members: tuple[Member, ...]
    mac: str = ""  # the code of the machine that made it

    @property
    def bytes(self) -> int:
        return sum(member.size for member in self.members)


class Listing(Struct, frozen=True):
    """Paths relative to the memory, in order; `left_out` are those that cannot be exported, with the reason."""

    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def canonical_files(memory: Path) -> Listing:
    """The files of a memory that cannot be rebuilt, so that an export must contain them."""
    exported: list[str] = []
    left_out: list[tuple[str, str]] = []
    for path, name in walk_memory(memory):
        if kind_of(name).exported and (path.is_symlink() or not path.is_dir()):
            reason = _why_not_file(path) or _why_not_path(name)
            (left_out.append((name, reason)) if reason else exported.append(name))
    return Listing(tuple(sorted(exported)), tuple(sorted(left_out)))


def _why_not_file(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return (error.strerror or "it cannot be read").lower()
    if stat.S_ISLNK(mode):
        return "it is a link"
    return "" if stat.S_ISREG(mode) else "it is not a regular file"


def _why_not_path(path: str) -> str:
    """Why a path cannot be that of a memory file; '' if it can."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in path:
        return "it points elsewhere"
    if not path.isprintable() or has_hidden(path):
        return "its name holds hidden characters"
    if os.name == "nt" and ":" in path:
        return "a colon makes it a drive or a stream"
    if len(path) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return "its name is too long"
    return ""


def check_bundle(path: Path) -> Manifest:
    """The manifest of a valid archive. Raises StoreError for any other. Writes nothing."""
    return _read(path, None)


def unpack_bundle(path: Path, manifest: Manifest, folder: Path) -> None:
    """Writes the members of a checked archive to a new folder, and checks them again."""
    if _read(path, folder) != manifest:
        raise _refused(path, "it was changed while it was read")


def _read(path: Path, folder: Path | None) -> Manifest:
    """Reads an archive to its end; with a folder, unpacks its members there."""
    opened = files.open_to_read(path)
    if opened is None:
        raise StoreError(
            "there is no such file", where=str(path), fix="Name an archive made by holdfast export"
        )
    with opened as packed:
        size = os.fstat(packed.fileno()).st_size
        stream = _Bounded(path, gzip.GzipFile(fileobj=packed, mode="rb"))
        try:
            with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:") as archive:
                return _read_members(path, archive, stream, size, folder)
        except _DAMAGED as error:
            cause = str(error).partition("\n")[0] or type(error).__name__
            raise _refused(path, f"it is damaged, or not a holdfast archive ({cause})") from error


def _read_members(
    path: Path, archive: tarfile.TarFile, stream: _Bounded, size: int, folder: Path | None
) -> Manifest:
    first = archive.next()
    if first is None or first.name != MANIFEST or first.size > _MOST_MANIFEST:
        raise _refused(path, f"it does not start with {MANIFEST}")
    _require_plain(path, first)
    stream.allow(first.size)
    manifest = _parse_manifest(path, b"".join(_pieces(path, archive, first)))
    _check_manifest(path, manifest, size)
    for member in manifest.members:
        entry = archive.next()
        if entry is None:
            raise _refused(path, f"{member.path} is missing")
        if (entry.name, entry.size) != (member.path, member.size):
            raise _refused(path, f"{entry.name!a} is where {member.path} should be")
        _require_plain(path, entry)
        stream.allow(entry.size)
        pieces = _pieces(path, archive, entry)
        digest = _hash(pieces) if folder is None else _unpack(pieces, folder / member.path)
        if digest != member.sha256:
            raise _refused(path, f"{member.path} has changed since it was exported")
    if archive.next() is not None:
        raise _refused(path, f"it contains more than its {MANIFEST} says")
    stream.drain()
    return manifest


def _require_plain(path: Path, entry: tarfile.TarInfo) -> None:
    if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.sparse is not None:
        raise _refused(path, f"{entry.name!a} is a link, a device or another special file")


def _pieces(path: Path, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
    data = archive.extractfile(entry)
    if data is None:
        raise _refused(path, f"{entry.name!a} cannot be read")
    while piece := data.read(PIECE):
        yield piece


def _hash(pieces: Iterable[bytes], write: Callable[[bytes], object] = len) -> str:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
        write(piece)
    return digest.hexdigest()


def _unpack(pieces: Iterable[bytes], target: Path) -> str:
    with files.explained(target, "write"), files.open_new(target) as file:
        digest = _hash(pieces, file.write)
        files.finish(file)
    return digest


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
    """Refuses a manifest that no export could have written."""
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
        raise _refused(path, f"its {MANIFEST} is not valid: {error}") from error
    numbers = manifest.format == FORMAT and manifest.memory_format == MEMORY_FORMAT
    if not numbers or not _VERSION.fullmatch(manifest.holdfast):
        raise _refused(path, f"its {MANIFEST} contains what holdfast never writes")
    if len(manifest.members) > MOST_FILES:
        raise _refused(path, f"it holds {len(manifest.members)} files, and {MOST_FILES} are the most")
    if any(member.size < 0 or not _SHA256.fullmatch(member.sha256) for member in manifest.members):
        raise _refused(path, f"its {MANIFEST} contains what holdfast never writes")
    if manifest.bytes > MOST_BYTES or (manifest.bytes > _SMALL and manifest.bytes > size * _MOST_RATIO):
        raise _refused(path, f"it would unpack to {manifest.bytes >> 20} MB")
    _check_paths(path, [member.path for member in manifest.members])


def _check_paths(path: Path, names: Sequence[str]) -> None:
    paths = set(names)
    if len(paths) != len(names):
        raise _refused(path, "it names a file twice")
    for name in names:
        inner = name.removeprefix(MEMORY)
        reason = _why_not_path(name)
        if not reason and name != SHARED_LEDGER and (inner == name or not kind_of(inner).exported):
            reason = "exports never contain it"
        if not reason and any(str(folder) in paths for folder in PurePosixPath(name).parents):
            reason = "a file stands where its folder should be"
        if reason:
            raise _refused(path, f"it holds {name[:100]!a}: {reason}")


def _refused(path: Path, problem: str) -> StoreError:
    return StoreError(problem, where=str(path), fix="Nothing was changed; use another copy of the archive")


class _Bounded(io.RawIOBase):
    """The unpacked bytes of an archive, read forward only and up to a limit."""

    def __init__(self, path: Path, stream: gzip.GzipFile) -> None:
        self._path = path
        self._stream = stream
        self._end = _HEADERS

    def allow(self, size: int) -> None:
        """Allows a member of this size, and room for the header after it."""
        self._end = self._stream.tell() + size + _HEADERS

    def drain(self) -> None:
        """Reads to the end, so that gzip verifies the checksum."""
        while self.read(tarfile.BLOCKSIZE):
            pass

    def read(self, size: int = -1) -> bytes:
        if size < 0 or self._stream.tell() + size > self._end:
            raise _refused(self._path, "it contains more than it says")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or not self._stream.tell() <= offset <= self._end:
            raise _refused(self._path, "it contains more than it says")
        return self._stream.seek(offset)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True


class Source(Struct, frozen=True):
    """A member to write: its bytes, or the file with its content."""

    path: str
    data: bytes | Path

    def member(self) -> Member:
        with self.stream() as file:
            digest = _hash(iter(lambda: file.read(PIECE), b""))
            return Member(self.path, file.tell(), digest)

    def stream(self) -> BinaryIO:
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        file = files.open_to_read(self.data)
        if file is None:
            raise StoreError("it is gone", where=str(self.data), fix="Try again")
        return file


def write_bundle(path: Path, manifest: Manifest, sources: Sequence[Source], *, force: bool) -> int:
    """Writes an archive that only its owner can read, atomically, and returns its size.

    The archive is read back before it is moved into place: one that cannot be restored must not be kept.
    """
    if not force and os.path.lexists(path):
        raise already_exists(path)
    sweep_abandoned(path.parent)
    temporary = temporary_for(path)
    try:
        with files.explained(path, "write"):
            with files.open_new(temporary, 0o600) as file:
                _write(file, manifest, sources)
                files.finish(file)
                size = file.tell()
            check_bundle(temporary)
            _move_into_place(temporary, path, force=force)
    finally:
        drop([temporary])
    with files.explained(path, "write"):
        sync_directory(path.parent)
    return size


def _write(file: BinaryIO, manifest: Manifest, sources: Sequence[Source]) -> None:
    """Writes reproducible bytes: no times, owners or names of this machine."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=cast(IO[bytes], packed), mode="w:", format=tarfile.PAX_FORMAT) as archive,
    ):
        for source in (Source(MANIFEST, encode_json(manifest, indent=1)), *sources):
            with source.stream() as data:
                entry = tarfile.TarInfo(source.path)
                entry.size = data.seek(0, os.SEEK_END)
                entry.mode = 0o600
                data.seek(0)
                archive.addfile(entry, data)


def _move_into_place(temporary: Path, path: Path, *, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # unlike a rename, never overwrites a file
    except FileExistsError:
        raise already_exists(path) from None
    except OSError:  # a file system without hard links
        os.replace(temporary, path)


def already_exists(path: Path) -> StoreError:
    return StoreError("already exists", where=str(path), fix="Name another file, or add --force")
