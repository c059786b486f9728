"""Gathers the sessions of a holdout: which arm hooks recorded for each, and what it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from holdfast.core.errors import StoreError
from holdfast.hooks.holdout import DRAWN, HELD
from holdfast.ledger.holdout import Report, Trial
from holdfast.model.events import DistilledSession
from holdfast.sessions.cost import cost_of_record
from holdfast.store.json_files import read_json_lines
from holdfast.store.memory_files import HOLDOUT
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

_DAY = 86_400


class Arm(Struct, frozen=True):
    """A line of `holdout.jsonl`, which a hook wrote at a session's first event."""

    time: str
    session: str
    arm: str
    basis: str
    share: float

    @property
    def is_held(self) -> bool:
        return self.arm == HELD


def arms(project: Project) -> dict[str, Arm]:
    """The arm of each session: the first line that names it counts, as for the hooks."""
    found: dict[str, Arm] = {}
    for arm in read_json_lines(project.memory / HOLDOUT, Arm):
        found.setdefault(arm.session, arm)
    return found


def effect(project: Project, records: Iterable[DistilledSession]) -> Report | None:
    """The effect of memory by the holdout; None if this project never had one."""
    switches = switches_of(project)
    drawn = arms(project)
    if not drawn and not switches.holdout:
        return None
    # numpy takes longer to load than the rest of the command, and most projects have no holdout.
    from holdfast.ledger.sequential import report

    by_session = {record.session: record for record in records}
    counted = [arm for arm in drawn.values() if arm.basis == DRAWN]
    trials = [_trial(arm, by_session[arm.session]) for arm in counted if arm.session in by_session]
    return report(
        [trial for trial in trials if trial is not None],
        share=switches.held_share or None,
        since=min(
            (arm.time for arm in drawn.values()), default=switches.holdout.since if switches.holdout else ""
        ),
        uncaptured=len(counted) - len(trials),
        left_out=len(drawn) - len(counted),
    )


def _trial(arm: Arm, record: DistilledSession) -> Trial | None:
    if record.started is None:
        return None
    failed = sum(task.status == "failed" for task in record.tasks)
    return Trial(
        day=int(record.started // _DAY),
        kind=str(record.kind),
        share=arm.share,
        told=not arm.is_held,
        cost_usd=cost_of_record(record),
        minutes=None if record.active_s is None else record.active_s / 60,
        calls=record.calls_before_edit,
        failures=failed / len(record.tasks) if record.tasks else None,
    )


def sessions_needed(records: Sequence[DistilledSession], share: float) -> int | None:
    """How many sessions a holdout will take, by what sessions have cost so far; None if there are too few."""
    from holdfast.ledger.sequential import planned

    costs: dict[str, list[float]] = {}
    days = set()
    for record in records:
        cost = cost_of_record(record)
        if cost is not None and record.started is not None:
            costs.setdefault(str(record.kind), []).append(cost)
            days.add(int(record.started // _DAY))
    return planned(costs, share, _count(costs) / len(days)) if days else None


def _count(costs: Mapping[str, Sequence[float]]) -> int:
    return sum(len(values) for values in costs.values())


def checked_share(project: Project) -> float | None:
    """The share that holds now. Raises StoreError for one that makes no sense: hooks ignore it."""
    switches = switches_of(project)
    if switches.holdout is not None and not switches.held_share:
        raise StoreError(
            f"the share of the holdout is {switches.holdout.share:g}, not between 0.01 and 0.5, so hooks ignore it",
            where=str(project.memory / "switches.json"),
            fix="Set it again: holdfast holdout 20%, or holdfast holdout off",
        )
    return switches.held_share or None


def now_text(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
