"""Rebuilds a prepared file that is unreadable or too old in a child process, and waits as long as a hook may.

The child is not stopped when the hook has to answer: it finishes for the next hook.
"""

from __future__ import annotations

import os
import sys
import time

from holdfast.core.processes import CAPTURE, ISOLATED, detach
from holdfast.core.reading import json_of
from holdfast.hooks import trace
from holdfast.hooks.host_protocol import MOMENT, PROMPT
from holdfast.hooks.prepared import Prepared, Unreadable

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call

RENEWED_S = 2.0
MOST_SWITCHES = 1 << 20  # bytes
RESERVE_S = 0.5  # seconds of the hook's time, kept for the answer
NOTHING = "what was prepared could not be read; hook.log says why, and it is being made anew"


def opened_again(
    error: Unreadable,
    call: Call,
    found: Place,
    until: float,
    envelope: Mapping[str, object],
    env: dict[str, str],
) -> Prepared | None:
    """The rebuilt file; None if that takes too long. Nothing is lost then: the envelope says where to look."""
    from holdfast.hooks.emit import confess
    from holdfast.hooks.trace import entry

    if not error.older:
        confess(found, call.event, error)
    if not _is_enabled(found):
        return None
    # The host waits for these; the next call uses the rebuilt file. After an upgrade the first prompt waits once.
    if call.event == MOMENT or (call.event == PROMPT and not error.older):
        if call.event == PROMPT:
            detach([*CAPTURE, found.memory, found.root, "prepare"], env)
        return None
    prepare_now(found, until, env, "prepare")
    try:
        return Prepared(found.memory)
    except Unreadable:
        pass
    if call.text("session_id") and not call.payload.get("agent_id"):
        trace.post(found.memory, {**envelope})  # the child checks whether this directory may be captured
    detach([*CAPTURE, found.memory, found.root], env)
    trace.record(found.memory, entry(call, found), nothing=NOTHING)
    return None


def prepare_now(found: Place, until: float, env: dict[str, str], *only: str) -> bool:
    """Whether the child finished in time. It continues in any case."""
    import subprocess

    command = [sys.executable, *ISOLATED, *CAPTURE, found.memory, found.root, *only]
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(
        command, env=env, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=os.name != "nt"
    )
    try:
        child.wait(max(0.0, min(RENEWED_S, until - RESERVE_S - time.monotonic())))
    except subprocess.TimeoutExpired:
        return False
    return True


def _is_enabled(found: Place) -> bool:
    """Whether the project is enabled, from the file that `hot.db` is made from."""

    try:
        switches = json_of(os.path.join(found.memory, "switches.json"), MOST_SWITCHES)
        return switches["enabled"] is True
    except (OSError, ValueError, LookupError, TypeError):
        return False
