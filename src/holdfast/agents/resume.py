"""The command that goes on with a session in the agent that recorded it, for a person to paste into a shell."""

from __future__ import annotations

import shlex

# As the agents' own help has it; an agent without an entry cannot be told which session to open.
_COMMANDS = {
    "claude-code": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "copilot": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
    "gemini": ("gemini", "--resume"),
    "opencode": ("opencode", "--session"),
    "pi": ("pi", "--session"),
    "qwen": ("qwen", "--resume"),
}


def resume_command(agent: str, session: str, folder: str = "") -> str:
    """`cd FOLDER && AGENT --resume SESSION`; '' where the agent has no such command."""
    words = _COMMANDS.get(agent)
    if words is None or not session or session.startswith("-") or not session.isprintable():
        return ""
    command = shlex.join([*words, session])
    if not folder or folder.startswith("-") or not folder.isprintable():
        return command
    return f"cd {shlex.quote(folder)} && {command}"
