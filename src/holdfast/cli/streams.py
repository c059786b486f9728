"""What becomes of output that nobody can take: a reader that has gone, a full disk, a stream that was closed."""

from __future__ import annotations

import errno
import os
import sys

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG)


def open_missing() -> None:
    """A stream that was closed (`>&-`) swallows what is said; no file of ours may get its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def is_ours(error: BaseException) -> bool:
    """Whether an error is about a stream. Those about files name them."""
    return isinstance(error, BrokenPipeError) or (
        isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE
    )


def give_up(error: OSError) -> int:
    """The exit code, after one line where there is something to say; the rest of the output is dropped."""
    gone = isinstance(error, BrokenPipeError)  # `holdfast ledger | head`: nobody is left to be told
    if not gone:
        try:
            sys.stderr.write(f"holdfast: the output could not be written: {error.strerror}.\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
    abandon()
    return 0 if gone else 1


def abandon() -> None:
    """What is still buffered cannot be written: the interpreter must not try again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass
