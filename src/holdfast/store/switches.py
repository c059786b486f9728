"""Whether hooks are enabled in a project, and in which of its directories they are switched off.

Stored in `<memory>/switches.json`, outside the repository, so that nothing in a clone can enable anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.memory_files import HOLDOUT_KEY
from holdfast.store.project import Project

_FIX = "Correct it, or delete it and run holdfast agents install"


class Off(Struct, frozen=True):
    """What is switched off in a directory and everything below it."""

    path: str
    capture: bool
    inject: bool


LEAST_HELD, MOST_HELD = 0.01, 0.5  # shares of sessions


class Holdout(Struct, frozen=True):
    """The share of new sessions that get nothing injected, and since when (ISO time)."""

    share: float
    since: str = ""


class Switches(Struct, frozen=True):
    """`places` and `marks` say where 0.1.0 enabled the project; `core/place.py` reads them."""

    enabled: bool = False
    places: tuple[str, ...] = ()
    off: tuple[Off, ...] = ()
    marks: tuple[str, ...] = ()
    holdout: Holdout | None = None

    @property
    def held_share(self) -> float:
        """The share of sessions that get nothing injected; 0 without a holdout, or with one that makes no sense."""
        share = self.holdout.share if self.holdout is not None else 0.0
        return share if LEAST_HELD <= share <= MOST_HELD else 0.0

    def at(self, directory: Path) -> tuple[bool, bool]:
        """Whether capture and injection are off in a directory."""
        absolute = Path(os.path.abspath(directory))
        off = [switch for switch in self.off if Path(switch.path) in (absolute, *absolute.parents)]
        return any(switch.capture for switch in off), any(switch.inject for switch in off)


def switches_of(project: Project) -> Switches:
    return decode_json(files.read(_path(project)), Switches, _path(project), _FIX)


def enable(project: Project) -> Switches:
    """Enables hooks in this project, on this machine."""
    project.prepare()
    return _change(project, lambda before: replace(before, enabled=True))


def disable(project: Project) -> Switches:
    return _change(project, lambda before: replace(before, enabled=False))


def switch(project: Project, directory: Path, *, capture: bool | None, inject: bool | None) -> Switches:
    """Switches a directory on (True) or off (False); None leaves the setting unchanged."""
    if not switches_of(project).enabled:
        raise NotFound(
            "hooks are not enabled in this project, so there is nothing to turn on or off",
            where=str(project.root),
            fix="holdfast init enables them",
        )
    path = os.path.abspath(directory)

    def switched(before: Switches) -> Switches:
        old = next((entry for entry in before.off if entry.path == path), Off(path, False, False))
        new = Off(
            path,
            old.capture if capture is None else not capture,
            old.inject if inject is None else not inject,
        )
        other_entries = [entry for entry in before.off if entry.path != path]
        entries = [*other_entries, new] if new.capture or new.inject else other_entries
        return replace(before, off=tuple(sorted(entries, key=lambda entry: entry.path)))

    return _change(project, switched)


def hold_out(project: Project, holdout: Holdout | None) -> Switches:
    """Sets the holdout, with a key of its own the first time, or ends it."""
    if not switches_of(project).enabled:
        raise NotFound(
            "hooks are not enabled in this project, so sessions already get nothing",
            where=str(project.root),
            fix="holdfast init enables them",
        )
    if holdout is not None:
        _make_key(project)
    return _change(project, lambda before: replace(before, holdout=holdout))


def _make_key(project: Project) -> None:
    """Makes the secret of the draw. It is kept when the holdout ends: a session drawn twice has the same arm."""
    path = project.memory / HOLDOUT_KEY
    with files.lock(project.lock("holdout-key")):
        if not (files.read(path) or b"").strip():
            files.discard([path])
            with files.explained(path, "write"), files.open_new(path, 0o600) as file:
                file.write(f"{os.urandom(32).hex()}\n".encode())
                files.finish(file)


def _change(project: Project, change: Callable[[Switches], Switches]) -> Switches:
    path = _path(project)
    with files.lock(project.lock("switches")) as held:
        data = files.read(path)
        current = decode_json(data, Switches, path, _FIX)
        changed = change(current)
        if changed != current:
            files.replace_held(held, path, encode_json(changed), files.digest(data))
    return changed


def _path(project: Project) -> Path:
    return project.memory / "switches.json"
