"""A repository with a history, written commit by commit, and a memory that keeps what is read of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from holdfast.guard.redact import Redactor, cleaner
from holdfast.knowledge.commit_memory import CommitReading, CommitsRead, commit_sources
from holdfast.model.source import Source

ADA = ("Ada Example", "ada@example.org")
BOB = ("Bob Example", "bob@example.org")
NOW = 1_900_000_000.0
clean = cleaner(Redactor(["hunter2-staging-pass"]))


class GitStory:
    """Commits have a time each, a minute apart, so that a history is the same whenever it is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._time = 1_700_000_000

    def git(self, *words: str, stdin: bytes = b"", author: tuple[str, str] = ADA) -> str:
        self._time += 60
        who = {"GIT_AUTHOR_NAME": author[0], "GIT_AUTHOR_EMAIL": author[1]}
        when = {"GIT_AUTHOR_DATE": f"{self._time} +0000", "GIT_COMMITTER_DATE": f"{self._time} +0000"}
        done = subprocess.run(
            ["git", "-C", str(self.root), *words],
            env={**os.environ, **who, **when},
            input=stdin,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(
        self, message: str | bytes, author: tuple[str, str] = ADA, files: dict[str, str] | None = None
    ) -> str:
        for name, text in (files or {}).items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            self.git("add", "--force", name)
        data = message if isinstance(message, bytes) else message.encode()
        self.git(
            "commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-F", "-", stdin=data, author=author
        )
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str, message: str = "", author: tuple[str, str] = ADA) -> str:
        words = ["-m", message] if message else ["--no-edit"]
        self.git("merge", "--quiet", "--no-ff", *words, branch, author=author)
        return self.git("rev-parse", "HEAD")


class CommitMemory:
    """What a caller keeps: sources by their id, and the state of the last reading."""

    def __init__(self, root: Path, *, emails: tuple[str, ...] = (ADA[1],), others: bool = True) -> None:
        self.root = root
        self.emails = emails
        self.others = others
        self.sources: dict[str, Source] = {}
        self.state: CommitsRead | None = None
        self.given: list[Source] = []

    def read(self) -> CommitReading:
        reading = commit_sources(
            self.root, self.state, clean=clean, user_emails=self.emails, others=self.others, now=NOW
        )
        if reading.is_fresh:
            self.sources.clear()
        self.given = list(reading.sources())
        self.sources |= {source.id: source for source in self.given}
        for id in reading.gone:
            self.sources.pop(id, None)
        self.state = reading.state
        return reading

    def of(self, sha: str) -> Source:
        return self.sources[f"git:{sha}"]

    def texts(self) -> list[str]:
        return [told.text for source in self.sources.values() for told in source.statements]


def read_of(root: Path, **how: bool) -> CommitMemory:
    memory = CommitMemory(root, **how)  # type: ignore[arg-type]
    memory.read()
    return memory
