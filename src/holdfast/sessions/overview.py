"""What a list shows of many sessions beside their rows: read once, and again only where a record changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.sessions.lookup import MOST_ASKED
from holdfast.sessions.store import CaptureStore


class Overview(Struct, frozen=True, kw_only=True):
    """The few fields of a record that a list needs. The decoder skips all others."""

    title: str = ""
    goal: str = ""
    branch: str = ""
    headless: bool = False
    tool_calls: int = 0
    failed_calls: int = 0
    subagents: int = 0
    outcome_why: str = ""


Stamp = tuple[int | None, ...]
# The sizes of a record and of what it was read from: no blob is touched.
_STAMPS = """
SELECT session.id, length(record), read.bytes, read.changed FROM session
LEFT JOIN (SELECT session, sum(position) AS bytes, max(mtime_ns) AS changed FROM source GROUP BY session) AS read
ON read.session = session.id
"""
_DECODER = msgspec.json.Decoder(Overview)


class Overviews:
    """The overviews of a project's sessions. `read` compares stamps, and decodes the records that have another."""

    def __init__(self, capture: Path) -> None:
        self._capture = capture
        self._stamps: dict[str, Stamp] = {}
        self._known: dict[str, Overview] = {}

    def read(self) -> dict[str, Overview]:
        return CaptureStore.glimpse(self._capture, self._update, dict(self._known))

    def _update(self, store: CaptureStore) -> dict[str, Overview]:
        stamps = {str(session): tuple(stamp) for session, *stamp in store.select(_STAMPS)}
        for session in self._stamps.keys() - stamps.keys():
            self._known.pop(session, None)
        changed = [session for session, stamp in stamps.items() if self._stamps.get(session) != stamp]
        for start in range(0, len(changed), MOST_ASKED):
            part = changed[start : start + MOST_ASKED]
            query = f"SELECT id, record FROM session WHERE id IN ({','.join('?' * len(part))})"
            for session, record in store.select(query, part):
                self._known[session] = _decoded(record)
        self._stamps = stamps
        return dict(self._known)


def _decoded(record: bytes) -> Overview:
    try:
        return _DECODER.decode(record)
    except msgspec.MsgspecError:  # of another version: the row still says what matters
        return Overview()
