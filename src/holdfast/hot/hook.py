"""Answers one event of a host: prints what the host expects or nothing, and always ends in time with exit code 0."""

from __future__ import annotations

import os
import sys

from holdfast.hot import fence, place, trace

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import BinaryIO

    from holdfast.hot.prepared import Prepared
    from holdfast.hot.telling import Told

DEADLINE_S = 3.0
RENEWED_S = 2.0
MOST_PAYLOAD = 64 << 20
MOST_CONTEXT = 9_000  # characters; Claude Code takes 9,900 and puts longer ones into a file
CHILD = ("-m", "holdfast.hosts.capture")

CAPTURED = ("Stop", "PreCompact", "SessionEnd")
MOMENT = "PreToolUse"
PROMPT = "UserPromptSubmit"


def run(arguments: list[str]) -> None:
    """The whole process: no exit code but 0, no traceback, no longer than the deadline."""
    import _thread
    import gc

    gc.disable()  # the process ends before cycles could matter, and looking for them takes a part of its time
    _thread.start_new_thread(_end_in_time, ())
    code = 0
    try:
        code = main(arguments, sys.stdin.buffer, sys.stdout.buffer, dict(os.environ))
        sys.stdout.buffer.flush()
    except BaseException:
        pass
    os._exit(code)  # nothing is left to be torn down, and that takes time


def _end_in_time() -> None:
    import time

    time.sleep(DEADLINE_S)
    os._exit(0)


def main(arguments: list[str], stdin: BinaryIO, stdout: BinaryIO, env: dict[str, str]) -> int:
    raw = stdin.read(MOST_PAYLOAD)
    host, event = [*arguments, "", ""][:2]
    if host != "claude-code" or event not in ("SessionStart", PROMPT, MOMENT, *CAPTURED) or switched_off(env):
        return 0
    found = None
    try:
        if event == MOMENT and not _worth_a_look(raw, env):
            return 0
        payload, problem = parse(raw)
        directories = directories_of(payload, env)
        found = place.find(directories[0], place.home_of(env))
        if found is None or not os.path.exists(os.path.join(found.memory, "hot.db")):
            return 0
        answer = respond(event, payload, problem, directories, found, env)
    except BaseException as error:
        _confess(found, event, error)
        return 0
    if answer:
        stdout.write(answer)
    return 0


def _worth_a_look(raw: bytes, env: dict[str, str]) -> bool:
    from holdfast.hot.glance import may_be_known

    return may_be_known(raw, env)


def switched_off(env: dict[str, str]) -> bool:
    return env.get("HOLDFAST", "").lower() in ("off", "0", "false") or env.get("CI", "").lower() in (
        "true",
        "1",
    )


def parse(raw: bytes) -> tuple[dict[str, object], str]:
    import json

    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return {}, f"payload: {error}"
    return (payload, "") if isinstance(payload, dict) else ({}, "payload: not an object")


def directories_of(payload: dict[str, object], env: dict[str, str]) -> list[str]:
    """Where the session belongs, and where it is now: an agent may have changed into another project meanwhile."""
    found = [env.get("CLAUDE_PROJECT_DIR"), payload.get("cwd")]
    known = [directory for directory in found if isinstance(directory, str) and os.path.isabs(directory)]
    return known or [os.getcwd()]


def respond(
    event: str,
    payload: dict[str, object],
    problem: str,
    directories: list[str],
    found: place.Place,
    env: dict[str, str],
) -> bytes:
    prepared = _opened(event, found, env)
    if prepared is None or not prepared.enabled(bool(found.private), found.identity_file):
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

        return moment.respond(prepared, payload, directories, found)
    answer = b""
    if event == PROMPT:
        wanted = False
        if not no_inject:
            try:
                answer, wanted = _prompt(prepared, payload, found, stale)
            except (
                Exception
            ) as error:  # the prompt goes on without us, and what could not be read is made anew
                _fail(found, payload, error, event)
                stale = True
        no_capture = True  # a stop says where to look; a prompt has nothing to add
    elif event == "SessionStart":
        wanted = trace.waiting(found.memory, payload.get("session_id")) and not no_capture
        if not (no_capture and no_inject):
            try:
                if not (stale or no_inject):
                    crashed = (
                        not no_capture and wanted and trace.ended(found.memory, payload.get("session_id"))
                    )
                    prepared = _renewed(prepared, found, env, crashed)
                answer = _start(prepared, payload, found, _why_not(stale, no_inject))
            except Exception as error:  # a session that cannot be told anything is captured all the same
                _fail(found, payload, error)
                stale = True
    else:
        wanted = not no_capture
    if not no_capture:
        trace.post(found.memory, _envelope(event, payload, directories, env))
    if wanted or stale:
        from holdfast.hot.child import detach

        detach([*CHILD, found.memory, found.root], env)
    return answer


def _opened(event: str, found: place.Place, env: dict[str, str]) -> Prepared | None:
    """What was prepared. Where it cannot be read it is made anew, or no stop would ever be captured again."""
    from holdfast.hot.prepared import Prepared, Unreadable

    try:
        return Prepared(found.memory)
    except Unreadable as error:
        _confess(found, event, error)
    if event in (MOMENT, PROMPT):  # somebody waits for these; what is made anew is there for the next
        if event == PROMPT:
            from holdfast.hot.child import detach

            detach([*CHILD, found.memory, found.root, "prepare"], env)
        return None
    _prepare_now(found, env, "prepare")
    return Prepared(found.memory)


def _renewed(prepared: Prepared, found: place.Place, env: dict[str, str], crashed: bool) -> Prepared:
    """Prepared again first where somebody edited current.md by hand, or on another day: old state is told as such.

    Where a session ended without a word, it is captured first: what it left is what this one goes on from.
    """
    import time

    today = prepared.meta.get("prepared", "")[:10] == time.strftime("%Y-%m-%d", time.gmtime())
    if (
        not crashed
        and today
        and prepared.meta.get("current") == stamp(os.path.join(found.memory, "current.md"))
    ):
        return prepared
    if not _prepare_now(found, env, *([] if crashed else ["prepare"])):
        return prepared  # what was prepared last is better than nothing
    return type(prepared)(found.memory)


def _prepare_now(found: place.Place, env: dict[str, str], *only: str) -> bool:
    import subprocess

    command = [sys.executable, "-I", *CHILD, found.memory, found.root, *only]
    nothing = subprocess.DEVNULL
    try:
        subprocess.run(command, env=env, stdin=nothing, stdout=nothing, stderr=nothing, timeout=RENEWED_S)
    except subprocess.SubprocessError:
        return False
    return True


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


def _start(prepared: Prepared, payload: dict[str, object], found: place.Place, reason: str) -> bytes:
    from holdfast.hot.telling import START_TOKENS, Told, choose, fitting

    told = Told([], reason) if reason else choose(prepared, found.memory, payload, found.branch())
    here = found.reachable(told.lines)
    if here is not told.lines:
        lines_here, less = fitting(here, START_TOKENS)
        told = Told(lines_here, told.nothing, told.left_out + less)
    if sum(len(line) for line, _ in told.lines) > MOST_CONTEXT:
        told = Told([], "the digest is too long")
    rest: dict[str, object] = {"left_out": told.left_out} if told.left_out else {}
    return _tell(told, payload, found, "SessionStart", rest)


def _prompt(
    prepared: Prepared, payload: dict[str, object], found: place.Place, stale: bool
) -> tuple[bytes, bool]:
    """The answer, and whether something that a lesson depends on has changed: the child has to look at it."""
    from holdfast.hot.prompting import Answered, choose, heard_by

    prompt, session = payload.get("prompt"), payload.get("session_id")
    if not isinstance(prompt, str) or not prompt.strip():
        return b"", False  # some clients ask again with nothing after each tool's answer
    # A payload may hold half of a character pair, which SQLite does not take.
    prompt = prompt.encode("utf-8", "replace").decode()
    mine = session.encode("utf-8", "replace").decode() if isinstance(session, str) else ""
    heard = heard_by(found.memory, mine)
    if stale:
        told = Answered("", [], _why_not(stale, False))
    else:
        project = prepared.project_of(mine, found.branch())
        told = choose(prepared.db, prompt, mine, heard, found.root, project=project)
    rest: dict[str, object] = {"class": told.kind, **({"files": told.files} if told.files else {})}
    rest |= {"left_out": told.left_out} if told.left_out else {}
    return _tell(told, payload, found, PROMPT, rest), told.changed


def _tell(
    told: Told, payload: dict[str, object], found: place.Place, event: str, rest: dict[str, object]
) -> bytes:
    """Written down first, then said."""
    import json

    lines = [{"text": line, "reason": why} for line, why in told.lines]
    more = {**rest, "nothing": told.nothing} if told.nothing else rest
    entry = _entry(payload, found, event)
    trace.explain(found.memory, {**entry, "tokens": told.tokens, "lines": lines, **more})
    if not told.lines:
        return b""
    context = fence.wrap("\n".join(line for line, _ in told.lines), fence.new_id())
    output = {
        "systemMessage": f"holdfast: {_counted(len(told.lines), 'line')}, {_counted(told.tokens, 'token')}",
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": context},
    }
    return json.dumps(output).encode()


def _fail(
    found: place.Place, payload: dict[str, object], error: Exception, event: str = "SessionStart"
) -> None:
    """Both traces say it; should that be what fails, the session still goes on."""
    _confess(found, event, error)
    try:
        nothing = "what was prepared could not be told; hook.log says why, and it is being prepared again"
        trace.explain(
            found.memory, {**_entry(payload, found, event), "tokens": 0, "lines": [], "nothing": nothing}
        )
    except Exception:
        pass


def _entry(payload: dict[str, object], found: place.Place, event: str) -> dict[str, object]:
    session, source = payload.get("session_id"), payload.get("source")
    return {
        "host": "claude-code",
        "event": event,
        "session": session if isinstance(session, str) else "",
        "source": source if isinstance(source, str) else "",
        "branch": found.branch(),
    }


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _envelope(
    event: str, payload: dict[str, object], directories: list[str], env: dict[str, str]
) -> dict[str, object]:
    """Only where to look: no word of the conversation is written before it was redacted."""
    wanted = {"session": "session_id", "transcript": "transcript_path"}
    texts = {key: payload.get(name) for key, name in wanted.items()}
    kept = {key: text[:4096] if isinstance(text, str) else "" for key, text in texts.items()}
    process = env.get("CLAUDE_PID", "")
    number = int(process) if process.isdigit() and len(process) < 10 else 0
    return {"host": "claude-code", "event": event, **kept, "cwd": directories[-1][:4096], "process": number}


def _confess(found: place.Place | None, event: str, error: BaseException) -> None:
    """A line for `doctor`, if there is a place for it; nothing else may come of it."""
    if found is None:
        return
    try:
        trace.log(found.memory, f"{event}: {type(error).__name__}: {error}")
    except BaseException:
        pass
