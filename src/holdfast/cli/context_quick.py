"""`holdfast context` without the application: as long as no new text has come up that must be cleaned first."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from holdfast.context import view
from holdfast.context.checkout import find_checkout
from holdfast.context.contract import Here
from holdfast.context.reading import text_of
from holdfast.context.snapshot import Snapshot, decode, encode, file_name
from holdfast.context.sources import built_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.registry import Loaded, Registry

_LARGEST = 8_000_000


class _Application(Exception):
    """This takes more than what is loaded here."""


def print_context(words: list[str]) -> bool:
    """Prints live context; False when the application has to look itself."""
    rest = [word for word in words if word not in ("--json", "--no-save")]
    only = rest[1] if len(rest) == 2 and rest[0] == "--source" else ""
    registry = built_in()
    if (rest and only not in registry.keys) or (sys.stdout.encoding or "").lower() != "utf-8":
        return False
    try:
        here, holdfast_home = _here()
        if not here.memory and not words:
            # Nothing is kept here, so nothing need be cleaned to be kept, and of files only the names are shown.
            return _printed(view.report(registry, registry.load_all(here), (), None, width=_width()))
        previous = _previous(here)
        loaded = registry.load_all(here, previous, clean=_needs_cleaning)
        text = _answer(registry, here, previous, loaded, only, as_json="--json" in words)
        if loaded.errors or not _is_harmless(text):
            return False
        if loaded.entries != previous.entries and "--no-save" not in words and not only:
            _keep(here, Snapshot(here.cwd, here.now, loaded.entries), holdfast_home)
        return _printed(text)
    except (_Application, OSError):
        return False


def _here() -> tuple[Here, str]:
    import time

    env = dict(os.environ)
    # Loaded by name: the hooks' path stands apart from every room.
    place = import_module("holdfast.hot.place")
    holdfast_home = str(place.home_of(env))
    cwd = os.getcwd()
    found = place.find(cwd, holdfast_home)
    checkout = None if found is not None else find_checkout(cwd)
    memory = found.memory if found is not None and os.path.isdir(found.memory) else ""
    here = Here(
        cwd=cwd,
        root=found.root if found is not None else checkout.root if checkout else cwd,
        home=env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~"),
        now=time.time(),
        env=env,
        memory=memory,
        knowledge=_not_here if memory else None,
    )
    return here, holdfast_home


def _not_here() -> object:
    raise _Application  # an error of that source, with which the application begins anew


def _needs_cleaning(text: str) -> str:
    raise _Application


def _previous(here: Here) -> Snapshot:
    text = text_of(os.path.join(here.memory, file_name(here.cwd)), _LARGEST) if here.memory else None
    found = decode(text.encode("utf-8", "replace"), here.cwd) if text else None
    if found is None:
        raise _Application
    return found


def _answer(
    registry: Registry, here: Here, previous: Snapshot, loaded: Loaded, only: str, *, as_json: bool
) -> str:
    changes = registry.reconcile(previous, loaded)
    if as_json:
        entries, errors = loaded.entries, loaded.errors
        shown = view.as_json(registry, here.cwd, entries, errors, changes, previous.at, only)
        return view.dumped(shown, indent=2) + "\n"
    return view.report(registry, loaded, changes, previous.at, only, _width())


def _keep(here: Here, snapshot: Snapshot, holdfast_home: str) -> None:
    """Where the configuration is newer than what was kept, it may say that nothing is to be kept here."""
    try:
        changed = os.stat(os.path.join(holdfast_home, "config.toml")).st_mtime
    except FileNotFoundError:
        changed = 0.0
    if changed >= os.stat(os.path.join(here.memory, file_name(here.cwd))).st_mtime:
        raise _Application
    from pathlib import Path

    from holdfast.errors import StoreError
    from holdfast.store.snapshots import keep_snapshot

    try:
        keep_snapshot(Path(here.memory), file_name(here.cwd), encode(snapshot))
    except StoreError as error:
        raise _Application from error  # which has words for it


def _width() -> int | None:
    return (os.get_terminal_size(sys.stdout.fileno()).columns or None) if sys.stdout.isatty() else None


def _is_harmless(text: str) -> bool:
    """Whether there is something to print, and nothing that a terminal might obey."""
    return bool(text) and text.replace("\n", "").replace("\t", "").isprintable()


def _printed(text: str) -> bool:
    if not _is_harmless(text):
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True
