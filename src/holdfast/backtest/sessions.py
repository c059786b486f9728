"""The records of a scratch memory, kept as values: each is asked for again and again, and never changes."""

from __future__ import annotations

from bisect import insort
from pathlib import Path

from holdfast.core.reuse import for_same_object
from holdfast.model.events import DistilledSession, Lived
from holdfast.model.memory import DeadEnd
from holdfast.sessions.store import CaptureStore


class PastStore(CaptureStore):
    """A capture.db whose records need not be decoded. Sessions are only added."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._by_start: list[DistilledSession] = []

    def put_record(self, record: DistilledSession) -> None:
        super().put_record(record)
        insort(self._by_start, record, key=_started)

    def records(self, limit: int) -> list[DistilledSession]:
        return self._by_start[-limit:][::-1]

    def lived(self, limit: int) -> list[Lived]:
        return [lived_of(record) for record in self._by_start[-limit:]]

    def dead_ends(self, limit: int) -> list[tuple[str, DeadEnd]]:
        latest = self._by_start[-limit:][::-1]
        return [(record.session, end) for record in latest for end in record.harvest.dead_ends]


@for_same_object
def lived_of(record: DistilledSession) -> Lived:
    return Lived(**{name: getattr(record, name) for name in Lived.__struct_fields__})


def _started(record: DistilledSession) -> float:
    return record.started or 0.0
