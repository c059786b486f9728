"""The client's end of the pipe: lines of at most so many characters, and nothing of ours lives longer than it."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from typing import IO

MOST_LINE = 4_000_000  # bytes; no call of ours needs more, and what is longer is not even held
_LOOK_EVERY_S = 2.0
_ENDS = 4_096
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")')
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


class BoundedLines:
    """Standard input by the line. For one that is too long a call of no known method stands, with its id: an error
    is answered to it, and the client does not wait for ever."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readline(self) -> str:
        line = self._stream.readline(MOST_LINE)
        if len(line) < MOST_LINE or line.endswith(b"\n"):
            return _whole_characters(line).decode("utf-8", "replace")
        head = tail = line[:_ENDS]
        while rest := self._stream.readline(MOST_LINE):
            tail = (tail + rest[-_ENDS:])[-_ENDS:]
            if rest.endswith(b"\n"):
                break
        found = _ID.search(head) or _ID.search(tail)
        if found is None:
            return "\n"
        return f'{{"jsonrpc":"2.0","id":{found[1].decode()},"method":"holdfast/line-too-long"}}\n'


def _whole_characters(line: bytes) -> bytes:
    """With a sign in place of half a character (`\\ud83d` alone): such a call would not be answered."""
    if not _HALF.search(line):
        return line
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], line)


def own_input() -> IO[bytes]:
    """The client's pipe under another number: what the application starts must not read from it."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(private, "rb", closefd=False)


def end_with_parent(busy: threading.Lock) -> None:
    """Ends the process when its parent is gone though somebody still holds the pipe; a call under way is finished."""
    if sys.platform == "win32":
        return  # there a parent's end closes the pipe
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY_S)
        busy.acquire(timeout=30)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
