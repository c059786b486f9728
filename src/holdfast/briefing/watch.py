"""Prepares the figures for notices and the status line: usual amounts, alerts, and files to watch.

A hook can only look things up (`hooks/notices.py`, `hooks/statusline.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import Struct

from holdfast.briefing.advice import advice_of
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
    """Rows of `meta`, each JSON except `knowledge`; unreadable sources are left out."""
    entries = list(or_nothing(lambda: rows(read_ledger(project))))
    running = live_sessions(machine, project)[-MOST_RUNNING:]
    beyond = [
        {"session": alert.session, "key": _key(alert.what, alert.text), "text": alert.text}
        for alert in alerts(machine, project, entries, running).alerts
        if alert.live or alert.what == "budget"
    ]
    counts = dict(or_nothing(lambda: _open(project).items()))
    knowledge_keys = list(or_nothing(lambda: _known(project)))
    return {
        "alerts": json.dumps(beyond) if beyond else "",
        "advice": json.dumps(advice) if (advice := or_nothing(lambda: advice_of(entries))) else "",
        "usual": json.dumps(_usual(entries)),
        "running": json.dumps(
            {alert.session: [alert.kind or "", alert.cost_usd, alert.minutes] for alert in running}
        ),
        "open": json.dumps(counts),
        "watched": json.dumps(_files(machine, project)),
        "knowledge": blake2b(json.dumps(knowledge_keys).encode(), digest_size=8).hexdigest()
        if knowledge_keys
        else "",
    }


def _key(what: str, text: str) -> str:
    """The key of an alert; a budget alert is shown once for each day or month: `$9.10 spent in 2026-11-16; …`."""
    return f"{what}.{text.partition(' in ')[2].partition(';')[0]}" if what == "budget" else what


def _usual(entries: list[LedgerEntry]) -> dict[str, dict[str, tuple[float, int]]]:
    """By amount and kind: the 90th percentile, and the number of sessions. '' is for all kinds."""
    likes = Likes(entries)
    kinds = sorted({entry.kind for entry in entries if entry.kind})
    usual_by_amount: dict[str, dict[str, tuple[float, int]]] = {}
    for what in AMOUNTS:
        for kind in ("", *kinds):
            usual = likes.usual("", kind or None, what)
            if usual is not None:
                usual_by_amount.setdefault(what, {})[kind] = (usual.p90, usual.n)
    return usual_by_amount


def _open(project: Project) -> dict[str, int]:
    """The number of to-dos and open questions by branch; '' applies to all, and is counted on each."""
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
    """Instruction files by display name and path: existing ones, and those that may be created."""
    root = str(project.root)
    scope = Here(cwd=root, root=root, home=str(machine.user_home), now=0.0, env=machine.env)
    paths = {one.shown: os.path.relpath(one.path, root) if _within(one.path, root) else one.path
             for one in InstructionsSource().files(scope)}  # fmt: skip
    for name in GUIDES:
        paths.setdefault(name, name)
    for variable, folder, name in PERSONAL:
        base = machine.env.get(variable, "") if variable else ""
        path = os.path.join(base or machine.user_home / folder, name)
        if path not in paths.values():
            paths.setdefault(f"~/{folder}/{name}", str(path))
    return list(paths.items())[:MOST_WATCHED]


def _within(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _known(project: Project) -> list[str]:
    """Conventions and patterns. Facts and files change with every session, and say nothing new about a repository."""
    if not store.known(project):
        return []
    now = store.load(project).now
    keys = [item.key for item in now.conventions] + [item.key for item in now.patterns]
    return sorted(" ".join(key) for key in keys)


QUIET_S = 30 * 60


DAY_S = 24 * 60 * 60


def running_sessions(machine: Machine, project: Project) -> list[str]:
    """Sessions with a hook envelope that have not reported their end."""
    lasts = last_envelopes(project.memory)
    return [last.session for last in lasts if last.event != "SessionEnd" and _alive(machine, last)]


def _alive(machine: Machine, letter: Envelope) -> bool:
    """Whether the session may still be running: its process is alive or, if unknown, it was active recently."""
    try:
        changed = max(os.stat(letter.transcript).st_mtime, letter.time)
    except (OSError, ValueError):
        changed = letter.time
    quiet = machine.now().timestamp() - changed
    if not letter.process or os.name == "nt":
        return quiet < QUIET_S
    # Process ids are reused, so even a live process counts for one day only.
    return runs(letter.process) and quiet < DAY_S


LATELY = timedelta(days=7)


class Watch(Struct, frozen=True, kw_only=True):
    """The current alerts, and what they were compared with."""

    alerts: tuple[Alert, ...]
    sessions: int
    since_days: int


def alerts(
    machine: Machine, project: Project, entries: Sequence[LedgerEntry], live: Sequence[Running]
) -> Watch:
    """Compares live sessions and those of the last week with similar ones, and the spending with the budgets."""
    now = machine.now()
    likes = Likes(entries)
    running = {session.session for session in live}
    past = [_running(entry) for entry in entries if entry.session not in running]
    lately = [session for session in past if session.at and now - LATELY <= session.at <= now]
    all_alerts = [alert for session in live for alert in beyond_usual(session, likes, live=True)]
    all_alerts += [alert for session in lately for alert in beyond_usual(session, likes, live=False)]
    spent = [(session.at, session.cost_usd) for session in (*past, *live)]
    settings = machine.settings(project)
    budgets: tuple[tuple[Period, float], ...] = (
        ("day", settings.budget_day),
        ("month", settings.budget_month),
    )
    for period, limit in budgets:
        if limit > 0 and (alert := over_budget(spent, limit, period, now)):
            all_alerts.append(alert)
    return Watch(alerts=tuple(all_alerts), sessions=len(entries), since_days=LATELY.days)


def _running(entry: LedgerEntry) -> Running:
    return Running(
        session=entry.session,
        kind=entry.kind,
        cost_usd=amount_of(entry, "cost"),
        minutes=amount_of(entry, "time"),
        at=entry.timestamp,
    )


def live_sessions(machine: Machine, project: Project) -> list[Running]:
    """Running sessions as far as hooks have had them read, and captured ones that have no row yet."""
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
