"""Which files of a checkout change together, by its latest commits."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

from holdfast.core.git import run_git

_COMMITS = 400
_SECONDS = 3.0
_MOST_BYTES = 2_000_000
_MOST_FILES = 15  # a commit that touches more is a sweep and says nothing of any two
_LEAST_COMMITS = 2


def changed_together(root: Path) -> dict[str, dict[str, float]]:
    """For a file, how often others were in its commits, from 0 to 1. Empty where there is no history to read."""
    return together_in_time(root)[0]


def together_in_time(root: Path) -> tuple[dict[str, dict[str, float]], bool]:
    """The same, and whether git told it in time."""
    if not os.path.lexists(root / ".git"):
        return {}, True
    commits, whole = _commits(root)
    return companions(commits), whole


def companions(commits: Iterable[frozenset[str]]) -> dict[str, dict[str, float]]:
    alone: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for files in commits:
        alone.update(files)
        if len(files) <= _MOST_FILES:
            pairs.update(permutations(sorted(files), 2))
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (one, other), count in pairs.items():
        if count >= _LEAST_COMMITS:
            found[one][other] = count / (alone[one] + 1)
    return dict(found)


def _commits(root: Path) -> tuple[list[frozenset[str]], bool]:
    words = ("--no-merges", "--no-renames", "--relative", "--name-only", "-z", "--format=%x01")
    answer = run_git(root, "log", f"-n{_COMMITS}", *words, seconds=_SECONDS, most_bytes=_MOST_BYTES)
    parts = [part.split(b"\0") for part in answer.data.split(b"\x01")]
    return [
        frozenset(os.fsdecode(name.strip(b"\n")) for name in names if name.strip(b"\n"))
        for names in parts
        if names
    ], not answer.late
