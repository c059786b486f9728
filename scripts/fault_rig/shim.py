"""The faulty disk (shim.c) seen from Python: builds it, arms it, reads its log."""

from __future__ import annotations

import ctypes
import errno
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")

# As in shim.c.
KINDS = (
    "open", "open to write", "read", "write", "sync", "rename", "link", "symlink", "unlink", "mkdir", "rmdir",
    "truncate", "close", "lock", "chmod", "utime", "create",
)  # fmt: skip
PASS, FAIL_ONCE, FAIL_FROM, SHORT, KILL_AFTER, KILL_TORN, KILL_BEFORE = range(7)
EXCHANGED, CUT = 1, 2
_RECORD = struct.Struct("<qqqQQIIIIII")

TAKES_SPACE = ("write", "create", "mkdir", "link", "symlink")
CHANGES = (
    "open to write", "write", "create", "mkdir", "link", "symlink", "rename", "unlink", "rmdir", "truncate", "chmod", "utime",
)  # fmt: skip


class Shared(ctypes.Structure):
    """What a process leaves of itself when it is dead: how many calls it made, and which one was hit."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("hit", ctypes.c_int64),
        ("failed", ctypes.c_int64),
        ("hit_kind", ctypes.c_int32),
        ("hit_errno", ctypes.c_int32),
        ("hit_path", ctypes.c_char * 1024),
    )


@dataclass(frozen=True)
class Call:
    """One call of the log. `inode` is the file's, `other` that of the file that was at the second name."""

    number: int
    kind: str
    result: int
    offset: int
    inode: int
    other: int
    flags: int
    path: str
    path2: str
    data: bytes


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and at which call. `name` is how it is counted."""

    name: str
    mode: int
    at: int
    errno: int = 0
    kinds: tuple[str, ...] = ()

    @property
    def mask(self) -> int:
        return sum(1 << KINDS.index(kind) for kind in self.kinds)


def missing() -> str:
    """Why the rig cannot run here, in a line; '' where it can."""
    if sys.platform != "linux":
        return "the fault rig needs Linux: it stands between a process and its libc by LD_PRELOAD"
    if compiler() is None:
        return "no C compiler (cc, gcc or clang) for the library of the fault rig"
    return ""


def compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build(folder: Path) -> Path:
    made = folder / "holdfast_faults.so"
    command = [compiler() or "cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(made), str(SOURCE)]
    subprocess.run(command, check=True)
    return made


class Shim:
    """The library in this process, which was started with it in LD_PRELOAD."""

    def __init__(self, library: Path, world: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.faults_watch.restype = ctypes.POINTER(Shared)
        self._library.faults_arm.argtypes = (
            ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int,
        )  # fmt: skip
        self._library.faults_clock.argtypes = (ctypes.c_long,)
        self.shared: Shared = self._library.faults_watch(str(world).encode()).contents

    def arm(self, fault: Fault | None = None, log: Path | None = None, *, data: bool = False) -> None:
        fault = fault or Fault("none", PASS, 0)
        place = str(log).encode() if log else b""
        if self._library.faults_arm(fault.mode, fault.at, fault.errno, fault.mask, place, data):
            raise OSError(f"{log}: the log cannot be written")

    def disarm(self) -> None:
        self._library.faults_disarm()

    def set_clock_ahead(self, seconds: int) -> None:
        self._library.faults_clock(seconds)


def read_log(path: Path) -> list[Call]:
    return list(_calls(path.read_bytes()))


def _calls(log: bytes) -> Iterator[Call]:
    at = 0
    while at < len(log):
        number, result, offset, inode, other, kind, flags, *sizes, _ = _RECORD.unpack_from(log, at)
        at += _RECORD.size
        parts = []
        for size in sizes:
            parts.append(log[at : at + size])
            at += size
        path, path2, data = parts
        yield Call(
            number, KINDS[kind], result, offset, inode, other, flags, path.decode(), path2.decode(), data
        )


# --- which faults a call can have ------------------------------------------------------------------------

_ERRORS = {
    "open": ("EACCES", "EIO", "EMFILE"),
    "open to write": ("EACCES", "EIO", "EROFS"),
    "create": ("ENOSPC", "EACCES", "EIO", "EROFS"),
    "read": ("EIO", "EINTR"),
    "write": ("ENOSPC", "EIO", "EINTR"),
    "sync": ("EIO", "ENOSPC", "EINTR"),
    "rename": ("ENOSPC", "EIO", "EACCES"),
    "link": ("ENOSPC", "EACCES"),
    "symlink": ("ENOSPC", "EACCES"),
    "unlink": ("EACCES", "EIO"),
    "mkdir": ("ENOSPC", "EACCES"),
    "rmdir": ("EACCES", "EIO"),
    "truncate": ("EIO", "ENOSPC"),
    "close": ("EIO",),
    "lock": ("ENOLCK", "EINTR", "EIO"),
    "chmod": ("EPERM", "EIO"),
    "utime": ("EPERM",),
}


def faults_at(call: Call) -> Iterator[Fault]:
    """Everything that can go wrong at a call."""
    at = call.number
    for name in _ERRORS[call.kind]:
        yield Fault(name, FAIL_ONCE, at, getattr(errno, name))
    if call.kind == "write":
        yield Fault("short write", SHORT, at)
        yield Fault("kill in a write", KILL_TORN, at)
    if call.kind == "read":
        yield Fault("short read", SHORT, at)
    if call.kind in TAKES_SPACE:
        yield Fault("disk full from here", FAIL_FROM, at, errno.ENOSPC, TAKES_SPACE)
    if call.kind in CHANGES:
        yield Fault("read-only from here", FAIL_FROM, at, errno.EROFS, CHANGES)
        yield Fault("kill", KILL_AFTER, at)
    if call.kind in (*CHANGES, "sync", "read"):
        yield Fault("disk gone from here", FAIL_FROM, at, errno.EIO, KINDS)


_CHANCE = re.compile(r"[0-9a-f]{8,}|\d+")


def without_chance(name: str) -> str:
    """A file's name without what is drawn by lot: hashes, process numbers, temporary names."""
    return _CHANCE.sub("#", name)
