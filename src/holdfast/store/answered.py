"""How often the record answered a question that would have been asked again: one line per answer given.

`answered.jsonl` holds the time and the id of what answered, never the question itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.store import files
from holdfast.store.layout import Project


class Answered(Struct, frozen=True):
    """The record gave this answer at this time."""

    at: float
    id: str


def record_answer(project: Project, id: str, at: float) -> None:
    line = msgspec.json.encode(Answered(at, id)) + b"\n"
    files.append(_path(project), line, project.lock("answered"))


def answers_given(project: Project) -> list[Answered]:
    """Oldest first. A line that a crash tore counts for nothing."""
    decoder = msgspec.json.Decoder(Answered)
    found: list[Answered] = []
    for line in files.read_lines(_path(project)):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            found.append(decoder.decode(line))
    return found


def _path(project: Project) -> Path:
    return project.memory / "answered.jsonl"
