"""Answers an event of a host: injects lines, leaves an envelope for the child to capture, prepares again if needed."""

from __future__ import annotations

import os
import time

from holdfast.core import place
from holdfast.hooks import host_protocol, trace
from holdfast.hooks.host_protocol import MOMENT, PROMPT, START, STOP, Call

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from holdfast.core.place import Place
    from holdfast.hooks.prepared import Prepared
    from holdfast.hooks.prompt import Heard
    from holdfast.hooks.start_lines import Told

MOST_CONTEXT = 9_000  # characters; Claude Code accepts 9,900 and puts longer text into a file


def respond(
    call: Call, problem: str, directories: list[str], found: Place, env: dict[str, str], until: float
) -> bytes:
    """The answer to an event; `until` is the deadline."""
    event, payload = call.event, call.payload
    prepared = _opened(call, directories, found, env, until)
    if prepared is None or not prepared.enabled:
        return b""
    if problem:
        trace.log(found.memory, f"{event}: {problem}")
        return b""
    if payload.get("agent_id") and event != MOMENT:
        return b""
    stale = prepared.meta.get("config") != place.stamp(os.path.join(place.home_of(env), "config.toml"))
    if prepared.excluded(directories):
        if stale and event != MOMENT:  # the new configuration may no longer exclude it
            from holdfast.core.processes import CAPTURE, detach

            detach([*CAPTURE, found.memory, found.root], env)
        return b""
    no_capture, no_inject = prepared.off(directories)
    held = not no_inject and _is_held(prepared, call, found)
    if event == MOMENT:  # frequent: preparing again waits for the stop
        if stale or no_inject or held:
            return b""
        from holdfast.hooks import moment

        return moment.respond(prepared, call, directories, found)
    answer = b""
    if event == PROMPT:
        wanted = False
        if not no_inject and call.heard:
            try:
                if not stale:
                    prepared = _as_edited(prepared, found, env, until)
                answer, wanted = _silence(call, found) if held else _prompt(prepared, call, found, stale)
                answer = _noticed(answer, prepared, call, found)
            except Exception as error:  # the prompt continues, and the unreadable file is prepared again
                _fail(found, call, error)
                stale = True
        if not no_capture:
            answer, kept = _remembered(answer, call, directories, found, env)
            wanted = wanted or kept
        no_capture = True  # a stop leaves an envelope; a prompt has nothing else to add
    elif event == START:
        wanted = trace.waiting(found.memory, payload.get("session_id")) and not no_capture
        if not no_capture:  # first: a session killed before it leaves an envelope is lost
            trace.post(found.memory, _envelope(call, directories, env))
        if not (no_capture and no_inject):
            try:
                if not (stale or no_inject):
                    crashed = (
                        not no_capture and wanted and trace.ended(found.memory, payload.get("session_id"))
                    )
                    prepared = _renewed(prepared, found, env, until, crashed)
                if call.heard:
                    answer = _start(prepared, call, found, _why_not(stale, no_inject, held))
                    _begin(prepared, call, found)
            except Exception as error:  # the session is captured even if nothing can be injected
                _fail(found, call, error)
                stale = True
    else:
        wanted = not no_capture
        if event == STOP and not (stale or no_inject):
            answer = _noticed(b"", prepared, call, found)
            trace.leave(call, found)
    if not no_capture and event != START:
        trace.post(found.memory, _envelope(call, directories, env))
    if wanted or stale:
        from holdfast.core.processes import CAPTURE, detach

        detach([*CAPTURE, found.memory, found.root], env)
    return answer


def _opened(
    call: Call, directories: list[str], found: Place, env: dict[str, str], until: float
) -> Prepared | None:
    """The prepared file. An unreadable one is rebuilt, or no stop would ever be captured again."""
    from holdfast.hooks.prepared import Prepared, Unreadable

    try:
        return Prepared(found.memory)
    except Unreadable as error:
        from holdfast.hooks.rebuild import opened_again

        return opened_again(error, call, found, until, _envelope(call, directories, env), env)


def _renewed(prepared: Prepared, found: Place, env: dict[str, str], until: float, crashed: bool) -> Prepared:
    """Prepares again if the memory was edited by hand, or on a new day, because old state is marked as old.

    If a session ended without a stop event, it is captured first: this session continues from what it left.
    """
    today = prepared.meta.get("prepared", "")[:10] == time.strftime("%Y-%m-%d", time.gmtime())
    if not crashed and today:
        return _as_edited(prepared, found, env, until)
    from holdfast.hooks.rebuild import prepare_now

    if not prepare_now(found, until, env, *([] if crashed else ["prepare"])):
        return prepared  # an old file is better than none
    return type(prepared)(found.memory)


def _as_edited(prepared: Prepared, found: Place, env: dict[str, str], until: float) -> Prepared:
    """Prepares again if a person changed the memory: what they write counts at the next prompt."""
    from holdfast.hooks.hand_edits import changed

    if not changed(prepared, found):
        return prepared
    from holdfast.hooks.rebuild import prepare_now

    return type(prepared)(found.memory) if prepare_now(found, until, env, "prepare") else prepared


def _is_held(prepared: Prepared, call: Call, found: Place) -> bool:
    """Whether this session is in the holdout; nothing is imported unless the person has set one."""
    share = prepared.meta.get("holdout")
    if not share:
        return False
    from holdfast.hooks.holdout import is_held

    try:
        return is_held(share, call, found)
    except Exception as error:  # a session that cannot be recorded cannot be compared: it is no part of it
        from holdfast.hooks.emit import confess

        confess(found, call.event, error)
        return False


def _silence(call: Call, found: Place) -> tuple[bytes, bool]:
    """The answer to a prompt of a session in the holdout, which only the trace sees."""
    from holdfast.hooks.emit import say
    from holdfast.hooks.start_lines import Told

    if not call.text("prompt").strip():
        return b"", False
    return say(Told([], _why_not(False, False, True)), call, found, {}), False


def _why_not(stale: bool, no_inject: bool, held: bool) -> str:
    if no_inject:
        return "injection is switched off in this directory (holdfast agents on --inject)"
    if held:
        from holdfast.hooks.holdout import REASON

        return REASON
    # This directory may just have been excluded; only the application can read that file.
    return "the personal configuration has changed and is being prepared again" if stale else ""


def _start(prepared: Prepared, call: Call, found: Place, reason: str) -> bytes:
    from holdfast.hooks.emit import say
    from holdfast.hooks.start_lines import Told, choose, fitting

    context = (
        Told([], reason)
        if reason
        else choose(prepared, found.memory, call.payload, found.branch(), host_protocol.is_alone(call.host))
    )
    most = _most(call)
    lines = (
        context.lines
        if reason
        else _with_changes(found.reachable(context.lines), most, prepared, call, found)
    )
    if lines is not context.lines:
        fitted, dropped = fitting(lines, most)
        context = Told(fitted, context.nothing, context.left_out + dropped)
    if context.lines and _own(call, found):
        from holdfast.hooks.own_reading import unread

        context = Told(unread(context.lines, found.memory, call.host), context.nothing, context.left_out)
    if sum(len(line) for line, _ in context.lines) > MOST_CONTEXT:
        context = Told([], "the digest is too long")
    rest: dict[str, object] = {"left_out": context.left_out} if context.left_out else {}
    return say(context, call, found, rest)


def _most(call: Call) -> int:
    """The tokens of a start."""
    from holdfast.hooks import start_lines

    source = start_lines.SOURCES.get(call.text("source"), "startup")
    if source == "resume":
        return start_lines.SINCE_TOKENS
    alone = source == "startup" and host_protocol.is_alone(call.host)
    return start_lines.ALONE_TOKENS if alone else start_lines.START_TOKENS


def _with_changes(
    lines: list[tuple[str, str]], most: int, prepared: Prepared, call: Call, found: Place
) -> list[tuple[str, str]]:
    """The lines of a start with what changed around the session: first when it is resumed, else last, if it fits."""
    from holdfast.hooks import notices
    from holdfast.hooks.start_lines import SOURCES, count_tokens

    source = SOURCES.get(call.text("source"), "startup")
    if source == "resume":
        return notices.since_it_worked(prepared, call, found) + lines
    if source == "startup":
        changed = notices.since_the_last(prepared, call, found)
        if changed and changed[0][0] in trace.heard(found.memory, call.text("session_id")):
            return lines
        if changed and sum(count_tokens(text) for text, _ in lines + changed) <= most:
            return lines + changed
    return lines


def _prompt(prepared: Prepared, call: Call, found: Place, stale: bool) -> tuple[bytes, bool]:
    """The answer, and whether a file that a lesson depends on has changed: the child checks it."""
    from holdfast.hooks.emit import say
    from holdfast.hooks.prompt import Answered, choose, heard_by

    prompt = call.text("prompt")
    if not prompt.strip():
        return b"", False
    # A payload may contain a lone surrogate, which SQLite rejects.
    prompt = prompt.encode("utf-8", "replace").decode()
    session = call.text("session_id").encode("utf-8", "replace").decode()
    heard = heard_by(found.memory, session)
    repeated, rest = (None, {}) if stale else _after_compaction(prepared, call, found, heard)
    if stale:
        answer = Answered("", [], _why_not(stale, False, False))
    else:
        branch = found.branch()
        project = prepared.project_of(session, branch)
        cwd = call.text("cwd")
        answer = choose(
            prepared.db,
            prompt,
            session,
            heard,
            found.root,
            project=project,
            branch=branch,
            cwd=cwd,
            memory=found.memory,
            as_of=call.now,
            own=_own(call, found),
        )
    rest |= {"class": answer.kind, **({"files": answer.files} if answer.files else {})}
    rest |= {"left_out": answer.left_out} if answer.left_out else {}
    return say(answer, call, found, rest, repeated), answer.changed


def _remembered(
    answer: bytes, call: Call, directories: list[str], found: Place, env: dict[str, str]
) -> tuple[bytes, bool]:
    """The answer with a line about what the person asks to remember, and whether the child has it to keep."""
    prompt = call.text("prompt")
    if not (prompt.startswith("# ") or "remember:" in prompt[: host_protocol.MOST_ASKED].lower()):
        return answer, False  # nearly every prompt, and then nothing is imported
    try:
        from holdfast.hooks import remember

        return remember.keep(answer, call, found, _envelope(call, directories, env))
    except Exception as error:  # the prompt continues
        _fail(found, call, error)
        return answer, False


def _own(call: Call, found: Place) -> set[str]:
    """The ids of what the host reads by itself; nothing is imported where nothing was taken from its files."""
    if not os.path.exists(os.path.join(found.memory, "imported.json")):
        return set()
    from holdfast.hooks.own_reading import read_by

    return read_by(found.memory, call.host)


def _after_compaction(
    prepared: Prepared, call: Call, found: Place, heard: Heard
) -> tuple[Told | None, dict[str, object]]:
    """Lines to inject again after a compaction that the host does not report, and trace fields for the next prompt."""
    if call.host not in host_protocol.UNTOLD_COMPACTION:
        return None, {}
    from holdfast.hooks.compaction import lost, read_so_far

    return lost(prepared, call, found, heard), read_so_far(call)


def _noticed(answer: bytes, prepared: Prepared, call: Call, found: Place) -> bytes:
    from holdfast.hooks.emit import noticed

    return noticed(answer, prepared, call, found)


def _begin(prepared: Prepared, call: Call, found: Place) -> None:
    from holdfast.hooks import notices
    from holdfast.hooks.emit import confess

    try:
        notices.begun(prepared, call, found)
    except Exception as error:  # only the notices about changes are missing then
        confess(found, call.event, error)


def _fail(found: Place, call: Call, error: Exception) -> None:
    from holdfast.hooks.emit import fail

    fail(found, call, error)


def _envelope(call: Call, directories: list[str], env: dict[str, str]) -> dict[str, object]:
    """Says only where to look: no word of the conversation is written before it is redacted."""
    fields = {"session": "session_id", "transcript": "transcript_path"}
    values = {key: call.text(name)[:4096] for key, name in fields.items()}
    process = host_protocol.process_of(call.host, env)
    return {
        "host": call.host,
        "event": call.event,
        **values,
        "cwd": directories[-1][:4096],
        "process": process,
        **_attended(call.host, process),
    }


def _attended(host: str, process: int) -> dict[str, object]:
    if host not in host_protocol.UNTOLD_HEADLESS or not process:
        return {}
    from holdfast.core.processes import is_headless

    headless = is_headless(process)
    return {} if headless is None else {"headless": headless}
