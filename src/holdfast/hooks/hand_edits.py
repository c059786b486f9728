"""Notices that a person changed the memory since it was prepared, so that it counts at the next prompt.

The application notes which folders it read and the sizes and times of their files; a hook compares them, which takes
a look at each file and no more.
"""

from __future__ import annotations

import os

from holdfast.core.reading import open_regular

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.core.place import Place
    from holdfast.hooks.prepared import Prepared

FOLDERS, MARK = "hand_folders", "hand"  # in `meta`: folders, one per line; the mark of their files
_MOST = 2_000  # files of one folder


def mark_of(folders: Iterable[str]) -> str:
    """A text that changes when a markdown file in one of these folders is added, changed or removed."""
    from binascii import crc32

    marks: list[str] = []
    for folder in folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
        except OSError:
            continue
        for name in names[:_MOST]:
            try:
                status = os.stat(f"{folder}/{name}")
            except OSError:
                continue
            marks += (folder, name, str(status.st_size), str(status.st_mtime_ns))
    checksum = crc32("\n".join(marks).encode("utf-8", "surrogateescape"))
    return f"{len(marks) // 4}:{checksum:x}"


def changed(prepared: Prepared, found: Place) -> bool:
    """Whether the memory is not as it was prepared, and nobody has begun to prepare it again."""
    folders = prepared.meta.get(FOLDERS)
    if not folders:  # prepared by an older version
        return False
    mark = mark_of(folders.split("\n"))
    if mark == prepared.meta.get(MARK) or _is_being_captured(found.memory):
        return False
    from holdfast.hooks.notices import is_new

    return is_new(
        found, f"hand.{mark.replace(':', '.')}"
    )  # a file that cannot be prepared must not delay each prompt


def _is_being_captured(memory: str) -> bool:
    """Whether a child writes the memory at this moment: it prepares when it is done."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        descriptor = open_regular(os.path.join(memory, "locks", "capture.lock"), os.O_RDWR, follow=False)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
