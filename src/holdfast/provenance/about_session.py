"""What a span is shown with besides git's own words: the title of its session, and the decision that holds for it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import words
from holdfast.language.title import named_plan
from holdfast.ledger.rows import session_titles
from holdfast.memory.read import ProjectMemory
from holdfast.model.statement import Statement
from holdfast.store.project import Project

_FEWEST_SHARED = 3  # words that a decision has in common with the code and its path
_LEAST_SHARE = 0.5  # of the decision's words
_MOST_READ = 20_000
_LONGEST_TITLE = 100


def title_of(project: Project, session: str, first_prompt: str = "") -> str:
    """The title of a session as lists show it. The only place that knows where titles come from."""
    title = session_titles(project, [session]).get(session, "") or named_plan(first_prompt)
    return " ".join(title.split())[:_LONGEST_TITLE]


class Decisions:
    """The decisions of sessions, to find the one behind a span."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @cached_property
    def _by_session(self) -> dict[str, list[tuple[Statement, set[str]]]]:
        found: dict[str, list[tuple[Statement, set[str]]]] = {}
        for statement in ProjectMemory(self._project).statements("decision"):
            if statement.session and statement.status == "agreed":
                said = _words((statement.text, statement.subject, statement.reason))
                found.setdefault(statement.session, []).append((statement, said))
        return found

    def behind(self, session: str, path: str, text: str) -> Statement | None:
        """The decision of the session that is about this code; None where none shares enough words with it."""
        about = _words((path, text[:_MOST_READ]))
        best, most = None, 0.0
        for statement, said in self._by_session.get(session, ()):
            shared = len(said & about)
            share = shared / max(len(said), 1)
            if shared >= _FEWEST_SHARED and share >= _LEAST_SHARE and share > most:
                best, most = statement, share
        return best


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words(text, ENGLISH) if len(word) > 2}
