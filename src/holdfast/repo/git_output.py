"""Asks git about a checkout that may be anyone's: nothing it configures is run; time and size are bounded."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Timer

# A repository may be anyone's: nothing that its configuration names is run.
_HARMLESS = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def git_output(root: Path, *words: str, seconds: float, most_bytes: int) -> bytes:
    """What git answers, as far as it came in time; nothing where there is no git."""
    return git_in_time(root, *words, seconds=seconds, most_bytes=most_bytes)[0]


def git_in_time(root: Path, *words: str, seconds: float, most_bytes: int) -> tuple[bytes, bool]:
    """The same, and whether the time was enough: what a busy machine left out may be asked for again."""
    import subprocess  # not every import asks

    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = subprocess.Popen(
            [*_HARMLESS, *words],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return b"", True
    late: list[bool] = []

    def give_up() -> None:
        late.append(True)
        process.kill()

    timer = Timer(seconds, give_up)
    timer.start()
    try:
        with process:
            answer = process.stdout.read(most_bytes) if process.stdout else b""
            process.kill()
    finally:
        timer.cancel()
    return answer, not late
