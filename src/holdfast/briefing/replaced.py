"""Finds what no longer holds: passages that a later session on the same subject contradicts, in a value or as a whole.

told.db knows which sessions are about the same subject. A later one goes on with an earlier one or amends it; only what
it contradicts is replaced.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from holdfast.core.likeness import Likeness, Signature, compare_signatures, signature
from holdfast.hooks.telling import opened
from holdfast.language.harvest_sentences import split_reason
from holdfast.memory.decisions import SessionPassages
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage
from holdfast.store.project import Project


def replaced_passages(
    project: Project, memory: ProjectMemory, sessions: Collection[str]
) -> dict[str, SessionPassages]:
    """The ids of the agreed passages of these sessions that were replaced, each with the latest session that did it."""
    later = later_sessions(project) if sessions else {}
    if not later.keys() & set(sessions):
        return {}
    sections = {section.session: section for _, section in memory.passages() if section.session}
    replaced: dict[str, SessionPassages] = {}
    for session in sessions:
        others = [sections[other] for other in later.get(session, ()) if other in sections]
        for other in sorted(others, key=lambda section: (section.at or 0.0, section.session)):
            new = [_choice(passage.text) for passage in other.passages if passage.status == "agreed"]
            for passage in sections[session].passages if session in sections else ():
                said = _choice(passage.text)
                if passage.status == "agreed" and any(
                    compare_signatures(said, one).likeness is Likeness.CLASH for one in new
                ):
                    replaced[passage.id] = other
    return replaced


def successor(text: str, section: SessionPassages) -> Passage | None:
    """The passage of a later session that replaced this text."""
    said = _choice(text)
    clashing = (
        passage
        for passage in section.passages
        if passage.status == "agreed"
        and compare_signatures(said, _choice(passage.text)).likeness is Likeness.CLASH
    )
    return next(clashing, None)


def _choice(text: str) -> Signature:
    """What a passage settles, without the reason: two choices clash whatever each was made for."""
    return signature(split_reason(text)[0])


def later_sessions(project: Project) -> dict[str, set[str]]:
    """For each session the later ones on the same subject."""
    db = opened(str(project.memory))
    if db is None:
        return {}
    later: dict[str, set[str]] = {}
    try:
        rows = db.execute(
            "SELECT earlier.id, later.id FROM follows JOIN source AS earlier ON earlier.number = follows.earlier "
            "JOIN source AS later ON later.number = follows.later"
        ).fetchall()
    except sqlite3.Error:  # of another format, or damaged: it is made anew at the next capture
        return {}
    finally:
        db.close()
    for session, other in rows:
        later.setdefault(session, set()).add(other)
    return later
