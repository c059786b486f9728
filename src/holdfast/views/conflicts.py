"""Conflicts between machines or people, for `sync`, `status` and `questions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.sync.conflict_text import label, text_of

if TYPE_CHECKING:
    from holdfast.sync.merge import Conflict


def conflicts_here(project: Project) -> list[Conflict]:
    """Conflicts to settle. A memory that was never synced pays nothing for the question."""
    if not (project.memory / JOURNAL).exists():
        return []
    from holdfast.sync.service import open_conflicts

    return open_conflicts(project)


def conflict_as_json(conflict: Conflict) -> dict[str, object]:
    return {
        "id": conflict.name,
        "about": label(conflict),
        "key": conflict.key,
        "versions": [
            {
                "version": version.id,
                "by": version.entry.by,
                "author": version.entry.author,
                "machine": version.entry.order.machine,
                "at": version.entry.order.time.isoformat(timespec="seconds"),
                "text": text_of(version.entry.body),
                "counts": version == conflict.versions[-1] and not conflict.replaced,
            }
            for version in conflict.versions
        ],
    }


def conflict_as_question(conflict: Conflict) -> dict[str, object]:
    """The same among questions: what a person has to answer."""
    return {
        "id": conflict.name,
        "text": f"Which holds: {label(conflict)}?",
        "status": "conflict",
        "answer": "",
        "by": "",
        "session": "",
        "at": max(version.entry.order.time for version in conflict.versions).isoformat(timespec="seconds"),
        "answered_at": None,
        "versions": conflict_as_json(conflict)["versions"],
        "origin": "sync",
    }
