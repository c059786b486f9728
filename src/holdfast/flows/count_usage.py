"""Counts the usage in all transcripts of this machine, whatever project they belong to.

Outside enabled projects nothing else is kept of them: `ledger/usage_cache.py` stores numbers and hashes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.agent_kit.contract import Warned
from holdfast.agents.registry import importers
from holdfast.core import files
from holdfast.core.errors import TranscriptError
from holdfast.core.open_files import opened_once
from holdfast.flows.find_transcripts import SessionSource, discover, search_paths
from holdfast.ledger.usage_cache import NAME, UsageCache, UsageSource, UsageStamps
from holdfast.ledger.usage_projects import ProjectNames
from holdfast.store.machine import Machine
from holdfast.store.project import Project, project_at

Progress = Callable[[int, int, str], None]


class UsageCounter:
    """Brings usage.db up to date, and says what its projects are called."""

    def __init__(self, machine: Machine, progress: Progress | None = None) -> None:
        self.machine = machine
        self.progress = progress or (lambda done, total, name: None)
        self.warnings: list[Warned] = []
        self._settings = machine.settings()
        files.make_private(machine.home)
        folder = machine.home / "cache"
        files.make_private(folder)
        self.cache = UsageCache(folder / NAME)
        self.sources: list[UsageSource] = []

    def update(self) -> None:
        """Counts what is new. Only one command at a time counts; others wait for it."""
        self.cache.begin_again_unless("exclude", "\n".join(self._settings.exclude))
        self.sources = [_usage_source(source) for source in self._found()]
        if not self.cache.changed(self.sources):
            return
        # Where nothing has changed, which is usual, none of these is loaded.
        from holdfast.flows.import_sessions import collector_paused
        from holdfast.ledger.usage_reading import count_all

        with files.lock(self.machine.home / "locks" / "usage.lock"), opened_once(), collector_paused():
            changed = self.cache.changed(self.sources)  # another command may have counted them meanwhile
            self.warnings += count_all(self.cache, changed, self.machine.clean, self.progress)

    def _found(self) -> Iterator[SessionSource]:
        stamps = UsageStamps(self.cache)
        readers = [reader for reader in importers() if not reader.copies]
        search = discover(self.machine, readers, stamps)
        self.warnings = search.warnings
        within = [reader for reader in readers if not list(reader.roots(self.machine.places()))]
        inside = [
            source
            for project in self._enabled()
            for source in discover(self.machine, within, stamps, project).sources
        ]
        for source in (*search.sources, *inside):
            if not self._settings.excludes(source.glance.cwd, self.machine.user_home):
                yield source

    def _enabled(self) -> Iterator[Project]:
        """The projects of this machine, for agents that keep their sessions inside of them."""
        for recorded in sorted((self.machine.home / "projects").glob("*/root")):
            root = Path((files.read(recorded) or b"").decode("utf-8", "replace").strip())
            excluded = self._settings.excludes(str(root), self.machine.user_home)
            if root.is_absolute() and root.is_dir() and not excluded:
                yield project_at(root, self.machine.home)

    def project_names(self) -> ProjectNames:
        return ProjectNames(self.cache, self.sources, _directory)


def _usage_source(found: SessionSource) -> UsageSource:
    glance = found.glance
    return UsageSource(
        found.path,
        found.key,
        found.importer,
        found.size,
        found.mtime_ns,
        glance.part,
        glance.cwd,
        glance.started,
    )


def _directory(source: UsageSource) -> str:
    """The directory of a transcript that was not opened, because it has not changed."""
    try:
        found = search_paths([source.path], (source.importer,)).sources
    except TranscriptError:
        return ""
    return next((item.glance.cwd for item in found if item.key == source.key), "")
