"""Says something in a host: written down first, so that nothing is told that could not be explained."""

from __future__ import annotations

import os
import time

from holdfast.hot import dialect, fence, trace

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.hot.dialect import Call
    from holdfast.hot.place import Place
    from holdfast.hot.prepared import Prepared
    from holdfast.hot.telling import Told


def say(
    told: Told, call: Call, found: Place, rest: Mapping[str, object], before: Told | None = None
) -> bytes:
    """The host's answer, nothing where there is nothing to say; `rest` is for the trace, where `before` is already."""
    lines = [{"text": line, "reason": why} for line, why in told.lines]
    more = {**rest, "nothing": told.nothing} if told.nothing else rest
    trace.explain(found.memory, {**entry(call, found), "tokens": told.tokens, "lines": lines, **more})
    if before is not None:
        told = type(before)([*before.lines, *told.lines])
    return spoken(told, call) if told.lines else b""


def spoken(told: Told, call: Call, more: Mapping[str, object] | None = None) -> bytes:
    """Fenced for the model, counted for the person."""
    context = fence.wrap("\n".join(line for line, _ in told.lines), fence.new_id()) if told.lines else ""
    notice = f"holdfast: {_counted(len(told.lines), 'line')}, {_counted(told.tokens, 'token')}"
    return dialect.answer(call.host, call.theirs, context, notice if context else "", more or {})


SEEN = "seen"  # a folder of the memory: how things stood when each session began
REST_S = 300.0  # between two looks at what changed since


def noticed(answer: bytes, prepared: Prepared, call: Call, found: Place) -> bytes:
    """The answer, with what the person should know now; nearly always there is nothing, and nothing is loaded."""
    try:
        if not prepared.meta.get("alerts") and not is_time(seen(found.memory, call)):
            return answer
        from holdfast.hot import notices

        lines = notices.due(prepared, call, found)
        return notices.said(answer, lines, call, found) if lines else answer
    except Exception as error:  # what is for the person must not keep anything from the model
        confess(found, call.event, error)
        return answer


def seen(memory: str, call: Call) -> str:
    return os.path.join(memory, SEEN, f"{trace.session_name(call.text('session_id'))}.json")


def is_time(path: str) -> bool:
    """Whether somebody looked, and that was long enough ago."""
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < REST_S
    except OSError:
        return False


def fail(found: Place, call: Call, error: Exception) -> None:
    """Both traces say it; should that be what fails, the session still goes on."""
    confess(found, call.event, error)
    try:
        nothing = "what was prepared could not be told; hook.log says why, and it is being prepared again"
        trace.explain(found.memory, {**entry(call, found), "tokens": 0, "lines": [], "nothing": nothing})
    except Exception:
        pass


def entry(call: Call, found: Place) -> dict[str, object]:
    return {
        "host": call.host,
        "event": call.event,
        "session": call.text("session_id"),
        "source": call.text("source"),
        "branch": found.branch(),
    }


def confess(found: Place | None, event: str, error: BaseException) -> None:
    """A line for `doctor`, if there is a place for it; nothing else may come of it."""
    if found is None:
        return
    try:
        trace.log(found.memory, f"{event}: {type(error).__name__}: {error}")
    except BaseException:
        pass


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
