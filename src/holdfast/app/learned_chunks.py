"""What was learned and can be found by search: lessons and the knowledge of the repository, a piece for each rule.

A lesson that came through git and is not agreed to is not found either: what a search shows, an agent reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b

from holdfast.app.chunking import line_of
from holdfast.app.lesson_states import Seen, active_lessons, lesson_store, states
from holdfast.app.wiring import Machine
from holdfast.model.memory import content_id
from holdfast.model.search import Chunk
from holdfast.store import knowledge
from holdfast.store.layout import Project

_SHOWN = {
    "personal": "~/.holdfast/lessons",
    "local": ".holdfast/local/lessons",
    "candidates": ".holdfast/local/lessons/_candidates",
    "shared": ".holdfast/lessons",
}
_FOUND = ("active", "candidate", "stale", "muted")


def lessons_stamp(machine: Machine, project: Project) -> str:
    """Of every file that decides which lessons there are; '' without any. What was told and paid is not among them."""
    store = lesson_store(machine, project)
    seen = []
    for place, folder in store.folders.items():
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".md") or entry.name == "choices.json":
                        status = entry.stat(follow_symlinks=False)
                        seen.append(f"{place}/{entry.name}:{status.st_size}:{status.st_mtime_ns}")
        except OSError:
            continue
    if not seen:
        return ""
    # Agreement can be given and taken back without any of these files changing.
    if any(one.startswith("shared/") for one in seen):
        shelf = store.read()
        seen += [f"trust:{one.lesson.name}" for one in shelf.shared.lessons if shelf.is_trusted(one)]
    return blake2b("\n".join(sorted(seen)).encode("utf-8", "replace"), digest_size=12).hexdigest()


def lesson_chunks(machine: Machine, project: Project) -> list[Chunk]:
    shelf = lesson_store(machine, project).read()
    return [
        chunk
        for seen in states(machine, project, shelf)
        if seen.state in _FOUND
        for chunk in _of_lesson(seen)
    ]


def _of_lesson(seen: Seen) -> Iterator[Chunk]:
    lesson = seen.lesson
    latest = max((one.at for one in lesson.evidence if one.at is not None), default=lesson.captured_at)
    session = lesson.sessions[-1] if lesson.sessions else ""
    written = seen.found.data.decode("utf-8", "replace")
    for rule in lesson.rules:
        yield Chunk(
            id=f"lesson:{content_id('L', rule)}",
            kind="lesson",
            text=rule,
            title=f"{lesson.name} {lesson.description}",
            when=latest,
            path=f"{_SHOWN[seen.place]}/{lesson.name}.md",
            line=line_of(written, f"- {rule}"),
            session=session,
        )


def lessons_told(machine: Machine, project: Project) -> frozenset[str]:
    """The ids of the pieces that may be told to a task: those of lessons that count here and now."""
    rules = [rule for one in active_lessons(machine, project) for rule in one.lesson.rules]
    return frozenset(f"lesson:{content_id('L', rule)}" for rule in rules)


def knowledge_chunks(project: Project, shown: str) -> list[Chunk]:
    """Conventions and patterns. Its facts come from sessions and stand in reference.md, with their evidence."""
    known = knowledge.load(project).now
    said = [
        *(_convention(one.category, one.scope, one.pattern, one.example) for one in known.conventions),
        *(f"{one.name}: {one.description}" for one in known.patterns),
    ]
    found = {f"knowledge:{content_id('K', text)}": text for text in said}
    return [Chunk(id=id, kind="knowledge", text=text, path=shown) for id, text in found.items()]


def _convention(category: str, scope: str, pattern: str, example: str) -> str:
    where = f" ({scope})" if scope else ""
    more = f", e.g. {example}" if example and example not in pattern else ""
    return f"{category}{where}: {pattern}{more}"
