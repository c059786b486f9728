"""Reads small text files from places that others can write to: bounded, regular files only."""

from __future__ import annotations

import os
import stat

MOST_BYTES = 30_000
_SMALL = 10_000
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def is_inside(path: str, folder: str) -> bool:
    """Whether a path, with all links followed, lies in a folder."""
    real, place = os.path.realpath(path), os.path.realpath(folder)
    return real == place or real.startswith(place.rstrip(os.sep) + os.sep)


def stamp_of(path: str) -> str:
    """Another one when the file is another or has been written; '' when there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


def is_file(path: str) -> bool:
    """Whether there is something that may be meant as a file: a link that leads nowhere is said to be one."""
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)
    except ValueError:
        return False
    except OSError:
        return os.path.islink(path)


def beginning_of(path: str | os.PathLike[str], most: int, *, follow: bool = True) -> tuple[bytes, int] | None:
    """The first bytes of a regular file, and its size; None for anything else, a link too unless it is to be followed.

    Never waits for a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS | (0 if follow else _NOFOLLOW))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        return (os.read(descriptor, most), found.st_size) if stat.S_ISREG(found.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def small_text(path: str | os.PathLike[str]) -> str:
    """A file of a line or two; '' when it cannot be read."""
    found = beginning_of(path, _SMALL)
    return found[0].decode("utf-8", "replace") if found else ""


def text_of(path: str, most: int = MOST_BYTES) -> str | None:
    """The beginning of a regular file as text, with a word on what is missing; None when it cannot be read."""
    found = beginning_of(path, most + 1)
    if found is None:
        return None
    data, size = found
    text = data[:most].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return text if len(data) <= most else f"{text}\n… ({size - most} more bytes are left out)"


def first_line(path: str) -> str:
    return (text_of(path, 200) or "").strip().split("\n")[0].strip()


def names_in(folder: str, endings: tuple[str, ...], most: int) -> list[str]:
    """The names of a folder's files that end so, in order, the first `most`."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(endings)]
    except (OSError, ValueError):
        return []
    return sorted(names)[:most]
