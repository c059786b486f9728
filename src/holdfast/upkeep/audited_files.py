"""The files that an audit reads: our memory, the repository's guides, personal guides, and agents' own memories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.core.git import run_git
from holdfast.core.guides import GUIDES
from holdfast.core.reading import beginning_of
from holdfast.knowledge.context import Here
from holdfast.knowledge.context_sources import ClaudeMemory, CodexMemory
from holdfast.knowledge.instructions import InstructionsSource, TextFiles
from holdfast.store.machine import Machine
from holdfast.store.memory_files import walk_memory
from holdfast.store.project import Project
from holdfast.store.sections import decode_text

MOST_READ = 2_000_000  # bytes of one file; the rest of a larger one is not looked at, and the audit says so
_MOST_NESTED = 200
_GIT_SECONDS = 10.0
_TEXT_ENDINGS = (".md", ".json", ".jsonl", ".log", ".jsonl.1", ".log.1")
_VERSIONS = "history/contents/"

Area = Literal["memory", "shared", "guide", "personal", "agent"]
"""Whose file it is: our memory, our files in git, a guide of the repository, a personal guide, an agent's memory."""


class AuditedFile(Struct, frozen=True, kw_only=True):
    """A file and its text. `shown` is its name for people; a guide that is `nested` counts for its folder only."""

    shown: str
    path: Path
    area: Area
    text: str
    size: int
    nested: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether people and agents read it as text, not a program's record or an older version."""
        return self.area != "memory" or (self.shown.endswith(".md") and not self.shown.endswith("/ledger.md"))


def audited_files(machine: Machine, project: Project) -> list[AuditedFile]:
    """Every file that can be read, each once by its real path."""
    by_place: dict[str, AuditedFile] = {}
    for shown, path, area, nested in _places(machine, project):
        place = os.path.realpath(path)
        beginning = None if place in by_place else beginning_of(path, MOST_READ)
        if beginning is not None:
            data, size = beginning
            by_place[place] = AuditedFile(
                shown=shown, path=Path(place), area=area, text=decode_text(data), size=size, nested=nested
            )
    return list(by_place.values())


def _places(machine: Machine, project: Project) -> Iterator[tuple[str, str, Area, bool]]:
    root = str(project.root)
    cwd = str(machine.cwd)
    here = Here(
        cwd=cwd if cwd.startswith(root.rstrip(os.sep) + os.sep) else root,
        root=root,
        home=str(machine.user_home),
        now=machine.now().timestamp(),
        env=machine.env,
    )
    sources: tuple[tuple[TextFiles, Area], ...] = (
        (InstructionsSource(), "guide"),
        (ClaudeMemory(), "agent"),
        (CodexMemory(), "agent"),
    )
    for source, area in sources:
        for file in source.files(here):
            if not file.reason:  # a link out of the repository, or the same file under another name
                is_personal = area == "guide" and file.shown.startswith(("~", "/"))
                yield file.shown, file.path, "personal" if is_personal else area, False
    for name in _nested_guides(root):
        if not os.path.islink(path := os.path.join(root, name)):
            yield name, path, "guide", True
    yield from _own_files(machine, project)


def _nested_guides(root: str) -> list[str]:
    """Guides of folders, as git lists them: walking a large work tree would take seconds."""
    specs = [f":(glob)**/{name}" for name in GUIDES]
    answer = run_git(root, "ls-files", "-z", "--", *specs, seconds=_GIT_SECONDS)
    names = [os.fsdecode(name) for name in answer.data.split(b"\0") if name] if answer.whole else []
    return names[:_MOST_NESTED]


def _own_files(machine: Machine, project: Project) -> Iterator[tuple[str, str, Area, bool]]:
    for path, relative in walk_memory(project.memory) if project.memory.is_dir() else ():
        if path.is_file() and not path.is_symlink() and _is_text(relative):
            yield f".holdfast/local/{relative}", str(path), "memory", False
    for path in sorted((machine.home / "lessons").glob("*.md")):
        yield f"~/.holdfast/lessons/{path.name}", str(path), "memory", False
    shared = [project.window_ledger] if project.window_ledger is not None else []
    for path in [*shared, *sorted((project.window / "lessons").glob("*.md"))]:
        if not path.is_symlink():
            yield path.relative_to(project.root).as_posix(), str(path), "shared", False


def _is_text(relative: str) -> bool:
    return relative.endswith(_TEXT_ENDINGS) or relative.startswith(_VERSIONS)
