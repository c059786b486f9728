"""What a person took out of the memory by hand: it does not come back when its session is captured again.

Only ids are kept, which are hashes; `dismissed.jsonl` has a line for each.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.store import files
from holdfast.store.files import Held

_ID = re.compile(r" · ([A-Z]-[0-9a-z]{6})(?= <!--|$)", re.MULTILINE)


class _Line(Struct):
    id: str
    at: float


class Dismissed:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(_Line)

    def ids(self) -> set[str]:
        return set(self.times())

    def times(self) -> dict[str, float]:
        """When each was taken out."""
        found: dict[str, float] = {}
        for line in files.read_lines(self._path):
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):  # torn by a crash: told again
                known = self._decoder.decode(line)
                found[known.id] = known.at
        return found

    def add(self, held: Held, ids: Iterable[str], at: float) -> None:
        new = sorted(set(ids) - self.ids())
        if new:
            lines = b"".join(msgspec.json.encode(_Line(name, at)) + b"\n" for name in new)
            files.append_held(held, self._path, lines)


def shown_ids(text: str) -> set[str]:
    """The ids that stand at the end of a file's lines."""
    return set(_ID.findall(text))
