"""Several ledgers as one: those of other repositories for a team's view, and files of other clones to be taken in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.ledger import Filter, open_ledger, read_ledger, select
from holdfast.app.wiring import Machine
from holdfast.errors import LedgerError, NotFound, UsageError
from holdfast.model.ledger import LedgerEntry
from holdfast.store import files
from holdfast.store.layout import Project
from holdfast.store.project_ledger import missing_rows
from holdfast.text.ledger_md import LedgerFile, current, parse_ledger

_NAMES = ("model", "provider", "agent", "framework", "project_type", "kind", "complexity", "outcome")
_FIX = "Name a ledger.md, or a repository that has .holdfast/ledger.md"


class Merged(Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    added: int
    known: int
    forgotten: int
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
    from holdfast.store.denied import Denied

    entries: list[LedgerEntry] = []
    problems: list[str] = []
    paths = []
    for place in places:
        paths.append(str(path_of(machine, place)))
        ledger = _read(machine, place)
        entries += ledger.entries
        problems += [problem.message for problem in ledger.problems]
    known = read_ledger(project).entries
    unseen = missing_rows(entries, known)
    gone = Denied(project.memory).sessions | {
        entry.session for entry in (*known, *entries) if entry.forgotten
    }
    # What was forgotten anywhere does not come back; that it was forgotten is taken in.
    kept = [entry for entry in unseen if entry.forgotten or entry.session not in gone]
    new, refused = _cleaned(machine, kept)
    if new:
        project.prepare()
        open_ledger(project).append(new)
    return Merged(
        files=tuple(paths),
        added=len(new),
        known=len(missing_rows(entries, ())) - len(unseen),
        forgotten=len(unseen) - len(kept),
        problems=(*problems, *refused),
    )


def _cleaned(machine: Machine, entries: Sequence[LedgerEntry]) -> tuple[list[LedgerEntry], list[str]]:
    """Another clone may have been less careful than this one: what looks like a secret goes, or its whole row."""
    clean = cache(machine.clean)
    kept, refused = [], []
    for entry in entries:
        if clean(entry.session) != entry.session:
            refused.append("a row whose session id looks like a secret is left out")
            continue
        named = {name: clean(value) for name in _NAMES if (value := getattr(entry, name))}
        goal, failures = (tuple(map(clean, words)) for words in (entry.goal, entry.failures))
        extra = tuple((clean(name), clean(value)) for name, value in entry.extra)
        kept.append(replace(entry, **named, goal=goal, failures=failures, extra=extra))
    return kept, refused


def check_beside_goal(machine: Machine, places: Sequence[str]) -> None:
    """A goal without quotation marks leaves its other words where ledgers are named."""
    for place in places:
        if not (machine.cwd / Path(place).expanduser()).exists():
            raise UsageError(
                f"{place!r} is no folder and no ledger",
                fix='A goal of several words goes in "quotation marks"',
            )


def path_of(machine: Machine, place: str) -> Path:
    named = (machine.cwd / Path(place).expanduser()).absolute()
    for path in (named, named / ".holdfast" / "ledger.md", named / "ledger.md"):
        if path.is_file():
            return path
    raise NotFound("no ledger here", where=str(named), fix=_FIX)


def _read(machine: Machine, place: str) -> LedgerFile:
    path = path_of(machine, place)
    try:
        return parse_ledger(files.read(path) or b"", str(path))
    except LedgerError as error:  # a file of somebody else's, which is not to be moved away for us
        raise LedgerError(error.problem, where=error.where, fix=_FIX) from error
