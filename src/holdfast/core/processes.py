"""Processes: starts the child that works for a hook after it has answered, and looks at those of hosts."""

from __future__ import annotations

import os
import sys

_OVER = (b"Z", b"X")


def runs(process: int) -> bool:
    """Whether a process is alive. A zombie is not: in a container without an init it stays listed for good."""
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


# No variable and no folder of a repository decides what is imported. Not -I: that leaves out a person's own packages,
# which is where `pip install --user` puts us.
ISOLATED = ("-E", "-P")
CAPTURE = ("-m", "holdfast.flows.capture_child")


def detach(arguments: list[str], env: dict[str, str]) -> None:
    """Runs this interpreter, with its packages, in a session of its own: the host's end does not take it along.

    None of the hook's pipes is passed on, for the host waits until every writer has closed them.
    """
    command = [sys.executable, *ISOLATED, *arguments]
    if hasattr(os, "posix_spawn"):
        quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            os.posix_spawn(sys.executable, command, env, file_actions=quiet, setsid=True)
            return
        except NotImplementedError:  # a system whose posix_spawn cannot begin a session
            pass
    _popen(command, env)


def _popen(command: list[str], env: dict[str, str]) -> None:
    import subprocess

    nothing = subprocess.DEVNULL
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    subprocess.Popen(
        command,
        env=env,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=os.name != "nt",
        creationflags=flags,
    )


# Of Gemini CLI and Qwen Code: one is made from the other.
_ONE_PROMPT = ("-p", "--prompt")
_IN_AN_EDITOR = (
    "--acp",
    "--experimental-acp",
)  # speaks through its pipes with a program in which a person types
_MOST = 1 << 20


def is_headless(process: int) -> bool | None:
    """None where it cannot be told: the process is gone, or the system does not show it."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = file.read(_MOST).decode("utf-8", "replace").split("\0")
        if any(word in _IN_AN_EDITOR for word in words):
            return False
        if any(word in _ONE_PROMPT or word.startswith("--prompt=") for word in words):
            return True
        return not os.readlink(f"/proc/{process}/fd/0").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return None
