"""Opens files in folders that others can write to: regular files only, never waiting, and never more than asked for.

A repository, a payload or another process chooses these paths: they may be pipes, devices, folders, loops of links or
gigabytes. Hooks open files in no other way (tests/hooks/test_safe_open.py).
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 30_000
_SMALL = 10_000
_NAMES = ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_CLOEXEC")
_FLAGS = 0
for _name in _NAMES:
    _FLAGS |= getattr(os, _name, 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


class NotAFile(OSError):
    """The path is a folder, a pipe, a device or a socket."""


def open_regular(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, mode: int = 0o600, *, follow: bool = True
) -> int:
    """A descriptor of a regular file; an OSError for anything else, and for a link unless `follow`.

    It looks before it opens, because opening a device may already do something, and again afterwards, because another
    process may have changed the path in between.
    """
    try:
        _check(path, os.stat(path) if follow else os.lstat(path))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | _FLAGS | (0 if follow else _NOFOLLOW), mode)
    try:
        _check(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(f"{os.fspath(path)}: not a regular file")


def bytes_of(path: str | os.PathLike[str], most: int, *, start: int = 0, follow: bool = True) -> bytes | None:
    """At most `most` bytes of a regular file, from `start`; None when it cannot be read."""
    try:
        descriptor = open_regular(path, follow=follow)
    except (OSError, ValueError):
        return None
    try:
        if start:
            os.lseek(descriptor, start, os.SEEK_SET)
        return _read(descriptor, most)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(descriptor)


def json_of(path: str, most: int) -> Any:
    """The value in a JSON file. An OSError when it cannot be read, a ValueError when it is torn or too long."""
    data = bytes_of(path, most)
    if data is None:
        raise FileNotFoundError(path)
    from holdfast.core.bare_json import loads

    return loads(data)


def _read(descriptor: int, most: int) -> bytes:
    """As many bytes as there are, at most `most`: one read may return fewer."""
    data = os.read(descriptor, most)
    while data and len(data) < most and (more := os.read(descriptor, most - len(data))):
        data += more
    return data


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
        descriptor = open_regular(path, follow=follow)
    except (OSError, ValueError):
        return None
    try:
        return _read(descriptor, most), os.fstat(descriptor).st_size
    except OSError:
        return None
    finally:
        os.close(descriptor)


def small_text(path: str | os.PathLike[str], *, follow: bool = True) -> str:
    """A file of a line or two; '' when it cannot be read."""
    return (bytes_of(path, _SMALL, follow=follow) or b"").decode("utf-8", "replace")


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
