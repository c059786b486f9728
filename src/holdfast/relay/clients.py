"""How each agent's client is started in a terminal with a first prompt."""

from __future__ import annotations

import shutil

from msgspec import Struct

from holdfast.core.errors import NotFound, UsageError

PROMPT = "{prompt}"


class Start(Struct, frozen=True):
    title: str
    program: str
    words: tuple[str, ...]


STARTS: dict[str, Start] = {
    "claude-code": Start("Claude Code", "claude", (PROMPT,)),
    "codex": Start("Codex", "codex", (PROMPT,)),
    "gemini-cli": Start("Gemini CLI", "gemini", ("-i", PROMPT)),
    "qwen-code": Start("Qwen Code", "qwen", ("-i", PROMPT)),
    "opencode": Start("OpenCode", "opencode", ("--prompt", PROMPT)),
    "copilot-cli": Start("Copilot CLI", "copilot", ("-i", PROMPT)),
}
_SHORT = {"claude": "claude-code", "gemini": "gemini-cli", "qwen": "qwen-code", "copilot": "copilot-cli"}


def start_of(agent: str) -> tuple[str, Start]:
    name = _SHORT.get(agent, agent)
    if name not in STARTS:
        raise UsageError(
            f"{agent!r} cannot be started with a prompt",
            fix=f"One of {', '.join(STARTS)}; --print shows the text for any other",
        )
    return name, STARTS[name]


def command_of(start: Start, text: str, path: str | None) -> list[str]:
    """The words that start the client. Raises NotFound where it is not installed."""
    program = shutil.which(start.program, path=path)
    if program is None:
        raise NotFound(
            f"{start.title} is not installed: there is no program {start.program!r}",
            fix="--print shows the text to paste",
        )
    return [program, *(text if word == PROMPT else word for word in start.words)]
