"""One small valid transcript per agent: what every importer is held to its contract with.

A new agent adds a `samples_*.py` with its own `SAMPLES`: its name and a function that writes the transcript where
the agent would, below a folder, and returns the file.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tests.agents.builders import CWD, SESSION, ClaudeFile, CodexFile, claude_usage

Writer = Callable[[Path], Path]

PROMPT = "make the tests pass"
ANSWER = "All tests pass now."


def claude_code(folder: Path) -> Path:
    file = ClaudeFile()
    file.user(0, PROMPT)
    file.run(2, "pytest -q", "1 failed in 0.1s", exit_code=1)
    file.edit(5, f"{CWD}/src/cart.py")
    file.run(8, "pytest -q", "3 passed in 0.1s")
    file.assistant(12, ANSWER, usage=claude_usage(5, 70, read=900))
    return file.save(folder / ".claude/projects/-home-ada-shop" / f"{SESSION}.jsonl")


def codex(folder: Path) -> Path:
    file = CodexFile()
    file.ask(0, PROMPT)
    file.run(2, "pytest -q", "1 failed in 0.1s", exit_code=1)
    file.patch(5, f"{CWD}/src/cart.py")
    file.run(8, "pytest -q", "3 passed in 0.1s")
    file.tokens(11, 900, 400, 70)
    file.agent(12, ANSWER)
    return file.save(folder / f".codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-{file.session}.jsonl")


def _all() -> dict[str, Writer]:
    found: dict[str, Writer] = {"claude-code": claude_code, "codex": codex}
    for module in sorted(Path(__file__).parent.glob("samples_*.py")):
        found |= import_module(f"tests.agents.{module.stem}").SAMPLES
    return found


SAMPLES: dict[str, Writer] = _all()
