"""Chooses the prepared lines for the start of a session, by how it starts and what it has already seen."""

from __future__ import annotations

import os
import time

from holdfast.hooks import trace

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from holdfast.hooks.prepared import Prepared

    Lines = list[tuple[str, str]]  # text and reason

START_TOKENS = 150
LEFT_TOKENS = 90  # of them: next steps, and what the last session left
STUMBLE_TOKENS = 50  # of them: what keeps failing
ALONE_TOKENS = 350  # in hosts without a hook for prompts
SINCE_TOKENS = 80  # when a session is resumed
OWN_TOKENS = 150  # after a compaction
ROUNDED_S = 1.0  # the client reports times in whole seconds
TOUCHED_S = 2.0  # Claude Code touches a transcript when it resumes it, just before it calls us

SOURCES = {
    "startup": "startup",
    "clear": "startup",
    "resume": "resume",
    "fork": "resume",
    "compact": "compact",
}


class Told:
    """The lines to inject. Without any, `nothing` is the reason; `left_out` counts those that did not fit."""

    def __init__(self, lines: Lines, nothing: str = "", left_out: int = 0) -> None:
        self.lines = lines
        self.nothing = "" if lines else nothing
        self.left_out = left_out
        self.tokens = sum(count_tokens(text) for text, _ in lines)


def choose(
    prepared: Prepared, memory: str, payload: dict[str, object], branch: str, alone: bool = False
) -> Told:
    """The lines for a start; `alone`: this host has no hook for prompts."""
    payload_source = payload.get("source")
    source = SOURCES.get(payload_source if isinstance(payload_source, str) else "", "startup")
    session_id = payload.get("session_id")
    session = session_id if isinstance(session_id, str) else ""
    if source == "compact":
        _forget_files(memory, session)
        return _compacted(prepared, session, branch)
    if source == "resume":
        return _resumed(prepared, memory, payload, session, branch)
    lines = (prepared.digest("alone", branch) if alone else []) or prepared.digest("startup", branch)
    # Some hosts keep the lines of a start only while they run.
    heard = trace.heard(memory, session) if lines and not payload.get("anew") else set()
    new = [line for line in lines if line[0] not in heard]
    return Told(new, "this session was told all of it already" if lines else "nothing is known here yet")


def _forget_files(memory: str, session: str) -> None:
    """A compaction removes the lines about files, so each file may be told about again."""
    try:
        os.unlink(trace.files_told(memory, session))
    except OSError:
        pass


def _compacted(prepared: Prepared, session: str, branch: str) -> Told:
    """The compaction removed the earlier lines, so none is left out for having been seen."""
    own, dropped = fitting(prepared.own(session), OWN_TOKENS)
    room = min(STUMBLE_TOKENS, OWN_TOKENS - sum(count_tokens(text) for text, _ in own))
    stumbles, dropped_stumbles = fitting(prepared.digest("compact", branch), room)
    nothing = "nothing keeps failing here, and this session settled nothing and left nothing open"
    return Told(own + stumbles, nothing, dropped + dropped_stumbles)


def _resumed(prepared: Prepared, memory: str, payload: dict[str, object], session: str, branch: str) -> Told:
    last = last_at_work(prepared, payload, session)
    if last is None:
        return Told([], "it is not known when this session was last at work")
    # A fork has a new id and does not name its parent session. One that began later cannot be the parent.
    changed = prepared.since(last, session, branch, begun=payload.get("source") == "fork")
    # Lines injected after its last answer are lost: the client saves them only with the next prompt.
    heard = trace.heard(memory, session, last + ROUNDED_S) if changed else set()
    new = [line for line in changed if line[0] not in heard]
    lines, dropped = fitting(new, SINCE_TOKENS)
    if changed and not new:
        return Told([], "this session was told already what changed since")
    return Told(lines, f"nothing changed since {trace.moment(last)}, when this session last worked", dropped)


def last_at_work(prepared: Prepared, payload: dict[str, object], session: str) -> float | None:
    """When the session was last active: from the client, else from capture, else the transcript's time."""
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
    """The lines until the budget is spent, and how many are left; shorter, less important ones do not fill it up."""
    fitted, used = [], 0
    for line in lines:
        tokens = count_tokens(line[0])
        if tokens > budget:
            continue  # it never fits, and must not block the others
        if used + tokens > budget:
            break
        used += tokens
        fitted.append(line)
    return fitted, len(lines) - len(fitted)


def count_tokens(text: str) -> int:
    """The same count as `core/tokens.py`, without a regular expression."""
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
