"""Prints Claude Code's status line: open work, the lines injected into the session, and its cost so far.

It runs at every refresh, so it uses only the prepared file and the host's payload.
"""

from __future__ import annotations

import os
import sys

from holdfast.core import place
from holdfast.hooks import payload as host_payload
from holdfast.hooks import trace
from holdfast.hooks.hook import end_in_time, switched_off

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from typing import Any

    from holdfast.hooks.prepared import Prepared

LEAST_TOLD = 0.01  # dollars; less is not shown
MOST_TOLD = 1e6  # more is an error, and would fill the line


def run() -> None:
    """Runs the whole process: ends in time with exit code 0, and prints a line or nothing."""
    import _thread

    _thread.start_new_thread(end_in_time, ())
    try:
        line = line_for(host_payload.read(sys.stdin.buffer), dict(os.environ))
        if line:
            sys.stdout.buffer.write(f"{line}\n".encode())
            sys.stdout.buffer.flush()
    except BaseException:
        pass
    os._exit(0)


def line_for(raw: bytes, env: dict[str, str]) -> str:
    payload, problem = host_payload.parse(raw)
    if problem or switched_off(env):
        return ""
    directory = _directory(payload)
    project = place.find(directory, place.home_of(env))
    if project is None or not os.path.exists(os.path.join(project.memory, "hot.db")):
        return ""
    from holdfast.hooks.prepared import Prepared

    prepared = Prepared(project.memory, older=True)
    if not prepared.enabled or prepared.excluded([directory]):
        return ""
    if prepared.off([directory])[1]:
        return "holdfast: off here"
    session_id = payload.get("session_id")
    session = session_id if isinstance(session_id, str) else ""
    parts = [
        _open(prepared, project.branch()),
        _told(project.memory, session),
        *_amounts(prepared, payload, session),
    ]
    return f"holdfast: {' · '.join(part for part in parts if part) or 'nothing known here yet'}"


def _directory(payload: dict[str, Any]) -> str:
    """The directory that the session belongs to, else the current one."""
    workspace = payload.get("workspace")
    places = workspace if isinstance(workspace, dict) else {}
    for value in (places.get("project_dir"), places.get("current_dir"), payload.get("cwd")):
        if isinstance(value, str) and os.path.isabs(value):
            return value
    return os.getcwd()


def _open(prepared: Prepared, branch: str) -> str:
    counts = _prepared(prepared, "open")
    count = counts.get(branch, counts.get("", 0))
    return f"{count} open" if count else ""


def _told(memory: str, session: str) -> str:
    count = trace.lines_told(memory, session)
    return f"told {count} line{'s' if count != 1 else ''}" if count else ""


def _amounts(prepared: Prepared, payload: dict[str, Any], session: str) -> list[str]:
    """The host's cost, else the last recorded one; working time only when it is unusual."""
    kind, cost, minutes = (_prepared(prepared, "running").get(session) or ["", None, None])[:3]
    payload_cost = payload.get("cost")
    live = payload_cost.get("total_cost_usd") if isinstance(payload_cost, dict) else None
    if isinstance(live, (int, float)) and not isinstance(live, bool) and 0 <= live < MOST_TOLD:
        cost = live
    usual = _prepared(prepared, "usual")
    parts = []
    if cost is not None and cost >= LEAST_TOLD:
        most = _most(usual, "cost", kind)
        text = f"${cost:,.2f}"
        if most:
            text += f" over p90 ${most:,.2f}!" if cost > most else f" (p90 ${most:,.2f})"
        parts.append(text)
    most = _most(usual, "time", kind)
    if minutes is not None and most and minutes > most:
        parts.append(f"{_duration(minutes)} over p90 {_duration(most)}!")
    return parts


def _duration(minutes: float) -> str:
    return f"{minutes:,.0f}min" if minutes >= 1 else f"{minutes * 60:.0f}s"


def _most(usual: dict[str, Any], what: str, kind: str) -> float:
    by_kind = usual.get(what) or {}
    values = by_kind.get(kind) or by_kind.get("") or [0.0]
    return float(values[0])


def _prepared(prepared: Prepared, name: str) -> dict[str, Any]:
    from holdfast.core.bare_json import loads

    value = loads(prepared.meta.get(name) or "{}")
    return value if isinstance(value, dict) else {}
