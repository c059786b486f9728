"""Reads an excerpt of memory, around a line of a file or an id, or a whole file. The length is limited.

A person may have put a secret or hidden text into a file, so everything that is returned is redacted again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.index import PLACE, SHARED_LEDGER, memory_files
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.folders import text_of
from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible
from holdfast.memory.decisions import FOLDER
from holdfast.model.origin import Origin
from holdfast.store.machine import Machine
from holdfast.store.origins import Origins
from holdfast.store.project import Project
from holdfast.store.waiting import waiting_archives

BEFORE, AFTER = 8, 24  # lines around the requested one
MOST_CHARACTERS = 6_000
MOST_OF_FILE = 60_000
MOST_READ = 2_000_000  # characters of a file; of a larger archive only the end is read
_PLACE = lazy_regex(r"(?P<path>.+?)(?::(?P<line>\d{1,9}))?")
_HELD_BY_THE_INDEX = ("state:", "ledger:", "knowledge:")
_READABLE_LESSONS = ("active", "candidate", "stale", "muted")  # an untrusted one is not read to an agent


class Excerpt(Struct, frozen=True, kw_only=True):
    """Lines `first` to `last` of `total`, counted from 1."""

    path: str
    first: int
    last: int
    total: int
    text: str
    origin: Origin = "session"
    trusted: bool = True


class Readable(Struct, frozen=True, kw_only=True):
    """A file of the memory that can be read as a whole."""

    name: str  # from the memory's folder
    about: str


def open_place(machine: Machine, project: Project, wanted: str) -> Excerpt:
    """The excerpt at `path`, at `path:line`, or around an id or a session; marked if nobody trusts it yet."""
    try:
        excerpt = _open(machine, project, wanted)
    except NotFound:
        for archive in waiting_archives(machine.home, project):
            with contextlib.suppress(NotFound):
                excerpt = _open(machine, archive.memory_of(project), wanted)
                return replace(excerpt, origin="other_archive", trusted=False)
        raise
    archive_of = Origins(project.memory).archive_of
    source = archive_of(wanted.strip().removeprefix("lesson:"), wanted.strip().removeprefix("session:"))
    return replace(excerpt, origin=source.origin) if source is not None else excerpt


def _open(machine: Machine, project: Project, wanted: str) -> Excerpt:
    target = wanted.strip()
    if not target or len(target) > 1_000:
        raise UsageError("there is nothing to open", fix="Name an id or a file:line that a search has shown")
    if target.casefold().startswith(("l-", "lesson:")):
        return _lesson(machine, project, target.removeprefix("lesson:"))
    for label, path in (*memory_files(project), *_shared_ledger(project)):
        if line := _line_of(target, project, label, path):
            return _excerpt(machine, label, _text(project, path), line)
    if "/lessons/" in target:
        return _lesson(machine, project, Path(target).stem)
    if target.startswith(_HELD_BY_THE_INDEX) and (excerpt := _indexed(machine, project, target)):
        return excerpt
    raise NotFound(
        f"nothing in memory is called {visible(target[:60])!r}",
        fix="Name an id or a file:line that a search has shown",
    )


def _indexed(machine: Machine, project: Project, id: str) -> Excerpt | None:
    """The search result with an id that is in no file: its place in a file, or its text alone."""
    from holdfast.briefing.search import search

    hit = next((hit for hit in search(machine, project, id, 1) if hit.id == id), None)
    if hit is None:
        return None
    if hit.line:
        return _open(machine, project, f"{hit.path}:{hit.line}")
    return Excerpt(
        path=hit.path, first=1, last=1, total=1, text=_cut(_redact(machine, hit.text), MOST_CHARACTERS)
    )


def _shared_ledger(project: Project) -> Iterator[tuple[str, Path]]:
    path = project.window_ledger
    if path is not None and path.is_file():
        yield SHARED_LEDGER, path


def _line_of(meant: str, project: Project, shown: str, path: Path) -> int:
    """The number of the requested line if it is in this file; else 0."""
    if match := _PLACE.fullmatch(meant):
        short = shown.removeprefix(f"{PLACE}/")
        if match["path"] in (shown, short, str(path)):
            return max(int(match["line"] or 1), 1)
    if sign := _sign(meant):
        for number, line in enumerate(_text(project, path).split("\n"), 1):
            if sign in line:
                return number
    return 0


def _sign(meant: str) -> str:
    """The text that marks the line of an id or a session; '' for anything else."""
    if meant.startswith("session:"):
        return f"<!-- session {meant[8:]} ·" if len(meant) > 8 else ""
    letter, _, rest = meant.partition("-")
    is_id = len(letter) == 1 and len(rest) == 6 and rest.isalnum()
    return f" · {letter.upper()}-{rest.casefold()}" if is_id else ""


def _excerpt(machine: Machine, shown: str, text: str, line: int) -> Excerpt:
    lines = _redact(machine, text).split("\n")
    line = min(line, len(lines))
    first, last = max(line - BEFORE, 1), min(line + AFTER, len(lines))
    if shown.endswith(".md") and "<!-- session " in lines[line - 1]:
        first, last = max(line - AFTER, 1), line  # the session id is at the end of an entry
    cut = _cut("\n".join(lines[first - 1 : last]).rstrip(), MOST_CHARACTERS)
    return Excerpt(path=shown, first=first, last=last, total=len(lines), text=cut)


def _lesson(machine: Machine, project: Project, wanted: str) -> Excerpt:
    from holdfast.flows.lessons import pick, read_lessons
    from holdfast.model.memory import content_id

    lessons = [
        status for status in read_lessons(machine, project).lessons if status.state in _READABLE_LESSONS
    ]
    typed = wanted.casefold()
    with_rule = (
        status
        for status in lessons
        if any(content_id("L", rule).casefold() == typed for rule in status.lesson.rules)
    )
    status = next(with_rule, None) or pick(lessons, wanted)
    text = status.stored.data.decode("utf-8", "replace").rstrip()
    total = text.count("\n") + 1
    return Excerpt(
        path=f"lesson {status.lesson.name} ({status.state})",
        first=1,
        last=total,
        total=total,
        text=_cut(_redact(machine, text), MOST_CHARACTERS),
    )


# --- whole files ---------------------------------------------------------------------------------------

_ABOUT = {
    "current.md": "The state of work: done, next and open",
    "style.md": "How things are done here, in the owner's words",
    "reference.md": "Facts with their evidence, and decisions",
    "open-questions.md": "Questions and their answers",
    "log.md": "What each session did, oldest first",
}
_OF_MONTH = "What a month's sessions settled and found, in their words"


def readable_files(project: Project) -> Iterator[Readable]:
    for label, path in memory_files(project):
        if about := _about(path):
            yield Readable(name=label.removeprefix(f"{PLACE}/"), about=about)


def _about(path: Path) -> str:
    """What a file says; '' for one that is not read as a whole."""
    return _ABOUT.get(path.name, _OF_MONTH if path.parent.name == FOLDER else "")


def read_whole(machine: Machine, project: Project, name: str) -> str:
    """A file of the memory. A long file is cut at the end, a long log at the start."""
    for label, path in memory_files(project):
        if _about(path) and label == f"{PLACE}/{name}":
            text = _redact(machine, _text(project, path))
            if path.name == "log.md" and len(text) > MOST_OF_FILE:
                return f"… (only the end)\n{text[-MOST_OF_FILE:].partition(chr(10))[2]}"
            return _cut(text, MOST_OF_FILE)
    raise NotFound(f"no file {visible(name[:60])!r} in memory", fix="List the resources")


def _text(project: Project, path: Path) -> str:
    text = text_of(project.window if path.parent == project.window else project.memory, path)
    return text if len(text) <= MOST_READ else text[-MOST_READ:]


def _redact(machine: Machine, text: str) -> str:
    return visible(machine.clean(text))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… (cut)"
