"""Lists the files of a checkout: those that git tracks, else a bounded walk that opens no file and follows no link."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from holdfast.core.git import run_git

MOST_NAMES = 20_000
_MOST_BYTES = 4_000_000
_SECONDS = 10.0
_MOST_FOLDERS = 4_000

# Third-party and generated code.
LEFT_OUT = frozenset(
    {"node_modules", "bower_components", "vendor", "third_party", "thirdparty", "external", "deps", "pods"}
    | {"dist", "build", "out", "target", "bin", "obj", "_build", "generated", "gen", "coverage", "htmlcov"}
    | {".venv", "venv", "env", ".tox", ".nox", "site-packages", "__pycache__", ".git", ".hg", ".svn", ".idea"}
    | {
        ".next",
        ".nuxt",
        ".output",
        ".svelte-kit",
        ".gradle",
        ".dart_tool",
        ".terraform",
        ".cache",
        ".holdfast",
    }
)


def file_names(root: Path) -> tuple[str, ...]:
    """Paths relative to `root` with `/`, at most about twenty thousand; empty when it cannot be read."""
    if os.path.lexists(root / ".git"):
        names = tracked(root)
        if names:
            return _thinned(names)
    return tuple(walked(root))


def tracked(root: Path) -> list[str]:
    """All files that git tracks; empty where it tracks none."""
    listing = run_git(root, "ls-files", "-z", seconds=_SECONDS, most_bytes=_MOST_BYTES).data
    return [os.fsdecode(name) for name in listing.split(b"\0")[:-1]]


def _thinned(names: list[str]) -> tuple[str, ...]:
    """Every n-th name, but all of the first two levels, where the manifests are."""
    if len(names) <= MOST_NAMES:
        return tuple(names)
    step = len(names) // MOST_NAMES + 1
    return tuple(name for at, name in enumerate(names) if at % step == 0 or name.count("/") < 2)[
        : 2 * MOST_NAMES
    ]


def walked(root: Path) -> list[str]:
    names: list[str] = []
    folders = deque([""])
    seen = 0
    while folders and len(names) < MOST_NAMES and seen < _MOST_FOLDERS:
        folder = folders.popleft()
        seen += 1
        try:
            with os.scandir(root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if _is_folder(entry):
                if entry.name.lower() not in LEFT_OUT:
                    folders.append(name)
            else:
                names.append(name)
    return names[:MOST_NAMES]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
