"""A project's ledger: what this machine wrote, and what the repository shares, read as one.

Rows are always kept in memory, and in the repository too where the ledger is a file there. So a pull, another
branch or the end of sharing hides or loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from holdfast.model.ledger import LedgerEntry
from holdfast.store import files
from holdfast.store.layout import LINKS, UNION_MERGE, Project
from holdfast.store.ledger import LedgerStore
from holdfast.text.ledger_md import LedgerFile


class ProjectLedger:
    def __init__(self, project: Project) -> None:
        self.project = project
        self._own = LedgerStore(project.ledger, project.lock("ledger"))

    @property
    def _shown(self) -> LedgerStore | None:
        path = self.project.window_ledger
        return LedgerStore(path, self.project.lock("ledger-shared")) if path is not None else None

    @property
    def exists(self) -> bool:
        return self.project.ledger.exists() or self._shown is not None

    def read(self) -> LedgerFile:
        """The rows of both files, each once."""
        own, shown = self._own.read(), self._shown
        if shown is None:
            return own
        repository = shown.read()
        more = missing_rows(own.entries, repository.entries)
        return replace(
            repository,
            entries=[*repository.entries, *more],
            lines=[*repository.lines, *[0 for _ in more]],
            problems=[*repository.problems, *own.problems],
        )

    def append(self, entries: Sequence[LedgerEntry]) -> None:
        """Into the repository's file first: should that refuse, nothing has changed."""
        if (shown := self._shown) is not None:
            shown.append(entries)
        self._own.append(entries)

    def share(self) -> None:
        """Makes the ledger a file of the repository, with every row that is known here."""
        self.project.prepare()
        path = self.project.window / "ledger.md"
        with files.lock(self.project.lock("ledger-shared")) as held:
            if path.is_symlink() or not path.exists():
                path.unlink(missing_ok=True)
                files.replace_held(held, path, files.read(self.project.ledger) or b"", files.ANYTHING)
        if (shown := self._shown) is not None:
            shown.append(missing_rows(self._own.read().entries, shown.read().entries))
        self.project.write_ignore_rules(ledger=True)
        path = self.project.window / ".gitattributes"
        files.replace(path, UNION_MERGE.encode(), self.project.lock("layout"), files.ANYTHING)

    def unshare(self) -> None:
        """Takes the ledger back into memory. What git has recorded stays in its history."""
        if (shown := self._shown) is not None:
            self._own.append(missing_rows(shown.read().entries, self._own.read().entries))
            if LINKS:
                with files.lock(self.project.lock("ledger-shared")):
                    shown.path.unlink(missing_ok=True)
        self.project.write_ignore_rules(ledger=False)
        self.project.prepare()


def missing_rows(entries: Iterable[LedgerEntry], known: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Those that are not among the known ones, each once. A row is told by its session and when it was recorded."""
    there = {_key(entry) for entry in known}
    missing = {key: entry for entry in entries if (key := _key(entry)) not in there}
    return list(missing.values())


def _key(entry: LedgerEntry) -> tuple[str, datetime | None, str | None]:
    return entry.session, entry.recorded, entry.outcome
