"""Detects a compaction that the host does not report: a summary has replaced the history in its transcript.

Gemini CLI calls its compaction hook before every request, whether it compacts or not, so we do not use that hook.
"""

from __future__ import annotations

import os

from holdfast.core.reading import bytes_of
from holdfast.hooks import host_protocol

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call
    from holdfast.hooks.prepared import Prepared
    from holdfast.hooks.prompt import Heard
    from holdfast.hooks.start_lines import Told

MOST_READ = 16 << 20  # bytes added since the last prompt
REPLACED, SUMMARY = b'{"$set":{"messages":', b"<state_snapshot>"


def lost(prepared: Prepared, call: Call, found: Place, heard: Heard) -> Told | None:
    """The lines to inject again if the session was compacted since its last prompt, which removed all earlier ones."""
    from holdfast.hooks.start_lines import choose
    from holdfast.hooks.trace import entry, record

    if heard.read is None or not happened(call.text("transcript_path"), heard.read):
        return None
    start_lines = choose(prepared, found.memory, {**call.payload, "source": "compact"}, found.branch())
    heard.lines, heard.files = {line for line, _ in start_lines.lines}, set()
    trace_entry = {**entry(call, found), "event": host_protocol.START, "source": "compact"}
    nothing = {"nothing": start_lines.nothing} if start_lines.nothing else {}
    record(found.memory, trace_entry, start_lines.lines, start_lines.tokens, **nothing)
    return start_lines


def happened(path: str, since: int) -> bool:
    """Whether a transcript shows a compaction after the first `since` bytes."""
    data = bytes_of(path, MOST_READ, start=since)
    if data is None:
        return False
    start = data.find(REPLACED)
    while start >= 0:
        end = data.find(b"\n", start)
        if data.find(SUMMARY, start, end if end >= 0 else len(data)) >= 0:
            return True
        start = data.find(REPLACED, start + 1)
    return False


def read_so_far(call: Call) -> dict[str, object]:
    """The length of the transcript, for the trace."""
    try:
        return {"read": os.stat(call.text("transcript_path")).st_size}
    except (OSError, ValueError):
        return {}
