"""Facts that sessions showed or a person kept, for what is known of the repository: each once, with who says so.

Said again, a fact is surer; retired ones are left out; where the same question was answered otherwise since, it falls.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from holdfast.app.wiring import Machine
from holdfast.model.knowledge import LearnedFact
from holdfast.store.layout import Project

if TYPE_CHECKING:
    from holdfast.model.memory import Fact
    from holdfast.model.session import DistilledSession
    from holdfast.store.capture import CaptureStore

_LEFT_OUT = frozenset({"result", "id"})  # of one moment, or of use to one query only
_MOST_RECORDS = 2000


def session_facts(machine: Machine, project: Project) -> Iterable[LearnedFact]:
    """Verified facts of every project of this repository, and what sessions showed; each statement once."""
    if not project.memory.is_dir():
        return
    told: dict[tuple[str, ...], list[Fact]] = {}
    retired: set[tuple[str, ...]] = set()
    for fact, is_retired in _told(machine, project):
        key = LearnedFact(category="", statement=fact.text).key
        if is_retired:
            retired.add(key)
        elif fact.category not in _LEFT_OUT:
            told.setdefault(key, []).append(fact)
    from holdfast.distill.check_facts import telling_checks

    every = [fact for facts in told.values() for fact in facts]
    telling = {fact.id for fact in telling_checks(every, [fact for fact in every if not fact.session])}
    latest: dict[tuple[str, str], float] = {}
    for facts in told.values():
        for fact in facts:
            if fact.command:
                asked = (str(fact.category), fact.command)
                latest[asked] = max(latest.get(asked, 0.0), _when(fact))
    for key, facts in told.items():
        if key in retired or not any(fact.id in telling for fact in facts):
            continue
        first = min(facts, key=lambda fact: fact.at or float("inf"))
        newest = max(facts, key=_when)
        sources = tuple(dict.fromkeys(fact.session for fact in facts if fact.session)) or ("user",)
        sure = 1 - 0.4 * 0.6 ** (len(sources) - 1)
        if any(fact.verified_at for fact in facts):
            sure = 1 - (1 - sure) * 0.7
        if newest.command and latest[str(newest.category), newest.command] > _when(newest):
            sure *= 0.5  # the same question was answered otherwise since
        yield LearnedFact(
            category=str(first.category),
            statement=first.text,
            session=first.session,
            timestamp=_iso(first.at),
            confidence=round(sure, 2),
            sources=sources,
            confirmed=_when(newest),
        )


def _told(machine: Machine, project: Project) -> Iterable[tuple[Fact, bool]]:
    from holdfast.app.projects import known_projects, memory_of
    from holdfast.store.capture import CaptureStore

    dismissed: set[str] = set()
    for name in known_projects(project) or [""]:
        memory = memory_of(machine, project, name)
        dismissed |= memory.dismissed()
        for kept in memory.facts().reference.facts:
            yield kept.fact, kept.retired_at is not None
            for old in kept.was:
                yield old, True
    if not project.capture.exists():
        return
    for record in CaptureStore.glimpse(project.capture, _records, _NONE):
        yield from ((fact, False) for fact in record.harvest.facts if fact.id not in dismissed)


_NONE: list[DistilledSession] = []


def _records(capture: CaptureStore) -> list[DistilledSession]:
    return capture.records(_MOST_RECORDS)


def _when(fact: Fact) -> float:
    return max(fact.at or 0.0, fact.verified_at or 0.0)


def _iso(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else ""
