"""Asks a person before something of theirs is changed."""

from __future__ import annotations

import sys

from holdfast.errors import UsageError


def agreed(question: str, fix: str = "Say --yes to go ahead, --dry-run to only look") -> bool:
    """Whether they said yes. A script cannot be asked and says `--yes` beforehand."""
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked", fix=fix)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:  # Ctrl-D leaves the cursor behind the question
        sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")
