"""The files of a project's memory, written with the times that entries say."""

from __future__ import annotations

from typing import TypeVar

from holdfast.memory.store import MemoryStore

T = TypeVar("T")


class AsSaid(MemoryStore):
    """Writes the times that entries say, also those to come: clocks differ, and the bytes must not."""

    def _dated(self, value: T) -> T:
        return value
