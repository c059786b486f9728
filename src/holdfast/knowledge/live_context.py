"""Live context of a project: loads its sources, compares them with the last snapshot, and stores the new one."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.reading import stamp_of
from holdfast.knowledge.context import (
    ContextChange,
    ContextEntry,
    Here,
    Loaded,
    Registry,
    Snapshot,
    decode,
    encode,
    file_name,
)
from holdfast.knowledge.context_sources import FILE, built_in
from holdfast.knowledge.context_view import shown_by
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.snapshots import keep_snapshot

POLL_S = 2.0
_SHARE = 20  # polling takes at most a twentieth of the time, however large the repository is
_DENIED = "denied.jsonl"
_LARGEST_KNOWLEDGE = 20_000_000


class ContextLook(Struct, frozen=True):
    """The current context, and the changes since the last look; `since` is None if there was none."""

    registry: Registry
    place: str
    loaded: Loaded
    changes: list[ContextChange]
    since: float | None
    warning: str = ""


class News(Struct, frozen=True):
    """An event for a watcher: a change, or a source that started or stopped failing."""

    at: float
    change: ContextChange | None = None
    key: str = ""
    error: str = ""


class LiveContext:
    """The context of one directory. Storing it is optional: if that fails, the result is still returned."""

    def __init__(
        self, machine: Machine, project: Project, registry: Registry | None = None, save: bool = True
    ) -> None:
        self._machine = machine
        self._project = project
        self.registry = registry or built_in()
        self.place = str(machine.cwd)
        excluded = machine.settings().excludes(self.place, machine.user_home)
        self._saves = save and project.memory.is_dir() and not excluded
        self._denied = stamp_of(str(project.memory / _DENIED))
        self.previous = self._read()

    def look(self, *, patient: bool = False) -> ContextLook:
        """Loads all sources. The next look is compared with the result."""
        self._stay_forgotten()
        before = self.previous
        here = self._here()
        loaded = self.registry.load_all(here, before, clean=self._cleaner(), patient=patient)
        changes = self.registry.reconcile(before, loaded)
        warning = ""
        if before is None or before.entries != loaded.entries:
            self.previous = Snapshot(self.place, here.now, loaded.entries)
            warning = self._keep(self.previous)
        return ContextLook(self.registry, self.place, loaded, changes, before.at if before else None, warning)

    def watch(
        self, sleep: Callable[[float], None] = time.sleep, pause: float = POLL_S
    ) -> Iterator[News | None]:
        """Yields changes as they happen, and None after each look without one. Never ends."""
        failing: dict[str, str] = {}
        while True:
            began = time.monotonic()
            look = self.look(patient=True)
            at = self._machine.now().timestamp()
            for change in look.changes:
                yield News(at, change)
            for key in self.registry.keys:
                error = look.loaded.errors.get(key, "")
                if bool(error) != (key in failing):
                    yield News(at, key=key, error=error)
            failing = dict(look.loaded.errors)
            yield None
            sleep(max(pause, _SHARE * (time.monotonic() - began)))

    def _here(self) -> Here:
        memory = self._project.memory
        return Here(
            cwd=self.place,
            root=str(self._project.root),
            home=str(self._machine.user_home),
            now=self._machine.now().timestamp(),
            env=self._machine.env,
            memory=str(memory) if memory.is_dir() else "",
            knowledge=self._knowledge,
        )

    def _knowledge(self) -> object:
        """What is kept under `knowledge`. Another version may have written it, so nothing is taken for granted."""
        file = files.open_to_read(self._project.memory / FILE)
        if file is None:
            return None
        with file:
            kept = json.loads(file.read(_LARGEST_KNOWLEDGE))
        return kept.get("knowledge") if isinstance(kept, dict) else None

    def _cleaner(self) -> Callable[[str], str]:
        """As it may be stored and shown: without secrets, forgotten texts, blocks of ours and anything hidden."""
        clean: Callable[[str], str] = self._machine.clean
        if self._denied:  # few have forgotten anything, and the comparison takes a while to load
            from holdfast.store.denied import Denied

            clean = Denied(self._project.memory).cleaner(clean)
        return shown_by(clean)

    def _stay_forgotten(self) -> None:
        """What was forgotten meanwhile must not be kept again from what this process remembers of it."""
        stamp = stamp_of(str(self._project.memory / _DENIED))
        if stamp == self._denied:
            return
        self._denied = stamp
        if self.previous is not None:
            entries = {
                key: ContextEntry(entry.value, "", entry.at) for key, entry in self.previous.entries.items()
            }
            clean = self._cleaner()
            for entry in entries.values():
                entry.value = {clean(name): clean(text) for name, text in entry.value.items()}
            self.previous = Snapshot(self.place, self.previous.at, entries)

    def _read(self) -> Snapshot | None:
        with contextlib.suppress(StoreError):
            data = files.read(self._project.memory / file_name(self.place))
            return decode(data, self.place) if data else None
        return None

    def _keep(self, snapshot: Snapshot) -> str:
        if not self._saves:
            return ""
        try:
            keep_snapshot(self._project.memory, file_name(self.place), encode(snapshot))
        except StoreError as error:
            return error.line()
        return ""
