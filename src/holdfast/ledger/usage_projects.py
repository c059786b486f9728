"""Which project usage belongs to, and what projects are called: read from the agents' own files, never stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from holdfast.ledger.usage_cache import UsageCache, UsageSource
from holdfast.store.project import find_git, place_of

UNNAMED = "(no directory)"
GONE = "(deleted transcripts)"


@cache
def project_root(cwd: str) -> str:
    """The project of a directory: the main work tree of its repository, or the directory itself."""
    place = place_of(cwd)
    git = find_git(place) if place is not None else None
    if git is None:
        return os.path.normpath(cwd) if cwd else ""
    tree, common = git
    return str(common.parent if common.name.startswith(".") else tree)


class ProjectNames:
    """The names of projects by the hash that is stored of them."""

    def __init__(
        self, cache: UsageCache, sources: Sequence[UsageSource], directory: Callable[[UsageSource], str]
    ) -> None:
        hashes = {key: project for key, _, _, project, _, _ in cache.identities().values() if project}
        roots: dict[bytes, str] = {}
        for source in sources:
            project = hashes.get(cache.hashed(source.key))
            if project is not None and not roots.get(project):
                roots[project] = project_root(source.cwd or directory(source))
        names = [Path(root).name for root in roots.values()]
        self._names: dict[bytes, str] = {b"": UNNAMED}
        for project, root in roots.items():
            path = Path(root)
            named_twice = names.count(path.name) > 1
            self._names[project] = (
                f"{path.parent.name}/{path.name}" if named_twice else path.name
            ) or UNNAMED

    def __call__(self, project: bytes) -> str:
        return self._names.get(project, GONE)
