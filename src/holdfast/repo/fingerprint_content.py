"""Digests of what fingerprints name: a file's content, a folder's layout, the files of a glob; all of it bounded."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
from collections.abc import Iterable

from holdfast.repo.listing import LEFT_OUT

MOST_BYTES = 64 << 20
MOST_ENTRIES = 20_000
MOST_MATCHES = 2_000
PIECE = 1 << 20
DIGEST_LENGTH = 16

Place = tuple[str, int, int]
"""A path below the root, and the size and mtime_ns that it had."""


class Unreadable(Exception):
    """Something is there, and cannot be looked at; says why."""


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def place_at(root: str, path: str) -> Place:
    status = os.stat(f"{root}/{path}")
    return path, status.st_size, status.st_mtime_ns


def read_regular(full: str, most: int) -> bytes:
    """A regular file's bytes. A pipe is not waited for, a device not read."""
    with open(_opened(full), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unreadable("is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise Unreadable(f"is larger than {most >> 20} MB")
    return content


def _opened(full: str) -> int:
    try:
        if not stat.S_ISREG(os.stat(full).st_mode):
            raise Unreadable("is no regular file")
        return os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror or error}") from None


def digest_file(full: str) -> str:
    """Of the content, with line ends as \\n in text: a checkout on Windows is the same checkout."""
    content = read_regular(full, MOST_BYTES)
    return digest_of(content if b"\0" in content[:8192] else content.replace(b"\r\n", b"\n"))


def digest_folder(full: str) -> str:
    """Of the layout: subfolders by name, files by ending. One test more is the same folder, another kind is not."""
    forms: set[str] = set()
    try:
        with os.scandir(full) as entries:
            for count, entry in enumerate(entries):
                if count >= MOST_ENTRIES:
                    raise Unreadable(f"holds more than {MOST_ENTRIES:,} names")
                if entry.name in LEFT_OUT:
                    continue
                forms.add(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else _ending(entry.name))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be listed: {error.strerror or error}") from None
    return digest_of("\n".join(sorted(forms)).encode("utf-8", "surrogateescape"))


def _ending(name: str) -> str:
    """`.test.ts` of `cart.test.ts`; a name without an ending, or one that is all ending, is itself."""
    at = name.find(".", 1)
    return name if at < 0 else f"*{name[at:]}"


def digest_glob(root: str, pattern: str) -> tuple[str, list[Place]]:
    """Of the names and contents of the files that match, and the places to look at to know that nothing changed.

    FileNotFoundError when none match.
    """
    places: list[Place] = []
    matched = sorted(_matching(root, pattern, places))
    if not matched:
        raise FileNotFoundError(pattern)
    whole, left = hashlib.sha256(), MOST_BYTES
    for path in matched:
        place = place_at(root, path)
        left -= place[1]
        if left < 0:
            raise Unreadable(f"matches more than {MOST_BYTES >> 20} MB")
        whole.update(f"{path}\0{digest_file(f'{root}/{path}')}\n".encode("utf-8", "surrogateescape"))
        places.append(place)
    return whole.hexdigest()[:DIGEST_LENGTH], places


def fixed_part(pattern: str) -> str:
    """The folder that a glob begins in."""
    parts = pattern.split("/")
    return "/".join(parts[: next(at for at, part in enumerate(parts) if any(sign in part for sign in "*?["))])


def _matching(root: str, pattern: str, places: list[Place]) -> Iterable[str]:
    parts = pattern.split("/")
    base = fixed_part(pattern)
    named = set(parts)
    deepest = None if "**" in parts else len(parts) - 1
    folders, seen, found = [base], 0, 0
    while folders:
        folder = folders.pop()
        try:
            status = os.lstat(f"{root}/{folder}" if folder else root)
            if not stat.S_ISDIR(status.st_mode):
                continue
            places.append((folder, status.st_size, status.st_mtime_ns))
            entries = list(os.scandir(f"{root}/{folder}" if folder else root))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_ENTRIES or found > MOST_MATCHES:
                raise Unreadable(f"is too wide: more than {MOST_ENTRIES:,} names or {MOST_MATCHES:,} matches")
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                left_out = entry.name == ".git" or (entry.name in LEFT_OUT and entry.name not in named)
                if not left_out and (deepest is None or path.count("/") < deepest):
                    folders.append(path)
            elif entry.is_file(follow_symlinks=False) and _fits(path.split("/"), parts):
                found += 1
                yield path


def _fits(names: list[str], parts: list[str]) -> bool:
    """Whether a path fits a glob, part by part: `**` is any number of folders, `*` stays within one."""
    reached = {0}  # how many parts of the glob are used up
    for name in names:
        after: set[int] = set()
        for at in _past_stars(reached, parts):
            if at < len(parts) and parts[at] == "**":
                after.add(at)
            elif at < len(parts) and fnmatch.fnmatchcase(name, parts[at]):
                after.add(at + 1)
        reached = after
    return len(parts) in _past_stars(reached, parts)


def _past_stars(reached: set[int], parts: list[str]) -> set[int]:
    """Also what is reached when a `**` stands for nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(parts) and parts[at] == "**":
            at += 1
            found.add(at)
    return found
