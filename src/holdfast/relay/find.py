"""Which session is handed over: the one that runs here, else the one that ended last."""

from __future__ import annotations

from msgspec import Struct

from holdfast.agents.registry import importer_of
from holdfast.core.errors import NotFound
from holdfast.core.session_id import short_session
from holdfast.flows.find_transcripts import TranscriptSearch
from holdfast.flows.import_sessions import import_sources, recorded_here, unread
from holdfast.model.events import DistilledSession
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_MOST = 50


class Found(Struct, frozen=True, kw_only=True):
    """A session to hand over; `others` were active just as lately."""

    record: DistilledSession
    title: str
    others: tuple[str, ...] = ()


def find_session(machine: Machine, project: Project, wanted: str, target: str) -> Found:
    """Reads what agents wrote just now, then takes the session active last; of several, one of another agent."""
    search = recorded_here(machine, project)
    fresh = TranscriptSearch(unread(project, search), [], search.warnings)
    if fresh.sources:
        import_sources(machine, project, fresh, rows=False)
    none: list[DistilledSession] = []
    records = CaptureStore.glimpse(project.capture, lambda store: store.records(_MOST), none)
    records = [record for record in records if record.prompts or record.goal]
    records.sort(key=lambda record: -(record.ended or record.started or 0.0))
    if wanted:
        close = [record for record in records if record.session.startswith(wanted)]
        if len(close) != 1:
            what = (
                f"{wanted!r} fits {len(close)} sessions" if close else f"no session {wanted!r} was read here"
            )
            raise NotFound(what, fix="holdfast log shows them")
        return Found(record=close[0], title=title_of_agent(close[0].agent))
    records = [record for record in records if not record.headless] or records
    newest = next(iter(records), None)
    if newest is None:
        raise NotFound(
            "no agent has worked here yet",
            where=str(project.root),
            fix="holdfast agents shows what was found",
        )
    # The target may have been opened just now: then the session to go on with is the one before.
    others = (record for record in records if record.agent != target and _is_close(record, newest))
    chosen = next(others, newest)
    same = [record for record in records if record is not chosen and _is_close(record, chosen)]
    return Found(
        record=chosen,
        title=title_of_agent(chosen.agent),
        others=tuple(f"{title_of_agent(one.agent)} {short_session(one.session)}" for one in same),
    )


def _is_close(one: DistilledSession, other: DistilledSession) -> bool:
    return abs((one.ended or 0.0) - (other.ended or 0.0)) < 30 * 60


def title_of_agent(agent: str) -> str:
    importer = importer_of(agent)
    return importer.title if importer is not None else agent
