"""Whether a session is in the holdout: a random share of sessions, drawn with a secret key, gets nothing injected.

A session is drawn once, at its first event, and the result is recorded in `<memory>/holdout.jsonl`, so that a session
that is resumed keeps its arm even if the share has changed. docs/contributing/roi-figures.md describes the file.
"""

from __future__ import annotations

import os
import time

from holdfast.core.reading import bytes_of, small_text
from holdfast.hooks import trace
from holdfast.hooks.host_protocol import MOMENT, START

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call

RECORD, KEY = "holdout.jsonl", "holdout.key"
HELD, TOLD = "held", "told"
# Why a session has its arm. Only sessions that were drawn are compared.
DRAWN = "drawn"
FORKED = "forked"  # it continues another session, and with it what that session saw
BEFORE = "before"  # it began before the holdout
REASON = "this session is in the holdout: it sees no memory (holdfast holdout status)"
MOST_RECORD = 8 << 20  # bytes: some 60,000 sessions
MOST_HEAD = 256 * 1024  # bytes of a transcript, in which a fork names its parent
_CONTINUED = ("resume", "compact", "fork")
_PARENTS = ("parent_session_id", "forked_from_id")
_PARENT_MARKS = (b'"forked_from_id":"', b'"forkedFrom":{"sessionId":"')


def is_held(share: str, call: Call, found: Place) -> bool:
    """Whether this session gets nothing. `share` is what was prepared. Records the arm of a new session."""
    session = call.text("session_id")
    if not session:
        return False
    data = bytes_of(os.path.join(found.memory, RECORD), MOST_RECORD) or b""
    arm = recorded(data, session)
    if arm or call.event == MOMENT:  # a session that has no arm at a tool call began before the holdout
        return arm == HELD
    key = small_text(os.path.join(found.memory, KEY)).strip()
    if not key or len(data) >= MOST_RECORD:
        return False
    arm, basis = _new_arm(data, share, key, call, found)
    entry = {
        "time": trace.moment(time.time()),
        "session": session,
        "arm": arm,
        "basis": basis,
        "share": float(share),
    }
    from holdfast.core.bare_json import dumps

    line = dumps(entry, ensure_ascii=False) + "\n"
    # Of two hooks that record the same session at once, the first line counts.
    trace.append(os.path.join(found.memory, RECORD), line.encode("utf-8", "replace"), 2 * MOST_RECORD)
    return arm == HELD


def recorded(data: bytes, session: str) -> str:
    """The arm of a session by the first line that names it; '' if none does."""
    from holdfast.core.bare_json import dumps, loads

    mark = dumps(session, ensure_ascii=False).encode("utf-8", "replace")
    start = data.find(mark)
    while start >= 0:
        first = data.rfind(b"\n", 0, start) + 1
        end = data.find(b"\n", start)
        try:
            entry = loads(data[first : end if end >= 0 else len(data)])
            if entry["session"] == session and entry["arm"] in (HELD, TOLD):
                return str(entry["arm"])
        except (ValueError, RecursionError, LookupError, TypeError):
            pass  # a torn line
        start = data.find(mark, start + 1)
    return ""


def _new_arm(data: bytes, share: str, key: str, call: Call, found: Place) -> tuple[str, str]:
    session, source = call.text("session_id"), call.text("source")
    parent = _parent(call)
    if parent and parent != session:
        return recorded(data, parent) or TOLD, FORKED
    if source == "fork":
        return drawn(key, session, share), FORKED
    if (call.event == START and source in _CONTINUED) or trace.told_to(found.memory, session):
        return TOLD, BEFORE
    return drawn(key, session, share), DRAWN


def drawn(key: str, session: str, share: str) -> str:
    """The arm of a session by its id: the same whenever it is asked, and unpredictable without the key."""
    try:
        from _blake2 import blake2b  # `hashlib` takes milliseconds to load
    except ImportError:
        from hashlib import blake2b

    digest = blake2b(session.encode("utf-8", "replace"), key=key.encode()[:64], digest_size=8).digest()
    return HELD if int.from_bytes(digest, "big") < float(share) * 2**64 else TOLD


def _parent(call: Call) -> str:
    """The session that this one was forked from, if the host says so, in its payload or in the transcript."""
    for name in _PARENTS:
        if parent := call.text(name):
            return parent
    path = call.text("transcript_path")
    head = bytes_of(path, MOST_HEAD) if os.path.isabs(path) and "\0" not in path else None
    for mark in _PARENT_MARKS:
        # Within a text the quotes are escaped, so no prompt can contain these words.
        _, found, rest = (head or b"").partition(mark)
        if found:
            return rest.partition(b'"')[0].decode("utf-8", "replace")
    return ""
