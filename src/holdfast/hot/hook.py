"""Answers one event of a host: prints what the host expects or nothing, and always ends in time with exit code 0."""

from __future__ import annotations

import os
import sys
import time

from holdfast.hot import dialect, place, trace
from holdfast.hot.dialect import MOMENT, PROMPT, START, STOP, Call

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from _thread import LockType
    from typing import BinaryIO

    from holdfast.hot.prepared import Prepared
    from holdfast.hot.prompting import Heard
    from holdfast.hot.telling import Told

DEADLINE_S = 3.0
BEGUN = time.monotonic()
LAST_WORD_S = 0.2
MOST_PAYLOAD = 64 << 20
MOST_CONTEXT = 9_000  # characters; Claude Code takes 9,900 and puts longer ones into a file
CHILD = ("-m", "holdfast.hosts.capture")
at_work: list[tuple[place.Place, str]] = []  # where this hook is, and at which event, once that is known


def run(arguments: list[str]) -> None:
    """The whole process: no exit code but 0, no traceback, no longer than the deadline."""
    import _thread
    import gc

    gc.disable()  # the process ends before cycles could matter, and looking for them takes a part of its time
    _thread.start_new_thread(end_in_time, ())
    code = 0
    try:
        code = main(arguments, sys.stdin.buffer, sys.stdout.buffer, dict(os.environ))
        sys.stdout.buffer.flush()
    except BaseException:
        pass
    os._exit(code)  # nothing is left to be torn down, and that takes time


def end_in_time() -> None:
    time.sleep(DEADLINE_S)
    if at_work:
        import _thread

        said = _thread.allocate_lock()
        said.acquire()
        _thread.start_new_thread(_last_word, (said,))  # what holds the hook may hold this as well
        said.acquire(timeout=LAST_WORD_S)
    os._exit(0)


def _last_word(said: LockType) -> None:
    found, event = at_work[0]
    trace.log(found.memory, f"{event}: not done within {DEADLINE_S:.0f} seconds, nothing was said")
    said.release()


def main(arguments: list[str], stdin: BinaryIO, stdout: BinaryIO, env: dict[str, str]) -> int:
    raw = stdin.read(MOST_PAYLOAD)
    host, theirs = [*arguments, "", ""][:2]
    event = dialect.event_of(host, theirs)
    if not event or switched_off(env) or (event == PROMPT and dialect.NO_PROMPT in raw):
        return 0  # some clients ask again with nothing after each tool's answer
    found = None
    try:
        if event == MOMENT and not _worth_a_look(raw, host, env):
            return 0
        payload, problem = parse(raw)
        call = Call(dialect.speaker(host, payload, env), theirs, event, payload)
        directories = directories_of(call, env)
        found = place.find(directories[0], place.home_of(env))
        if found is None or not os.path.exists(os.path.join(found.memory, "hot.db")):
            return 0
        if arguments[2:] and _leaves_it(host, found.root, env):
            return 0
        at_work.append((found, event))
        answer = respond(call, problem, directories, found, env)
    except BaseException as error:
        from holdfast.hot.saying import confess

        confess(found, event, error)
        return 0
    if answer:
        stdout.write(answer)
    return 0


def _worth_a_look(raw: bytes, host: str, env: dict[str, str]) -> bool:
    from holdfast.hot.glance import may_be_known

    return may_be_known(raw, host, env)


def _leaves_it(host: str, root: str, env: dict[str, str]) -> bool:
    from holdfast.hot.plugged import leaves_it_to_settings

    return leaves_it_to_settings(host, root, env)


def switched_off(env: dict[str, str]) -> bool:
    return env.get("HOLDFAST", "").lower() in ("off", "0", "false") or env.get("CI", "").lower() in (
        "true",
        "1",
    )


def parse(raw: bytes) -> tuple[dict[str, object], str]:
    from holdfast.hot.bare_json import loads

    try:
        payload = loads(raw)
    except (ValueError, RecursionError) as error:
        return {}, f"payload: {error}"
    return (payload, "") if isinstance(payload, dict) else ({}, "payload: not an object")


def directories_of(call: Call, env: dict[str, str]) -> list[str]:
    """Where the session belongs, and where it is now: an agent may have changed into another project meanwhile."""
    found = [dialect.project_of(call.host, env), call.text("cwd")]
    known = [directory for directory in found if os.path.isabs(directory)]
    return known or [os.getcwd()]


def respond(
    call: Call, problem: str, directories: list[str], found: place.Place, env: dict[str, str]
) -> bytes:
    event, payload = call.event, call.payload
    prepared = _opened(call, directories, found, env)
    if prepared is None or not prepared.enabled(found):
        return b""
    if problem:
        trace.log(found.memory, f"{event}: {problem}")
        return b""
    if payload.get("agent_id") and event != MOMENT:
        return b""
    stale = prepared.meta.get("config") != stamp(os.path.join(place.home_of(env), "config.toml"))
    if prepared.excluded(directories):
        if stale and event != MOMENT:  # perhaps it is no longer
            from holdfast.hot.child import detach

            detach([*CHILD, found.memory, found.root], env)
        return b""
    no_capture, no_inject = prepared.off(directories)
    if event == MOMENT:  # comes often: what there is to prepare again waits for the stop
        if stale or no_inject:
            return b""
        from holdfast.hot import moment

        return moment.respond(prepared, call, directories, found)
    answer = b""
    if event == PROMPT:
        wanted = False
        if not no_inject:
            try:
                answer, wanted = _prompt(prepared, call, found, stale)
                answer = _noticed(answer, prepared, call, found)
            except Exception as error:  # the prompt goes on, and what could not be read is made anew
                _fail(found, call, error)
                stale = True
        no_capture = True  # a stop says where to look; a prompt has nothing to add
    elif event == START:
        wanted = trace.waiting(found.memory, payload.get("session_id")) and not no_capture
        if not no_capture:  # first of all: of a session that left no word nobody knows, should it be killed
            trace.post(found.memory, _envelope(call, directories, env))
        if not (no_capture and no_inject):
            try:
                if not (stale or no_inject):
                    crashed = (
                        not no_capture and wanted and trace.ended(found.memory, payload.get("session_id"))
                    )
                    prepared = _renewed(prepared, found, env, crashed)
                answer = _start(prepared, call, found, _why_not(stale, no_inject))
                _begin(prepared, call, found)
            except Exception as error:  # a session that cannot be told anything is captured all the same
                _fail(found, call, error)
                stale = True
    else:
        wanted = not no_capture
        if event == STOP and not (stale or no_inject):
            answer = _noticed(b"", prepared, call, found)
    if not no_capture and event != START:
        trace.post(found.memory, _envelope(call, directories, env))
    if wanted or stale:
        from holdfast.hot.child import detach

        detach([*CHILD, found.memory, found.root], env)
    return answer


def _opened(call: Call, directories: list[str], found: place.Place, env: dict[str, str]) -> Prepared | None:
    """What was prepared. Where it cannot be read it is made anew, or no stop would ever be captured again."""
    from holdfast.hot.prepared import Prepared, Unreadable

    try:
        return Prepared(found.memory)
    except Unreadable as error:
        from holdfast.hot.mending import opened_again

        return opened_again(error, call, found, BEGUN + DEADLINE_S, _envelope(call, directories, env), env)


def _renewed(prepared: Prepared, found: place.Place, env: dict[str, str], crashed: bool) -> Prepared:
    """Prepared again first where somebody edited current.md by hand, or on another day: old state is told as such.

    Where a session ended without a word, it is captured first: what it left is what this one goes on from.
    """
    today = prepared.meta.get("prepared", "")[:10] == time.strftime("%Y-%m-%d", time.gmtime())
    if (
        not crashed
        and today
        and prepared.meta.get("current") == stamp(os.path.join(found.memory, "current.md"))
    ):
        return prepared
    from holdfast.hot.mending import prepare_now

    if not prepare_now(found, BEGUN + DEADLINE_S, env, *([] if crashed else ["prepare"])):
        return prepared  # what was prepared last is better than nothing
    return type(prepared)(found.memory)


def stamp(path: str) -> str:
    """What tells that the personal configuration is still the one that was prepared."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


def _why_not(stale: bool, no_inject: bool) -> str:
    if no_inject:
        return "injection is switched off in this directory (holdfast on --inject)"
    # Somebody may just have excluded this directory; only the application can read that file.
    return "the personal configuration has changed and is being prepared again" if stale else ""


def _start(prepared: Prepared, call: Call, found: place.Place, reason: str) -> bytes:
    from holdfast.hot.saying import say
    from holdfast.hot.telling import START_TOKENS, Told, choose, fitting

    told = Told([], reason) if reason else choose(prepared, found.memory, call.payload, found.branch())
    here = found.reachable(told.lines)
    if here is not told.lines:
        lines_here, less = fitting(here, START_TOKENS)
        told = Told(lines_here, told.nothing, told.left_out + less)
    if sum(len(line) for line, _ in told.lines) > MOST_CONTEXT:
        told = Told([], "the digest is too long")
    rest: dict[str, object] = {"left_out": told.left_out} if told.left_out else {}
    return say(told, call, found, rest)


def _prompt(prepared: Prepared, call: Call, found: place.Place, stale: bool) -> tuple[bytes, bool]:
    """The answer, and whether something that a lesson depends on has changed: the child has to look at it."""
    from holdfast.hot.prompting import Answered, choose, heard_by
    from holdfast.hot.saying import say

    prompt = call.text("prompt")
    if not prompt.strip():
        return b"", False
    # A payload may hold half of a character pair, which SQLite does not take.
    prompt = prompt.encode("utf-8", "replace").decode()
    mine = call.text("session_id").encode("utf-8", "replace").decode()
    heard = heard_by(found.memory, mine)
    again, rest = (None, {}) if stale else _after_compaction(prepared, call, found, heard)
    if stale:
        told = Answered("", [], _why_not(stale, False))
    else:
        branch = found.branch()
        project = prepared.project_of(mine, branch)
        told = choose(prepared.db, prompt, mine, heard, found.root, project=project, branch=branch)
    rest |= {"class": told.kind, **({"files": told.files} if told.files else {})}
    rest |= {"left_out": told.left_out} if told.left_out else {}
    return say(told, call, found, rest, again), told.changed


def _after_compaction(
    prepared: Prepared, call: Call, found: place.Place, heard: Heard
) -> tuple[Told | None, dict[str, object]]:
    """What has to be told again where the host does not say that it forgot, and what the next prompt must know."""
    if call.host not in dialect.UNTOLD_COMPACTION:
        return None, {}
    from holdfast.hot.compaction import lost, read_so_far

    return lost(prepared, call, found, heard), read_so_far(call)


def _noticed(answer: bytes, prepared: Prepared, call: Call, found: place.Place) -> bytes:
    from holdfast.hot.saying import noticed

    return noticed(answer, prepared, call, found)


def _begin(prepared: Prepared, call: Call, found: place.Place) -> None:
    from holdfast.hot import notices
    from holdfast.hot.saying import confess

    try:
        notices.begun(prepared, call, found)
    except Exception as error:  # the session is only not told what changes around it
        confess(found, call.event, error)


def _fail(found: place.Place, call: Call, error: Exception) -> None:
    from holdfast.hot.saying import fail

    fail(found, call, error)


def _envelope(call: Call, directories: list[str], env: dict[str, str]) -> dict[str, object]:
    """Only where to look: no word of the conversation is written before it was redacted."""
    wanted = {"session": "session_id", "transcript": "transcript_path"}
    kept = {key: call.text(name)[:4096] for key, name in wanted.items()}
    process = dialect.process_of(call.host, env)
    return {
        "host": call.host,
        "event": call.event,
        **kept,
        "cwd": directories[-1][:4096],
        "process": process,
        **_attended(call.host, process),
    }


def _attended(host: str, process: int) -> dict[str, object]:
    if host not in dialect.UNTOLD_HEADLESS or not process:
        return {}
    from holdfast.hot.attended import is_headless

    headless = is_headless(process)
    return {} if headless is None else {"headless": headless}
