"""`holdfast context` without the application, which would take longer to load than the command takes to run.

New texts pass the same redaction as everywhere. Where that takes more than its own rules - a scanner as second pass,
texts that were forgotten - the application looks.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from holdfast.core import place
from holdfast.core.place import find_checkout
from holdfast.core.processes import detach
from holdfast.core.reading import text_of
from holdfast.knowledge import context_view
from holdfast.knowledge.context import Here, Snapshot, decode, encode, file_name
from holdfast.knowledge.context_sources import FILE as KNOWLEDGE
from holdfast.knowledge.context_sources import built_in

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.knowledge.context import Loaded, Registry


REST_S = 300.0
_LARGEST = 8_000_000
_KEPT = ("session.json", "scan.cache")
_MARKED = ("HEAD", "index")


class _Application(Exception):
    """The command needs the application."""


def look_again(memory: str, root: str, env: Mapping[str, str], now: float) -> bool:
    """Starts a scan of the checkout in a process of its own; False if the last one is recent or nothing changed.

    Only in projects that are enabled on this machine: elsewhere nothing is kept unless it is asked for.
    """
    if not memory or env.get("HOLDFAST") == "off" or env.get("CI", "").lower() in ("1", "true"):
        return False
    last = max((_changed(os.path.join(memory, name)) for name in _KEPT), default=0.0)
    marks = [_changed(os.path.join(root, ".git", name)) for name in _MARKED]
    if now - last < REST_S or (last and max(marks) and max(marks) <= last) or not _is_enabled(memory):
        return False
    detach(["-m", "holdfast", "know", "scan"], dict(env))
    return True


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_enabled(memory: str) -> bool:
    import json

    try:
        with open(os.path.join(memory, "switches.json"), encoding="utf-8") as file:
            return json.loads(file.read(1_000_000)).get("enabled") is True
    except (OSError, ValueError, AttributeError):
        return False


def print_context(words: list[str]) -> bool:
    """Prints live context; False if the application must do it."""
    rest = [word for word in words if word not in ("--json", "--no-save")]
    only = rest[1] if len(rest) == 2 and rest[0] == "--source" else ""
    registry = built_in()
    if (rest and only not in registry.keys) or (sys.stdout.encoding or "").lower() != "utf-8":
        return False
    try:
        here, holdfast_home = _here()
        if not here.memory and not words:
            # Nothing is kept here, so nothing need be cleaned to be kept, and of files only the names are shown.
            return _printed(context_view.report(registry, registry.load_all(here), (), None, width=_width()))
        previous = _previous(here)
        loaded = registry.load_all(here, previous, clean=_cleaning(here, holdfast_home))
        text = _answer(registry, here, previous, loaded, only, as_json="--json" in words)
        if loaded.errors or not _is_harmless(text):
            return False
        if loaded.entries != previous.entries and "--no-save" not in words and not only:
            _keep(here, Snapshot(here.cwd, here.now, loaded.entries), holdfast_home)
        look_again(here.memory, here.root, here.env, here.now)
        return _printed(text)
    except (_Application, OSError):
        return False


def _here() -> tuple[Here, str]:
    import time

    env = dict(os.environ)
    holdfast_home = place.home_of(env)
    cwd = os.getcwd()
    project = place.identify(cwd, holdfast_home)
    if project is not None and project.standing() != place.REGISTERED:
        raise _Application  # it says what is wrong with the id
    checkout = None if project is not None else find_checkout(cwd)
    memory = project.memory if project is not None and os.path.isdir(project.memory) else ""
    here = Here(
        cwd=cwd,
        root=project.root if project is not None else checkout.root if checkout else cwd,
        home=place.user_home(env),
        now=time.time(),
        env=env,
        memory=memory,
        knowledge=partial(_knowledge, memory) if memory else None,
    )
    return here, holdfast_home


def _knowledge(memory: str) -> object:
    import json

    text = text_of(os.path.join(memory, KNOWLEDGE), _LARGEST)
    document = json.loads(text) if text else None
    return document.get("knowledge") if isinstance(document, dict) else None


def _cleaning(here: Here, holdfast_home: str) -> Callable[[str], str]:
    """Loads the rules when the first text comes up that has to be cleaned."""
    ready: list[Callable[[str], str]] = []

    def clean(text: str) -> str:
        if not ready:
            ready.append(_cleaner(here, holdfast_home))
        return ready[0](text)

    return clean


def _cleaner(here: Here, holdfast_home: str) -> Callable[[str], str]:
    if os.path.lexists(os.path.join(here.memory, "denied.jsonl")):
        raise _Application
    # The scanner is a second pass where its rules were compiled, or where the configuration asks for it.
    configuration = os.path.join(holdfast_home, "config.toml")
    if os.path.lexists(os.path.join(holdfast_home, "cache", "scanner")) or "scanner" in (
        (text_of(configuration, _LARGEST) or "scanner") if os.path.lexists(configuration) else ""
    ):
        raise _Application
    from holdfast.guard.redact import Redactor, cleaner, secrets_of
    from holdfast.knowledge.context_view import shown_by

    return shown_by(cleaner(Redactor(secrets_of(here.env))))


def _previous(here: Here) -> Snapshot:
    text = text_of(os.path.join(here.memory, file_name(here.cwd)), _LARGEST) if here.memory else None
    snapshot = decode(text.encode("utf-8", "replace"), here.cwd) if text else None
    if snapshot is None:
        raise _Application
    return snapshot


def _answer(
    registry: Registry, here: Here, previous: Snapshot, loaded: Loaded, only: str, *, as_json: bool
) -> str:
    changes = registry.reconcile(previous, loaded)
    if as_json:
        entries, errors = loaded.entries, loaded.errors
        fields = context_view.as_json(registry, here.cwd, entries, errors, changes, previous.at, only)
        return context_view.dumped(fields, indent=2) + "\n"
    return context_view.report(registry, loaded, changes, previous.at, only, _width())


def _keep(here: Here, snapshot: Snapshot, holdfast_home: str) -> None:
    """If the configuration is newer than the stored state, it may forbid storing anything here."""
    try:
        changed = os.stat(os.path.join(holdfast_home, "config.toml")).st_mtime
    except FileNotFoundError:
        changed = 0.0
    if changed >= os.stat(os.path.join(here.memory, file_name(here.cwd))).st_mtime:
        raise _Application
    from pathlib import Path

    from holdfast.core.errors import StoreError
    from holdfast.store.snapshots import keep_snapshot

    try:
        keep_snapshot(Path(here.memory), file_name(here.cwd), encode(snapshot))
    except StoreError as error:
        raise _Application from error  # which has words for it


def _width() -> int | None:
    return (os.get_terminal_size(sys.stdout.fileno()).columns or None) if sys.stdout.isatty() else None


def _is_harmless(text: str) -> bool:
    """Whether there is text to print, without control characters."""
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
