"""How much there is: lines and bytes of the memory by what they hold, and bytes of the transcripts it came from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from holdfast.errors import HoldfastError, StoreError
from holdfast.guard.names import inside
from holdfast.store import files
from holdfast.store.capture import CaptureStore, Stamp
from holdfast.store.layout import Project

HISTORIES, REFERENCE, MANUALS, STATE, TRACKER = (
    "session histories",
    "reference data",
    "operating manuals",
    "session state",
    "decision tracker",
)
CATEGORIES = {
    HISTORIES: "log.md and archive/*.md",
    REFERENCE: "reference.md",
    MANUALS: "style.md",
    STATE: "current.md",
    TRACKER: "open-questions.md",
}


class Amount(Struct):
    """What the files of one category hold."""

    files: int = 0
    lines: int = 0
    bytes: int = 0


class Amounts(Struct):
    """`problems` names files that could not be counted, and why."""

    by_category: dict[str, Amount]
    problems: list[str] = []


class Transcripts(Struct, frozen=True):
    """`unmeasured` are sessions inside a database: how many bytes of it are theirs nobody says."""

    files: int = 0
    bytes: int = 0
    unmeasured: int = 0


def memory_amounts(project: Project) -> Amounts:
    """All projects of the repository together."""
    found = Amounts({category: Amount() for category in CATEGORIES})
    for category, path in _places(project.memory, found.problems):
        try:
            data = files.read(_inside(project.memory, path))
        except HoldfastError as error:
            found.problems.append(error.line())
            continue
        if data is not None:
            amount = found.by_category[category]
            amount.files += 1
            amount.lines += len(data.splitlines())
            amount.bytes += len(data)
    return found


def transcripts_read(project: Project) -> Transcripts:
    """The files that were read, at the size they had then."""
    nothing: dict[str, tuple[Stamp, str]] = {}
    stamps = CaptureStore.glimpse(project.capture, lambda store: store.stamps(), nothing)
    # A part of a file is named behind a `#`; its stamp is a count of messages, not of bytes.
    sizes = [stamp.size for key, (stamp, _) in stamps.items() if "#" not in PurePath(key).name]
    return Transcripts(len(sizes), sum(sizes), len(stamps) - len(sizes))


def _places(memory: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    yield STATE, memory / "current.md"
    yield MANUALS, memory / "style.md"
    for folder in _below(memory / "projects", problems):
        yield HISTORIES, folder / "log.md"
        yield REFERENCE, folder / "reference.md"
        yield TRACKER, folder / "open-questions.md"
        for path in _below(folder / "archive", problems):
            if path.suffix == ".md":
                yield HISTORIES, path


def _below(folder: Path, problems: list[str]) -> list[Path]:
    if folder.is_symlink():
        problems.append(f"{folder}: it is a link, and memory is not read elsewhere.")
        return []
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _inside(memory: Path, path: Path) -> Path:
    if path.is_symlink():
        raise StoreError("it is a link, and memory is not read elsewhere", where=str(path))
    return inside(memory, path)
