"""Who writes: a key to sign with, and one by which others seal what only this author may read.

`~/.holdfast/keys/author.json` is made on first use and is the same on all machines of one person: `export` packs it
with a passphrase, `restore` puts it on another machine. A key that was replaced stays in `before`, to read old packs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import StoreError, UsageError
from holdfast.core.git import git_text
from holdfast.core.hashes import sha256
from holdfast.store.json_files import encode_json
from holdfast.store.machine import Machine

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FOLDER, NAME = "keys", "author.json"
_FIX = "Restore it from an export: holdfast keys restore FILE"
_HEADER = b"# holdfast key, sealed with a passphrase\n"
_LEAST = 8  # characters of a passphrase
_SALT_BYTES = 16
_COST = (
    2**16
)  # of scrypt: 64 MB. Fixed: age measures the machine, and a slow one refuses what a fast one sealed


class PublicKey(Struct, frozen=True, kw_only=True):
    """What others know of an author: `verify` checks signatures (hex), `seal` is an age recipient."""

    verify: str
    seal: str
    name: str = ""

    @property
    def author(self) -> str:
        return author_of(self.verify)


class KeyPair(Struct, frozen=True, kw_only=True):
    """`sign` is the seed of an Ed25519 key in hex, `open` an age identity. `revoked` is when a person said that
    nothing that it signed counts any more; 0 if it is good."""

    sign: str
    verify: str
    open: str
    seal: str
    made: float = 0.0
    revoked: float = 0.0

    @property
    def author(self) -> str:
        return author_of(self.verify)


class _KeyFile(Struct, kw_only=True):
    format: int = 1
    name: str = ""
    now: KeyPair | None = None
    before: tuple[KeyPair, ...] = ()


def author_of(verify: str) -> str:
    """The author's id: a fingerprint of the public key."""
    return sha256(f"holdfast author {verify}".encode()).hexdigest()[:16]


def fingerprint(author: str) -> str:
    """As people compare it: `3f9a-01c2-d4e5-b677`."""
    return "-".join(author[place : place + 4] for place in range(0, len(author), 4))


class Keys:
    """The keys of this user. Nothing is made before `own` is asked for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.path = machine.home / FOLDER / NAME
        self._lock = machine.home / "locks" / "keys.lock"

    @property
    def exists(self) -> bool:
        return os.path.lexists(self.path)

    @cached_property
    def _file(self) -> _KeyFile:
        return self._read()

    @property
    def own(self) -> KeyPair:
        """The key in use, made now if there is none."""
        if self._file.now is None:
            self._change(
                lambda key_file: None if key_file.now else _renew(key_file, self._new(), self._name())
            )
        assert self._file.now is not None
        return self._file.now

    @property
    def name(self) -> str:
        return self._file.name or self._name()

    @property
    def public(self) -> PublicKey:
        return PublicKey(verify=self.own.verify, seal=self.own.seal, name=self.name)

    @property
    def author(self) -> str:
        return self.own.author

    @property
    def pairs(self) -> tuple[KeyPair, ...]:
        """The key in use, then those before it."""
        return (self.own, *self._file.before)

    def pairs_here(self) -> tuple[KeyPair, ...]:
        """The same, without making a key."""
        return (*((self._file.now,) if self._file.now else ()), *self._file.before)

    def pair(self, author: str) -> KeyPair | None:
        """The key pair of this person with this id, if it is one."""
        return next((pair for pair in self.pairs if pair.author == author), None)

    # --- changes ---------------------------------------------------------------------------------------

    def rename(self, name: str) -> None:
        if not (name := " ".join(self._machine.clean(name).split())[:60]):
            raise UsageError("a name is missing", fix="Give the name your team knows you by")
        self.own  # noqa: B018  made if there is none
        self._change(lambda key_file: setattr(key_file, "name", name))

    def rotate(self, *, revoke: bool = False) -> KeyPair:
        """Replaces the key. With `revoke` nothing counts any more that the old one signed."""
        self.own  # noqa: B018
        now, new = self._machine.now().timestamp(), self._new()

        def change(key_file: _KeyFile) -> None:
            if revoke and key_file.now is not None:
                key_file.now = replace(key_file.now, revoked=now)
            _renew(key_file, new, key_file.name)

        self._change(change)
        return self.own

    def export(self, passphrase: str) -> bytes:
        """The key file, sealed with a passphrase."""
        if len(passphrase) < _LEAST:
            raise UsageError(f"the passphrase is shorter than {_LEAST} characters", fix="Choose a longer one")
        self.own  # noqa: B018
        salt = os.urandom(_SALT_BYTES)
        return (
            _HEADER + salt + _sealed_by(passphrase, salt).encrypt(bytes(12), encode_json(self._file), _HEADER)
        )

    def restore(self, data: bytes, passphrase: str, where: str, *, instead: bool = False) -> str:
        """Puts an exported key in place, and returns its author. Own keys are never lost: they stay in `before`."""
        from cryptography.exceptions import InvalidTag

        if not data.startswith(_HEADER):
            raise StoreError(
                "it is not an exported key", where=where, fix="holdfast keys export FILE creates one"
            )
        try:
            salt, sealed = data[len(_HEADER) :][:_SALT_BYTES], data[len(_HEADER) + _SALT_BYTES :]
            opened = _sealed_by(passphrase, salt).decrypt(bytes(12), sealed, _HEADER)
            came = msgspec.json.decode(opened, type=_KeyFile)
        except InvalidTag as error:
            raise StoreError("the passphrase is wrong, or the file is damaged", where=where) from error
        except msgspec.MsgspecError as error:
            raise StoreError("it is not an exported key", where=where) from error
        if came.now is None:
            raise StoreError("it does not contain a key", where=where)
        if any(pair.revoked for pair in self.pairs_here() if pair.author == came.now.author):
            raise StoreError(
                f"key {fingerprint(came.now.author)} was revoked on this machine",
                where=where,
                fix="Export the key that replaced it: holdfast keys export FILE",
            )
        here = self._file.now
        if here is not None and here.author != came.now.author and not instead:
            raise StoreError(
                f"this machine already has a key: {fingerprint(here.author)}",
                where=str(self.path),
                fix="Add --replace to use the other one from now on; the current one stays, to read what it wrote",
            )

        def change(key_file: _KeyFile) -> None:
            known = [*([key_file.now] if key_file.now else []), *key_file.before, *came.before]
            revoked = {pair.author: pair.revoked for pair in known if pair.revoked}
            others = {
                pair.author: replace(pair, revoked=revoked.get(pair.author, 0.0)) for pair in reversed(known)
            }
            others.pop(came.now.author, None)  # type: ignore[union-attr]
            key_file.now, key_file.before = came.now, tuple(reversed(others.values()))
            key_file.name = came.name or key_file.name

        self._change(change)
        return came.now.author

    def _name(self) -> str:
        name = git_text(self._machine.cwd, "config", "user.name").strip()
        return " ".join(self._machine.clean(name or self._machine.env.get("USER", "")).split())[:60] or "me"

    def _new(self) -> KeyPair:
        import pyrage
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key, identity = Ed25519PrivateKey.generate(), pyrage.x25519.Identity.generate()
        return KeyPair(
            sign=key.private_bytes_raw().hex(),
            verify=key.public_key().public_bytes_raw().hex(),
            open=str(identity),
            seal=str(identity.to_public()),
            made=self._machine.now().timestamp(),
        )

    def _change(self, change: Any) -> None:
        files.make_private(self._machine.home)
        files.make_private(self.path.parent)
        with files.lock(self._lock) as held:
            key_file = self._read()
            change(key_file)
            data = encode_json(key_file)
            if not self.exists:
                with files.explained(self.path, "write"), files.open_new(self.path, 0o600) as file:
                    file.write(data)
                    files.finish(file)
            else:
                files.replace_held(held, self.path, data, files.ANYTHING)
        self.__dict__["_file"] = key_file

    def _read(self) -> _KeyFile:
        if self.exists and not stat.S_ISREG(self.path.lstat().st_mode):
            raise StoreError("it is not a regular file", where=str(self.path), fix=_FIX)
        data = files.read(self.path)
        if data is None:
            return _KeyFile()
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        try:
            return msgspec.json.decode(data, type=_KeyFile)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(f"the key cannot be read: {error}", where=str(self.path), fix=_FIX) from error


def _renew(key_file: _KeyFile, new: KeyPair, name: str) -> None:
    before = (key_file.now,) if key_file.now else ()
    key_file.now, key_file.before, key_file.name = new, (*before, *key_file.before), name


# --- signing and sealing -----------------------------------------------------------------------------------


class Signer:
    """Signs with one key pair."""

    def __init__(self, pair: KeyPair) -> None:
        self._seed = bytes.fromhex(pair.sign)

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed)

    def sign(self, line: bytes) -> bytes:
        return self._key.sign(line)


class Verifier:
    """Checks signatures, with each public key loaded once."""

    def __init__(self) -> None:
        self._keys: dict[str, Any] = {}

    def is_signed(self, verify: str, line: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            if verify not in self._keys:
                self._keys[verify] = Ed25519PublicKey.from_public_bytes(bytes.fromhex(verify))
            self._keys[verify].verify(signature, line)
        except (InvalidSignature, ValueError):
            return False
        return True


def seal(data: bytes, recipients: Iterable[str]) -> bytes:
    """Encrypts for these age recipients."""
    import pyrage

    keys = [pyrage.x25519.Recipient.from_str(recipient) for recipient in sorted(set(recipients))]
    sealed: bytes = pyrage.encrypt(data, keys)
    return sealed


def unseal(data: bytes, pairs: Iterable[KeyPair]) -> bytes | None:
    """What one of these keys can read; None if none can."""
    import pyrage

    try:
        opened: bytes = pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(pair.open) for pair in pairs])
    except pyrage.DecryptError:
        return None
    return opened


def _sealed_by(passphrase: str, salt: bytes) -> AESGCM:
    """The cipher of an exported key. A salt is used once, so the nonce may be constant."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return AESGCM(
        Scrypt(salt=salt, length=32, n=_COST, r=8, p=1).derive(passphrase.encode("utf-8", "replace"))
    )
