"""Envelopes that hooks leave in a project's memory: each says which session has something new to read.

`hooks/trace.py` writes them. They are named `<session>.<time>-<process>.json` and never rewritten, so that removing one
after reading cannot lose a newer one. Envelopes of sessions that could not be read wait in a quarantine, with a note
on the problem.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.hashes import blake2b

SMALL = 64 * 1024
_ASIDE = "aside"
_STALE_S = 60.0  # an older temporary file belongs to a dead hook


class _EnvelopeFile(Struct, frozen=True, kw_only=True):
    """`process` is the host's, 0 if unknown; `headless` is None if unknown; `remember` is what a person asked for."""

    host: str = ""
    event: str = ""
    session: str = ""
    transcript: str = ""
    cwd: str = ""
    process: int = 0
    time: float = 0.0
    headless: bool | None = None
    remember: tuple[str, ...] = ()


class Envelope(_EnvelopeFile, frozen=True, kw_only=True):
    path: Path


class Fault(Struct, frozen=True, kw_only=True):
    """A session that is being read, or could not be read. An empty `problem` means that the reader died.

    `version` is the version of holdfast that failed, if known: another one may succeed.
    """

    host: str
    session: str
    tries: int
    at: float
    version: str = ""
    problem: str = ""


def envelopes(inbox: Path) -> tuple[list[Envelope], list[Path]]:
    """The envelopes of a folder, oldest first, and the files that are not envelopes."""
    readable: list[Envelope] = []
    broken: list[Path] = []
    for path in _files(inbox):
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > SMALL:  # a pipe would be waited for
                raise ValueError("not written by a hook")
            content = msgspec.json.decode(path.read_bytes(), type=_EnvelopeFile)
            readable.append(Envelope(path=path, **msgspec.structs.asdict(content)))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, msgspec.MsgspecError):
            broken.append(path)
    return sorted(readable, key=lambda envelope: envelope.time), broken


def by_session(envelopes: Sequence[Envelope]) -> list[list[Envelope]]:
    """The envelopes of each session, oldest first."""
    groups: dict[tuple[str, str], list[Envelope]] = {}
    for envelope in envelopes:
        groups.setdefault((envelope.host, envelope.session), []).append(envelope)
    return list(groups.values())


def last_envelopes(memory: Path) -> list[Envelope]:
    """The newest envelope of each session in the inbox."""
    return [group[-1] for group in by_session(envelopes(memory / "inbox")[0])]


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
    """Removes temporary files of hooks and captures that were killed while writing."""
    for folder in (inbox, inbox / _ASIDE):
        sweep_aged(folder, _STALE_S, now, "*.tmp")


def sweep_aged(folder: Path, age_s: float, now: float | None = None, names: str = "*") -> None:
    """Removes notes of hooks that are too old to be useful."""
    now = time.time() if now is None else now
    with contextlib.suppress(OSError):
        for path in folder.glob(names):
            if now - path.stat().st_mtime > age_s:
                remove([path])


# --- quarantine ------------------------------------------------------------------------------------------


def quarantine(memory: Path) -> Path:
    return memory / "inbox" / _ASIDE


def faults(memory: Path) -> list[Fault]:
    paths: list[Path] = []
    with contextlib.suppress(OSError):
        paths = sorted(quarantine(memory).glob("*.fault"))
    return [fault for path in paths if (fault := _read_fault(path)) is not None]


def fault_of(memory: Path, host: str, session: str) -> Fault | None:
    return _read_fault(_fault_path(memory, host, session))


def faults_of(memory: Path, sessions: Container[str]) -> list[Path]:
    """The files of the notes on these sessions."""
    return [
        _fault_path(memory, fault.host, fault.session)
        for fault in faults(memory)
        if fault.session in sessions
    ]


def note_fault(memory: Path, fault: Fault) -> None:
    """Writes the note by rename, without syncing: if it is lost, the session is only retried once more."""
    path = _fault_path(memory, fault.host, fault.session)
    files.make_private(path.parent)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(msgspec.json.encode(fault))
    os.replace(temporary, path)


def forget_fault(memory: Path, fault: Fault) -> None:
    remove([_fault_path(memory, fault.host, fault.session)])


def clear_session(memory: Path, host: str, session: str) -> None:
    """Removes the note on a session and its envelopes from the quarantine."""
    waiting = [envelope.path for envelope in quarantined(memory, host, session)]
    remove([_fault_path(memory, host, session), *waiting])


def quarantined(memory: Path, host: str, session: str) -> list[Envelope]:
    all_envelopes = envelopes(quarantine(memory))[0]
    return [envelope for envelope in all_envelopes if (envelope.host, envelope.session) == (host, session)]


def put_aside(memory: Path, group: Sequence[Envelope]) -> None:
    """Moves a session's envelopes to the quarantine: the newest, and the newest with a transcript."""
    files.make_private(quarantine(memory))
    for envelope in group:
        with contextlib.suppress(OSError):
            os.replace(envelope.path, quarantine(memory) / envelope.path.name)
    session_envelopes = quarantined(memory, group[-1].host, group[-1].session)
    with_transcript = [envelope for envelope in session_envelopes if envelope.transcript]
    kept = {envelope.path for envelope in (*session_envelopes[-1:], *with_transcript[-1:])}
    remove(envelope.path for envelope in session_envelopes if envelope.path not in kept)


def take_back(memory: Path, host: str, session: str) -> None:
    """Moves a session's envelopes back into the inbox, for the next capture."""
    for envelope in quarantined(memory, host, session):
        with contextlib.suppress(OSError):
            os.replace(envelope.path, memory / "inbox" / envelope.path.name)


def _fault_path(memory: Path, host: str, session: str) -> Path:
    number = blake2b(f"{host}\n{session}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return quarantine(memory) / f"{number}.fault"


def _read_fault(path: Path) -> Fault | None:
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        if path.is_file() and not path.is_symlink():
            return msgspec.json.decode(path.read_bytes(), type=Fault)
    return None
