"""A hook run as any of the hosts runs it; what it printed is parsed, for each host reads something else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.hooks.enabled import hook_command

_OF_HOSTS = ("CLAUDE", "CODEX", "COPILOT", "GEMINI", "QWEN", "CURSOR", "OPENCODE")


def asked(
    host: str, event: str, payload: object, cwd: Path, env: dict[str, str] | None = None
) -> dict[str, Any]:
    """The host's answer, {} where nothing was printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OF_HOSTS)}
    done = subprocess.run(
        hook_command(host, event),
        input=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
        env=environment | (env or {}),
        cwd=cwd,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return answer
