"""Keeps the process small: what a large reading needed for a moment goes back to the system. Linux with glibc only."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys

_ARENAS = -8  # M_ARENA_MAX


def one_heap() -> None:
    """One heap for all threads: glibc would give each its own, and keep in it what a large reading took."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_ARENAS, 1)


def give_back() -> None:
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
