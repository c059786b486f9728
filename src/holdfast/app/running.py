"""Runs a command that a person agreed to: bounded in time and output, and nothing of it stays behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import StoreError

HEAD = TAIL = 128 * 1024  # bytes kept of the beginning and of the end of what a command says
_GRACE_S = 2.0  # for the last words of a process that is gone


class Ran(Struct, frozen=True):
    """How a command ended and what it said, both streams together. `exit_code` is None when time was up."""

    exit_code: int | None
    output: str


def run_command(command: str, cwd: Path, env: Mapping[str, str], timeout: float) -> Ran:
    """Run a shell command without a terminal or input; it and all it started are gone afterwards."""
    try:
        process = _start(command, cwd, env)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the command cannot be started: {error}", where=str(cwd), fix="Run it by hand"
        ) from error
    said = _Said()
    reader = threading.Thread(target=said.listen, args=(process,), daemon=True)
    reader.start()
    code: int | None
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end_group(process)  # also when it ended by itself: it may have left something running
        process.wait()
        reader.join(_GRACE_S)
    return Ran(code, said.text())


class Said(Struct, frozen=True):
    """How a program ended, and its standard output up to a byte more than was allowed."""

    exit_code: int | None
    output: bytes


def answer_of(
    command: Sequence[str], asked: bytes, cwd: Path, env: Mapping[str, str], timeout: float, most: int
) -> Said:
    """Runs a program without a shell, gives it something to read and takes its answer; nothing of it stays behind."""
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(env),
            stdin=pipe,
            stdout=pipe,
            stderr=nothing,
            start_new_session=os.name != "nt",
        )
    except (OSError, ValueError) as error:
        raise StoreError(f"the command cannot be started: {error}", where=str(cwd)) from error
    heard: list[bytes] = [b""]
    writer = threading.Thread(target=_tell, args=(process, asked), daemon=True)
    reader = threading.Thread(target=_hear, args=(process, most, heard), daemon=True)
    writer.start()
    reader.start()
    code: int | None
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end_group(process)
        process.wait()
        reader.join(_GRACE_S)
    return Said(code, heard[0])


def _tell(process: subprocess.Popen[bytes], asked: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError), process.stdin as pipe:  # it need not read all, nor any of it
            pipe.write(asked)


def _hear(process: subprocess.Popen[bytes], most: int, heard: list[bytes]) -> None:
    if process.stdout is None:
        return
    with process.stdout as pipe:
        while piece := os.read(pipe.fileno(), 64 * 1024):
            if len(heard[0]) <= most:
                heard[0] += piece


def _start(command: str, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    posix = os.name != "nt"
    return subprocess.Popen(
        command,
        shell=True,  # it was noted as it was typed into a shell, and a person has agreed to exactly that
        executable=shutil.which("bash", path=env.get("PATH")) if posix else None,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=posix,
    )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        if process.poll() is None:
            tree = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class _Said:
    """The beginning and the end of an output of any length."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._dropped = False

    def listen(self, process: subprocess.Popen[bytes]) -> None:
        pipe = process.stdout
        if pipe is None:
            return
        while piece := os.read(pipe.fileno(), 64 * 1024):
            room = HEAD - len(self._head)
            self._head += piece[:room]
            tail = self._tail + piece[room:]
            self._dropped = self._dropped or len(tail) > TAIL
            self._tail = tail[-TAIL:]

    def text(self) -> str:
        between = b"\n" if self._dropped else b""
        return (self._head + between + self._tail).decode("utf-8", "replace")
