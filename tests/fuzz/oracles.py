"""What must hold for any input, measured while it is worked on: only our own errors, bounded CPU time, memory and reading.

A limit is in CPU seconds, so that a busy machine changes nothing.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct

from holdfast.core.errors import HoldfastError

MOST_CPU_S = 10.0
MOST_WAIT_S = 120.0  # for a run of `make fuzz` alone: an input that is waited for takes no CPU time
MOST_GROWTH = 300 << 20  # bytes of memory for one input
MOST_READ = 16 << 20  # bytes read for one input, beside sixty-four times its size
_PACKAGE = f"{os.sep}holdfast{os.sep}"
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where files of a moment need no disk
_COUNTERS = Path("/proc/self/io")


class Broken(AssertionError):
    """An oracle does not hold. The text up to the first colon names the kind."""


class TooSlow(BaseException):
    """Not an Exception: what handles everything must not handle this."""


class Target(Struct, frozen=True):
    """Something that reads what others wrote. `check` raises for an input that breaks a promise.

    `close` removes what `check` needed. `words` are those of the format, for mutations.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()
    close: Callable[[], object] = tuple


class Finding(Struct, frozen=True):
    """A promise that an input broke. Findings with one `kind` have one cause."""

    kind: str
    text: str


def require(holds: object, problem: str) -> None:
    if not holds:
        raise Broken(problem)


def require_one_line(error: HoldfastError) -> None:
    """An error that a person can act on: one line, without control characters that it did not have to quote."""
    line = error.line()
    require(line.strip() and "\n" not in line and len(line) < 5_000, f"error is not one line: {line[:300]!r}")


def examine(target: Target, data: bytes, *, cpu_s: float = MOST_CPU_S, wait_s: float = 0.0) -> Finding | None:
    """What is wrong with how the target takes this input; None if nothing is."""
    _forget_peak()
    read_before, memory_before = _bytes_read(), _most_memory()
    try:
        with _limited(cpu_s, wait_s):
            target.check(data)
    except HoldfastError as error:
        return Finding(f"not caught: {_place(error)}", _told(error))
    except Broken as error:
        return Finding(f"broken promise: {str(error).partition(':')[0]}", str(error)[:2000])
    except TooSlow as error:
        return Finding("too slow", f"{error}\n{_told(error)}")
    except RecursionError as error:
        return Finding(f"RecursionError in {_place(error, last=False)}", f"RecursionError: {error}")
    except (Exception, SystemExit) as error:
        return Finding(f"{type(error).__name__} in {_place(error)}", _told(error))
    if (grown := _most_memory() - memory_before) > MOST_GROWTH:
        return Finding("memory", f"{grown >> 20} MB for an input of {len(data)} bytes")
    if (read := _bytes_read() - read_before) > MOST_READ + 64 * len(data):
        return Finding("bytes read", f"{read} bytes read for an input of {len(data)} bytes")
    return None


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-12))[-4000:]


def _place(error: BaseException, *, last: bool = True) -> str:
    """The function of ours in which it was raised."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in frame.filename]
    if not ours:
        return "no module of ours"
    frame = ours[-1 if last else 0]
    return f"{frame.filename.rpartition(_PACKAGE)[2]}:{frame.name}"


@contextmanager
def _limited(cpu_s: float, wait_s: float) -> Iterator[None]:
    """Raises TooSlow in the main thread when the CPU time, or the time in which nothing may happen, is used up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {cpu_s:g} s of CPU" if number == signal.SIGPROF else f"waited {wait_s:g} s")

    kinds = [(signal.SIGPROF, signal.ITIMER_PROF, cpu_s)]
    kinds += [(signal.SIGALRM, signal.ITIMER_REAL, wait_s)] if wait_s else []
    before: list[Any] = [signal.signal(number, stop) for number, _, _ in kinds]
    try:
        for _, timer, seconds in kinds:
            signal.setitimer(timer, seconds, 0.5)  # again, should a handler of everything have eaten it
        yield
    finally:
        for (number, timer, _), handler in zip(kinds, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _forget_peak() -> None:
    """Where the system can, the peak starts again: that of an earlier test would hide what this input takes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _most_memory() -> int:
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        if found := re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE):
            return int(found[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _bytes_read() -> int:
    try:
        return int(_COUNTERS.read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0  # not on Linux
