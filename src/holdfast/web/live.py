"""Tells open pages which topics have changed: one thread looks at a few files, however many pages are open.

It looks often while things change and seldom while they do not, and not at all while no page is open.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.store.machine import Machine
from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.web.contract import ALL, Opened
from holdfast.web.readings import TOPICS, Readings, Stamp

if TYPE_CHECKING:
    from holdfast.sync.arrivals import Arrivals

QUICK_S, SLOW_S = 0.4, 2.0  # between two looks
BUSY_S = 60.0  # how long after a change it looks often
BEAT_S = 15.0  # an open stream says something, so that a lost connection is noticed
MOST_STREAMS = 40
END = "end"


class _Stream(Struct, eq=False):
    """An open page: the project that it shows, and what has changed since it was last told."""

    slug: str
    loop: asyncio.AbstractEventLoop
    wake: asyncio.Event
    changed: set[str]


class Live:
    def __init__(self, readings: Readings, projects: list[Opened], machine: Machine) -> None:
        self._readings, self._projects = readings, projects
        self._machine = machine
        self._arrivals: Arrivals | None = None
        self._streams: set[_Stream] = set()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._ended = Event()

    def close(self) -> None:
        """Ends every stream."""
        self._ended.set()
        self._tell(None, {END})

    async def events(self, slug: str) -> AsyncIterator[str]:
        """The stream of one page, in the format of server-sent events."""
        stream = _Stream(slug, asyncio.get_running_loop(), asyncio.Event(), set())
        with self._lock:
            if len(self._streams) >= MOST_STREAMS or self._ended.is_set():
                return
            self._streams.add(stream)
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="holdfast-ui-watch", daemon=True)
                self._thread.start()
        try:
            yield ": open\n\n"
            while END not in stream.changed:
                try:
                    await asyncio.wait_for(stream.wake.wait(), BEAT_S)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                stream.wake.clear()
                changed, stream.changed = stream.changed, set()
                if END in changed:
                    break
                yield f"event: change\ndata: {' '.join(sorted(changed))}\n\n"
            yield f"event: {END}\ndata: -\n\n"
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _tell(self, slug: str | None, topics: set[str]) -> None:
        with self._lock:
            streams = [
                stream for stream in self._streams if slug in (None, stream.slug) or stream.slug == ALL
            ]
        for stream in streams:
            stream.loop.call_soon_threadsafe(_add, stream, topics)

    # --- the thread ------------------------------------------------------------------------------------

    def _watch(self) -> None:
        known: dict[tuple[str, str], Stamp] = {}
        changed_at = time.monotonic()
        while True:
            with self._lock:
                slugs = {stream.slug for stream in self._streams}
                if not slugs or self._ended.is_set():
                    self._thread = None
                    self._hear([])
                    return
            looked_at = [opened for opened in self._projects if ALL in slugs or opened.slug in slugs]
            self._hear(looked_at)
            for opened in looked_at:
                if topics := self._changes(opened, known):
                    changed_at = time.monotonic()
                    self._tell(opened.slug, topics)
            self._ended.wait(QUICK_S if time.monotonic() - changed_at < BUSY_S else SLOW_S)

    def _hear(self, looked_at: list[Opened]) -> None:
        """What others of a team publish on a server arrives while a page is open, if the memory was ever synced."""
        synced = [opened.project for opened in looked_at if (opened.project.memory / JOURNAL).exists()]
        if self._arrivals is None and synced:
            from holdfast.sync.arrivals import Arrivals

            self._arrivals = Arrivals(self._machine)
        if self._arrivals is not None:
            self._arrivals.keep(synced)

    def _changes(self, opened: Opened, known: dict[tuple[str, str], Stamp]) -> set[str]:
        """The topics that differ from the last look. What hooks wrote may be the first of a new session."""
        changed: set[str] = set()
        for topic in TOPICS:
            stamp = self._readings.stamp(opened.project, topic, rescan="hooks" in changed)
            if known.get((opened.slug, topic), stamp) != stamp:
                changed.add(topic)
            known[opened.slug, topic] = stamp
        return changed


def _add(stream: _Stream, topics: set[str]) -> None:
    stream.changed |= topics
    stream.wake.set()
