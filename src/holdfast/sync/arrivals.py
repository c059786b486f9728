"""What others publish on the team's server arrives at once: a process that is open anyway listens, and fetches.

Nothing here runs in a hook: what arrives is written into the memory and prepared, as after every sync.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Lock, Thread

from holdfast.core.errors import HoldfastError
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.postgres import Listener
from holdfast.sync.quick import memory_stamp
from holdfast.sync.service import receive
from holdfast.sync.settings import read_settings
from holdfast.sync.targets import is_server

LOOK_S = 1.0  # between two looks whether this process ends
LONGEST_S = 300.0  # without a notification: a connection may be dead without a word
AWAY_S = 15.0  # until a server that is away is tried again


class Waiting:
    """What comes between two syncs of `sync --watch`: a server's word, a change here, or so many seconds."""

    def __init__(self, project: Project, name: str, every: float) -> None:
        self._project, self._name, self._every = project, name, every
        self._listener: Listener | None = None
        self._stack = ExitStack()

    def listen(self) -> None:
        """Listens before the sync that it follows, so that nothing is missed in between."""
        if self._listener is None and is_server(self._name):
            with suppress(HoldfastError):  # an older schema tells nothing, and a sync says what is wrong
                self._listener = self._stack.enter_context(
                    Listener(self._name, read_settings(self._project).project)
                )

    def wait(self) -> None:
        if self._listener is None:
            time.sleep(self._every)
            return
        stamp, end = memory_stamp(self._project.memory), time.monotonic() + LONGEST_S
        try:
            while time.monotonic() < end:
                if self._listener.heard(self._every) or memory_stamp(self._project.memory) != stamp:
                    return
        except HoldfastError:
            self.close()

    def close(self) -> None:
        self._listener = None
        self._stack.close()


@contextmanager
def waiting(project: Project, name: str, every: float) -> Iterator[Waiting]:
    waits = Waiting(project, name, every)
    try:
        yield waits
    finally:
        waits.close()


class Arrivals:
    """Fetches for the projects that are looked at, each in a thread of its own. It sends nothing."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lock = Lock()
        self._ends: dict[str, Event] = {}

    def keep(self, projects: Collection[Project]) -> None:
        """Listens for these projects from now on, and for no others."""
        wanted = {str(project.memory): project for project in projects}
        with self._lock:
            for memory in [memory for memory in self._ends if memory not in wanted]:
                self._ends.pop(memory).set()
            for memory, project in wanted.items():
                if memory not in self._ends and (name := _agreed_server(project)):
                    end = self._ends[memory] = Event()
                    Thread(
                        target=self._run, args=(project, name, end), name="holdfast-arrivals", daemon=True
                    ).start()

    def _run(self, project: Project, name: str, end: Event) -> None:
        machine = self._machine.standing_in(project.root)
        while not end.is_set():
            try:
                with Listener(name, read_settings(project).project) as listener:
                    receive(machine, project, name)
                    last = time.monotonic()
                    while not end.is_set():
                        if listener.heard(LOOK_S) or time.monotonic() - last > LONGEST_S:
                            receive(machine, project, name)
                            last = time.monotonic()
            except (
                HoldfastError
            ):  # the server is away, or lets nobody in: the page says when it was last reached
                end.wait(AWAY_S)


def _agreed_server(project: Project) -> str:
    """The server that a person agreed to sync this project with; '' if there is none."""
    with suppress(HoldfastError):
        targets = read_settings(project).targets
        return next((name for name, target in targets.items() if target.seen and is_server(name)), "")
    return ""
