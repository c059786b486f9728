"""Qwen Code: a fork of Gemini CLI whose hooks have the names of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit.host_contract import Host, Where
from holdfast.agents.gemini.host import Gemini


class Qwen(Gemini):
    agent = "qwen"
    title = "Qwen Code"
    own = ".qwen"
    timeouts: Mapping[str, int] = {  # seconds; from 1000 on they are taken for milliseconds
        "SessionStart": 5,
        "UserPromptSubmit": 5,
        "PostToolUse": 5,
        "PostToolUseFailure": 5,
        "Stop": 5,
        "StopFailure": 5,
        "PreCompact": 5,
        "SessionEnd": 10,
    }
    # Output of a hook that runs before a tool is dropped, so ours runs after a command failed, a person answered or a
    # file was read.
    matchers: Mapping[str, str] = {
        "PostToolUse": "^(ask_user_question|read_file|edit|write_file)$",
        "PostToolUseFailure": "^run_shell_command$",
    }
    earlier: Mapping[str, str] = {"PostToolUse": "^ask_user_question$"}
    beside: Mapping[str, Any] = {"alwaysLoadTools": True}  # else they are hidden behind a search for tools
    asks = False

    def folder(self, where: Where) -> Path:
        return where.folder("QWEN_HOME", ".qwen")


HOST: Host = Qwen()
