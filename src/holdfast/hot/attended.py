"""Whether a person sits before a client, told by its process: some write nothing of it into their transcripts."""

from __future__ import annotations

import os

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
