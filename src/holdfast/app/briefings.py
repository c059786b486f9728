"""What sessions are told at their start, by how they start: a new one, one that is resumed, one that was compacted.

Everything that takes thought is done here, before it is needed; a hook only picks lines that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import nlargest
from math import isfinite
from pathlib import PurePosixPath
from typing import TypeVar

from msgspec import Struct

from holdfast.app.next_session import one_line, recurring_stumbles, told_next
from holdfast.app.projects import Naming, known_projects, naming
from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError
from holdfast.model.memory import Decision, Question, content_id
from holdfast.model.session import DistilledSession
from holdfast.store.capture import CaptureStore
from holdfast.store.inbox import envelopes
from holdfast.store.layout import Project
from holdfast.store.memory import MemoryStore
from holdfast.text.current_md import NextStep
from holdfast.text.memory_md import render_minute

T = TypeVar("T")

LATEST = 100  # sessions that a briefing may draw on
MOST_SINCE = 50
MOST_OWNERS = 20
MOST_OWN = 10
_FILES = 2
_LONG, _SHORT = 110, 80


class Line(Struct, frozen=True):
    """A line to inject, and why it is worth its tokens."""

    text: str
    reason: str


class Happened(Struct, frozen=True, kw_only=True):
    """Something that a session does not know when it was away.

    `session` did it; '' is a person at the command line. `began` is for what took its time: a whole session.
    """

    at: float
    line: Line
    began: float | None = None
    session: str = ""
    branch: str = ""
    project: str = ""


Digests = Mapping[tuple[str, str], Sequence[Line]]
"""Lines by source (startup) and branch; the branch '' is for every branch without its own."""


Mention = tuple[str, Happened]
"""Something that was settled, with the id by which it is known wherever it is mentioned."""


class Briefings(Struct, frozen=True, kw_only=True):
    """`since` has the newest first; `own` are a session's open items; `projects` says which project a branch works on.

    The branch '' of `projects` stands for every branch that is not named.
    """

    digests: Digests = {}
    stumbles: tuple[Line, ...] = ()
    since: tuple[Happened, ...] = ()
    own: Mapping[str, tuple[Line, ...]] = {}
    projects: Mapping[str, str] = {}


def briefings_of(machine: Machine, project: Project) -> Briefings:
    records, going_on = _records(project)
    # What ran without anybody there is remembered, and is not what the next session goes on with.
    attended = [record for record in records if not record.headless]
    names = _naming(machine, project)
    files = _Files(project, names.default)
    happened = (*_sessions(records, names), *_settled(records, names, files))
    dated = (one for one in happened if isfinite(one.at))  # a person may have written @nan
    return Briefings(
        digests=_startup(attended),
        stumbles=tuple(
            Line(text, "it failed in several sessions here") for text in recurring_stumbles(records)
        ),
        since=tuple(nlargest(MOST_SINCE, dated, key=lambda one: one.at)),
        own=_own([*going_on, *records], files.dismissed),
        projects={"": names.default, **names.branches},
    )


def _naming(machine: Machine, project: Project) -> Naming:
    try:
        return naming(machine, project)
    except HoldfastError:
        # What switches a hook off is prepared with all this, and must not wait until somebody mends that file.
        return Naming(default=project.title)


def _startup(attended: Sequence[DistilledSession]) -> Digests:
    lines = [Line(text, "from this project's latest sessions") for text in told_next(attended)]
    return {("startup", ""): lines} if lines else {}


def _records(project: Project) -> tuple[list[DistilledSession], list[DistilledSession]]:
    """The latest sessions, and those that go on: one of them may have begun long before the latest."""
    if not project.capture.exists():
        return [], []
    letters, _ = envelopes(project.memory / "inbox")
    store = CaptureStore(project.capture)
    try:
        live = [store.record(session) for session in dict.fromkeys(letter.session for letter in letters)]
        return store.records(LATEST), [record for record in live if record is not None]
    finally:
        store.close()


# --- what happened meanwhile ---------------------------------------------------------------------------


def _sessions(records: Iterable[DistilledSession], names: Naming) -> Iterator[Happened]:
    for record in records:
        at = record.ended if record.ended is not None else record.started
        if at is not None and record.goal:
            yield Happened(
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


def _session_line(record: DistilledSession, root: str) -> str:
    where = ", ".join(word for word in (record.agent, record.branch, "headless" * record.headless) if word)
    parts = [f"Meanwhile ({where}): {one_line(_aim(record.goal), _LONG).rstrip('.')}"]
    if record.outcome not in ("", "unknown"):
        parts.append(f"Outcome: {record.outcome}")
    names = [_inside(touch.path, record.cwd, root) for touch in record.files if touch.edits]
    changed = [one_line(name, _SHORT) for name in dict.fromkeys(names) if name]
    if changed:
        more = f" and {len(changed) - _FILES} more" if len(changed) > _FILES else ""
        parts.append(f"Changed: {', '.join(changed[:_FILES])}{more}")
    return " ".join(part if part.endswith(("…", "?", "!")) else f"{part}." for part in parts)


def _aim(goal: str) -> str:
    """What was asked for; of a plan that was handed in, its title."""
    lines = [line.strip() for line in goal.splitlines() if line.strip()]
    titles = [line for line in lines[:2] if line.startswith("#")]  # the first line may only announce it
    return (titles[0] if titles else " ".join(lines)).lstrip("# ").removeprefix("Plan: ") or goal


def _inside(path: str, *bases: str) -> str:
    """A file by its name from where the session worked or from the top; '' for an agent's own files elsewhere."""
    whole = PurePosixPath(path.replace("\\", "/"))
    if not whole.is_absolute() and path[1:2] != ":":
        return str(whole)
    for base in (PurePosixPath(base.replace("\\", "/")) for base in bases if base):
        if whole.is_relative_to(base):
            return str(whole.relative_to(base))
    return ""


def _settled(records: Iterable[DistilledSession], names: Naming, files: _Files) -> Iterator[Happened]:
    """Decisions, answers, and what was handed over. What also stands in a file is told as the file has it;
    of several sessions the first counts, because from then on it was known.
    """
    mentions: list[Mention] = []
    for record in records:
        where = (record.session, record.branch, names.of_session(record))
        # A plan that was decided on and then handed in as the goal is told as the goal.
        apart = [one for one in record.harvest.decisions if one.text.casefold() not in record.goal.casefold()]
        mentions += _decided(apart, *where)
        mentions += _answered(record.harvest.questions, *where)
    known = dict(files.mentions())
    for id, happened in sorted(mentions, key=lambda mention: mention[1].at):
        known.setdefault(id, happened)
    return (happened for id, happened in known.items() if id not in files.dismissed)


def _decided(decisions: Iterable[Decision], session: str, branch: str, project: str) -> Iterator[Mention]:
    for decision in decisions:
        if decision.at is None:
            continue
        because = f", because {one_line(decision.rationale, _SHORT)}" if decision.rationale else ""
        line = Line(
            f"Meanwhile decided: {one_line(decision.text, _LONG)}{because}",
            f"decided {render_minute(decision.at)}",
        )
        by = decision.session or session
        yield decision.id, Happened(at=decision.at, line=line, session=by, branch=branch, project=project)


def _answered(questions: Iterable[Question], session: str, branch: str, project: str) -> Iterator[Mention]:
    for question in questions:
        at = question.answered_at if question.answered_at is not None else question.at
        if not question.answer or at is None:
            continue
        line = Line(
            f"Meanwhile answered: {one_line(question.text, _LONG)} → {one_line(question.answer, _SHORT)}",
            f"answered {render_minute(at)}",
        )
        by = question.session or session
        yield question.id, Happened(at=at, line=line, session=by, branch=branch, project=project)


class _Files:
    """What a person or an agent wrote into the memory's files. One that cannot be read keeps nobody from the rest."""

    def __init__(self, project: Project, default: str) -> None:
        self._common = MemoryStore(project, default)
        self._stores = [
            store for name in known_projects(project) for store in _or_nothing(partial(_store, project, name))
        ]
        self.dismissed = {id for store in self._stores for id in _or_nothing(store.dismissed)}

    def mentions(self) -> Iterator[Mention]:
        for store in self._stores:
            yield from _or_nothing(partial(_decisions_in, store))
            yield from _or_nothing(partial(_answers_in, store))
        yield from _or_nothing(partial(_handoffs_in, self._common))


def _or_nothing(read: Callable[[], Iterable[T]]) -> Iterable[T]:
    try:
        return read()
    except (HoldfastError, OSError):
        return ()  # `doctor` names the file and what is wrong with it


def _store(project: Project, name: str) -> list[MemoryStore]:
    return [MemoryStore(project, name)]


def _decisions_in(store: MemoryStore) -> list[Mention]:
    return list(_decided(store.facts().reference.decisions, "", "", store.name))


def _answers_in(store: MemoryStore) -> list[Mention]:
    return list(_answered(store.questions().questions, "", "", store.name))


def _handoffs_in(store: MemoryStore) -> list[Mention]:
    return [
        (f"handed over {step.branch}\n{step.text}", _handed_over(step, step.at))
        for step in store.current().current.next
        if step.by and step.at is not None
    ]


def _handed_over(step: NextStep, at: float) -> Happened:
    on = f" ({step.branch})" if step.branch else ""
    line = Line(
        f"Meanwhile handed over{on}: {one_line(step.text, _LONG)}",
        f"the {step.by} said so {render_minute(at)}",
    )
    return Happened(at=at, line=line, session=step.session, branch=step.branch)


# --- what a session itself left open --------------------------------------------------------------------


def _own(records: Iterable[DistilledSession], dismissed: set[str]) -> dict[str, tuple[Line, ...]]:
    found: dict[str, tuple[Line, ...]] = {}
    for record in records:
        if len(found) < MOST_OWNERS and record.session not in found:
            lines = _open_lines(record, dismissed)
            if lines:
                found[record.session] = lines
    return found


def _open_lines(record: DistilledSession, dismissed: set[str]) -> tuple[Line, ...]:
    items = {content_id("T", text): (text, "a task that is not finished") for text in record.open_items}
    for item in record.harvest.open_items:
        items.setdefault(item.id, (item.text, item.why or "named as a next step"))
    kept = [found for id, found in items.items() if id not in dismissed][:MOST_OWN]
    return tuple(Line(f"Open in this session: {one_line(text, _LONG)}", why) for text, why in kept)
