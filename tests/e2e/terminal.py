"""A program in a terminal of its own, as a person runs it: what it shows is kept, and read so that it never waits."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S, wait_until

_CONTROL = re.compile(
    rb"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()][A-Z0-9]|\x1b."
)
_ROWS, _COLUMNS = 50, 120


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._shown = bytearray()
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()

    def _drain(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self._shown += data
        except OSError:  # the other end was closed: the program has ended
            pass

    @property
    def shown(self) -> str:
        """Every word that was shown so far, in a row: how the program moves its cursor is left out."""
        return " ".join(_CONTROL.sub(b" ", bytes(self._shown)).decode("utf-8", "replace").split())

    def type(self, text: str) -> None:
        """Word and return apart, as fingers do: pasted together the return is taken for a line break."""
        os.write(self._master, text.encode())
        time.sleep(0.5)
        os.write(self._master, b"\r")

    def say(
        self, words: str, happened: Callable[[], bool], tries: int = 10, seconds: float = PATIENCE_S / 10
    ) -> bool:
        """Types, and again when nothing comes of it: keys are lost while a client is busy."""
        for _ in range(tries):
            self.type(words)
            if wait_until(happened, seconds):
                return True
        return False

    def close(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._reader.join(PATIENCE_S)
        os.close(self._master)


@contextmanager
def terminal(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
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
