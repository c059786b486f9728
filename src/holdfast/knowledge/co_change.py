"""Which files of a checkout change together, alone, and under which number, by its latest commits."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path

from msgspec import Struct

from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex

_COMMITS = 400
_SECONDS = 3.0
_MOST_BYTES = 2_000_000
_MOST_FILES = 15  # a commit that touches more is a sweep and says nothing about any two files
_LEAST_COMMITS = 2
_MOST_NUMBERED = 8  # files; a larger change says little about any one of them
_NUMBER = lazy_regex(rb"#\d{1,6}\b")


class CoChange(Struct, frozen=True):
    """For a file, how often others were in its latest commits, from 0 to 1; for a commit, the only file it changed.

    `numbered` has the files of issues and pull requests that subjects name, as `#12`. `is_whole`: git answered in time.
    """

    together: dict[str, dict[str, float]] = {}
    alone: dict[str, str] = {}
    numbered: dict[str, set[str]] = {}
    is_whole: bool = True


def changed_together(root: Path) -> CoChange:
    if not os.path.lexists(root / ".git"):
        return CoChange()
    words = ("--no-merges", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01%H%x00%s")
    answer = run_git(root, "log", f"-n{_COMMITS}", *words, seconds=_SECONDS, most_bytes=_MOST_BYTES)
    alone: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    single: dict[str, str] = {}
    numbered: dict[str, set[str]] = defaultdict(set)
    for commit in answer.data.split(b"\x01")[1:]:
        sha, subject, *names = (part.strip(b"\n") for part in [*commit.split(b"\0"), b""])
        files = {os.fsdecode(name) for name in names if name}
        alone.update(files)
        if len(files) == 1:
            single[os.fsdecode(sha)] = next(iter(files))
        for number in _NUMBER.findall(subject):
            numbered[number.decode()] |= files
        if len(files) <= _MOST_FILES:
            pairs.update(permutations(sorted(files), 2))
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for (path, neighbour), count in pairs.items():
        if count >= _LEAST_COMMITS:
            shares[path][neighbour] = count / (alone[path] + 1)
    few = {number: files for number, files in numbered.items() if len(files) <= _MOST_NUMBERED}
    return CoChange(dict(shares), single, few, not answer.late)
