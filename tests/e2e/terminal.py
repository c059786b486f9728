"""A program in a terminal of its own, as a person runs it: what it shows is read so that it never waits for us."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()

    def _drain(self) -> None:
        try:
            while os.read(self._master, 65536):
                pass
        except OSError:  # the other end was closed: the program has ended
            pass

    def type(self, text: str) -> None:
        """Word and return apart, as fingers do: pasted together the return is taken for a line break."""
        os.write(self._master, text.encode())
        time.sleep(0.5)
        os.write(self._master, b"\r")

    def close(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._reader.join(10)
        os.close(self._master)


@contextmanager
def terminal(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
    finally:
        os.close(slave)
    shown = Terminal(process, master)
    try:
        yield shown
    finally:
        shown.close()
