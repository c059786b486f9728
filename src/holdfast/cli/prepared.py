"""Answers that were prepared when memory was saved, printed without the application being loaded."""

from __future__ import annotations

import os
import sys
from importlib import import_module

SHOWS_ANY_LETTER = "utf-8"


def print_resume() -> bool:
    """Prints what a new session here is told; False when the application has to look itself."""
    if (sys.stdout.encoding or "").lower() != SHOWS_ANY_LETTER:
        return False
    # Loaded by name: the hooks' path stands apart from every room.
    answer = import_module("holdfast.hot.resume").told(os.getcwd(), dict(os.environ))
    if answer is None or not answer[0]:
        return False
    lines, tokens = answer
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        if sys.stdout.isatty():
            sys.stderr.write(f"{len(lines)} lines, {tokens} tokens\n")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True
