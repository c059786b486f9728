"""A hook run as any of the hosts runs it; what it printed is parsed, for each host reads something else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.hooks.enabled import run_here, run_process

_OF_HOSTS = ("CLAUDE", "CODEX", "COPILOT", "GEMINI", "QWEN", "CURSOR", "OPENCODE")


def asked(
    host: str,
    event: str,
    payload: object,
    cwd: Path,
    env: dict[str, str] | None = None,
    process: bool = False,
) -> dict[str, Any]:
    """The host's answer, {} where nothing was printed. `process`: of a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OF_HOSTS)}
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    run = run_process if process else run_here
    printed = run((host, event), data, environment | (env or {}), cwd)
    answer: dict[str, Any] = json.loads(printed) if printed else {}
    return answer
