"""Runs a command with limits on time and output, and ends it with all the processes it started."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from holdfast.core.errors import StoreError

HEAD = TAIL = 128 * 1024  # bytes kept of the start and the end of the output
_GRACE_S = 2.0  # for the last output of a process that has ended
_PIECE = 64 * 1024


class ProcessResult(Struct, frozen=True):
    """How a command ended. `exit_code` is None if it timed out."""

    exit_code: int | None
    output: bytes


def run_bounded(
    command: str | Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    *,
    stdin: bytes | None = None,
    head: int = HEAD,
    tail: int = TAIL,
) -> ProcessResult:
    """Runs a line in a shell, or a list of words without one. Without a shell, only standard output is kept."""
    shell, posix = isinstance(command, str), os.name != "nt"
    try:
        process = subprocess.Popen(
            command,
            shell=shell,  # a person typed the line into a shell, and agreed to exactly that
            executable=shutil.which("bash", path=env.get("PATH")) if shell and posix else None,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if shell else subprocess.DEVNULL,
            start_new_session=posix,
        )
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the command cannot be started: {error}", where=str(cwd), fix="Run it by hand"
        ) from error
    output = _Output(head, tail)
    reader = threading.Thread(target=output.read, args=(process.stdout,), daemon=True)
    reader.start()
    if stdin is not None:
        threading.Thread(target=_write, args=(process.stdin, stdin), daemon=True).start()
    try:
        exit_code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        exit_code = None
    finally:
        _end_group(process)  # also after a normal exit: it may have left processes running
        process.wait()
        reader.join(_GRACE_S)
    return ProcessResult(exit_code, output.kept())


class _Output:
    """Keeps the start and the end of an output of any length."""

    def __init__(self, head: int, tail: int) -> None:
        self._most_head, self._most_tail = head, tail
        self._head = self._tail = b""
        self._dropped = False

    def read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while piece := os.read(pipe.fileno(), _PIECE):
                room = self._most_head - len(self._head)
                self._head += piece[:room]
                tail = self._tail + piece[room:]
                self._dropped = self._dropped or len(tail) > self._most_tail
                self._tail = tail[max(len(tail) - self._most_tail, 0) :]

    def kept(self) -> bytes:
        return self._head + (b"\n" if self._dropped else b"") + self._tail


def _write(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # the program may exit without reading its input
        pipe.write(data)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        if process.poll() is None:
            tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
