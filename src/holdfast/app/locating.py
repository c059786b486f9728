"""Finds where an agent keeps one session: hosts name a file, a file of many sessions, or nothing at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.app.finding import Found, importers_for, named
from holdfast.app.wiring import Machine
from holdfast.errors import TranscriptError
from holdfast.store.layout import Project
from holdfast.transcripts.contract import Importer

SHORTEST_ID = 8  # some agents put only the beginning of an id into a file's name
STORES = (".db", ".sqlite", ".vscdb")
TWICE = frozenset(
    ("cursor",)
)  # these write a session into a file and, with its times and costs, into a store


def located(machine: Machine, project: Project, agent: str, session: str, transcript: str) -> list[Found]:
    """The session's own transcript; none where it was not written yet, or is gone."""
    (importer,) = importers_for(agent)
    path = Path(transcript)
    paths = (path,) if transcript and path.is_absolute() else _candidates(machine, project, importer, session)
    for candidate in paths:
        found = _in(candidate, importer, session) if candidate.is_file() else []
        if found:
            others = _stores(machine, project, importer, session) if agent in TWICE else ()
            return [
                *found,
                *(item for path in others if path != candidate for item in _in(path, importer, session)),
            ]
    return []


def _in(path: Path, importer: Importer, session: str) -> list[Found]:
    """What a file holds of the session: all of it, unless it holds others too. Its subagents follow it."""
    found = named([path], (importer,)).found
    kept = [item for item in found if item.glance.part in ("", session)]
    others = [item for item in found if item.glance.parent]
    for item in kept:  # which grows on the way: subagents have subagents
        kept += [other for other in others if other.glance.parent == item.glance.part and other not in kept]
    return kept


def _stores(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """The files of many sessions that hold this one."""
    for root in importer.roots(machine.places(project)):
        for path in importer.candidates(root) if root.is_dir() else ():
            if path.suffix in STORES and _holds(path, importer, session):
                yield path


def _holds(path: Path, importer: Importer, session: str) -> bool:
    try:
        return any(item.glance.part == session for item in named([path], (importer,)).found)
    except TranscriptError:
        return False  # not a store that this agent still writes


def _candidates(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """Files that carry the session's id in their name or folder, then those that may hold many sessions."""
    if len(session) < SHORTEST_ID:
        return
    short = []
    for root in importer.roots(machine.places(project)):
        for path in importer.candidates(root) if root.is_dir() else ():
            within = os.path.relpath(path, root)
            if session in within:
                yield path
            elif session[:SHORTEST_ID] in within:
                short.append(path)
    yield from short
    yield from _stores(machine, project, importer, session)
