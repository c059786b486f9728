"""What screens have read of a project, kept until one of its files changes, and what shows that one did."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.flows.running_sessions import RunningSessions
from holdfast.store.after_session import SYNC_SETTINGS
from holdfast.store.machine import Machine
from holdfast.store.memory_files import HOLDOUT
from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME as JOURNAL

T = TypeVar("T")
MOST_KEPT = 200  # readings; the one that was not used for longest goes
MOST_FILES = 400  # of the files of one topic that are looked at
TOPICS = ("sessions", "memory", "lessons", "knowledge", "hooks", "sync", "running")
FILES = TOPICS[:-1]  # of the memory; what is running is seen in the agents' own folders
Stamp = tuple[tuple[object, ...], ...]


class _Kept(Struct):
    stamp: object
    value: Any


class Readings:
    """Readings of all open projects. Two requests never make the same one at once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._running: dict[Path, RunningSessions] = {}
        self._kept: OrderedDict[tuple[Path, str], _Kept] = OrderedDict()
        self._locks: dict[tuple[Path, str], Lock] = {}
        self._lock = Lock()

    def kept(self, project: Project, key: str, topics: Sequence[str], make: Callable[[], T]) -> T:
        name = (project.memory, key)
        with self._lock:
            own = self._locks.setdefault(name, Lock())
        with own:
            stamp = tuple(self.stamp(project, topic) for topic in topics or FILES)
            known = self._kept.get(name)
            if known is not None and known.stamp == stamp:
                with self._lock:
                    self._kept.move_to_end(name)
                value: T = known.value
                return value
            value = make()
            with self._lock:
                self._kept[name] = _Kept(stamp, value)
                self._kept.move_to_end(name)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return value

    def stamp(self, project: Project, topic: str, *, rescan: bool = False) -> Stamp:
        """Size and time of every file of a topic: a few stats, no reading."""
        if topic == "running":
            return self.running(project).stamp(rescan=rescan)
        return tuple(_stat(path) for path in files_of(project, topic))

    def running(self, project: Project) -> RunningSessions:
        with self._lock:
            if project.memory not in self._running:
                self._running[project.memory] = RunningSessions(self._machine, project)
            return self._running[project.memory]


def files_of(project: Project, topic: str) -> Iterator[Path]:
    memory = project.memory
    if topic == "sessions":
        yield from (memory / name for name in ("capture.db", "capture.db-wal", "ledger.md", "kept.db"))
        yield project.window / "ledger.md"
    elif topic == "memory":
        yield from (memory / name for name in ("current.md", "style.md", "answered.jsonl", "dismissed.jsonl"))
        yield from _inside(memory / "projects", depth=2)
        yield from _inside(project.window / "decisions", depth=1)
    elif topic == "lessons":
        yield from _inside(memory / "lessons", depth=2)
        yield from _inside(project.window / "lessons", depth=1)
        yield from _inside(memory.parent.parent / "lessons", depth=2)
    elif topic == "knowledge":
        yield from (memory / name for name in ("session.json", "edits.db", "edits.db-wal"))
    elif topic == "hooks":
        yield from (memory / name for name in ("why.jsonl", "why.jsonl.1", "switches.json", HOLDOUT))
    elif topic == "sync":
        yield from (memory / name for name in (JOURNAL, SYNC_SETTINGS))
    else:
        raise ValueError(f"no topic {topic}")


def _inside(folder: Path, depth: int) -> list[Path]:
    """The folder and what is below it; a file that is replaced changes its folder, too."""
    found = [folder]
    for place in found:
        level = len(place.parts) - len(folder.parts)
        if level > depth or len(found) > MOST_FILES:
            break
        try:
            with os.scandir(place) as entries:
                found += sorted(place / entry.name for entry in entries)[: MOST_FILES - len(found)]
        except OSError:  # a file, or gone
            continue
    return found


def _stat(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return path.name, 0, 0
    return path.name, stat.st_mtime_ns, stat.st_size
