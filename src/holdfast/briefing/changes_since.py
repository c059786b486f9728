"""Lists what changed while a session was inactive: other sessions, decisions, answers, and handoffs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import isfinite
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.projects import Naming
from holdfast.core.reuse import for_same_object
from holdfast.memory.current import NextStep
from holdfast.memory.log import goal_line
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.events import DistilledSession
from holdfast.model.line import Line
from holdfast.model.memory import Decision, Question
from holdfast.model.statement import Statement, statement_of
from holdfast.sessions.summary import cut
from holdfast.store.line_grammar import render_minute

MOST = 50
_FILES = 2
_LONG, _SHORT = 110, 80
_MINUTE = 60.0


class RecentChange(Struct, frozen=True, kw_only=True):
    """A change that a session missed while it was inactive.

    `session` made it; '' is a person at the command line. `began` is set for a whole session.
    """

    at: float
    line: Line
    began: float | None = None
    session: str = ""
    branch: str = ""
    project: str = ""


Mention = tuple[str, RecentChange]
"""A settled statement, with the id that it has wherever it is mentioned."""


def recent_changes(
    records: Sequence[DistilledSession], names: Naming, memory: ProjectMemory
) -> tuple[RecentChange, ...]:
    """The newest first, at most `MOST`."""
    changes = (*_sessions(records, names), *_settled(records, names, memory))
    dated = (one for one in changes if isfinite(one.at))  # a person may have written @nan
    return tuple(nlargest(MOST, dated, key=lambda one: one.at))


def _sessions(records: Iterable[DistilledSession], names: Naming) -> Iterator[RecentChange]:
    for record in records:
        at = record.ended if record.ended is not None else record.started
        if at is not None and record.goal:
            yield RecentChange(
                at=at,
                began=record.started,
                line=Line(
                    _session_line(record, names.root),
                    f"session {record.session} worked until {render_minute(at)}",
                ),
                session=record.session,
                branch=record.branch,
                project=names.of_session(record),
            )


@for_same_object
def _session_line(record: DistilledSession, root: str) -> str:
    where = ", ".join(word for word in (record.agent, record.branch, "headless" * record.headless) if word)
    parts = [f"Meanwhile ({where}): {goal_line(record, _LONG).rstrip('.')}"]
    if record.outcome not in ("", "unknown"):
        parts.append(f"Outcome: {record.outcome}")
    names = [_inside(touch.path, record.cwd, root) for touch in record.files if touch.edits]
    changed = [cut(name, _SHORT) for name in dict.fromkeys(names) if name]
    if changed:
        more = f" and {len(changed) - _FILES} more" if len(changed) > _FILES else ""
        parts.append(f"Changed: {', '.join(changed[:_FILES])}{more}")
    return " ".join(part if part.endswith(("…", "?", "!")) else f"{part}." for part in parts)


def _inside(path: str, *bases: str) -> str:
    """A file's path relative to the session's directory or the root; '' for an agent's own files elsewhere."""
    whole = PurePosixPath(path.replace("\\", "/"))
    if not whole.is_absolute() and path[1:2] != ":":
        return "" if path.startswith(("~", "..")) else str(whole)
    for base in (PurePosixPath(base.replace("\\", "/")) for base in bases if base):
        if whole.is_relative_to(base):
            return str(whole.relative_to(base))
    return ""


def _settled(
    records: Iterable[DistilledSession], names: Naming, memory: ProjectMemory
) -> Iterator[RecentChange]:
    """Decisions, answers, and handoffs. A statement that is also in a file is shown as the file has it; of several
    sessions the first counts, because it was known from then on.
    """
    mentions: list[Mention] = []
    for record in records:
        mentions += _settled_in(record, names.of_session(record))
    changes = dict(_in_files(memory))
    for id, change in sorted(mentions, key=lambda mention: mention[1].at):
        earlier = changes.setdefault(id, change)
        if 0 <= change.at - earlier.at < _MINUTE:  # files record the time to the minute
            changes[id] = replace(earlier, at=change.at, branch=change.branch)
    return (change for id, change in changes.items() if id not in memory.dismissed)


@for_same_object
def _settled_in(record: DistilledSession, name: str) -> list[Mention]:
    # A plan that was decided on and then given as the goal is shown as the goal.
    goal = record.goal.casefold()
    settled: list[Decision | Question] = [
        decision for decision in record.harvest.decisions if decision.text.casefold() not in goal
    ]
    settled += record.harvest.questions
    statements = (statement_of(item, name) for item in settled)
    return [each for said in statements for each in _mention(said, record.session, record.branch)]


def _mention(said: Statement, session: str = "", branch: str = "") -> Iterator[Mention]:
    """A decision or an answer that is current; `session` and `branch` are those that it was captured with."""
    if not said.text or said.at is None or is_passing(said):
        return
    if said.kind == "decision":
        settled, text = "decided", short(said.text, _LONG)
        text += f", because {short(said.reason, _SHORT)}" if said.reason else ""
    else:
        settled, text = "answered", f"{short(said.subject, _LONG)} → {short(said.text, _SHORT)}"
    line = Line(f"Meanwhile {settled}: {text}", f"{settled} {render_minute(said.at)}")
    by = said.session or session
    yield said.id, RecentChange(at=said.at, line=line, session=by, branch=branch, project=said.project)


def _in_files(memory: ProjectMemory) -> Iterator[Mention]:
    """Statements that a person or an agent wrote into the memory's files."""
    for statement in memory.register("answer", "decision"):
        yield from _mention(statement)
    for step in memory.current.next:
        if step.by and step.at is not None:
            yield f"handed over {step.branch}\n{step.text}", _handed_over(step, step.at)


def _handed_over(step: NextStep, at: float) -> RecentChange:
    on = f" ({step.branch})" if step.branch else ""
    line = Line(
        f"Meanwhile handed over{on}: {short(step.text, _LONG)}",
        f"the {step.by} said so {render_minute(at)}",
    )
    return RecentChange(at=at, line=line, session=step.session, branch=step.branch)


def short(text: str, most: int) -> str:
    return cut(" ".join(text.split()), most)
