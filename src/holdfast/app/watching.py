"""What hooks and the status line say of a running session: what is usual, what is beyond it, and what to look at.

All of it is prepared, for a hook can only look things up (`hot/notices.py`, `hot/statusline.py`).
"""

from __future__ import annotations

import json
import os
from functools import partial
from hashlib import blake2b

from holdfast.advise.alerts import AMOUNTS, Likes
from holdfast.app.advising import alerts, live_sessions
from holdfast.app.ledger import read_ledger, rows
from holdfast.app.meanwhile import or_nothing
from holdfast.app.recovery import state_of
from holdfast.app.wiring import Machine
from holdfast.context.contract import Here
from holdfast.context.instructions import PERSONAL, InstructionsSource
from holdfast.model.guides import GUIDES
from holdfast.model.ledger import LedgerEntry
from holdfast.store import knowledge
from holdfast.store.layout import Project

MOST_WATCHED = 60
MOST_RUNNING = 50


def watched(machine: Machine, project: Project) -> dict[str, str]:
    """Rows of `meta`, each JSON but for `knowledge`; what cannot be read is left out, and asked for in vain."""
    entries = list(or_nothing(partial(_rows, project)))
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


def _rows(project: Project) -> list[LedgerEntry]:
    return rows(read_ledger(project))


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
    if not knowledge.known(project):
        return []
    now = knowledge.load(project).now
    keys = [one.key for one in now.conventions] + [one.key for one in now.patterns]
    return sorted(" ".join(key) for key in keys)
