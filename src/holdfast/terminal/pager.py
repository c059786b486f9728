"""Shows long output in the reader's pager, line by line as it is made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from holdfast.terminal import output

USUAL = 100  # columns where there is no terminal
WIDEST = 120  # columns: longer lines are hard to read


def width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, ValueError, OSError):
        columns = 0
    return min(columns or USUAL, WIDEST)


def page_through(lines: Iterable[str], *, paged: bool) -> None:
    """Writes the lines; on a terminal into a pager, which may be left at any time."""
    command = _pager() if paged and output.on_terminal() else []
    if not command:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    import subprocess

    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    pager = subprocess.Popen(
        command, stdin=subprocess.PIPE, env=environment, encoding="utf-8", errors="backslashreplace"
    )
    assert pager.stdin is not None
    try:
        for line in lines:
            pager.stdin.write(f"{line}\n")
        pager.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the reader has seen enough
    finally:
        while True:
            try:
                pager.wait()
                break
            except KeyboardInterrupt:
                continue  # the pager's own business


def _pager() -> list[str]:
    """The reader's pager, else `less`; nothing where there is none."""
    import shlex
    import shutil

    wanted = os.environ.get("HOLDFAST_PAGER", os.environ.get("PAGER", "less"))
    try:
        command = shlex.split(wanted)
    except ValueError:
        return []
    return command if command and shutil.which(command[0]) else []
