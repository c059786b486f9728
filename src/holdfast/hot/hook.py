"""Answers one event of a host: prints what the host expects or nothing, and always ends in time with exit code 0."""

from __future__ import annotations

import os
import sys

from holdfast.hot import fence, place, trace

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from typing import BinaryIO

    from holdfast.hot.prepared import Prepared

DEADLINE_S = 3.0
MOST_PAYLOAD = 64 << 20
MOST_CONTEXT = 9_000  # characters; Claude Code takes 9,900 and puts longer ones into a file
CHILD = ("-m", "holdfast.hosts.capture")

SOURCES = {
    "startup": "startup",
    "clear": "startup",
    "resume": "resume",
    "fork": "resume",
    "compact": "compact",
}
CAPTURED = ("Stop", "PreCompact", "SessionEnd")


def run(arguments: list[str]) -> None:
    """The whole process: no exit code but 0, no traceback, no longer than the deadline."""
    import _thread

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
    if host != "claude-code" or event not in ("SessionStart", *CAPTURED) or switched_off(env):
        return 0
    found = None
    try:
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
    from holdfast.hot.prepared import Prepared

    prepared = Prepared(found.memory)
    if not prepared.enabled(bool(found.private), found.identity_file):
        return b""
    if problem:
        trace.log(found.memory, f"{event}: {problem}")
        return b""
    if payload.get("agent_id") or prepared.excluded(directories):
        return b""
    stale = prepared.meta.get("config") != stamp(os.path.join(place.home_of(env), "config.toml"))
    no_capture, no_inject = prepared.off(directories)
    answer = b""
    if event == "SessionStart":
        wanted = trace.waiting(found.memory, payload.get("session_id")) and not no_capture
        if not (no_capture and no_inject):
            reason = _why_not(stale, no_inject)
            answer = _start(prepared, payload, found, reason)
    else:
        wanted = not no_capture
    if not no_capture:
        trace.post(found.memory, _envelope(event, payload, directories, env))
    if wanted or stale:
        from holdfast.hot.child import detach

        detach([*CHILD, found.memory, found.root], env)
    return answer


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
    import json

    said = payload.get("source")
    source = SOURCES.get(said if isinstance(said, str) else "", "startup")
    branch = found.branch()
    digest = None if reason else prepared.digest(source, branch)
    entry = {"host": "claude-code", "event": "SessionStart", "session": payload.get("session_id")}
    entry.update(source=said, branch=branch)
    if digest is None or not digest[0] or len(digest[0]) > MOST_CONTEXT:
        reason = reason or (
            "the digest is too long" if digest and digest[0] else f"nothing is known for {source}"
        )
        trace.explain(found.memory, {**entry, "tokens": 0, "lines": [], "nothing": reason})
        return b""
    text, tokens, reasons = digest
    why = json.loads(reasons)
    lines = text.split("\n")
    why += [""] * (len(lines) - len(why))
    told = [{"text": line, "reason": word} for line, word in zip(lines, why, strict=False)]
    trace.explain(found.memory, {**entry, "tokens": tokens, "lines": told})
    context = fence.wrap(text, fence.new_id())
    output = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}
    return json.dumps(output).encode()


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
