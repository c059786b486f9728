"""An enabled project with a prepared digest, and its hooks: in this process, or in one of their own as a host runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.patience import PATIENCE_S

from holdfast.briefing.prepare import prepare
from holdfast.briefing.start import Briefings
from holdfast.core import processes
from holdfast.flows.hosts import Plan, install
from holdfast.hooks import hook, rebuild, trace
from holdfast.hot import hook_entry
from holdfast.model.line import Line
from holdfast.store.machine import Machine
from holdfast.store.project import Project

LINES = [
    Line("Open: wire the refund endpoint", "left open by the last session"),
    Line("tests: make test", "it passed"),
]
SESSION = "0dd89f7c-4b6d-4da4-93fc-bb732d2260fd"
# What `hook_entry.py` does, with other limits: those of a person's patience say nothing on a machine that has other
# things to do.
_PATIENT = """\
import sys
sys.path.append(sys.argv.pop(1))
deadline, renewed, last_word = (float(sys.argv.pop(1)) for _ in range(3))
from holdfast.hooks import hook, rebuild, trace
hook.DEADLINE_S, rebuild.RENEWED_S, trace.HELD_S, hook.LAST_WORD_S = deadline, renewed, deadline, last_word
hook.run(sys.argv[1:])
"""


def hook_command(
    *words: str,
    python: str = sys.executable,
    deadline_s: float = PATIENCE_S,
    renewed_s: float = PATIENCE_S,
    last_word_s: float = hook.LAST_WORD_S,
) -> list[str]:
    """A hook that may take this long, and wait so long for what is made anew; `words` are the host and the event."""
    package = str(Path(hook_entry.__file__).parents[2])
    limits = [str(limit) for limit in (deadline_s, renewed_s, last_word_s)]
    return [python, "-I", "-S", "-c", _PATIENT, package, *limits, *words]


class Enabled:
    """Hooks of one project. Children are not awaited unless a test does.

    With `process` each hook is a process: where its end, its limits or several at once are what is tested.
    """

    process = False
    deadline_s = PATIENCE_S
    renewed_s = PATIENCE_S
    last_word_s = hook.LAST_WORD_S

    def __init__(self, root: Path) -> None:
        self.root = root
        self.machine = Machine(cwd=root)
        install(self.machine, self.machine.project(), Plan(agent="claude-code", changes=()))
        self.prepare()

    @property
    def project(self) -> Project:
        return self.machine.project()

    @property
    def memory(self) -> Path:
        return self.project.memory

    def prepare(self, lines: list[Line] | None = None, branch: str = "", **more: Any) -> None:
        """The lines for a new session; `more` are other parts of the briefings."""
        digests = {("startup", branch): LINES if lines is None else lines}
        prepare(Machine(cwd=self.root), self.project, Briefings(digests=digests, **more))

    def payload(self, **more: object) -> dict[str, object]:
        event = {
            "session_id": SESSION,
            "transcript_path": str(self.root / "none.jsonl"),
            "cwd": str(self.root),
        }
        return {**event, "source": "startup", **more}

    def hook(self, event: str, env: dict[str, str] | None = None, **more: object) -> Answer:
        payload = json.dumps(self.payload(**more)).encode()
        if not self.process:
            return run_hook(event, payload, env, self.root)
        limits = {name: getattr(self, name) for name in ("deadline_s", "renewed_s", "last_word_s")}
        words = ("claude-code", event)
        return Answer(run_process(words, payload, _environment(env), self.root, **limits))

    def told(self, **more: object) -> str:
        """What a session is told at its start; one that has heard nothing yet, unless it says which it is."""
        if "session_id" not in more:
            (self.memory / "why.jsonl").unlink(missing_ok=True)
            shutil.rmtree(self.memory / "claims", ignore_errors=True)
        return self.hook("SessionStart", **more).context

    def inbox(self) -> list[dict[str, Any]]:
        folder = self.memory / "inbox"
        return (
            [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
            if folder.is_dir()
            else []
        )

    def log(self) -> str:
        path = self.memory / "hook.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


class Answer:
    """What a hook printed."""

    def __init__(self, printed: bytes) -> None:
        self.printed = printed

    @property
    def shown(self) -> str:
        """The line that the host shows to the person."""
        return str(json.loads(self.printed)["systemMessage"]) if self.printed else ""

    @property
    def context(self) -> str:
        if not self.printed:
            return ""
        output = json.loads(self.printed)
        assert set(output) == {"hookSpecificOutput", "systemMessage"}
        assert set(output["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        return str(output["hookSpecificOutput"]["additionalContext"])


def run_hook(
    event: str,
    payload: bytes,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    host: str = "claude-code",
    process: bool = False,
    child: bool = True,
) -> Answer:
    """`process`: the hook is one of its own. `child`: where it is not, whether it may start the one that captures."""
    if process:
        return Answer(run_process((host, event), payload, _environment(env), cwd))
    return Answer(run_here((host, event), payload, _environment(env), cwd, child))


def _environment(env: dict[str, str] | None) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("CLAUDE")} | (env or {})


def run_process(
    words: tuple[str, ...], payload: bytes, env: dict[str, str], cwd: Path | None = None, **limits: float
) -> bytes:
    """What the process of a hook prints. Every one of them ends with 0 and says nothing on standard error."""
    command = hook_command(*words, **limits)
    done = subprocess.run(command, input=payload, env=env, cwd=cwd, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def run_here(
    words: tuple[str, ...], payload: bytes, env: dict[str, str], cwd: Path | None = None, child: bool = True
) -> bytes:
    """What the function of that process answers, called in this one: a hundred times as cheap."""
    output = BytesIO()
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ, env, clear=True):
        if cwd is not None:
            patch.chdir(cwd)
        for name, limit in (("DEADLINE_S", PATIENCE_S), ("BEGUN", time.monotonic()), ("at_work", [])):
            patch.setattr(hook, name, limit)
        patch.setattr(rebuild, "RENEWED_S", PATIENCE_S)
        patch.setattr(trace, "HELD_S", PATIENCE_S)
        patch.setattr(trace, "_read", {})
        if not child:
            patch.setattr(processes, "detach", lambda *_: None)
            patch.setattr(rebuild, "detach", lambda *_: None)
        patch.setattr(os, "getppid", os.getpid)  # a hook is started by the host: here, by the tests
        assert hook.main([*words], BytesIO(payload), output, dict(env)) == 0
    return output.getvalue()


def everything_below(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time: what a silent hook must leave as it was."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}
