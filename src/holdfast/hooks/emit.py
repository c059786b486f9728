"""Writes the hook's answer to the host. The trace is written first, so that every injected line can be explained."""

from __future__ import annotations

from holdfast.core import fence
from holdfast.hooks import host_protocol, trace
from holdfast.hooks.trace import CLAIMED, entry, is_first, is_time, seen

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call
    from holdfast.hooks.prepared import Prepared
    from holdfast.hooks.start_lines import Told


def say(
    told: Told, call: Call, found: Place, rest: Mapping[str, object], before: Told | None = None
) -> bytes:
    """The answer for the host, empty without lines; `rest` goes to the trace, which already has `before`."""
    all_lines = told.lines if before is None else [*before.lines, *told.lines]
    is_mine = is_first(all_lines, call, found) if all_lines or call.text("source") == "compact" else True
    nothing = told.nothing or ("" if is_mine else CLAIMED)
    trace_fields = {**rest, "nothing": nothing} if nothing else rest
    trace.record(
        found.memory,
        entry(call, found),
        told.lines if is_mine else (),
        told.tokens if is_mine else 0,
        **trace_fields,
    )
    if before is not None:
        told = type(before)(all_lines)
    return spoken(told, call) if all_lines and is_mine else b""


def spoken(told: Told, call: Call, more: Mapping[str, object] | None = None) -> bytes:
    """The answer with the lines fenced for the model, and their number for the person."""
    context = fence.fenced("\n".join(line for line, _ in told.lines), fence.new_id()) if told.lines else ""
    notice = f"holdfast: {_counted(len(told.lines), 'line')}, {_counted(told.tokens, 'token')}"
    return host_protocol.answer(call.host, call.theirs, context, notice if context else "", more or {})


def noticed(answer: bytes, prepared: Prepared, call: Call, found: Place) -> bytes:
    """The answer with notices for the person. There are almost never any, and then nothing is imported."""
    try:
        if not (
            prepared.meta.get("alerts")
            or (call.event == "UserPromptSubmit" and prepared.meta.get("advice"))
            or is_time(seen(found.memory, call))
        ):
            return answer
        from holdfast.hooks import notices

        lines = notices.due(prepared, call, found)
        return notices.said(answer, lines, call, found) if lines else answer
    except Exception as error:  # a failed notice must not suppress the lines for the model
        confess(found, call.event, error)
        return answer


def fail(found: Place, call: Call, error: Exception) -> None:
    """Records an error in both traces; if that fails too, the session still continues."""
    confess(found, call.event, error)
    try:
        nothing = "what was prepared could not be told; hook.log says why, and it is being prepared again"
        trace.record(found.memory, entry(call, found), nothing=nothing)
    except Exception:
        pass


def confess(found: Place | None, event: str, error: BaseException) -> None:
    """Logs a line for `doctor` if there is a memory; never raises."""
    if found is None:
        return
    try:
        trace.log(found.memory, f"{event}: {type(error).__name__}: {error}")
    except BaseException:
        pass


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
