"""Recognises the archives of this machine by a secret that is in no archive: `~/.holdfast/machine.key`."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.hashes import sha256
from holdfast.core.sync_folders import new_name_in
from holdfast.model.origin import Origin
from holdfast.store.bundle import Manifest

NAME = "machine.key"
_BYTES = 32
_BLOCK = 64


def sign(home: Path, manifest: Manifest) -> Manifest:
    """The manifest with the code of this machine. It covers the hash of every member."""
    return replace(manifest, mac=_code(_key(home), manifest))


def origin_of(home: Path, manifest: Manifest) -> Origin:
    """Whether an archive was made here. One without a code, as before 0.2, counts as another machine's."""
    if not manifest.mac or not os.path.lexists(home / NAME):
        return "other_archive"
    return "archive" if _is_equal(_code(_key(home), manifest), manifest.mac) else "other_archive"


def hash_of(manifest: Manifest) -> str:
    """What an archive holds, as a hash: of the manifest, which has the hash of every member."""
    return sha256(_content(manifest)).hexdigest()


def _content(manifest: Manifest) -> bytes:
    return msgspec.json.encode(replace(manifest, mac=""))


def _code(key: bytes, manifest: Manifest) -> str:
    """HMAC-SHA256; the module `hmac` would load OpenSSL."""
    padded = key.ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in padded) + _content(manifest)).digest()
    return sha256(bytes(byte ^ 0x5C for byte in padded) + inner).hexdigest()


def _is_equal(one: str, other: str) -> bool:
    """In constant time."""
    if len(one) != len(other):
        return False
    return sum(ord(sign) ^ ord(wanted) for sign, wanted in zip(one, other, strict=True)) == 0


def _is_torn(path: Path) -> bool:
    """Whether the key was never whole on the disk: half of it, or the zeros that a power cut leaves."""
    if not os.path.lexists(path) or not stat.S_ISREG(path.lstat().st_mode):
        return False
    written = files.read(path) or b""
    return len(written) < 2 * _BYTES or b"\0" in written


def _key(home: Path) -> bytes:
    """The secret of this machine, made at the first export."""
    path = home / NAME
    files.make_private(home)
    with files.lock(home / "locks" / "machine-key.lock"):
        if _is_torn(path):
            files.discard([path])
        if not os.path.lexists(path):
            with files.explained(path, "write"), files.open_new(path, 0o600) as file:
                file.write(os.urandom(_BYTES).hex().encode())
                files.finish(file)
            new_name_in(home)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise StoreError("it is not a regular file", where=str(path), fix="Remove it; a new key will be made")
    try:
        key = bytes.fromhex((files.read(path) or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise StoreError(
            "it does not contain a key", where=str(path), fix="Remove it; a new key will be made"
        )
    return key
