"""When a question that the record answers was met with that answer: a line for each in `answered.jsonl`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.store import files


class _Line(Struct):
    at: float
    id: str


def answers_offered(memory: Path) -> list[tuple[float, str]]:
    """Moment and question of every offer. A torn or foreign line is passed over."""
    decoder = msgspec.json.Decoder(_Line)
    found = []
    for line in files.read_lines(memory / "answered.jsonl"):
        try:
            offer = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        found.append((offer.at, offer.id))
    return found
