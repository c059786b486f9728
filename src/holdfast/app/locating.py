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


def located(machine: Machine, project: Project, agent: str, session: str, transcript: str) -> list[Found]:
    """The session's own transcript; none where it was not written yet, or is gone."""
    (importer,) = importers_for(agent)
    path = Path(transcript)
    paths = (path,) if transcript and path.is_absolute() else _candidates(machine, project, importer, session)
    for candidate in paths:
        if not candidate.is_file():
            continue
        found = _in(candidate, importer, session)
        if found:
            return found
    return []


def _in(path: Path, importer: Importer, session: str) -> list[Found]:
    """What a file holds of the session: all of it, unless it holds others too. Its subagents follow it."""
    found = named([path], (importer,)).found
    kept = [item for item in found if item.glance.part in ("", session)]
    others = [item for item in found if item.glance.parent]
    for item in kept:  # which grows on the way: subagents have subagents
        kept += [other for other in others if other.glance.parent == item.glance.part and other not in kept]
    return kept


def _candidates(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """Files that carry the session's id in their name or folder, then those that may hold many sessions."""
    if len(session) < SHORTEST_ID:
        return
    others = []
    short = []
    for root in importer.roots(machine.places(project)):
        for path in importer.candidates(root) if root.is_dir() else ():
            within = os.path.relpath(path, root)
            if session in within:
                yield path
            elif session[:SHORTEST_ID] in within:
                short.append(path)
            elif path.suffix in (".db", ".sqlite", ".vscdb"):
                others.append(path)
    yield from short
    for path in others:
        try:
            if any(item.glance.part == session for item in named([path], (importer,)).found):
                yield path
        except TranscriptError:
            continue  # not a store that this agent still writes
