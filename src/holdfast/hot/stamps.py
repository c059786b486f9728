"""Whether the places that a lesson depends on are as they were when it was prepared: stat alone, no hashing.

The application prepares rows of (path below the root, size, mtime_ns) by `repo.fingerprint.places_of`, say in a table
`stamp(lesson TEXT, path TEXT, size INTEGER, mtime_ns INTEGER)`. Whatever differs is left to the child that captures:
it hashes, and prepares again.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Iterable


def unchanged(root: str, places: Iterable[tuple[str, int, int]]) -> bool:
    """False where anything differs, is gone, or cannot be looked at: then the lesson is not told this time."""
    for path, size, mtime_ns in places:
        try:
            status = os.stat(f"{root}/{path}")
        except (OSError, ValueError):
            return False
        if status.st_mtime_ns != mtime_ns or status.st_size != size:
            return False
    return True
