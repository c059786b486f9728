"""How long tests wait for what is promised: for as long as a machine may take that has other things to do.

It costs nothing where it happens, and a machine that is slow is no error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE_S = 300.0


def wait_until(happened: Callable[[], object], seconds: float = PATIENCE_S) -> bool:
    """Whether it happened in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.05)
    return bool(happened())


def spent_by_children() -> float:
    """Seconds of work of the processes that have ended: what others do meanwhile is not counted."""
    times = os.times()
    return times.children_user + times.children_system
