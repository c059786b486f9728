"""The public Python interface: open a project's memory, search it, recall, read the ledger, import transcripts.

`import holdfast` offers these names; docs/api.md describes them. They call what the command line and the tools call.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from holdfast.briefing.brief import BUDGET as BRIEF_BUDGET
from holdfast.briefing.brief import Brief, brief
from holdfast.briefing.recall import BUDGET, Briefing, recall, recall_as_prompt
from holdfast.briefing.search import search
from holdfast.core.errors import HoldfastError
from holdfast.flows.import_sessions import ImportReport, import_into
from holdfast.ledger.rows import Filter, read_ledger, rows
from holdfast.model.ledger import LedgerEntry
from holdfast.model.search import Hit
from holdfast.store.machine import Machine

__all__ = ["Brief", "Briefing", "Hit", "HoldfastError", "ImportReport", "LedgerEntry", "Memory", "open"]


class Memory:
    """The memory of one project. It holds nothing open: each call reads what is there now."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._project = machine.project()

    @property
    def root(self) -> Path:
        """The work tree that the memory belongs to."""
        return self._project.root

    @property
    def folder(self) -> Path:
        """Where the memory's files are. It need not exist yet."""
        return self._project.memory

    def search(
        self, query: str, k: int = 10, kinds: Collection[str] | None = None, *, everywhere: bool = False
    ) -> list[Hit]:
        """The best hits for a query, in this project or in every project of this user."""
        return search(self._machine, self._project, query, k, kinds, everywhere=everywhere, waiting=True)

    def recall(self, task: str, budget: int = BUDGET) -> Briefing:
        """The few lines that a task needs, within a budget of tokens; none when nothing is good enough."""
        return recall(self._machine, self._project, task, budget)

    def brief(self, subject: str, budget: int = BRIEF_BUDGET) -> Brief:
        """What is known of a subject, for a reader who begins a large task."""
        return brief(self._machine, self._project, subject, budget)

    def recall_as_prompt(self, prompt: str) -> Briefing:
        """What an agent would see at this prompt, or why it would see nothing."""
        return recall_as_prompt(self._machine, self._project, prompt)

    def ledger(
        self, *, agent: str | None = None, model: str | None = None, since: datetime | None = None
    ) -> list[LedgerEntry]:
        """The rows that count, oldest first: one for each session."""
        return rows(read_ledger(self._project), Filter(agent=agent, model=model, since=since))

    def import_transcripts(
        self, paths: Sequence[str | os.PathLike[str]] = (), agent: str | None = None
    ) -> ImportReport:
        """Imports transcripts, by default those that agents recorded in this project. Safe to repeat."""
        return import_into(self._machine, self._project, [Path(path) for path in paths], agent)


def open(directory: str | os.PathLike[str] = ".", *, home: str | os.PathLike[str] | None = None) -> Memory:
    """The memory of the project that a directory belongs to; `home` stands for `~/.holdfast`."""
    env = {**os.environ, "HOLDFAST_HOME": os.fspath(home)} if home is not None else None
    return Memory(Machine(env=env, cwd=Path(directory).absolute()))
