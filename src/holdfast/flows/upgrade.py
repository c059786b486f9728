"""From one format of a project's memory to the next: shown first, backed up first, one step at a time."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew
from holdfast.store.project import FORMAT, Project, check_format


class Step(Struct, frozen=True):
    """What leads from a format to the one after it."""

    about: str
    run: Callable[[Project], None]


# format it starts from -> step. A release that changes the layout adds its line here.
STEPS: Mapping[int, Step] = {}


class Upgrade(Struct, frozen=True):
    """What was done, or would be done. `backup` is None when nothing was."""

    before: int
    after: int
    steps: tuple[str, ...]
    backup: Path | None


def upgrade(
    project: Project, *, dry_run: bool = False, steps: Mapping[int, Step] = STEPS, target: int = FORMAT
) -> Upgrade:
    """Brings a project's memory to this program's format. Interrupted, it goes on from the last whole step."""
    before = check_format(project) if project.memory.is_dir() else target
    if before > target:
        raise FormatTooNew(
            f"format {before} was written by a newer holdfast (this one knows {target})",
            where=str(project.memory),
            fix="Upgrade holdfast; until then this memory is only read",
        )
    due = [(number, steps[number]) for number in range(before, target) if number in steps]
    if before == target or dry_run:
        return Upgrade(before, target, tuple(step.about for _, step in due), None)
    backup = back_up(project, before)
    for number, step in due:
        step.run(project)
        _write_format(project, number + 1)
    _write_format(project, target)
    return Upgrade(before, target, tuple(step.about for _, step in due), backup)


def back_up(project: Project, number: int) -> Path:
    """Everything kept for the project in one archive beside the projects, never overwritten."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    path = project.memory.parent.parent / "backups" / f"{project.memory.name}-format{number}-{moment}.tar.gz"
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(project.memory, arcname=project.memory.name)
    files.replace(path, buffer.getvalue(), project.lock("upgrade"), expected=None)
    return path


def _write_format(project: Project, number: int) -> None:
    files.replace(project.memory / "format", f"{number}\n".encode(), project.lock("layout"), files.ANYTHING)
