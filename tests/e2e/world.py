"""A machine for a test: a home, a repository, our command line, and the clients that are installed on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.command import Finished, Holdfast
from tests.e2e.clients import CLIENTS, Client
from tests.e2e.model_server import Request
from tests.patience import wait_until

ROOT = Path(__file__).parents[2]
# Read before a test has a home of its own.
CACHE = os.environ.get("HOLDFAST_CLIENTS") or str(Path.home() / ".cache" / "holdfast-clients")
FENCED = re.compile(r"\[holdfast ([a-z0-9]{6}): [^\]]*\]\n(.*?)\n\[/holdfast \1\]", re.DOTALL)


def program_of(agent: str) -> str:
    """The pinned client, from the cache or the npm registry.

    Where it cannot be had the other tests are worth running all the same; `make e2e` was asked for nothing else.
    """
    program, problem = _installed(agent)
    if problem and os.environ.get("HOLDFAST_CLIENTS_REQUIRED"):
        pytest.fail(problem)
    if problem:
        pytest.skip(problem)
    return program


@cache
def _installed(agent: str) -> tuple[str, str]:
    """The program, or why there is none: asked once, since a registry that is away takes its time to say so."""
    if shutil.which("npm") is None:
        return "", "clients are installed with npm, which is not here"
    script = ROOT / "scripts" / "install_clients.sh"
    done = subprocess.run(
        ["bash", str(script), agent],
        env={**os.environ, "HOLDFAST_CLIENTS": CACHE},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    return done.stdout.strip(), f"npm cannot install {agent}: {done.stderr[:300]}" * bool(done.returncode)


class World:
    """What a person has before them: a repository, a terminal, and agents."""

    def __init__(self, home: Path, repo: Path, holdfast: Holdfast) -> None:
        self.home, self.repo, self._holdfast = home, repo, holdfast
        (repo / "README.md").write_text("A shop.\n", encoding="utf-8")
        (repo / "Makefile").write_text("test:\n\t@echo 3 passed\n", encoding="utf-8")

    def holdfast(self, *words: str) -> Finished:
        return self._holdfast(*words, check=0)

    def client(self, agent: str) -> Client:
        """The client with its own settings; `install` wires it."""
        return CLIENTS[agent](program_of(agent), self.home, self.repo)

    def install(self, agent: str) -> Client:
        client = self.client(agent)
        self.holdfast("install", agent, "--yes")
        return client

    @property
    def memory(self) -> Path:
        (memory,) = (self.home / ".holdfast" / "projects").iterdir()
        return memory

    def rows(self) -> list[str]:
        """The sessions in the ledger."""
        ledger = self.repo / ".holdfast" / "ledger.md"
        lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
        return [line for line in lines if line.startswith("|")][2:]

    def captured(self, sessions: int) -> None:
        """Waits until nothing is left to be done, and counts the rows in the ledger: a resumed session has two."""
        self.settled()
        assert len(self.rows()) == sessions, self.state()

    def settled(self) -> None:
        """Waits until nothing is left to be done."""
        assert wait_until(self._is_settled), self.state()

    def _is_settled(self) -> bool:
        """Some clients never say that a session is over: that is noticed by the next one, or by a command."""
        if self.processes():
            return False
        if self.waiting():
            self.holdfast("resume")
        return not self.waiting() and not self.processes()

    def waiting(self) -> list[str]:
        """What hooks left in the inbox."""
        found = []
        for path in (self.memory / "inbox").glob("*.json"):
            with suppress(FileNotFoundError):  # somebody is done with it just now
                found.append(path.read_text(encoding="utf-8"))
        return found

    def processes(self) -> list[str]:
        """Processes of ours that were started with this home, by their command lines."""
        return [words for words in processes_of(self.home) if "holdfast" in words]

    def confessed(self) -> str:
        """What hooks and captures noted because it went wrong."""
        log = self.memory / "hook.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def why(self) -> list[dict[str, Any]]:
        path = self.memory / "why.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def starts(self) -> list[dict[str, Any]]:
        return [entry for entry in self.why() if entry["event"] == "SessionStart"]

    def prepared(self, query: str) -> list[str]:
        """From what hooks read."""
        db = sqlite3.connect(f"file:{self.memory / 'hot.db'}?mode=ro&immutable=1", uri=True)
        try:
            return [text for (text,) in db.execute(query)]
        finally:
            db.close()

    def state(self) -> str:
        """For the message of a test that failed."""
        told = [str(entry) for entry in self.why()[-6:]]
        return "\n".join([*self.rows(), self.confessed(), *self.waiting(), *self.processes(), *told])

    def files(self) -> Iterator[Path]:
        """Every file of ours: the private folder and the one in the repository."""
        for root in (self.home / ".holdfast", self.repo / ".holdfast"):
            yield from (path for path in root.rglob("*") if path.is_file())


def blocks(request: Request) -> list[list[str]]:
    """What the model saw of ours in this request: the lines of each fenced block."""
    return [block[2].split("\n") for block in FENCED.finditer(request.text)]


def told(request: Request) -> list[str]:
    """The lines of ours that the model saw in this request."""
    return [line for lines in blocks(request) for line in lines]


def processes_of(home: Path) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            env = (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if f"HOME={home}\0".encode() in env and int(folder.name) != os.getpid():
            found.append(words)
    return found


def snapshot(*roots: Path) -> dict[Path, bytes]:
    """Every file below, with its bytes."""
    return {
        path: path.read_bytes()
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts and ".holdfast" not in path.parts
    }
