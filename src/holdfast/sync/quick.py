"""A sync that moves nothing, which is most of them: what it needs is loaded, and nothing else is.

Importing what writes a memory costs more than asking a target whether anything changed.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from holdfast.core import files
from holdfast.core.hashes import blake2b
from holdfast.store.bundle import canonical_files
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME, Row, SyncJournal
from holdfast.sync.keys import Keys
from holdfast.sync.merge import conflicts
from holdfast.sync.packs import READS
from holdfast.sync.result import SyncResult
from holdfast.sync.settings import SyncSettings, Target
from holdfast.sync.transport import Transport

PATIENCE_S = 120.0
OWN = "own"


def look(
    machine: Machine,
    project: Project,
    transport: Transport,
    settings: SyncSettings,
    name: str,
    target: Target,
) -> SyncResult | str:
    """The result if there is nothing to do, or the state of the target; '' if it was not asked."""
    began, keys = time.monotonic(), Keys(machine)
    if not (project.memory / NAME).exists() or not keys.exists:
        return ""
    with (
        files.lock(project.lock("sync"), timeout=PATIENCE_S),
        closing(SyncJournal(project.memory)) as journal,
    ):
        if (journal.note("reads"), journal.note("author")) != (READS, keys.author):
            return ""
        if memory_stamp(project.memory) != journal.note("memory") or journal.stale():
            return ""
        if any(goes_out(row, settings, target, keys) for row in journal.unsent(name)):
            return ""
        state = transport.state()
        if not state or state != journal.note(f"state {name}"):
            return state
        return SyncResult(
            target=name,
            conflicts=len(conflicts(journal)),
            waits_for=_unasked(journal, settings, keys),
            seconds=time.monotonic() - began,
        )


def _unasked(journal: SyncJournal, settings: SyncSettings, keys: Keys) -> list[str]:
    if settings.team is None:
        return []
    from holdfast.sync import team_items
    from holdfast.sync.roster import roster_of

    return team_items.unasked(journal, settings, keys, roster_of(journal, settings.team))


def goes_out(row: Row, settings: SyncSettings, target: Target, keys: Keys) -> bool:
    """Whether an entry is sent to a target."""
    if row.scope == OWN:
        return not target.team_only and keys.pair(row.author) is not None
    return settings.team is not None


def memory_stamp(memory: Path) -> str:
    """What changes whenever a file of the memory does."""
    stamps = []
    for name in (*canonical_files(memory).files, "capture.db-wal", "sync.json"):
        if name.startswith("history/"):
            continue
        try:
            stat = (memory / name).stat()
        except OSError:
            continue
        stamps.append(f"{name} {stat.st_size} {stat.st_mtime_ns}")
    return blake2b("\n".join(stamps).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
