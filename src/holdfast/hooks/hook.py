"""Answers one event of a host: prints the answer or nothing, and always ends in time with exit code 0."""

from __future__ import annotations

import os
import sys
import time

from holdfast.core import place
from holdfast.hooks import host_protocol, payload, trace
from holdfast.hooks.host_protocol import MOMENT, PROMPT, START, Call

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from _thread import LockType
    from typing import BinaryIO

DEADLINE_S = 3.0
BEGUN = time.monotonic()
LAST_WORD_S = 0.2
LONGEST_PATH = 4_096  # characters
at_work: list[tuple[place.Place, str]] = []  # the project and event of this hook, once known


def run(arguments: list[str]) -> None:
    """Runs the whole process: always exit code 0, no traceback, within the deadline."""
    import _thread
    import gc

    gc.disable()  # the process ends before cycles matter, and collecting them takes time
    _thread.start_new_thread(end_in_time, ())
    code = 0
    try:
        code = main(arguments, sys.stdin.buffer, sys.stdout.buffer, dict(os.environ))
        sys.stdout.buffer.flush()
    except BaseException:
        pass
    os._exit(code)  # nothing needs cleanup, and cleanup takes time


def end_in_time() -> None:
    time.sleep(DEADLINE_S)
    if at_work:
        import _thread

        logged = _thread.allocate_lock()
        logged.acquire()
        _thread.start_new_thread(_last_word, (logged,))  # what blocks the hook may block this too
        logged.acquire(timeout=LAST_WORD_S)
    os._exit(0)


def _last_word(said: LockType) -> None:
    project, event = at_work[0]
    trace.log(project.memory, f"{event}: not done within {DEADLINE_S:.0f} seconds, nothing was said")
    said.release()


def main(arguments: list[str], stdin: BinaryIO, stdout: BinaryIO, env: dict[str, str]) -> int:
    raw = payload.read(stdin)
    try:
        return answer(arguments, raw, stdout, env)
    finally:
        at_work.clear()  # it is done, even if the host never closes its pipe
        payload.drain(stdin, raw)


def answer(arguments: list[str], raw: bytes, stdout: BinaryIO, env: dict[str, str]) -> int:
    host, host_event = [*arguments, "", ""][:2]
    event = host_protocol.event_of(host, host_event)
    if not event or switched_off(env) or (event == PROMPT and host_protocol.NO_PROMPT in raw):
        return 0  # some clients send an empty prompt after each tool result
    project = None
    try:
        if event == MOMENT:
            from holdfast.hooks.prefilter import may_be_known

            if not may_be_known(raw, host, env):
                return 0
        fields, problem = payload.parse(raw)
        if arguments[2:]:
            fields = host_protocol.named(fields, arguments[2:])
        call = Call(host_protocol.speaker(host, fields, env), host_event, event, fields)
        directories = directories_of(call, env)
        project = place.identify(directories[0], place.home_of(env))
        if project is None or not os.path.exists(os.path.join(project.memory, "hot.db")):
            return 0
        if (standing := project.standing()) != place.REGISTERED:
            memory, root, project = project.memory, project.root, None
            if standing == place.SAME_PATH and event == START:
                from holdfast.core.processes import CAPTURE, detach

                detach([*CAPTURE, memory, root, "prepare"], env)  # only git can tell whether it is the same
            return 0
        if arguments[2:]:
            from holdfast.hooks.plugged import leaves_it_to_settings

            if leaves_it_to_settings(host, project.root, env):
                return 0
        at_work.append((project, event))
        from holdfast.hooks.respond import respond

        told = respond(call, problem, directories, project, env, BEGUN + DEADLINE_S)
    except BaseException as error:
        from holdfast.hooks.emit import confess

        confess(project, event, error)
        return 0
    if told:
        stdout.write(told)
        stdout.flush()
    return 0


def switched_off(env: dict[str, str]) -> bool:
    return env.get("HOLDFAST", "").lower() in ("off", "0", "false") or env.get("CI", "").lower() in (
        "true",
        "1",
    )


def directories_of(call: Call, env: dict[str, str]) -> list[str]:
    """The directory that the session belongs to, and the current one: an agent may have changed to another project."""
    candidates = [host_protocol.project_of(call.host, env), call.text("cwd")]
    absolute = [
        directory
        for directory in candidates
        if os.path.isabs(directory) and len(directory) <= LONGEST_PATH and "\0" not in directory
    ]
    return absolute or [os.getcwd()]
