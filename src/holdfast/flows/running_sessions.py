"""Sessions that agents are running now, seen by their transcripts: whether or not hooks are installed, before any row.

A transcript that was written to within the last half hour is taken for running; its session's row is written when it
ends. Looking for new files asks for the time of every transcript on the machine, so it is repeated only after a while.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from holdfast.agent_kit.contract import Importer
from holdfast.agents.registry import importers
from holdfast.core.errors import HoldfastError
from holdfast.flows.find_transcripts import SessionSource, search_paths, sources_of_project
from holdfast.language.title import title_of
from holdfast.model.events import Began, UserTurn
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions import lookup
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

RUNNING_S = 30 * 60.0
RECENT_S = 24 * 3600.0  # transcripts that may go on
SCAN_S = 15.0
MOST_EVENTS = 400  # of a transcript, until its first prompt


class RunningSession(Struct, frozen=True, kw_only=True):
    session: str
    agent: str
    title: str
    started: float | None
    written: float
    captured: bool  # whether holdfast has read it, so that there is more to show


class RunningSessions:
    """The running sessions of a project. `stamp` is cheap and differs when one of them was written to."""

    def __init__(self, machine: Machine, project: Project) -> None:
        self._machine, self._project = machine, project
        self._recent: list[SessionSource] = []
        self._scanned = -SCAN_S

    def stamp(self, *, rescan: bool = False) -> tuple[tuple[str, int], ...]:
        if rescan or time.monotonic() - self._scanned >= SCAN_S:
            self._scan()
        return tuple((source.key, _written_ns(source)) for source in self._recent)

    def sessions(self, rows: Iterable[LedgerEntry]) -> list[RunningSession]:
        """The newest activity first. One that has a row has ended, unless it was written to after its row."""
        self.stamp()
        since = (time.time() - RUNNING_S) * 1e9
        seen = [(written, source) for source in self._recent if (written := _written_ns(source)) >= since]
        ended = {row.session: row.recorded.timestamp() for row in rows if row.recorded} if seen else {}
        found: dict[str, RunningSession] = {}
        for written, source in sorted(seen, key=lambda item: -item[0]):
            running = self._seen(source, written / 1e9)
            if running is not None and ended.get(running.session, 0.0) < running.written:
                found.setdefault(running.session, running)
        return list(found.values())

    def _scan(self) -> None:
        self._scanned = time.monotonic()
        since = time.time() - RECENT_S
        recent: list[SessionSource] = []
        for importer in importers():
            for path in self._candidates(importer):
                try:
                    if path.stat().st_mtime >= since:
                        recent += search_paths([path], (importer,)).sources
                except (OSError, HoldfastError):  # gone, or no transcript of this agent
                    continue
        excludes = self._machine.settings(self._project).excludes
        self._recent = [
            source
            for source in sources_of_project(recent, self._project)
            if not source.glance.parent and not excludes(source.glance.cwd, self._machine.user_home)
        ]

    def _candidates(self, importer: Importer) -> Iterator[Path]:
        for root in importer.roots(self._machine.places(self._project)):
            if root.is_dir():
                yield from importer.candidates(root)

    def _seen(self, source: SessionSource, written: float) -> RunningSession | None:
        began, prompt = _beginning(source)
        if began.parent:
            return None
        known = CaptureStore.glimpse(
            self._project.capture, lambda store: lookup.session_of_source(store, source.key), ""
        )
        session = known or began.session or source.glance.part
        titles: dict[str, str] = CaptureStore.glimpse(
            self._project.capture, lambda store: lookup.titles(store, [session]), {}
        )
        title = titles.get(session) or began.title or title_of("", (prompt,), (), (), "")
        return RunningSession(
            session=session or source.path.stem,
            agent=began.agent or source.importer.agent,
            title=self._machine.clean(title),
            started=began.at or source.glance.started,
            written=written,
            captured=session in titles,
        )


def _written_ns(source: SessionSource) -> int:
    """When it was last written to; a file with several sessions says when each of them changed."""
    if source.glance.part:
        return source.mtime_ns
    try:
        return source.path.stat().st_mtime_ns
    except OSError:
        return 0


class _NoClaims:
    def repeated(self, key: str) -> bool:
        return False

    def foreign(self, key: str) -> bool:
        return False


def _beginning(source: SessionSource) -> tuple[Began, str]:
    """Who and where, and the first words of the person."""
    began = Began(at=source.glance.started)
    reading = source.importer.open(source.path, 0, b"", _NoClaims(), source.glance.part)
    try:
        for event in islice(reading.events(), MOST_EVENTS):
            if isinstance(event, Began):
                began = event if event.session else began
            elif isinstance(event, UserTurn) and event.text.strip() and not event.command:
                return began, event.text
    except (OSError, HoldfastError):
        pass
    return began, ""
