"""Whether a process still runs, told by its number."""

from __future__ import annotations

import os

_OVER = (b"Z", b"X")


def runs(process: int) -> bool:
    """Not one that has ended and is only still listed: where nobody asks how it ended, as in a container without an
    init, it is listed for good."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it is there and not ours
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            rest = file.read(4096).rpartition(b")")[2].split()
    except ProcessLookupError:
        return False  # it went between the two
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")  # it went just now, unless this system has no such folder
    except OSError:
        return True
    return not rest or rest[0] not in _OVER
