"""What `holdfast doctor` says of sync, and what `holdfast forget` says of copies that sync made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime

from holdfast.store.after_session import SYNC_SETTINGS
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.sync.keys import Keys
from holdfast.sync.roster import roster_of
from holdfast.sync.service import journal_of, last_sync, open_conflicts
from holdfast.sync.settings import read_settings

_DAY_S = 86_400.0
_LONG_DAYS = {True: 3, False: 30}  # if a sync follows every session, and if a person starts it


def check_sync(machine: Machine, project: Project) -> Iterator[tuple[str, str]]:
    """Level and message of each finding; nothing where nobody syncs."""
    yield from _check_key(machine)
    if not any((project.memory / name).exists() for name in (JOURNAL, SYNC_SETTINGS)):
        return
    settings = read_settings(project)
    with journal_of(project) as journal:
        if journal is not None:
            journal.check()
    if settings.after_session and not settings.default:
        yield "problem", "sync after each session is on, but there is no target. Run holdfast sync TARGET."
    times, now = last_sync(project), machine.now().timestamp()
    for name in settings.targets:
        days = int((now - times[name]) / _DAY_S) if name in times else None
        if days is None:
            yield "note", f"{name} has never been reached. Run holdfast sync {name}."
        elif days > _LONG_DAYS[settings.after_session]:
            yield "note", f"{name} has not been reached for {days} days. Run holdfast sync {name}."
        else:
            at = datetime.fromtimestamp(times[name]).astimezone().strftime("%Y-%m-%d %H:%M")
            yield "ok", f"last synced with {name} on {at}"
    if number := len(open_conflicts(project)):
        yield "note", f"{number} conflict{'s' if number > 1 else ''} to resolve: holdfast sync --conflicts"


def _check_key(machine: Machine) -> Iterator[tuple[str, str]]:
    keys = Keys(machine)
    if not keys.exists:
        return
    if os.name == "posix" and stat.S_IMODE(keys.path.lstat().st_mode) & 0o077:
        yield (
            "problem",
            f"{keys.path}: other users can read your key. chmod 600 it, then run holdfast keys revoke.",
        )
        return
    _ = keys.author  # a damaged file says so


def copies_elsewhere(project: Project) -> tuple[str, ...]:
    """Who may still have what was forgotten here."""
    if not (project.memory / JOURNAL).exists():
        return ()
    settings = read_settings(project)
    found = [f"{name}, until the next sync" for name in settings.targets]
    found.append("your other machines, until they sync")
    if settings.team is not None:
        with journal_of(project) as journal:
            gone = journal is not None and bool(roster_of(journal, settings.team).before)
        found.append("members of the team, until they sync")
        if gone:
            found.append("removed members, who keep what they received")
    if any(name == "git" or name.startswith("git:") for name in settings.targets):
        found.append("the git remote's reflogs and unreachable objects, until it collects garbage")
    if any(name.startswith("/") for name in settings.targets):
        found.append("older versions of the folder (snapshots, versions that Syncthing keeps)")
    return tuple(found)
