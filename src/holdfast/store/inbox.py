"""Envelopes that hooks leave in a project's memory: which session has something new to read.

`hot/trace.py` writes them. They are named `<session>.<time>-<process>.json` and never rewritten, so whoever
read one may remove it without losing a newer one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

SMALL = 64 * 1024
_STALE_S = 60.0  # a temporary file as old as this belongs to a hook that is dead


class Envelope(Struct, frozen=True, kw_only=True):
    """`process` is the host's, 0 where it is not known; `headless` whether nobody sat before it, None likewise."""

    path: Path
    host: str
    event: str
    session: str
    transcript: str
    cwd: str
    process: int
    time: float
    headless: bool | None = None


class _Written(Struct):
    host: str = ""
    event: str = ""
    session: str = ""
    transcript: str = ""
    cwd: str = ""
    process: int = 0
    time: float = 0.0
    headless: bool | None = None


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
    now = time.time() if now is None else now
    with contextlib.suppress(OSError):
        for path in inbox.glob("*.tmp"):
            if now - path.stat().st_mtime > _STALE_S:
                remove([path])


def sweep_aged(folder: Path, age_s: float, now: float | None = None) -> None:
    """Removes small notes of hooks that nobody will ask for any more."""
    now = time.time() if now is None else now
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if now - path.stat().st_mtime > age_s:
                remove([path])
