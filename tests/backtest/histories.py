"""Histories with known truth: a repository with commits of set dates, and sessions of set times."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.agents.builders import START, ClaudeFile

DAY = 86_400.0
WRONG = "gh pr view --flag123 --json title"
RIGHT = "gh pr view --json title"
REFUSED = "unknown flag: --flag123"
STORE = {
    "question": "Which database should keep the print jobs of the spooler?",
    "header": "Store",
    "multiSelect": False,
    "options": [
        {"label": "Redis", "description": "fast"},
        {"label": "SQLite", "description": "on the handheld"},
    ],
}


class History:
    """A repository and the sessions that were recorded in it, a day each."""

    def __init__(self, repo: Path, home: Path) -> None:
        self.repo, self.folder = repo, home / ".claude" / "projects" / "shop"
        self.sessions = 0

    def commit(self, day: float, files: Mapping[str, str | None]) -> None:
        """Commits contents of files at a day; None removes a file."""
        for name, text in files.items():
            path = self.repo / name
            if text is None:
                self._git("rm", "-q", name)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                self._git("add", name)
        when = datetime.fromtimestamp(START + day * DAY, UTC).isoformat()
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        self._git("commit", "-q", "-m", f"Change {', '.join(files)}", **dates)

    def _git(self, *words: str, **env: str) -> None:
        import os

        subprocess.run(["git", "-C", str(self.repo), *words], check=True, env={**os.environ, **env})

    def session(self, day: float, prompt: str, *, branch: str = "main") -> Session:
        self.sessions += 1
        return Session(self, self.sessions, day, prompt, branch)


class Session:
    """A session of one prompt; its steps are a minute apart. `save` writes it."""

    def __init__(self, history: History, number: int, day: float, prompt: str, branch: str) -> None:
        self.id = f"{number:08d}-1111-4111-8111-111111111111"
        self._history = history
        self._file = ClaudeFile(self.id, str(history.repo), branch=branch, prefix=f"s{number}")
        self._at = day * DAY
        self._file.user(self._at, prompt)

    def _next(self) -> float:
        self._at += 60.0
        return self._at

    def run(self, command: str, output: str = "", *, exit_code: int = 0) -> Session:
        self._file.run(self._next(), command, output, exit_code=exit_code)
        return self

    def read(self, name: str) -> Session:
        at, path = self._next(), str(self._history.repo / name)
        call = self._file.call(at, "Read", {"file_path": path})
        self._file.result(at + 1, call, "1 content")
        return self

    def edit(self, name: str) -> Session:
        self._file.edit(self._next(), str(self._history.repo / name))
        return self

    def ask(self, answer: str) -> Session:
        at = self._next()
        call = self._file.call(at, "AskUserQuestion", {"questions": [STORE]})
        said = f'User has answered your questions: "{STORE["question"]}"="{answer}". You can now continue.'
        details = {"questions": [STORE], "answers": {STORE["question"]: answer}}
        self._file.result(at + 20, call, said, details=details)
        return self

    def prompt(self, text: str) -> Session:
        self._file.user(self._next(), text)
        return self

    def say(self, text: str) -> Session:
        self._file.assistant(self._next(), text)
        return self

    def save(self) -> str:
        self._file.assistant(self._next(), "Done.")
        self._file.save(self._history.folder / f"{self.id}.jsonl")
        return self.id
