"""A statement of the memory, in one form for every file and surface."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.core.stamp import NEVER, Stamp
from holdfast.model.lesson import Lesson, failing_command
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, LogEntry, OpenItem, Question, content_id
from holdfast.model.origin import Origin

StatementKind = Literal[
    "decision",
    "rule",
    "cause",
    "measurement",
    "answer",
    "preference",
    "dead_end",
    "finding",
    "next_step",
    "fact",
]
Status = Literal["proposed", "agreed", "rejected", "superseded", "retired"]
Basis = Literal["command", "person", "agent", ""]
"""What a statement rests on: a command showed it, a person said it, an agent said it; '' is not known."""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """What shows that a statement holds: the command, and the line that it answered."""

    command: str = ""
    line: str = ""


class Statement(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="statement"):
    """One thing that the memory says.

    `text` is what holds, `not_` what does not, `reason` why. Of an answer `subject` is the question, and `text` is ''
    while it is open; of a dead end `not_` is what was tried, `reason` how it failed, and `text` what worked instead.
    """

    id: str
    kind: StatementKind
    status: Status = "agreed"
    text: str = ""
    subject: str = ""
    reason: str = ""
    not_: str = ""
    who: str = ""
    basis: Basis = ""
    origin: Origin = "session"
    stamp: Stamp | None = None
    session: str = ""
    project: str = ""
    branch: str = ""
    commits: tuple[str, ...] = ()
    source: str = ""
    supersedes: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    worth: float = 0.5  # the probability that a later session should know it

    @property
    def at(self) -> float | None:
        return None if self.stamp is None else self.stamp.at

    @property
    def order(self) -> tuple[Stamp, str]:
        """What decides which of two statements is the later one, the same on every machine."""
        return self.stamp or NEVER, self.id

    def with_status(self, status: Status) -> Statement:
        return msgspec.structs.replace(self, status=status)


class SessionText(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session"):
    """The searchable text of a whole session."""

    goal: str = ""
    outcome: str = ""
    summary: str = ""
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


Said = Statement | SessionText
"""What a piece of the search index says, as values, so that readers need not parse its text."""

OPEN = "(open)"  # in place of an answer
_SAID = msgspec.json.Decoder(Said)


def encoded(said: Said) -> str:
    return msgspec.json.encode(said).decode()


def decoded(data: str) -> Said | None:
    """What `encoded` made; None of '', and of what another version made: the next update of the index replaces it."""
    try:
        return _SAID.decode(data) if data else None
    except msgspec.ValidationError:
        return None


def text_of(said: Said) -> str:
    """As it is searched and shown: a statement in one line with what makes it useful, a session in a few."""
    if isinstance(said, SessionText):
        lines = [said.goal, f"Outcome: {said.outcome}" if said.outcome else "", said.summary]
        lines += [f"Files: {' '.join(said.files)}"] if said.files else []
        lines += [f"Commits: {'; '.join(said.commits)}"] if said.commits else []
        return "\n".join(filter(None, lines))
    if said.kind == "decision" and said.reason:
        return f"{said.text} (because {said.reason})"
    if said.kind == "answer" and said.subject:
        return f"{said.subject} → {said.text or OPEN}"
    if said.kind == "dead_end" and said.not_:
        instead = f" → `{said.text}` worked" if said.text else ""
        return f"`{said.not_}` fails here ({said.reason}){instead}"
    if said.kind == "fact":
        evidence_lines = (
            f"{evidence.command} → {evidence.line}" if evidence.command else evidence.line
            for evidence in said.evidence
        )
        return " ".join([said.text, *(f"({evidence})" for evidence in evidence_lines)])
    return said.text


Item = Decision | Question | Finding | DeadEnd | OpenItem | Fact
_BASES: dict[str, Basis] = {"user": "person", "agent": "agent"}


def statement_of(item: Item, project: str = "", source: str = "") -> Statement:
    """An item of a memory file as a statement; `source` is the file."""
    at, by = item.at, ""
    values: dict[str, object]
    match item:
        case Decision():
            by = item.by
            values = {"kind": "decision", "text": item.text, "reason": item.rationale}
        case Question():
            by, at = item.by, item.at if item.answered_at is None else item.answered_at
            status = "agreed" if item.answer else "retired" if item.closed else "proposed"
            values = {"kind": "answer", "status": status, "subject": item.text, "text": item.answer}
        case Finding():
            values = {"kind": "finding", "text": item.text, "basis": "agent"}
        case DeadEnd():
            values = {"kind": "dead_end", "not_": item.tried, "reason": item.failed, "text": item.instead}
            values["basis"] = "command"
        case OpenItem():
            by = item.owner
            values = {"kind": "next_step", "status": "proposed", "text": item.text, "reason": item.why}
            values["branch"] = item.branch
        case Fact():
            at = item.at if item.verified_at is None else item.verified_at
            values = {"kind": "fact", "text": item.text, "subject": item.category}
            values["evidence"] = (Evidence(item.command, item.evidence),)
            values["basis"] = "command" if item.command else "person"
    return Statement(
        id=item.id,
        who=by,
        origin="session" if item.session else "person",
        stamp=None if at is None or not isfinite(at) else Stamp.of_seconds(at),
        session=item.session,
        project=getattr(item, "project", "") or project,
        source=source,
        **{"basis": _BASES.get(by, ""), **values},  # type: ignore[arg-type]
    )


def statements_in(entry: LogEntry, project: str = "", source: str = "") -> Iterator[Statement]:
    """What a session decided, found and tried in vain, was asked, and left open."""
    items: list[Item] = [*entry.decisions, *entry.findings, *entry.dead_ends]
    items += [*entry.questions, *entry.open_items]
    for item in items:
        at = entry.at if item.at is None else item.at
        dated_item = msgspec.structs.replace(item, session=item.session or entry.session, at=at)
        yield statement_of(dated_item, project, source)


def rules_of(lesson: Lesson, source: str = "") -> Iterator[Statement]:
    """The rules of a lesson, each by the hash of its words."""
    for rule in lesson.rules:
        yield Statement(
            id=f"lesson:{content_id('L', rule)}",
            kind="preference" if lesson.kind == "correction" else "rule",
            text=rule,
            not_=failing_command(rule),
            subject=lesson.name,
            session=lesson.sessions[-1] if lesson.sessions else "",
            source=source,
        )
