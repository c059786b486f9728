"""Asks git one question: bounded in time and length, and nothing that a repository names is run."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES = 1_000_000
# A repository may be anyone's, and we may be inside a hook of another one.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
_NOT_PASSED_ON = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_TRACE")


def ask_git(root: str, arguments: tuple[str, ...], env: Mapping[str, str], limit: float) -> bytes | None:
    """What git answered; None when it could not be run, said no or took too long."""
    command = ["git", *_QUIET, "-C", root, *arguments]
    own = {name: value for name, value in env.items() if name not in _NOT_PASSED_ON}
    own |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return _spawned(command, own, limit) if hasattr(os, "posix_spawnp") else _run(command, own, limit)
    except (OSError, ValueError):
        return None


def _run(command: list[str], env: dict[str, str], limit: float) -> bytes | None:
    import subprocess

    try:
        done = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.SubprocessError:
        return None
    return done.stdout[:MOST_BYTES] if done.returncode == 0 else None


def _spawned(command: list[str], env: dict[str, str], limit: float) -> bytes | None:
    """The same without `subprocess`, whose import takes longer than git does."""
    import select
    import signal

    ours, theirs = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        process = os.posix_spawnp(command[0], command, env, file_actions=actions)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    deadline = time.monotonic() + limit
    data, complete = b"", False
    try:
        while len(data) < MOST_BYTES:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([ours], [], [], left)[0]:
                break
            part = os.read(ours, 65_536)
            if not part:
                complete = True
                break
            data += part
        complete = complete or len(data) >= MOST_BYTES
    finally:
        os.close(ours)
        if not complete or len(data) >= MOST_BYTES:
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    cut = len(data) >= MOST_BYTES
    return data if complete and (cut or status == 0) else None
