"""The clock of this machine: stamps that never go backwards, also when the wall clock does, and the letters in them.

`~/.holdfast/machine` holds the letters, and what they are recognised by; `~/.holdfast/clock` holds the last stamp. They
are written under one lock, durably and whole, so that many processes may stamp at once and a crash repeats no stamp.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.files import Held
from holdfast.core.hashes import blake2b
from holdfast.core.stamp import NEVER, Stamp, later_than, parse_stamp
from holdfast.core.sync_folders import new_name_in

LETTERS = 4
_ALPHABET = "abcdefghjkmnpqrstvwxyz"  # without i, l, o, u: ids are read aloud and typed
_DAY_MS = 86_400_000
_SYSTEM_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


class _MachineFile(Struct, frozen=True):
    """`inode` and `system` tell a home that was copied to another machine: there, both are different."""

    letters: str
    inode: int
    system: str


class MachineClock:
    """`now` is the wall clock."""

    def __init__(self, home: Path, now: Callable[[], datetime]) -> None:
        self._home = home
        self._wall_clock = now
        self._lock = home / "locks" / "clock.lock"

    @property
    def letters(self) -> str:
        """What tells this machine from others: made on first use, and again in a home that came from elsewhere."""
        return self._machine.letters

    @cached_property
    def _machine(self) -> _MachineFile:
        if (known := self._read_machine()) is not None:
            return known
        files.make_private(self._home)
        with files.lock(self._lock) as held:
            return self._read_machine() or self._make_machine(held)

    def _read_machine(self) -> _MachineFile | None:
        """The file of this machine; None if there is none, or the home came from another machine."""
        path = self._home / "machine"
        try:
            known = msgspec.json.decode(files.read(path) or b"", type=_MachineFile)
        except msgspec.MsgspecError:
            return None
        if not known.letters:
            return None
        # An inode changes with a backup that is put back, the system's id with a container that is made again.
        return known if known.inode == path.stat().st_ino or known.system == _system() else None

    def _make_machine(self, held: Held) -> _MachineFile:
        path = self._home / "machine"
        files.discard([path])
        letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(LETTERS))
        with files.open_new(path, 0o600) as file:
            made = _MachineFile(letters, os.fstat(file.fileno()).st_ino, _system())
            file.write(msgspec.json.encode(made) + b"\n")
            files.finish(file)
        new_name_in(path.parent)
        if self._last() == NEVER:  # from here on no earlier time is believed
            self._write_last(held, Stamp(self._wall_ms(), 0, letters))
        return made

    def _wall_ms(self) -> int:
        return Stamp.of_time(self._wall_clock()).wall

    # --- stamps ----------------------------------------------------------------------------------------

    def now(self) -> int:
        """The wall time in milliseconds, and never less than that of the last stamp. Writes nothing."""
        return max(self._wall_ms(), self._last().wall)

    def seconds(self) -> float:
        """The same in seconds, as memory files have it."""
        return self.now() / 1000

    def tick(self, seen: Iterable[Stamp] = ()) -> Stamp:
        """A new stamp, later than all of this machine and those that were seen."""
        letters = self.letters
        with files.lock(self._lock) as held:
            stamp = later_than((self._last(), *seen), self._wall_ms(), letters)
            self._write_last(held, stamp)
        return stamp

    def merge(self, received: Iterable[Stamp]) -> None:
        """Goes on after stamps from elsewhere. The caller clamps them first, so that no wrong clock drags this one."""
        latest, last = max(received, default=NEVER), self._last()
        # The next stamp takes the wall time anyway. A wall clock that is put back is noticed within a day.
        if latest <= last or (latest.wall < self._wall_ms() and latest.wall - last.wall < _DAY_MS):
            return
        with files.lock(self._lock) as held:
            if self._last() < latest:
                self._write_last(held, latest)

    def ahead_ms(self) -> int:
        """How far the last stamp is ahead of the wall clock, which was put back then; 0 if it is not."""
        return max(self._last().wall - self._wall_ms(), 0)

    def put_back(self) -> None:
        """Goes on from the wall clock, after a person said that it is right."""
        stamp = Stamp(self._wall_ms(), 0, self.letters)
        with files.lock(self._lock) as held:
            self._write_last(held, stamp)

    def _last(self) -> Stamp:
        text = (files.read(self._home / "clock") or b"").decode("ascii", "replace").strip()
        try:
            return parse_stamp(text)
        except ValueError:
            return NEVER

    def _write_last(self, held: Held, stamp: Stamp) -> None:
        files.replace_held(held, self._home / "clock", f"{stamp}\n".encode(), files.ANYTHING)


def clock_of(memory: Path) -> MachineClock:
    """The clock of the machine that holds this memory, for those who know nothing else of it."""
    return MachineClock(memory.parent.parent, lambda: datetime.now(UTC))


def _system() -> str:
    """A hash of what identifies this system, or else of its name."""
    names = (_first_line(path) for path in _SYSTEM_IDS)
    identity = next(filter(None, names), "") or os.environ.get("COMPUTERNAME", "") or _node()
    return blake2b(f"holdfast {identity}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(100).strip()
    except OSError:
        return ""


def _node() -> str:
    import platform

    return platform.node()
