"""`holdfast hook`: the same answer as the installed hook, and the application stays out of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.hooks.enabled import Enabled

PROGRAM = """
import os, sys
real = os._exit
def told(code): sys.stderr.write(" ".join(sys.modules)); sys.stderr.flush(); real(code)
os._exit = told
from holdfast.cli.main import main
main(["hook", "claude-code", "SessionStart"])
"""


def test_the_command_answers_like_the_installed_hook_and_loads_only_the_hot_path(repo: Path) -> None:
    enabled = Enabled(repo)
    command = [sys.executable, "-c", PROGRAM]
    payload = json.dumps(enabled.payload()).encode()
    done = subprocess.run(command, input=payload, cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert context.split("\n")[1:-1] == enabled.told().split("\n")[1:-1]
    rooms = {name.split(".")[1] for name in done.stderr.decode().split() if name.startswith("holdfast.")}
    assert rooms == {"cli", "core", "hooks"}
