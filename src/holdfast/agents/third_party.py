"""Guards around agents of other packages: a failure in one of them becomes one line, and everything else continues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from holdfast.agent_kit.contract import Claims, Glance, Importer, Reading, Warned
from holdfast.agent_kit.host_contract import BaseHost, Change, Host, Scope, Where, Wired
from holdfast.core.errors import ConfigError, HoldfastError
from holdfast.model.events import Event
from holdfast.store.machine import Places

T = TypeVar("T")


class _Tried:
    """Calls another package's code, and reports a failure once."""

    def __init__(self, agent: str, problems: list[str]) -> None:
        self.agent = agent
        self._problems = problems

    def _try(self, instead: T, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:
            line = failure(self.agent, error)
            if line not in self._problems:
                self._problems.append(line)
            return instead


def failure(agent: str, error: Exception) -> str:
    return f"agent {agent} failed: {type(error).__name__}: {error}"


class GuardedReader(_Tried):
    def __init__(self, reader: Importer, problems: list[str]) -> None:
        super().__init__(reader.agent, problems)
        self._reader = reader
        self.title, self.appends, self.copies = reader.title, reader.appends, reader.copies

    def roots(self, places: Places) -> Iterable[Path]:
        return self._try([], lambda: list(self._reader.roots(places)))

    def candidates(self, root: Path) -> Iterable[Path]:
        return self._try([], lambda: list(self._reader.candidates(root)))

    def recognise(self, path: Path, head: bytes) -> bool:
        return self._try(False, lambda: self._reader.recognise(path, head))

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        return self._try([], lambda: list(self._reader.sessions(path, head)))

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading:
        return GuardedReading(self._reader, path, offset, state, claims, part)


class GuardedReading:
    """A guarded pass. If it fails midway, its events so far count, and the next pass starts where this one began."""

    def __init__(
        self, reader: Importer, path: Path, offset: int, state: bytes, claims: Claims, part: str
    ) -> None:
        self.warnings: list[Warned] = []
        self._start = (offset, state)
        self._agent, self._path = reader.agent, path
        self._reading: Reading | None = None
        try:
            self._reading = reader.open(path, offset, state, claims, part)
            self.warnings = self._reading.warnings
        except HoldfastError:
            raise
        except Exception as error:
            self._fail(error)

    def events(self) -> Iterator[Event]:
        try:
            if self._reading is not None:
                yield from self._reading.events()
        except HoldfastError:
            raise
        except Exception as error:
            self._fail(error)

    def position(self) -> int:
        return self._reading.position() if self._reading is not None else self._start[0]

    def state(self) -> bytes:
        return self._reading.state() if self._reading is not None else self._start[1]

    def _fail(self, error: Exception) -> None:
        self._reading = None
        self.warnings.append(Warned(str(self._path), 0, "agent-failed", failure(self._agent, error)[:200]))


class GuardedHost(_Tried, BaseHost):
    def __init__(self, host: Host, problems: list[str]) -> None:
        super().__init__(host.agent, problems)
        self._host = host
        self.title = host.title

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        return self._changes(lambda: self._host.install(where, scope))

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        return self._changes(lambda: self._host.uninstall(where, scope))

    def _changes(self, call: Callable[[], tuple[Change, ...]]) -> tuple[Change, ...]:
        try:
            return tuple(call())
        except HoldfastError:
            raise
        except Exception as error:
            raise ConfigError(failure(self.agent, error), fix="Nothing was changed") from error

    def status(self, where: Where, scope: Scope) -> Wired:
        nothing = Wired(agent=self.agent, scope=scope, path=Path(), installed=False, missing=())
        return self._try(nothing, lambda: self._host.status(where, scope))

    def found(self, where: Where) -> bool:
        return self._try(False, lambda: self._host.found(where))

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        if not hasattr(self._host, "needs"):
            return ()
        return self._try((), lambda: tuple(self._host.needs(where, scope)))


class Guarded(Struct, frozen=True):
    """An agent of another package."""

    reader: GuardedReader
    host: GuardedHost | None
