"""A process of its own without the start of an interpreter: a copy of this one, for tests of crashes and of races."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def fork(work: Callable[[], object]) -> int:
    """Does the work in a child, whose process id this is; it exits with 0, or 1 when the work raised."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(process: int) -> int:
    """Waits for a child; its exit code, negative for the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
