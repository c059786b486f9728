"""Kilo Code: `~/.local/share/kilo/kilo.db`. Its client is made from OpenCode and keeps sessions in the same tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.agent_kit.contract import usual_folder
from holdfast.agents.opencode.reader import OpenCode
from holdfast.agents.opencode.stores import KILO, TABLES
from holdfast.store.machine import Places


class Kilo(OpenCode):
    agent = "kilo"
    title = "Kilo Code"
    tables = TABLES | KILO

    def roots(self, places: Places) -> Iterable[Path]:
        yield usual_folder(places, "XDG_DATA_HOME", ".local", "share") / "kilo"

    def candidates(self, root: Path) -> Iterable[Path]:
        yield from sorted(root.glob("kilo*.db"))

    def is_own_file(self, path: Path, head: bytes) -> bool:
        return False  # what `kilo export` prints cannot be told from OpenCode's, which reads it
