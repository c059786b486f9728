"""Starts the short-lived process that does the work of a hook after it has answered."""

from __future__ import annotations

import os
import sys

# No variable and no folder of a repository decides what is imported. Not -I: that leaves out a person's own packages,
# which is where `pip install --user` puts us.
ISOLATED = ("-E", "-P")
CAPTURE = ("-m", "holdfast.hosts.capture")


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
