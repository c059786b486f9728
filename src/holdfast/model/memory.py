"""What a project remembers besides rows: decisions, questions, findings, dead ends, open items, and facts.

Ids never count up: a letter and a short hash of the content, so that the same thing has the same id on every
machine and in every export.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from holdfast.core.content_ids import content_id as content_id


class FactCategory(StrEnum):
    ENDPOINT = "endpoint"
    ID = "id"
    COMMAND = "command"
    ENVIRONMENT = "environment"
    DEPENDENCY = "dependency"
    BUILD = "build"
    TESTING = "testing"
    RESULT = "result"
    DECISION = "decision"
    OTHER = "other"


Owner = Literal["user", "agent", ""]
Priority = Literal["high", "normal", "low"]


class Decision(Struct, frozen=True, kw_only=True):
    """Something settled, why, and by whom."""

    text: str
    rationale: str = ""
    by: Owner = ""
    session: str = ""
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("D", self.text)


class Question(Struct, frozen=True, kw_only=True):
    """Something asked. It is open until it has an answer, or a person closed it without one (`closed`)."""

    text: str
    answer: str = ""
    by: Owner = ""
    session: str = ""
    at: float | None = None
    answered_at: float | None = None
    project: str = ""  # said in the state only, which is common to all projects of a repository
    closed: bool = False

    @property
    def id(self) -> str:
        return content_id("Q", self.text)

    @property
    def open(self) -> bool:
        return not self.answer and not self.closed


class Finding(Struct, frozen=True, kw_only=True):
    """Something learned that was not known before, surprises above all."""

    text: str
    session: str = ""
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("N", self.text)


class DeadEnd(Struct, frozen=True, kw_only=True):
    """What was tried, how it failed, and what worked instead (empty when nothing did)."""

    tried: str
    failed: str
    instead: str = ""
    session: str = ""
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("X", f"{self.tried}\n{self.failed}")


class OpenItem(Struct, frozen=True, kw_only=True):
    """Something begun or planned and not finished; on a branch, or ('') wherever one is."""

    text: str
    why: str = ""
    owner: Owner = ""
    priority: Priority = "normal"
    branch: str = ""
    project: str = ""  # '' is the repository's own
    session: str = ""
    at: float | None = None

    @property
    def id(self) -> str:
        return content_id("T", self.text)


class Fact(Struct, frozen=True, kw_only=True):
    """Something verified. There is no fact without evidence: the command or query, and the line it answered."""

    text: str
    category: str = FactCategory.OTHER
    command: str = ""
    evidence: str = ""
    session: str = ""
    at: float | None = None
    verified_at: float | None = None

    @property
    def id(self) -> str:
        return content_id("F", self.text)


PassageKind = Literal["decision", "rule", "cause", "measurement", "answer", "dead_end", "next_step"]
PassageStatus = Literal["agreed", "proposed", "rejected", "superseded"]


class Passage(Struct, frozen=True, kw_only=True):
    """What a session settled, found or turned down, in the words that were used: one to three sentences.

    `question` is what it answers, where it cannot be understood without. `worth` is a percentage: how likely it is that
    a later session should know it. `written_id` is the id in the file, if a person changed the words.
    """

    text: str
    question: str = ""
    kind: PassageKind = "decision"
    status: PassageStatus = "agreed"
    by: Owner = ""
    worth: int = 50
    session: str = ""
    written_id: str = ""

    @property
    def id(self) -> str:
        return self.written_id or content_id("D", self.text)


class LogEntry(Struct, frozen=True, kw_only=True):
    """One session in the project's history, short enough to be read in ten lines."""

    session: str
    agent: str
    at: float | None
    branch: str = ""
    context: str = ""
    outcome: str = ""
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    dead_ends: tuple[DeadEnd, ...] = ()
    questions: tuple[Question, ...] = ()
    open_items: tuple[OpenItem, ...] = ()
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    summary: str = ""
    transcript: str = ""


class Harvest(Struct, frozen=True, kw_only=True):
    """What agents and people already wrote in a session, taken out of its transcript."""

    decisions: tuple[Decision, ...] = ()
    questions: tuple[Question, ...] = ()
    findings: tuple[Finding, ...] = ()
    dead_ends: tuple[DeadEnd, ...] = ()
    open_items: tuple[OpenItem, ...] = ()
    facts: tuple[Fact, ...] = ()
    commits: tuple[str, ...] = ()


def ids_of(item: object) -> frozenset[str]:
    """The ids of a statement: a dead end also has one of its command alone, as the state names it."""
    item_id = str(getattr(item, "id", ""))
    also = content_id("X", item.tried) if isinstance(item, DeadEnd) else item_id
    return frozenset({item_id, also} - {""})


# --- file pointers -------------------------------------------------------------------------------------


class PointerSession(Struct, frozen=True, kw_only=True):
    """One ended session, reduced to its words and files. Paths are relative to the repository."""

    session: str
    at: float
    prompts: tuple[str, ...]
    answer: str = ""  # the agent's last words: they name what was done
    branch: str = ""
    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()  # read and not edited
    named: tuple[tuple[str, str], ...] = ()  # a file that was edited, and the names that were written into it


class Pointer(Struct, frozen=True, kw_only=True):
    """A file that the work asked for is likely to touch.

    `chance` is how often files with this standing were touched in the histories that the weights were fitted on.
    """

    path: str
    why: str
    chance: float
    session: str = ""  # the session that speaks most for it
