"""The background process that a hook starts: `python -E -P -m holdfast.flows.capture_child MEMORY ROOT`."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import holdfast.core.light_msgspec  # noqa: F401  # before anything that imports msgspec

# isort: split
from holdfast.core.errors import CopiedProject
from holdfast.core.patterns import REGEX_CACHE, load_programs, save_programs
from holdfast.core.place import home_of
from holdfast.core.processes import detach
from holdfast.flows.capture import await_last_lines, capture, has_left, has_written_on
from holdfast.flows.refresh import prepare_if_enabled
from holdfast.hooks import trace
from holdfast.store.after_session import syncs_after_session
from holdfast.store.machine import Machine

LONGEST_S = 300.0  # no process of ours runs longer; the next one does the rest
RESERVE_S = 20.0  # time to store a model's answer: no call is started later


def main(arguments: Sequence[str]) -> int:
    memory, root, *only = arguments
    began = time.monotonic()
    load_programs(os.path.join(home_of(dict(os.environ)), REGEX_CACHE))
    watch = threading.Timer(LONGEST_S, os._exit, (1,))
    watch.daemon = True
    watch.start()
    try:
        machine = Machine(cwd=Path(root))
        try:
            project = machine.project()
        except CopiedProject:
            return 1  # nothing is kept of it, not even a line in the log of the other one
        if project.memory != Path(memory):
            raise ValueError(f"{root} now belongs to {project.memory.name}")
        if only:
            project.register()  # a hook may have found another file where the id was
            prepare_if_enabled(machine, project)
            return 0
        await_last_lines(project)
        result = capture(machine, project)
        if has_written_on(machine, project) or has_left(project):
            result.add(capture(machine, project))
        for problem in result.problems:
            _log(memory, problem)
        if result.ended:
            from holdfast.flows.blame import keep_edits

            for problem in keep_edits(machine, project):
                _log(memory, f"edits: {problem}")
        if machine.settings().extractor != "none":
            from holdfast.extraction.extract_lessons import extract_ended

            seconds_left = LONGEST_S - (time.monotonic() - began) - RESERVE_S
            for problem in extract_ended(machine, project, result.ended, seconds_left):
                _log(memory, problem)
        if result.ended and machine.settings().writer != "none":
            from holdfast.extraction.writer import write_ended

            seconds_left = LONGEST_S - (time.monotonic() - began) - RESERVE_S
            for problem in write_ended(machine, project, result.ended, seconds_left):
                _log(memory, problem)
        if result.ended and syncs_after_session(project.memory):
            # A process of its own: a target may be slow or away, and must not hold up the next capture.
            detach(["-m", "holdfast", "sync", "--quiet"], machine.env, str(project.root))
    except Exception as error:
        _log(memory, f"{type(error).__name__}: {error}")
        return 1
    finally:
        watch.cancel()
        save_programs()
    return 0


def _log(memory: str, problem: str) -> None:
    with suppress(
        OSError
    ):  # on a disk that takes nothing there is no place to say so; the next capture tries again
        trace.log(memory, f"capture: {problem}")


if __name__ == "__main__":
    gc.disable()  # the process is too short-lived for it to pay
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # tearing the interpreter down takes longer than finishing a session
