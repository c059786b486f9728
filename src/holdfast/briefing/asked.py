"""Asks told.db a question that somebody put: `recall` and `search --brief` use the scorer of the prompt hook.

An explicit question needs less evidence than a prompt, which did not ask. What is found below the hook's floor says so.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

from holdfast.briefing.projects import naming
from holdfast.briefing.told_sources import BY_HAND, update_told
from holdfast.core.errors import HoldfastError
from holdfast.core.tokens import count_tokens
from holdfast.hooks.prompt import MOST_LINES, MOST_TOKENS
from holdfast.hooks.telling import FLOOR, SECOND, Found, Telling, opened
from holdfast.model.line import Line
from holdfast.model.search import WEAK
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

LEAST_SURE = 0.2  # that anything found is what an explicit question is about; the hook needs `FLOOR`
# Share of the words of a question that a source about it has, and how much of them stands close together there. In a
# project the words of its subject are common, so their weight says little about a question of a few words.
ABOUT, CLOSE = 0.6, 0.7
_WEAK_TOKENS = 100
_WORTHLESS = -50.0  # log-odds of a source without a line that may be told are below


class Asked:
    """One question, and the open database that it is asked of."""

    def __init__(self, db: sqlite3.Connection, telling: Telling) -> None:
        self.db = db
        self.telling = telling

    def is_about(self, found: Found) -> bool:
        """Whether a source is about the question: it has most of its words, close together."""
        has_words = len(found.shared) >= ABOUT * len(self.telling.weights)
        is_close = found.evidence["close share"] >= CLOSE * found.evidence["share"]
        return found.odds > _WORTHLESS and has_words and is_close

    def likely(self, found: Sequence[Found]) -> dict[str, float]:
        """The ids of the sources that the prompt hook would tell of, with their chances."""
        if sum(source.chance for source in found) < FLOOR:
            return {}
        return {source.id: source.chance for source in found if source.chance >= SECOND * found[0].chance}


@contextlib.contextmanager
def asking(machine: Machine, project: Project, question: str) -> Iterator[Asked | None]:
    """The question, asked of an up-to-date told.db; None if nothing is remembered here."""
    if project.memory.is_dir():
        # Where the memory cannot be written, what was prepared last is asked.
        with contextlib.suppress(HoldfastError, sqlite3.Error, OSError):
            update_told(machine, project)
    db = opened(str(project.memory)) if project.memory.is_dir() else None
    if db is None:
        yield None
        return
    try:
        branch = branch_of(project.root)
        name = naming(machine, project).of_branch(branch)
        yield Asked(db, Telling(db, question, branch, name, machine.now().timestamp()))
    finally:
        db.close()


def statements_for(machine: Machine, project: Project, task: str, budget: int) -> list[Line]:
    """The lines that the prompt hook tells for this task, or a few for which there is less evidence."""
    with asking(machine, project, task) as asked:
        found = asked.telling.found() if asked else []
        if asked is None or not found:
            return []
        sure = sum(source.chance for source in found)
        is_weak = sure < FLOOR
        if is_weak and (sure < LEAST_SURE or not asked.is_about(found[0])):
            return []
        most = _WEAK_TOKENS if is_weak else MOST_TOKENS
        told, _ = asked.telling.told(most, (), MOST_LINES, min(sure, FLOOR))
        lines = []
        for line in told:
            if line.source.startswith(f"{BY_HAND} "):
                continue
            budget -= count_tokens(line.text)
            if budget < 0:
                break
            reason = f"{line.reason}; {WEAK}" if is_weak else line.reason
            said = line.text.rpartition(" (")[0]
            place = source_name(line.source)
            session = "" if line.source.startswith(("git:", "doc:")) else line.source
            lines.append(Line(line.text, reason, "decision", line.ids[0], place, said, session=session))
        return lines


def source_name(id: str) -> str:
    """A session, commit or document for people."""
    kind, _, rest = id.partition(":")
    return f"git {rest[:8]}" if kind == "git" else rest if kind == "doc" else f"session {id[:8]}"
