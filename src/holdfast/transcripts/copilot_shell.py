"""How a Copilot CLI shell command ended: the client's last line below the output says so, or that it runs on."""

from __future__ import annotations

import re

from msgspec import Struct

_ENDED = re.compile(r"\s*<(?:shellId: (\S+) )?(?:completed|exited) with exit code (-?\d+)>\s*\Z")
_RUNNING = re.compile(r"<[^<>]*\bshellId: (\S+?)[,>\s][^<>]*\b(?:still running|read_bash)\b[^<>]*>\s*\Z")


class ShellOutput(Struct, frozen=True):
    text: str
    exit_code: int | None = None
    running: str = ""  # the shell in which the command runs on


def read_shell(text: str) -> ShellOutput:
    if ended := _ENDED.search(text):
        return ShellOutput(text[: ended.start()], int(ended[2]))
    running = _RUNNING.search(text)
    return ShellOutput(text, running=running[1] if running else "")
