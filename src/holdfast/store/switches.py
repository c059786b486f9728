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
from holdfast.store.project import Project

_FIX = "Correct it, or delete it and run holdfast install"


class Off(Struct, frozen=True):
    """What is switched off in a directory and everything below it."""

    path: str
    capture: bool
    inject: bool


class Switches(Struct, frozen=True):
    """`places` and `marks` say where 0.1.0 enabled the project; `core/place.py` reads them."""

    enabled: bool = False
    places: tuple[str, ...] = ()
    off: tuple[Off, ...] = ()
    marks: tuple[str, ...] = ()

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
            "hooks are not enabled in this project, so there is nothing to switch",
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
