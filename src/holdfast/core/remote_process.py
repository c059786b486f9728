"""A program that talks to another machine, such as ssh or git: ended with all it started, once nothing moves any more.

A slow line may take its time, a dead one may not: only silence is limited, not the whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

_PIECE = 65_536
_MOST_COMPLAINT = 10_000  # bytes of standard error: its end says why it failed
_LOOK_S = 0.2


class RemoteProcess:
    """Use it in a `with` statement: at its end the program runs no more. Raises OSError if it cannot be started.

    `may_ask` leaves it the terminal, for a password. `stdin` is written while the output is read.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        quiet_seconds: float,
        *,
        may_ask: bool,
        stdin: Iterable[bytes] = (),
    ) -> None:
        self.late = False
        self.read_bytes = self.sent_bytes = 0
        self._complaint = b""
        self._quiet_seconds = quiet_seconds
        self._moved = time.monotonic()
        self._over = threading.Event()
        self._own_group = os.name != "nt" and not may_ask
        self._process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=self._own_group,  # without a terminal nothing can ask for a password
        )
        self._threads = [
            threading.Thread(target=self._write, args=(self._process.stdin, stdin), daemon=True),
            threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> RemoteProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._end()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def read(self, most: int = _PIECE) -> bytes:
        """The next bytes of its output; empty at the end, or when it was ended."""
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), min(most, _PIECE))
        self._moved = time.monotonic()
        self.read_bytes += len(data)
        return data

    def read_exactly(self, size: int) -> bytes:
        """`size` bytes of its output, or fewer at the end."""
        parts, left = [], size
        while left and (part := self.read(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def wait(self) -> int | None:
        """Its exit code, once it has ended; None if it was stopped because nothing moved."""
        code = self._process.wait()
        self._over.set()
        self._threads[1].join(1.0)
        return None if self.late else code

    @property
    def complaint(self) -> str:
        """The last lines of its standard error."""
        return self._complaint.decode("utf-8", "replace").replace("\r", "\n").strip()

    def _write(self, pipe: IO[bytes], data: Iterable[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:  # it may end without reading its input
            for part in data:
                view = memoryview(part)
                while view:
                    written = os.write(pipe.fileno(), view[:_PIECE])
                    self._moved = time.monotonic()
                    self.sent_bytes += written
                    view = view[written:]

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            while part := os.read(pipe.fileno(), _PIECE):
                self._moved = time.monotonic()
                self._complaint = (self._complaint + part)[-_MOST_COMPLAINT:]

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            if time.monotonic() - self._moved > self._quiet_seconds:
                self.late = True
                self._end()
                return

    def _end(self) -> None:
        """Ends the program and what it started: git leaves its ssh behind, which would wait for ever."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._own_group:
                os.killpg(self._process.pid, signal.SIGKILL)
            elif self._process.poll() is None:
                self._process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(2.0)
                self._process.kill()
