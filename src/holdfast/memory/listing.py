"""Lists of statements for a page: the newest first, filtered, and made into statements only where they are shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.language.settling import settles
from holdfast.memory.decisions import SessionPassages, passage_statement
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage
from holdfast.model.statement import Statement, StatementKind

_SHARED_WORDS = 2  # of a decision and what was turned down for it
_judged: dict[int, bool] = {}  # by text and speaker: a list is made again after each change of the memory


class Row(Struct, frozen=True, gc=False):
    """A statement of the register, or (`statement` is None) a passage of a session."""

    at: float
    id: str
    project: str
    statement: Statement | None = None
    section: SessionPassages | None = None
    passage: Passage | None = None

    @property
    def said(self) -> Statement:
        if self.statement is not None:
            return self.statement
        assert self.passage is not None and self.section is not None
        return passage_statement(self.passage, self.section, self.project)

    @property
    def status(self) -> str:
        return self.statement.status if self.statement is not None else getattr(self.passage, "status", "")

    @property
    def who(self) -> str:
        return self.statement.who if self.statement is not None else getattr(self.passage, "by", "")

    def holds_words(self, wanted: Collection[str]) -> bool:
        if self.statement is not None:
            text = f"{self.statement.text} {self.statement.reason} {self.statement.subject} {self.id}"
        else:
            assert self.passage is not None
            text = f"{self.passage.text} {self.passage.question} {self.id}"
        folded = text.casefold()
        return all(word in folded for word in wanted)


class StatementList:
    """What a memory says, read once. What several places say counts once: as registered, else as said last."""

    def __init__(self, memory: ProjectMemory) -> None:
        self.memory = memory
        self._likely: dict[str, tuple[Sequence[Row], Sequence[Row]]] = {}
        self._by_kind: dict[str, list[Row]] = defaultdict(list)
        self._sections: dict[str, list[tuple[str, SessionPassages]]] = defaultdict(list)
        known: dict[str, Row] = {}
        for statement in memory.register("decision", "finding", "dead_end"):
            row = Row(statement.at or 0.0, statement.id, statement.project, statement)
            known.setdefault(f"{statement.kind} {statement.id}", row)
        for project, section in memory.passages():
            self._sections[section.session].append((project, section))
            for passage in section.passages:
                row = Row(section.at or 0.0, passage.id, project, None, section, passage)
                key = f"{passage.kind} {passage.id}"
                if (other := known.get(key)) is None or (other.statement is None and other.at < row.at):
                    known[key] = row
        for key, row in known.items():
            self._by_kind[key.partition(" ")[0]].append(row)
        for rows in self._by_kind.values():
            rows.sort(key=lambda row: (row.at, row.id), reverse=True)

    def rows(self, kind: StatementKind) -> Sequence[Row]:
        return self._by_kind.get(kind, ())

    def likely(self, kind: StatementKind) -> tuple[Sequence[Row], Sequence[Row]]:
        """The rows that settle something, and those that belong to their moment. What a person wrote down counts."""
        if kind not in self._likely:
            parts: tuple[list[Row], list[Row]] = ([], [])
            for row in self.rows(kind):
                parts[row.passage is not None and not settling(row.passage)].append(row)
            self._likely[kind] = parts
        return self._likely[kind]

    def counts(self) -> dict[str, int]:
        return {kind: len(rows) for kind, rows in self._by_kind.items()}

    def find(self, id: str) -> Statement | None:
        rows = (row for rows in self._by_kind.values() for row in rows if row.id == id)
        return next((row.said for row in rows), None)

    def about(self, wanted: Sequence[str]) -> Iterable[Statement]:
        """All statements that hold these words."""
        for rows in self._by_kind.values():
            yield from (row.said for row in rows if row.holds_words(wanted))

    def agreed_in(self, sessions: Collection[str]) -> Iterable[Statement]:
        """The decisions that hold of some sessions."""
        for session in sessions:
            for project, section in self._sections.get(session, ()):
                for passage in section.passages:
                    if passage.kind == "decision" and passage.status == "agreed":
                        yield passage_statement(passage, section, project)

    def turned_down(self, said: Statement) -> list[Statement]:
        """What the session of a decision rejected beside it: for the same question, or in the same words."""
        if said.status == "rejected" or not said.session:
            return []
        about = set(words(f"{said.text} {said.subject}", ENGLISH))
        found = []
        for project, section in self._sections.get(said.session, ()):
            for passage in section.passages:
                if passage.status != "rejected" or passage.id == said.id:
                    continue
                shared = about & set(words(f"{passage.text} {passage.question}", ENGLISH))
                if (passage.question and passage.question == said.subject) or len(shared) >= _SHARED_WORDS:
                    found.append(passage_statement(passage, section, project))
        return found


def settling(passage: Passage) -> bool:
    """Whether a passage stands in lists of decisions: what was turned down or replaced was a proposal in any case."""
    if passage.status not in ("agreed", "proposed"):
        return True
    key = hash((passage.text, passage.by, bool(passage.question)))
    if key not in _judged:
        _judged[key] = settles(passage.text, passage.by, answers=bool(passage.question))
    return _judged[key]


def matching(rows: Sequence[Row], text: str = "", status: str = "", who: str = "") -> Sequence[Row]:
    """The rows with all words of a text, of this status, said by this party; the same order."""
    wanted = text.casefold().split()
    if not (wanted or status or who):
        return rows
    return [
        row
        for row in rows
        if (not status or row.status == status)
        and (not who or row.who == who)
        and (not wanted or row.holds_words(wanted))
    ]
