"""Qwen Code: a fork of Gemini CLI whose hooks have the names of Claude Code."""

from __future__ import annotations

from pathlib import Path

from holdfast.agents.gemini.host import GeminiFamily
from holdfast.agents.host_contract import Host, Where


def home_of(where: Where) -> Path:
    moved = where.env.get("QWEN_HOME")
    return (Path(moved).expanduser() if moved else where.home / ".qwen").absolute()


# What a hook says before a tool runs reaches nobody, so it is said when a command has failed, or a person answered.
HOST: Host = GeminiFamily(
    "qwen",
    "Qwen Code",
    folder=".qwen",
    home=home_of,
    timeouts={  # seconds; from 1000 on they are taken for milliseconds
        "SessionStart": 5,
        "UserPromptSubmit": 5,
        "PostToolUse": 5,
        "PostToolUseFailure": 5,
        "Stop": 5,
        "StopFailure": 5,
        "PreCompact": 5,
        "SessionEnd": 10,
    },
    matchers={"PostToolUse": "^ask_user_question$", "PostToolUseFailure": "^run_shell_command$"},
    server={"alwaysLoadTools": True},  # without it they are hidden behind a search for tools
    asks=False,
)
