"""`holdfast ledger stats` without the application, which takes longer to load than counting ten thousand rows.

Whatever is not plainly the figures of this project's whole ledger is left to the application, as is every complaint.
"""

from __future__ import annotations

import gc
import os
import stat
import sys

from holdfast.core import place
from holdfast.core.errors import HoldfastError
from holdfast.ledger.columns import FIGURES, counted, joined, read_columns
from holdfast.ledger.tally import FIELD_OF
from holdfast.terminal import output
from holdfast.views.ledger_figures import show_columns

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class _Application(Exception):
    """The command needs the application."""


def print_stats(words: list[str]) -> int | None:
    """Prints the figures and returns the exit code; prints nothing and returns None if the application must do it."""
    rest = [word for word in words if word != "--json"]
    by = rest[1] if len(rest) == 2 and rest[0] == "--by" and rest[1] in FIELD_OF else None
    if (rest and by is None) or (sys.stdout.encoding or "").lower() != "utf-8":
        return None
    gc.disable()  # rows form no cycles, and this process ends with them
    try:
        shared_ledger, memory_ledger = _ledgers()
        fields = tuple(dict.fromkeys((*FIGURES, FIELD_OF[by]))) if by else FIGURES
        columns, problems = read_columns(memory_ledger, "ledger.md", fields)
        if shared_ledger is not None:
            repository, first = read_columns(shared_ledger, "ledger.md", fields)
            columns, problems = joined(repository, columns), [*first, *problems]
        columns = counted(columns)
    except (_Application, HoldfastError, OSError):
        gc.enable()
        return None
    except KeyboardInterrupt:
        from holdfast.terminal.run import interrupted

        return interrupted()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    output.warn_all(problem.message for problem in problems)
    show_columns(columns, len(columns["session"]), by, as_json="--json" in words)
    return 0


def _ledgers() -> tuple[bytes | None, bytes]:
    """The content of the repository's shared ledger, if it has one, and of this machine's ledger."""
    cwd, home = os.getcwd(), place.home_of(dict(os.environ))
    project = place.find(cwd, home)
    # Inside memory another project may be meant.
    if project is None or _is_below(cwd, home):
        raise _Application
    window = os.path.join(project.root, ".holdfast", "ledger.md")
    shared_ledger = _content(window) if os.path.lexists(window) and not os.path.islink(window) else None
    return shared_ledger, _content(os.path.join(project.memory, "ledger.md"))


def _is_below(path: str, home: str) -> bool:
    return f"{os.path.realpath(path)}{os.sep}".startswith(f"{os.path.realpath(home)}{os.sep}")


def _content(path: str) -> bytes:
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Application
        data = file.read()
    if data and not data.endswith(b"\n"):
        raise _Application  # its last line may be one that is being written just now
    return data
