"""Which prepared lines a session is told at its start, by how it starts and by what it has heard already."""

from __future__ import annotations

import os
import time

from holdfast.hooks import trace

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from holdfast.hooks.prepared import Prepared

    Lines = list[tuple[str, str]]  # text and reason

START_TOKENS = 300
SINCE_TOKENS = 150
STUMBLE_TOKENS = 100
OWN_TOKENS = 150
ROUNDED_S = 1.0  # the client tells its own past in whole seconds
TOUCHED_S = 2.0  # Claude Code touches a transcript as it resumes it, just before it asks us

SOURCES = {
    "startup": "startup",
    "clear": "startup",
    "resume": "resume",
    "fork": "resume",
    "compact": "compact",
}


class Told:
    """The lines to say. Without any, `nothing` is the reason; `left_out` are those that did not fit."""

    def __init__(self, lines: Lines, nothing: str = "", left_out: int = 0) -> None:
        self.lines = lines
        self.nothing = "" if lines else nothing
        self.left_out = left_out
        self.tokens = sum(count_tokens(text) for text, _ in lines)


def choose(prepared: Prepared, memory: str, payload: dict[str, object], branch: str) -> Told:
    payload_source = payload.get("source")
    source = SOURCES.get(payload_source if isinstance(payload_source, str) else "", "startup")
    session_id = payload.get("session_id")
    session = session_id if isinstance(session_id, str) else ""
    if source == "compact":
        return _compacted(prepared, session, branch)
    if source == "resume":
        return _resumed(prepared, memory, payload, session, branch)
    lines = prepared.digest("startup", branch)
    # Some hosts keep what was said at a start only as long as they run.
    heard = trace.heard(memory, session) if lines and not payload.get("anew") else set()
    new = [line for line in lines if line[0] not in heard]
    return Told(new, "this session was told all of it already" if lines else "nothing is known here yet")


def _compacted(prepared: Prepared, session: str, branch: str) -> Told:
    """What was said before is gone with the rest, so nothing is left out for having been heard."""
    stumbles, dropped = fitting(prepared.digest("compact", branch), STUMBLE_TOKENS)
    open_items, dropped_items = fitting(prepared.own(session), OWN_TOKENS)
    return Told(
        stumbles + open_items,
        "nothing keeps failing here, and this session left nothing open",
        dropped + dropped_items,
    )


def _resumed(prepared: Prepared, memory: str, payload: dict[str, object], session: str, branch: str) -> Told:
    last = last_at_work(prepared, payload, session)
    if last is None:
        return Told([], "it is not known when this session was last at work")
    # A fork has a new id and does not say whose history it has. What began later cannot be that session.
    changed = prepared.since(last, session, branch, begun=payload.get("source") == "fork")
    # What it was told after its last answer it has not kept: the client writes that down with the next prompt.
    heard = trace.heard(memory, session, last + ROUNDED_S) if changed else set()
    new = [line for line in changed if line[0] not in heard]
    lines, dropped = fitting(new, SINCE_TOKENS)
    if changed and not new:
        return Told([], "this session was told already what changed since")
    return Told(lines, f"nothing changed since {trace.moment(last)}, when this session last worked", dropped)


def last_at_work(prepared: Prepared, payload: dict[str, object], session: str) -> float | None:
    """When the session was last at work: what the client says, else what was captured, else the transcript's time."""
    now = time.time()
    ago = payload.get("seconds_since_last_response")
    if isinstance(ago, (int, float)) and 0 <= ago < now:
        return now - ago
    captured = prepared.last_of(session)
    if captured is not None:
        return captured
    path = payload.get("transcript_path")
    try:
        changed = os.stat(path).st_mtime if isinstance(path, str) and os.path.isabs(path) else now
    except (OSError, ValueError):
        return None
    return changed if changed < now - TOUCHED_S else None


def fitting(lines: Lines, budget: int) -> tuple[Lines, int]:
    """The lines until the budget is spent, and how many are left: what matters less is not put in to fill it up."""
    fitted, used = [], 0
    for line in lines:
        tokens = count_tokens(line[0])
        if tokens > budget:
            continue  # it would fit nowhere, and must not stand in the way of the others
        if used + tokens > budget:
            break
        used += tokens
        fitted.append(line)
    return fitted, len(lines) - len(fitted)


def count_tokens(text: str) -> int:
    """The same as `core/words.py`, without its expression: pieces of words, of numbers, and single signs."""
    count = letters = digits = 0
    for sign in text:
        if "a" <= sign <= "z" or "A" <= sign <= "Z":
            if not letters % 6:
                count += 1
            letters += 1
            digits = 0
        elif sign.isdecimal():
            if not digits % 3:
                count += 1
            digits += 1
            letters = 0
        else:
            letters = digits = 0
            if not sign.isspace():
                count += 1
    return count
