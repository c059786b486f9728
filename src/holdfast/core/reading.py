"""Reads small text files from folders that others can write to: bounded, regular files only."""

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
    """A stamp that changes when the file is replaced or written; '' when it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def is_file(path: str) -> bool:
    """Whether the path exists as a file; a dangling link counts too."""
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)
    except ValueError:
        return False
    except OSError:
        return os.path.islink(path)


def beginning_of(path: str | os.PathLike[str], most: int, *, follow: bool = True) -> tuple[bytes, int] | None:
    """The first bytes of a regular file, and its size; None for anything else, and for a link unless `follow`.

    Never waits for a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS | (0 if follow else _NOFOLLOW))
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        return (os.read(descriptor, most), status.st_size) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def small_text(path: str | os.PathLike[str]) -> str:
    """A file of a line or two; '' when it cannot be read."""
    beginning = beginning_of(path, _SMALL)
    return beginning[0].decode("utf-8", "replace") if beginning else ""


def text_of(path: str, most: int = MOST_BYTES) -> str | None:
    """The beginning of a regular file as text, with a note on how much is left out; None when it cannot be read."""
    beginning = beginning_of(path, most + 1)
    if beginning is None:
        return None
    data, size = beginning
    text = data[:most].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return text if len(data) <= most else f"{text}\n… ({size - most} more bytes are left out)"


def first_line(path: str) -> str:
    return (text_of(path, 200) or "").strip().split("\n")[0].strip()


def names_in(folder: str, endings: tuple[str, ...], most: int) -> list[str]:
    """The names of a folder's files with these endings, sorted, at most `most`."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(endings)]
    except (OSError, ValueError):
        return []
    return sorted(names)[:most]
