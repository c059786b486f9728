"""The short-lived process that a hook leaves behind: `python -E -P -m holdfast.flows.capture_child MEMORY ROOT`."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import holdfast.core.light_msgspec  # noqa: F401  # before anything that imports msgspec

# isort: split
from holdfast.core.patterns import load_programs, save_programs
from holdfast.core.place import home_of
from holdfast.flows.capture import await_last_lines, capture, has_left, has_written_on
from holdfast.flows.refresh import prepare_if_enabled
from holdfast.hooks import trace
from holdfast.store.machine import Machine

REGEX_CACHE = os.path.join("cache", "regex")
LONGEST_S = 300.0  # the next one does the rest: no process of ours stays for long
RESERVE_S = 20.0  # a model is not asked so late that its answer could not be kept


def main(arguments: Sequence[str]) -> int:
    memory, root, *only = arguments
    began = time.monotonic()
    load_programs(os.path.join(home_of(dict(os.environ)), REGEX_CACHE))
    watch = threading.Timer(LONGEST_S, os._exit, (1,))
    watch.daemon = True
    watch.start()
    try:
        machine = Machine(cwd=Path(root))
        project = machine.project()
        if project.memory != Path(memory):
            raise ValueError(f"{root} belongs to {project.memory.name} by now")
        if only:
            prepare_if_enabled(machine, project)
            return 0
        await_last_lines(project)
        done = capture(machine, project)
        if has_written_on(machine, project) or has_left(project):
            done.add(capture(machine, project))
        for problem in done.problems:
            trace.log(memory, f"capture: {problem}")
        if machine.settings().extractor != "none":
            from holdfast.flows.extract_lessons import extract_ended

            left = LONGEST_S - (time.monotonic() - began) - RESERVE_S
            for problem in extract_ended(machine, project, done.ended, left):
                trace.log(memory, f"capture: {problem}")
    except Exception as error:
        trace.log(memory, f"capture: {type(error).__name__}: {error}")
        return 1
    finally:
        watch.cancel()
        save_programs()
    return 0


if __name__ == "__main__":
    gc.disable()  # it is soon gone, with all that it made
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # tearing the interpreter down takes longer than finishing a session
