"""Envelopes that hooks leave in a project's memory: which session has something new to read.

`hooks/trace.py` writes them. They are named `<session>.<time>-<process>.json` and never rewritten, so whoever
read one may remove it without losing a newer one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.hashes import blake2b

SMALL = 64 * 1024
_STALE_S = 60.0  # a temporary file as old as this belongs to a hook that is dead


class _Written(Struct, frozen=True, kw_only=True):
    """`process` is the host's, 0 where it is not known; `headless` whether nobody sat before it, None likewise."""

    host: str = ""
    event: str = ""
    session: str = ""
    transcript: str = ""
    cwd: str = ""
    process: int = 0
    time: float = 0.0
    headless: bool | None = None


class Envelope(_Written, frozen=True, kw_only=True):
    path: Path


def envelopes(inbox: Path) -> tuple[list[Envelope], list[Path]]:
    """Those that can be read, oldest first, and the files that are none."""
    found: list[Envelope] = []
    broken: list[Path] = []
    for path in _files(inbox):
        try:
            if path.is_symlink() or path.stat().st_size > SMALL:
                raise ValueError("not written by a hook")
            written = msgspec.json.decode(path.read_bytes(), type=_Written)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, msgspec.MsgspecError):
            broken.append(path)
            continue
        found.append(Envelope(path=path, **msgspec.structs.asdict(written)))
    return sorted(found, key=lambda envelope: envelope.time), broken


def by_session(letters: Sequence[Envelope]) -> list[list[Envelope]]:
    """Those of each session, in the order in which they came."""
    groups: dict[tuple[str, str], list[Envelope]] = {}
    for letter in letters:
        groups.setdefault((letter.host, letter.session), []).append(letter)
    return list(groups.values())


def _files(inbox: Path) -> list[Path]:
    try:
        names = os.listdir(inbox)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [inbox / name for name in sorted(names) if name.endswith(".json")]


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def sweep(inbox: Path, now: float | None = None) -> None:
    """Removes what hooks that were killed in the middle of writing left behind."""
    sweep_aged(inbox, _STALE_S, now, "*.tmp")


def sweep_aged(folder: Path, age_s: float, now: float | None = None, names: str = "*") -> None:
    """Removes small notes of hooks that nobody will ask for any more."""
    now = time.time() if now is None else now
    with contextlib.suppress(OSError):
        for path in folder.glob(names):
            if now - path.stat().st_mtime > age_s:
                remove([path])


# Sessions whose reading failed: what went wrong, and their envelopes, out of the way until the next try.


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
