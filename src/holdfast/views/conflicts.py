"""Conflicts between machines or people, for `sync`, `status` and `questions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.guard.hidden_text import visible
from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.sync.items import parts_of
from holdfast.terminal.output import cut, flat

if TYPE_CHECKING:
    from holdfast.sync.merge import Conflict


def conflicts_here(project: Project) -> list[Conflict]:
    """Conflicts to settle. A memory that was never synced pays nothing for the question."""
    if not (project.memory / JOURNAL).exists():
        return []
    from holdfast.sync.service import open_conflicts

    return open_conflicts(project)


_KINDS = {
    "passage": "decision",
    "register": "decision",
    "fact": "fact",
    "question": "question",
    "lesson": "lesson",
    "file": "file",
    "log": "log entry",
    "team": "shared statement",
}
_MOST = 70


def label(conflict: Conflict) -> str:
    """What a conflict is about, in words."""
    kind, *rest = parts_of(conflict.key)
    if conflict.replaced:
        return f"two statements about {shown(conflict.replaced)}, each unaware of the other"
    if kind in ("lesson", "file"):
        return f"the {kind} {shown(rest[-1])} was changed in two places"
    said = next(
        (text_of(one.entry.body) for one in reversed(conflict.versions) if one.entry.body is not None),
        rest[-1],
    )
    return f"a {_KINDS.get(kind, kind)} was changed in two places: {cut(shown(said), _MOST)}"


def text_of(body: object) -> str:
    """What a version says, for people."""
    if body is None:
        return "(taken out)"
    if not isinstance(body, dict):
        return str(body)
    for name in ("text", "passage", "fact"):
        inner = body.get(name)
        if isinstance(inner, dict):
            return text_of(inner)
        if isinstance(inner, str):
            because = body.get("rationale") or body.get("reason")
            reason = f" (because {because})" if because else ""
            return f"{inner}{reason}" + (f" → {body['answer']}" if body.get("answer") else "")
    return str(body)


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


def shown(text: str) -> str:
    """What others wrote, in one line, with hidden characters made visible."""
    return flat(visible(text))
