"""A repository with a made-up past, set up by the command line alone: what hooks and captures are measured in."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from bench.score.processes import Cost, Installation, cost_of

TOPICS = (
    ("voucher refunds", "shop/refunds.py", "shop/vouchers.py"),
    ("parcel labels", "dispatch/labels.py", "dispatch/printers.py"),
    ("tax rounding", "billing/tax.py", "billing/invoices.py"),
    ("login throttling", "accounts/login.py", "accounts/throttle.py"),
    ("search suggestions", "catalogue/suggest.py", "catalogue/index.py"),
    ("stock alerts", "warehouse/alerts.py", "warehouse/levels.py"),
)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
WRONG, RIGHT = "gh pr view --flag123 7", "gh pr view 7"


class Practice(NamedTuple):
    """A repository with hooks, the environment of its sessions, and the hook commands that the client would run."""

    code: Installation
    home: Path
    repo: Path
    env: dict[str, str]
    hooks: dict[str, list[str]]

    def hook(self, event: str, **payload: object) -> Cost:
        """Runs the hook of an event, and all that it leaves behind, to the end."""
        session = {
            "session_id": str(uuid.uuid4()),
            "cwd": str(self.repo),
            "hook_event_name": event,
            **payload,
        }
        return cost_of(self.hooks[event], self.env, self.repo, session)

    def run(self, *arguments: str | Path) -> str:
        command = self.code.holdfast(*arguments)
        done = subprocess.run(
            command, cwd=self.repo, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout


def practice(code: Installation, home: Path, sessions: int) -> Practice:
    """Imports that many sessions into a new repository and installs the hooks of Claude Code."""
    repo, claude = home / "shop", home / ".claude"
    claude.mkdir(parents=True)
    env = {
        **{name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ},
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(claude),
        "HOLDFAST_HOME": str(home / "memory"),
        "CLAUDE_PROJECT_DIR": str(repo),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    _write_repository(repo, env)
    made = Practice(code, home, repo, env, {})
    past = home / "past"
    past.mkdir()
    for number in range(sessions):
        write_session(past / f"{_identity(number)}.jsonl", repo, number)
    made.run("import", past)
    made.run("init", "--yes", "--agents", "claude-code")
    settings = next(
        path
        for path in (claude / "settings.json", *sorted((repo / ".claude").glob("settings*.json")))
        if path.exists()
    )
    return made._replace(hooks=_hooks_in(settings))


def _hooks_in(settings: Path) -> dict[str, list[str]]:
    configured = json.loads(settings.read_text(encoding="utf-8"))["hooks"]
    return {
        event: shlex.split(groups[0]["hooks"][0]["command"].removesuffix("|| true"))
        for event, groups in configured.items()
    }


def _write_repository(repo: Path, env: dict[str, str]) -> None:
    git = ["git", "-C", repo, "-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True, env=env)
    for _, *files in TOPICS:
        for name in files:
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(f'"""{name}"""\n', encoding="utf-8")
    subprocess.run([*git, "add", "-A"], check=True, env=env)
    subprocess.run([*git, "commit", "-q", "-m", "Start the shop"], check=True, env=env)


def _identity(number: int) -> str:
    return str(uuid.UUID(int=0xABC0000 + number, version=4))


def write_session(path: Path, repo: Path, number: int, turns: int = 3, wandering: bool = False) -> None:
    """A session on one topic: prompts, edits of its files, a command that fails and the one that works.

    A wandering one moves to the next topic with each prompt, and searches before it edits.
    """
    lines = _lines(path.stem, repo, number, turns, wandering)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _lines(session: str, repo: Path, number: int, turns: int, wandering: bool) -> Iterator[dict[str, object]]:
    parent, clock = None, START + timedelta(hours=5 * number)

    def line(kind: str, **fields: object) -> dict[str, object]:
        nonlocal parent, clock
        clock += timedelta(seconds=20)
        identity = str(uuid.uuid4())
        made = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": str(repo),
            "sessionId": session, "version": "2.1.40", "gitBranch": "main", "type": kind, **fields,
            "uuid": identity, "timestamp": clock.isoformat().replace("+00:00", "Z"),
        }  # fmt: skip
        parent = identity
        return made

    def call(
        name: str, given: dict[str, str], result: str, failed: bool = False
    ) -> Iterator[dict[str, object]]:
        key = f"toolu_{uuid.uuid4().hex[:16]}"
        yield reply({"type": "tool_use", "id": key, "name": name, "input": given})
        content = {"type": "tool_result", "tool_use_id": key, "content": result, "is_error": failed}
        yield line("user", message={"role": "user", "content": [content]})

    def reply(content: dict[str, object]) -> dict[str, object]:
        usage = {
            "input_tokens": 9,
            "output_tokens": 90,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": f"msg_{uuid.uuid4().hex[:12]}", "type": "message", "role": "assistant",
            "model": "claude-opus-4-5-20251101", "content": [content], "usage": usage,
        }  # fmt: skip
        return line("assistant", message=message, requestId=f"req_{uuid.uuid4().hex[:8]}")

    for turn in range(turns):
        topic, *files = TOPICS[(number + turn * wandering) % len(TOPICS)]
        asked = f"Fix the {topic}: case {number}.{turn} gives the wrong result in the nightly run"
        yield line("user", message={"role": "user", "content": asked})
        yield from call("Bash", {"command": WRONG}, "Exit code 1\nunknown flag: --flag123", failed=True)
        yield from call("Bash", {"command": RIGHT}, "title: Fix the nightly run")
        if wandering:
            yield from call("Grep", {"pattern": "nightly", "path": str(repo)}, "No files found")
        for name in files:
            change = {"file_path": str(repo / name), "old_string": f"a{turn}", "new_string": f"b{turn}"}
            yield from call("Read", {"file_path": str(repo / name)}, f'"""{name}"""')
            yield from call("Edit", change, "The file has been updated.")
        yield from call("Bash", {"command": "uv run pytest -q"}, "12 passed in 0.3s")
        yield reply({"type": "text", "text": f"The {topic} are fixed; the tests pass."})
