"""Which of our lines a host reads by itself: those that `import --memories` took from a file that the host loads."""

from __future__ import annotations

import os

from holdfast.core.reading import json_of

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

    Line = tuple[str, str]  # text and reason

FILE = "imported.json"
LARGEST = 1 << 20


def read_by(memory: str, host: str) -> set[str]:
    """The ids of the statements that this host has from its own file."""
    try:
        lines: Any = json_of(os.path.join(memory, FILE), LARGEST)["lines"]
        return {name for name, taken in lines.items() if host in taken["readers"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def unread(lines: list[Line], memory: str, host: str) -> list[Line]:
    """The lines without those that the host has already; a line ends with the id of its statement."""
    own = read_by(memory, host)
    return [line for line in lines if line[0].rpartition(" ")[2].rstrip(")") not in own] if own else lines
