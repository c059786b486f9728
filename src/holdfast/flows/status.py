"""The status of a project: what is stored, the last session, unread transcripts; and the agents on this machine."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from holdfast.agents.registry import hosts, importers, known_by
from holdfast.briefing.explain import why_silent, why_uncaptured
from holdfast.briefing.recovery import state_of
from holdfast.flows.find_transcripts import SessionSource, discover, sources_of_project
from holdfast.flows.hosts import agents_here, hooked
from holdfast.flows.import_sessions import recorded_here, unread
from holdfast.guard.hidden_text import path_text
from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.memory.current import Current
from holdfast.memory.current_digest import steps_of
from holdfast.model.events import DistilledSession
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of
from holdfast.transcripts.keep import leaving_soon


class Status(Struct, frozen=True, kw_only=True):
    project: str
    root: str
    ledger: str
    shared: bool
    sessions: int
    last: LedgerEntry | None
    title: str  # of that session
    leaving: tuple[str, ...]  # transcripts that their agent is about to delete, by title
    open_items: tuple[str, ...]
    next: tuple[str, ...]
    todo: int
    questions: int
    waiting: int
    problems: int
    candidates: int  # lessons that no person has reviewed yet
    silent: str  # why a session started here would get nothing from memory
    uncaptured: str  # why it would not be captured


class AgentSeen(Struct, frozen=True, kw_only=True):
    """An agent on this machine. `sessions` counts all that were found, `here` those of this project.

    `host` says whether hooks can be installed, `wired` whether they are; `known` how its reader is known to be right.
    """

    agent: str
    title: str
    found: bool
    folders: tuple[str, ...]
    sessions: int
    here: int
    last: datetime | None
    importer: bool
    host: bool
    wired: bool
    known: str


def status_of(machine: Machine, project: Project) -> Status:
    ledger = read_ledger(project)
    entries = rows(ledger)
    latest = latest_record(project)
    state = state_of(project).current if project.memory.is_dir() else Current()
    branch = branch_of(project.root)
    return Status(
        project=path_text(project.name),
        root=path_text(str(project.root)),
        ledger=path_text(str(project.window / "ledger.md")),
        shared=project.shared,
        sessions=len(entries),
        last=entries[-1] if entries else None,
        title=next(iter(titles_of(project, entries[-1:]).values()), ""),
        leaving=leaving_soon(machine, project),
        open_items=latest.open_items if latest else (),
        next=tuple(step.text for step in steps_of(state, branch or None)),
        todo=sum(1 for item in state.todo if not branch or item.branch in (branch, "")),
        questions=sum(1 for question in state.questions if question.open),
        waiting=len(unread(project, recorded_here(machine, project))),
        problems=len(ledger.problems),
        candidates=_candidates(machine, project),
        silent=why_silent(machine, project, machine.cwd),
        uncaptured=why_uncaptured(project, machine.cwd),
    )


def _candidates(machine: Machine, project: Project) -> int:
    if not (project.memory / "lessons").is_dir():
        return 0
    from holdfast.flows.lessons import read_lessons

    return sum(1 for lesson in read_lessons(machine, project).lessons if lesson.state == "candidate")


def latest_record(project: Project) -> DistilledSession | None:
    return CaptureStore.glimpse(project.capture, lambda store: next(iter(store.records(1)), None), None)


def agents_of(machine: Machine, project: Project) -> list[AgentSeen]:
    agents = []
    used = agents_here(machine, project)
    hooked_agents = hooked(machine, project)
    for importer in importers():
        folders = [root for root in importer.roots(machine.places(project)) if root.is_dir()]
        sources = discover(machine, (importer,), {}, project).sources
        latest = max(map(_last_written, sources), default=0.0)
        agents.append(
            AgentSeen(
                agent=importer.agent,
                title=importer.title,
                found=bool(sources)
                or (bool(folders) and bool(list(importer.roots(machine.places()))))
                or importer.agent in used,
                folders=tuple(str(folder) for folder in folders),
                sessions=len(sources),
                here=len(sources_of_project(sources, project)),
                last=datetime.fromtimestamp(latest).astimezone() if latest else None,
                importer=True,
                host=importer.agent in hosts(),
                wired=importer.agent in hooked_agents,
                known=known_by(importer.agent),
            )
        )
    return agents


def _last_written(source: SessionSource) -> float:
    """When a session was last written to; for a file with several sessions, when the session started."""
    return (source.glance.started or 0.0) if source.glance.part else source.mtime_ns / 1e9
