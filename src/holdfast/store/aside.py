"""Sessions whose reading failed: what went wrong, and their envelopes, out of the way until another try is due.

`<memory>/inbox/aside/` holds the envelopes under their own names, and for each session `<number>.fault`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.store import files
from holdfast.store.inbox import Envelope, envelopes, remove


class Fault(Struct, frozen=True, kw_only=True):
    """A session that was tried to be read. `problem` is '' while it is being read: whoever finds that, found it dead.

    `version` is the holdfast that failed, where it could still say so: another one may be able to.
    """

    host: str
    session: str
    tries: int
    at: float
    version: str = ""
    problem: str = ""


def folder(memory: Path) -> Path:
    return memory / "inbox" / "aside"


def faults(memory: Path) -> list[Fault]:
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(folder(memory).glob("*.fault")):
            if (fault := _read(path)) is not None:
                found.append(fault)
    return found


def fault_of(memory: Path, host: str, session: str) -> Fault | None:
    return _read(_path(memory, host, session))


def note(memory: Path, fault: Fault) -> None:
    """By rename and not synced to the disk: where it is lost, one more try is made."""
    path = _path(memory, fault.host, fault.session)
    files.make_private(path.parent)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(msgspec.json.encode(fault))
    os.replace(temporary, path)


def clear(memory: Path, host: str, session: str) -> None:
    remove([_path(memory, host, session), *(letter.path for letter in letters_of(memory, host, session))])


def forget_fault(memory: Path, fault: Fault) -> None:
    remove([_path(memory, fault.host, fault.session)])


def letters_of(memory: Path, host: str, session: str) -> list[Envelope]:
    found, _ = envelopes(folder(memory))
    return [letter for letter in found if (letter.host, letter.session) == (host, session)]


def put_aside(memory: Path, letters: Iterable[Envelope]) -> None:
    """The newest is enough, and the newest that says where the transcript is."""
    found = list(letters)
    files.make_private(folder(memory))
    for letter in found:
        with contextlib.suppress(OSError):
            os.replace(letter.path, folder(memory) / letter.path.name)
    for one in {(letter.host, letter.session) for letter in found}:
        every = letters_of(memory, *one)
        kept = {every[-1].path} if every else set()
        kept |= {letter.path for letter in [letter for letter in every if letter.transcript][-1:]}
        remove(letter.path for letter in every if letter.path not in kept)


def take_back(memory: Path, host: str, session: str) -> None:
    """Into the inbox again, where the next capture finds them."""
    for letter in letters_of(memory, host, session):
        with contextlib.suppress(OSError):
            os.replace(letter.path, memory / "inbox" / letter.path.name)


def faults_of(memory: Path, sessions: Container[str]) -> list[Path]:
    """The notes on these sessions, as files."""
    return [_path(memory, fault.host, fault.session) for fault in faults(memory) if fault.session in sessions]


def _path(memory: Path, host: str, session: str) -> Path:
    number = blake2b(f"{host}\n{session}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return folder(memory) / f"{number}.fault"


def _read(path: Path) -> Fault | None:
    data = None
    with contextlib.suppress(OSError):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    try:
        return msgspec.json.decode(data, type=Fault) if data else None
    except msgspec.MsgspecError:
        return None
