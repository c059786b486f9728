"""A repository with recorded sessions: what agents edited, when, and what was committed from it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.agents.builders import START, ClaudeFile
from tests.command import Holdfast

HOUR = 3600.0


def code(name: str, count: int = 6) -> str:
    """Lines of code that no other name has."""
    body = "".join(
        f"    total_{name} = add_{name}(total_{name}, {name}_rates[{at}])\n" for at in range(count)
    )
    return f"def compute_{name}(order):\n{body}    return total_{name}\n"


class History:
    def __init__(self, repo: Path, home: Path, holdfast: Holdfast) -> None:
        self.repo, self.home, self.holdfast = repo, home, holdfast

    def path(self, name: str) -> Path:
        return self.repo / name

    def put(self, name: str, text: str) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def git(self, *arguments: str, at: float = 0.0, committed: float | None = None) -> str:
        who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com"}
        who |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}
        times = {
            "GIT_AUTHOR_DATE": f"{int(START + at)} +0000",
            "GIT_COMMITTER_DATE": f"{int(START + (at if committed is None else committed))} +0000",
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.repo,
            env={**os.environ, **who, **times},
            check=True,
            capture_output=True,
            encoding="utf-8",
        )
        return done.stdout.strip()

    def commit(self, at: float, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, at=at)
        return self.git("rev-parse", "HEAD")

    def session(self, name: str, *steps: tuple[Any, ...], prompt: str = "write it", at: float = 0.0) -> str:
        """A session of Claude Code that was asked something and made these edits.

        A step is (seconds, path, new text), (seconds, path, old, new), either with `failed` or `unanswered` behind it.
        """
        session = f"{name * 8}"[:8] + "-58a4-4c4e-9b53-0d9f6b7e2a11"
        file = ClaudeFile(session, str(self.repo))
        file.user(at, prompt)
        for step in steps:
            ended = step[-1] if step[-1] in ("failed", "unanswered") else ""
            moment, path, *texts = step[:-1] if ended else step
            given = {"file_path": str(self.path(path))}
            if len(texts) == 1:
                call = file.call(moment, "Write", {**given, "content": texts[0]})
            else:
                call = file.call(moment, "Edit", {**given, "old_string": texts[0], "new_string": texts[1]})
            if ended == "failed":
                file.result(moment + 1, call, "<tool_use_error>String to replace not found", error=True)
            elif not ended:
                file.result(moment + 1, call, "The file was updated.")
        file.save(self.home / ".claude" / "projects" / "-shop" / f"{session}.jsonl")
        return session

    def write_and_commit(self, name: str, path: str, text: str, at: float = 0.0) -> str:
        """A session that writes a file, and the commit ten minutes later."""
        session = self.session(name, (at + 60, path, text), at=at)
        self.put(path, text)
        self.commit(at + 600)
        return session

    def blame(self, name: str) -> list[dict[str, Any]]:
        spans: list[dict[str, Any]] = self.holdfast("blame", name, "--json", check=0).json()
        return spans

    def sessions(self, name: str) -> list[str | None]:
        """For each line of a file the session that is named."""
        return [span["session"] for span in self.blame(name) for _ in range(span["end"] - span["start"] + 1)]
