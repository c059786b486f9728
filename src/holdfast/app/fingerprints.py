"""Checks what lessons depend on in a work tree, and remembers what was seen so that the next look is cheap."""

from __future__ import annotations

import os
from collections.abc import Iterable
from zlib import crc32

import msgspec

from holdfast.app.wiring import Machine
from holdfast.errors import StoreError
from holdfast.model.lesson import Fingerprint
from holdfast.repo.fingerprint import Checked, Stamp, check
from holdfast.store.layout import Project
from holdfast.store.snapshots import keep_snapshot, read_snapshot

MOST_STAMPS = 5_000
_STAMPS = msgspec.json.Decoder(dict[str, Stamp])


def check_fingerprints(machine: Machine, project: Project, fingerprints: Iterable[Fingerprint]) -> Checked:
    """Verdicts in order, and the stamps of these targets. Stamps are derived: without them it only takes longer."""
    wanted = list(fingerprints)
    known = known_stamps(project)
    checked = check(project.root, wanted, known, now=machine.now().timestamp(), clean=machine.clean)
    looked_at = {item.target for item in wanted}
    others = {target: stamp for target, stamp in known.items() if target not in looked_at}
    kept = dict(list({**checked.stamps, **others}.items())[:MOST_STAMPS])
    if kept != known:
        try:
            keep_snapshot(project.memory, _file_name(project), msgspec.json.encode(kept))
        except (StoreError, OSError):
            pass  # a full disk makes the next look slower, not this one wrong
    return checked


def known_stamps(project: Project) -> dict[str, Stamp]:
    try:
        return _STAMPS.decode(read_snapshot(project.memory, _file_name(project)) or b"{}")
    except (StoreError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _file_name(project: Project) -> str:
    """Worktrees share a memory, and each has its own files."""
    return f"stamps-{crc32(os.fsencode(project.root)):08x}.json"
