"""What hooks and the status line say of a running session: what is usual, what is beyond it, and what to look at.

All of it is prepared, for a hook can only look things up (`hooks/notices.py`, `hooks/statusline.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import Struct

from holdfast.briefing.recovery import state_of
from holdfast.core.guides import GUIDES
from holdfast.core.hashes import blake2b
from holdfast.core.processes import runs
from holdfast.knowledge import store
from holdfast.knowledge.context import Here
from holdfast.knowledge.instructions import PERSONAL, InstructionsSource
from holdfast.ledger.alerts import (
    AMOUNTS,
    Alert,
    Likes,
    Period,
    Running,
    amount_of,
    beyond_usual,
    over_budget,
)
from holdfast.ledger.rows import read_ledger, rows
from holdfast.memory.read import or_nothing
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions.store import CaptureStore
from holdfast.store.inbox import Envelope, last_envelopes
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_WATCHED = 60
MOST_RUNNING = 50


def watch_rows(machine: Machine, project: Project) -> dict[str, str]:
    """Rows of `meta`, each JSON but for `knowledge`; what cannot be read is left out, and asked for in vain."""
    entries = list(or_nothing(lambda: rows(read_ledger(project))))
    running = live_sessions(machine, project)[-MOST_RUNNING:]
    beyond = [
        {"session": one.session, "key": _key(one.what, one.text), "text": one.text}
        for one in alerts(machine, project, entries, running).alerts
        if one.live or one.what == "budget"
    ]
    counts = dict(or_nothing(lambda: _open(project).items()))
    known = list(or_nothing(lambda: _known(project)))
    return {
        "alerts": json.dumps(beyond) if beyond else "",
        "usual": json.dumps(_usual(entries)),
        "running": json.dumps({one.session: [one.kind or "", one.cost_usd, one.minutes] for one in running}),
        "open": json.dumps(counts),
        "watched": json.dumps(_files(machine, project)),
        "knowledge": blake2b(json.dumps(known).encode(), digest_size=8).hexdigest() if known else "",
    }


def _key(what: str, text: str) -> str:
    """A budget is told once for each day or month: `$9.10 spent in 2026-11-16; …`."""
    return f"{what}.{text.partition(' in ')[2].partition(';')[0]}" if what == "budget" else what


def _usual(entries: list[LedgerEntry]) -> dict[str, dict[str, tuple[float, int]]]:
    """By amount and kind: under what nine of ten stay, and how many there are. '' are all."""
    likes = Likes(entries)
    kinds = sorted({entry.kind for entry in entries if entry.kind})
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for what in AMOUNTS:
        for kind in ("", *kinds):
            usual = likes.usual("", kind or None, what)
            if usual is not None:
                found.setdefault(what, {})[kind] = (usual.p90, usual.n)
    return found


def _open(project: Project) -> dict[str, int]:
    """To-dos and open questions by branch; '' concerns all, and is counted on every one."""
    if not project.memory.is_dir():
        return {}
    state = state_of(project).current
    questions = sum(1 for question in state.questions if question.open)
    counts = {"": questions + sum(not item.branch for item in state.todo)}
    for item in state.todo:
        if item.branch:
            counts[item.branch] = counts.get(item.branch, counts[""]) + 1
    return counts


def _files(machine: Machine, project: Project) -> list[tuple[str, str]]:
    """Instruction files as they are called and where they are: those that are there, and those that may come."""
    root = str(project.root)
    here = Here(cwd=root, root=root, home=str(machine.user_home), now=0.0, env=machine.env)
    found = {one.shown: os.path.relpath(one.path, root) if _within(one.path, root) else one.path
             for one in InstructionsSource().files(here)}  # fmt: skip
    for name in GUIDES:
        found.setdefault(name, name)
    for variable, folder, name in PERSONAL:
        base = machine.env.get(variable, "") if variable else ""
        path = os.path.join(base or machine.user_home / folder, name)
        if path not in found.values():
            found.setdefault(f"~/{folder}/{name}", str(path))
    return list(found.items())[:MOST_WATCHED]


def _within(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _known(project: Project) -> list[str]:
    """Conventions and patterns. Facts and files come with every session, and say nothing new of a repository."""
    if not store.known(project):
        return []
    now = store.load(project).now
    keys = [one.key for one in now.conventions] + [one.key for one in now.patterns]
    return sorted(" ".join(key) for key in keys)


QUIET_S = 30 * 60


DAY_S = 24 * 60 * 60


def running_sessions(machine: Machine, project: Project) -> list[str]:
    """Sessions of which hooks have left word, and not that they are over."""
    lasts = last_envelopes(project.memory)
    return [last.session for last in lasts if last.event != "SessionEnd" and _alive(machine, last)]


def _alive(machine: Machine, letter: Envelope) -> bool:
    """Whether the session may still go on: its process lives or, where that cannot be told, it was not quiet long."""
    try:
        changed = max(os.stat(letter.transcript).st_mtime, letter.time)
    except (OSError, ValueError):
        changed = letter.time
    quiet = machine.now().timestamp() - changed
    if not letter.process or os.name == "nt":
        return quiet < QUIET_S
    # Numbers are given again, so even a process that lives is believed for a day only.
    return runs(letter.process) and quiet < DAY_S


LATELY = timedelta(days=7)


class Watch(Struct, frozen=True, kw_only=True):
    """What there is to be said now, and what it was compared with."""

    alerts: tuple[Alert, ...]
    sessions: int
    since_days: int


def alerts(
    machine: Machine, project: Project, entries: Sequence[LedgerEntry], live: Sequence[Running]
) -> Watch:
    """Live sessions and those of the last week against their like, and the budgets of day and month."""
    now = machine.now()
    likes = Likes(entries)
    running = {one.session for one in live}
    past = [_running(entry) for entry in entries if entry.session not in running]
    lately = [one for one in past if one.at and now - LATELY <= one.at <= now]
    found = [alert for one in live for alert in beyond_usual(one, likes, live=True)]
    found += [alert for one in lately for alert in beyond_usual(one, likes, live=False)]
    spent = [(one.at, one.cost_usd) for one in (*past, *live)]
    settings = machine.settings(project)
    budgets: tuple[tuple[Period, float], ...] = (
        ("day", settings.budget_day),
        ("month", settings.budget_month),
    )
    for period, limit in budgets:
        if limit > 0 and (alert := over_budget(spent, limit, period, now)):
            found.append(alert)
    return Watch(alerts=tuple(found), sessions=len(entries), since_days=LATELY.days)


def _running(entry: LedgerEntry) -> Running:
    return Running(
        session=entry.session,
        kind=entry.kind,
        cost_usd=amount_of(entry, "cost"),
        minutes=amount_of(entry, "time"),
        at=entry.timestamp,
    )


def live_sessions(machine: Machine, project: Project) -> list[Running]:
    """Sessions that go on, as far as hooks have had them read, and those that were captured and have no row yet."""
    running = running_sessions(machine, project)
    return CaptureStore.glimpse(project.capture, partial(_unfinished, running), [])


def _unfinished(running: Sequence[str], store: CaptureStore) -> list[Running]:
    sessions = dict.fromkeys((*running, *store.pending()))
    records = [record for session in sessions if (record := store.record(session)) is not None]
    if not records:
        return []
    from holdfast.sessions.cost import cost_of_record

    return [
        Running(
            session=record.session,
            kind=record.kind,
            cost_usd=cost_of_record(record),
            minutes=None if record.active_s is None else record.active_s / 60,
            at=None if record.started is None else datetime.fromtimestamp(record.started, UTC),
        )
        for record in records
    ]
