"""A line that cuts, delays, holds and repeats: a TCP proxy in front of a server, and `git daemon` to put behind it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import wait_until
from tests.sync.sshd import free_port

_PIECE = 4_096


class BadLine:
    """Forwards to a port of this machine. `cut_after`, `repeat_at` and `hold_after` count bytes of one connection, both
    ways together; None means never. `delay_s` is slept before each piece."""

    def __init__(self, port: int) -> None:
        self.cut_after: int | None = None
        self.repeat_at: int | None = None
        self.hold_after: int | None = None
        self.delay_s = 0.0
        self.sent = self.received = self.connections = 0
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def heal(self) -> None:
        self.cut_after = self.repeat_at = self.hold_after = None
        self.delay_s = 0.0
        self.sent = self.received = 0

    def close(self) -> None:
        for end in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._open):
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                far = socket.create_connection(("127.0.0.1", self._to))
                self._open += [near, far]
                passed = [0]
                for source, sink, is_sent in ((near, far, True), (far, near, False)):
                    self._start(self._forward, source, sink, is_sent, passed)

    def _forward(self, source: socket.socket, sink: socket.socket, is_sent: bool, passed: list[int]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_PIECE):
                before = passed[0]
                passed[0] += len(data)
                if is_sent:
                    self.sent += len(data)
                else:
                    self.received += len(data)
                time.sleep(self.delay_s)
                if self.hold_after is not None and passed[0] > self.hold_after:
                    return  # open, and silent
                if self.cut_after is not None and passed[0] > self.cut_after:
                    sink.sendall(data[: max(self.cut_after - before, 0)])
                    for end in (source, sink):
                        end.shutdown(socket.SHUT_RDWR)
                    return
                sink.sendall(data)
                if self.repeat_at is not None and before <= self.repeat_at < passed[0]:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def bad_line(port: int) -> Iterator[BadLine]:
    line = BadLine(port)
    try:
        yield line
    finally:
        line.close()


class GitDaemon:
    """`git daemon` on a port of its own, which can be killed and started again."""

    def __init__(self, base: Path, *, writable: bool = True) -> None:
        self.port = free_port()
        self._command = ["git", "daemon", "--reuseaddr", "--export-all", f"--base-path={base}"]
        self._command += ["--listen=127.0.0.1", f"--port={self.port}"]
        self._command += [*(["--enable=receive-pack"] if writable else []), str(base)]
        self._start()

    def _start(self) -> None:
        self._server = subprocess.Popen(self._command, stderr=subprocess.DEVNULL, start_new_session=True)
        assert wait_until(lambda: _answers(self.port), 30)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        os.killpg(self._server.pid, how)  # git waits for the daemon that it is
        self._server.wait()

    def restart(self) -> None:
        self.stop(signal.SIGKILL)
        self._start()


@contextmanager
def served_by_git(base: Path, *, writable: bool = True) -> Iterator[GitDaemon]:
    """Repositories in `base` are served over git://."""
    daemon = GitDaemon(base, writable=writable)
    try:
        yield daemon
    finally:
        daemon.stop()


@contextmanager
def git_daemon(base: Path, *, writable: bool = True) -> Iterator[int]:
    """The port of a daemon."""
    with served_by_git(base, writable=writable) as daemon:
        yield daemon.port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
