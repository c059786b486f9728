"""Which files of a checkout change together, by its latest commits."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path

from holdfast.core.git import run_git

_COMMITS = 400
_SECONDS = 3.0
_MOST_BYTES = 2_000_000
_MOST_FILES = 15  # a commit that touches more is a sweep and says nothing about any two files
_LEAST_COMMITS = 2


def changed_together(root: Path) -> tuple[dict[str, dict[str, float]], bool]:
    """For a file, how often others were in its latest commits, from 0 to 1; and whether git answered in time."""
    if not os.path.lexists(root / ".git"):
        return {}, True
    words = ("--no-merges", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01")
    answer = run_git(root, "log", f"-n{_COMMITS}", *words, seconds=_SECONDS, most_bytes=_MOST_BYTES)
    alone: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for commit in answer.data.split(b"\x01"):
        files = {os.fsdecode(name.strip(b"\n")) for name in commit.split(b"\0") if name.strip(b"\n")}
        alone.update(files)
        if len(files) <= _MOST_FILES:
            pairs.update(permutations(sorted(files), 2))
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for (path, neighbour), count in pairs.items():
        if count >= _LEAST_COMMITS:
            shares[path][neighbour] = count / (alone[path] + 1)
    return dict(shares), not answer.late
