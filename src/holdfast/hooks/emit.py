"""Says something in a host: written down first, so that nothing is told that could not be explained."""

from __future__ import annotations

import os
import time

from holdfast.core import hook_fence
from holdfast.hooks import host_protocol, trace

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.core.place import Place
    from holdfast.hooks.host_protocol import Call
    from holdfast.hooks.prepared import Prepared
    from holdfast.hooks.start_lines import Told


def say(
    told: Told, call: Call, found: Place, rest: Mapping[str, object], before: Told | None = None
) -> bytes:
    """The host's answer, nothing where there is nothing to say; `rest` is for the trace, where `before` is already."""
    every = told.lines if before is None else [*before.lines, *told.lines]
    mine = is_first(every, call, found) if every or call.text("source") == "compact" else True
    lines = [{"text": line, "reason": why} for line, why in told.lines] if mine else []
    nothing = told.nothing or ("" if mine else CLAIMED)
    more = {**rest, "nothing": nothing} if nothing else rest
    tokens = told.tokens if mine else 0
    trace.explain(found.memory, {**entry(call, found), "tokens": tokens, "lines": lines, **more})
    if before is not None:
        told = type(before)(every)
    return spoken(told, call) if every and mine else b""


def spoken(told: Told, call: Call, more: Mapping[str, object] | None = None) -> bytes:
    """Fenced for the model, counted for the person."""
    context = (
        hook_fence.wrap("\n".join(line for line, _ in told.lines), hook_fence.new_id()) if told.lines else ""
    )
    notice = f"holdfast: {_counted(len(told.lines), 'line')}, {_counted(told.tokens, 'token')}"
    return host_protocol.answer(call.host, call.theirs, context, notice if context else "", more or {})


# Hooks of one agent in both scopes run at the same moment, and none can have read what the other is about to say.
CLAIMS = "claims"  # a folder of the memory, with an empty file for what somebody says just now
HELD_S = 3.0  # no hook lives longer: whoever comes later has read what was said
CLAIMED = "another hook of this agent says it at this moment"


def is_first(lines: list[tuple[str, str]], call: Call, found: Place) -> bool:
    """Whether no other hook is saying these lines to this session now; whoever asks first is the one who says them."""
    who = [call.text("agent_id"), call.event]
    if call.event == host_protocol.START:  # a run may be over, and go on in another process, within a second
        who.append(str(host_protocol.process_of(call.host, os.environ)))
    said = "\n".join([*who, *(line for line, _ in lines)]).encode("utf-8", "replace")
    # The same number in every process, which the hash of a text is not, and nothing is loaded for it.
    name = f"{trace.session_name(call.text('session_id'))}.{hash(int.from_bytes(said, 'big')):x}"
    folder = os.path.join(found.memory, CLAIMS)
    try:
        if not _claim(os.path.join(folder, name)):
            return False
        if call.text("source") == "compact":  # what was said before is gone, and may be said again at once
            _release(folder, name)
    except OSError:
        pass  # twice is better than never
    return True


def _release(folder: str, mine: str) -> None:
    for name in os.listdir(folder):
        if name.startswith(mine.partition(".")[0] + ".") and name != mine:
            os.unlink(os.path.join(folder, name))


def _claim(path: str) -> bool:
    for _ in range(3):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return True
        except FileNotFoundError:
            try:
                os.mkdir(os.path.dirname(path), 0o700)
            except FileExistsError:
                pass
        except FileExistsError:
            if not _cleared(path):
                break
    return False


def _cleared(path: str) -> bool:
    """Takes away a claim that nobody can hold any more. Of several who try, none takes one that is new by then."""
    aside = f"{path}.{os.getpid()}"
    try:
        if _is_held(path):
            return False
        os.rename(path, aside)
        if _is_held(aside):
            os.rename(aside, path)
            return False
        os.unlink(aside)
    except FileNotFoundError:
        pass  # somebody else has
    return True


def _is_held(path: str) -> bool:
    return abs(time.time() - os.stat(path).st_mtime) < HELD_S


SEEN = "seen"  # a folder of the memory: how things stood when each session began
REST_S = 300.0  # between two looks at what changed since


def noticed(answer: bytes, prepared: Prepared, call: Call, found: Place) -> bytes:
    """The answer, with what the person should know now; nearly always there is nothing, and nothing is loaded."""
    try:
        if not prepared.meta.get("alerts") and not is_time(seen(found.memory, call)):
            return answer
        from holdfast.hooks import notices

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
