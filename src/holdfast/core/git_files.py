"""Files as a commit holds them: their names with the ids of their contents, bounded contents, times of change."""

from __future__ import annotations

import os

from holdfast.core.git import GitStream, run_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_SECONDS = 60.0
_LOG_SECONDS = 20.0
_MOST_LISTING = 100_000_000
_AT_ONCE = 8_000_000  # bytes of contents in memory


def blobs_of(git_dir: Path, commit: str) -> dict[str, str]:
    """The regular files of a commit by their path, with the ids of their contents. Links and submodules are none."""
    answer = run_git(
        git_dir,
        *("ls-tree", "-r", "-z", "--full-tree", commit),
        seconds=_SECONDS,
        most_bytes=_MOST_LISTING,
        is_git_dir=True,
    )
    files: dict[str, str] = {}
    for entry in answer.data.split(b"\0") if answer.whole else ():
        about, _, name = entry.partition(b"\t")
        fields = about.split(b" ")
        if len(fields) == 3 and fields[0].startswith(b"100") and fields[1] == b"blob":
            files[os.fsdecode(name)] = fields[2].decode("ascii", "replace")
    return files


def contents_of(git_dir: Path, blobs: Collection[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """The contents by their ids; larger ones are left out."""
    group: list[str] = []
    room = _AT_ONCE
    for blob, size in _sizes(git_dir, blobs).items():
        if size > largest:
            continue
        group.append(blob)
        room -= size
        if room < 0:
            yield from _contents(git_dir, group)
            group, room = [], _AT_ONCE
    yield from _contents(git_dir, group)


def _sizes(git_dir: Path, blobs: Collection[str]) -> dict[str, int]:
    words = b"".join(_batch(git_dir, "--batch-check", blobs)).split(b"\n")
    found: dict[str, int] = {}
    for line in words:
        fields = line.split(b" ")
        if len(fields) == 3 and fields[1] == b"blob" and fields[2].isdigit():
            found[fields[0].decode("ascii", "replace")] = int(fields[2])
    return found


def _contents(git_dir: Path, blobs: Collection[str]) -> Iterator[tuple[str, bytes]]:
    data = b"".join(_batch(git_dir, "--batch", blobs))
    position = 0
    while (end := data.find(b"\n", position)) > 0:
        fields = data[position:end].split(b" ")
        if len(fields) != 3 or not fields[2].isdigit():
            return
        size = int(fields[2])
        yield fields[0].decode("ascii", "replace"), data[end + 1 : end + 1 + size]
        position = end + size + 2


def _batch(git_dir: Path, how: str, blobs: Collection[str]) -> Iterator[bytes]:
    if not blobs:
        return
    names = "".join(f"{blob}\n" for blob in sorted(set(blobs))).encode("ascii", "replace")
    yield from GitStream(git_dir, "cat-file", how, seconds=_SECONDS, stdin=names)


def last_changed(git_dir: Path, commit: str, paths: Collection[str]) -> Mapping[str, float]:
    """When each of these files was last changed, as far as git says within a few seconds."""
    times: dict[str, float] = {}
    if not paths:
        return times
    wanted = {os.fsencode(path): path for path in paths}
    log = ("log", "-z", "--no-renames", "--name-only", "--no-notes", "--format=tformat:%x01%ct", commit, "--")
    literal = [f":(top,literal){path}" for path in sorted(paths)]
    when: float | None = None
    rest = b""
    for part in GitStream(git_dir, *log, *literal, seconds=_LOG_SECONDS):
        *pieces, rest = (rest + part).split(b"\0")
        for piece in pieces:
            piece = piece.strip(b"\n")
            if piece.startswith(b"\x01"):
                when = float(piece[1:]) if piece[1:].isdigit() and len(piece) < 14 else None
            elif when is not None and piece in wanted:
                times.setdefault(wanted[piece], when)
        if len(times) == len(wanted):
            break
    return times
