"""Starts the child process that does a hook's work after it has answered, and inspects the processes of hosts."""

from __future__ import annotations

import os
import sys

_OVER = (b"Z", b"X")


def runs(process: int) -> bool:
    """Whether a process is alive. A zombie is not: in a container without an init it stays listed forever."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it exists, and belongs to another user
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # the kernel's
            rest = file.read(4096).rpartition(b")")[2].split()
    except ProcessLookupError:
        return False  # it ended between the two calls
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")  # it has just ended, unless this system has no /proc
    except OSError:
        return True
    return not rest or rest[0] not in _OVER


# Neither a variable nor a folder of a repository may decide what is imported. Not -I: it leaves out the user's
# site-packages, where `pip install --user` puts us.
ISOLATED = ("-E", "-P")
CAPTURE = ("-m", "holdfast.flows.capture_child")


def detach(arguments: list[str], env: dict[str, str], cwd: str | None = None) -> None:
    """Runs this interpreter, with its packages, in a new session, so that it survives the host.

    It inherits none of the hook's pipes, because the host waits until every writer has closed them.
    """
    command = [sys.executable, *ISOLATED, *arguments]
    if hasattr(os, "posix_spawn") and cwd is None:
        quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            os.posix_spawn(sys.executable, command, env, file_actions=quiet, setsid=True)
            return
        except NotImplementedError:  # posix_spawn cannot start a session on this system
            pass
    _popen(command, env, cwd)


def _popen(command: list[str], env: dict[str, str], cwd: str | None = None) -> None:
    import subprocess

    nothing = subprocess.DEVNULL
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=os.name != "nt",
        creationflags=flags,
    )


# Gemini CLI and Qwen Code: one is a fork of the other.
_ONE_PROMPT = ("-p", "--prompt")
_IN_AN_EDITOR = (
    "--acp",
    "--experimental-acp",
)  # communicates through pipes with a program in which a person types
_MOST = 1 << 20


def is_headless(process: int) -> bool | None:
    """None when unknown: the process has ended, or the system does not show it."""
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
