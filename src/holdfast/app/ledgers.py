"""Several ledgers as one: those of other repositories for a team's view, and files of other clones to be taken in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.ledger import Filter, open_ledger, read_ledger, select
from holdfast.app.wiring import Machine
from holdfast.errors import NotFound
from holdfast.model.ledger import LedgerEntry
from holdfast.store import files
from holdfast.store.denied import Denied
from holdfast.store.layout import Project
from holdfast.store.project_ledger import missing_rows
from holdfast.text.ledger_md import LedgerFile, current, parse_ledger

_FIX = "Name a ledger.md, or a repository that has .holdfast/ledger.md"


class Merged(Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    added: int
    known: int
    problems: tuple[str, ...]


def read_all(
    machine: Machine, project: Project, places: Sequence[str], wanted: Filter
) -> tuple[list[LedgerEntry], list[str]]:
    """The rows that count of this project, or of the places named, each session once; and what could not be read."""
    if not places:
        ledger = read_ledger(project)
        return select(current(ledger.entries), wanted), [problem.message for problem in ledger.problems]
    entries: list[LedgerEntry] = []
    problems: list[str] = []
    for place in places:
        ledger = _read(machine, place)
        entries += ledger.entries
        problems += [problem.message for problem in ledger.problems]
    return select(current(entries), wanted), problems


def merge(machine: Machine, project: Project, places: Sequence[str]) -> Merged:
    """Takes in the rows that this project does not know yet. A row is told by its session and when it was recorded."""
    entries: list[LedgerEntry] = []
    problems: list[str] = []
    paths = []
    for place in places:
        paths.append(str(path_of(machine, place)))
        ledger = _read(machine, place)
        entries += ledger.entries
        problems += [problem.message for problem in ledger.problems]
    unique = missing_rows(entries, [])
    known = read_ledger(project).entries
    gone = {entry.session for entry in known if entry.forgotten}
    gone |= Denied(project.memory).sessions
    new = [_cleaned(machine, entry) for entry in missing_rows(unique, known) if entry.session not in gone]
    if new:
        project.prepare()
        open_ledger(project).append(new)
    return Merged(files=tuple(paths), added=len(new), known=len(unique) - len(new), problems=tuple(problems))


def _cleaned(machine: Machine, entry: LedgerEntry) -> LedgerEntry:
    """Another clone may have been less careful than this one."""
    clean = machine.clean
    named = {
        name: clean(value)
        for name in (
            "model",
            "provider",
            "agent",
            "framework",
            "project_type",
            "kind",
            "complexity",
            "outcome",
        )
        if (value := getattr(entry, name))
    }
    goal = tuple(clean(word) for word in entry.goal)
    extra = tuple((name, clean(value)) for name, value in entry.extra)
    return replace(entry, **named, goal=goal, extra=extra)


def path_of(machine: Machine, place: str) -> Path:
    named = (machine.cwd / Path(place).expanduser()).absolute()
    for path in (named, named / ".holdfast" / "ledger.md", named / "ledger.md"):
        if path.is_file():
            return path
    raise NotFound("no ledger here", where=str(named), fix=_FIX)


def _read(machine: Machine, place: str) -> LedgerFile:
    path = path_of(machine, place)
    return parse_ledger(files.read(path) or b"", str(path))
