"""What the tests ask of a client: that it runs a prompt in a home of its own against our model, and says what came."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.model_server import ModelServer
from tests.e2e.terminal import Terminal, terminal
from tests.patience import PATIENCE_S, wait_until

from holdfast.agents.registry import BY_AGENT
from holdfast.store.machine import Places

KEY = "no-real-key-0123456789abcdef"
CLEAR_LINE = "\x15"
TRIES, TRY_S = 30, 10  # how often a person says goodbye to a client that is busy


@dataclass(frozen=True)
class Answer:
    """A session that has ended by itself: how the client names it, and what it printed."""

    session: str
    printed: str


class Client(ABC):
    """A client with its own settings: provider, key, trust and telemetry are written here, never our wiring.

    Those settings are there before holdfast is installed, as they would be on a person's machine.
    """

    agent: str  # as `holdfast agents install` calls it
    farewell = "/quit"  # what a person types to leave
    settings: tuple[str, ...]  # the files of its home that `settle` writes
    note = '"noteOfMine": 1'  # what somebody adds to them

    def __init__(self, program: str, home: Path, repo: Path) -> None:
        self.program, self.home, self.repo = program, home, repo
        self.settle()

    @abstractmethod
    def settle(self) -> None:
        """Writes the settings of somebody who has used the client before."""

    @abstractmethod
    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        """The arguments of a session without a terminal. `resume` is the session to go on with."""

    @abstractmethod
    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        """The arguments of a session in a terminal that begins with this prompt."""

    @abstractmethod
    def variables(self, server: ModelServer) -> dict[str, str]:
        """What the client reads from its environment."""

    @abstractmethod
    def session_in(self, printed: str) -> str:
        """The name of the session, from what the client printed."""

    def edit(self, name: str) -> None:
        """Changes a setting, as a person or the client itself does at any time."""
        path = self.home / name
        text = path.read_text(encoding="utf-8")
        if name.endswith(".toml"):
            path.write_text(f"{text}\n# {self.note}\n", encoding="utf-8")
        else:
            comma = "" if re.match(r"\{\s*\}", text[text.index("{") :]) else ","
            path.write_text(text.replace("{", f"{{ {self.note}{comma}", 1), encoding="utf-8")

    def edited(self, name: str) -> bool:
        """Whether that change stands."""
        return self.note in (self.home / name).read_text(encoding="utf-8")

    def recorded(self, words: str) -> bool:
        """Whether the client has written this into a transcript: clients write when they like."""
        importer = BY_AGENT[self.agent]
        places = Places(home=self.home, env={}, project=self.repo)
        for root in importer.roots(places):
            for path in importer.candidates(root) if root.is_dir() else ():
                # What a database was told last stands beside it.
                for file in (path, path.with_name(f"{path.name}-wal")):
                    if file.is_file() and words.encode() in file.read_bytes():
                        return True
        return False

    def env(self, server: ModelServer) -> dict[str, str]:
        """Nothing of the machine that runs the tests: CI=true there would switch our hooks off."""
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(Path(self.program).parent), "/usr/local/bin:/usr/bin:/bin"]),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            **self.variables(server),
        }

    def start(
        self, server: ModelServer, prompt: str, resume: str = "", more: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """`more` are arguments that only one test needs."""
        return subprocess.Popen(
            [self.program, *self.words(server, prompt, resume), *more],
            cwd=self.repo,
            env=self.env(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, server: ModelServer, prompt: str, resume: str = "", more: Sequence[str] = ()) -> Answer:
        process = self.start(server, prompt, resume, more)
        try:
            printed, errors = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired as late:
            kill(process)
            raise AssertionError(f"{self.agent} came to no end\n{late.stdout!r}\n{late.stderr!r}") from late
        assert process.returncode == 0, f"{self.agent} ended with {process.returncode}\n{printed}\n{errors}"
        assert not server.missed, server.missed
        return Answer(self.session_in(printed), printed)

    def terminal(
        self, server: ModelServer, prompt: str, more: Sequence[str] = ()
    ) -> AbstractContextManager[Terminal]:
        env = {**self.env(server), "TERM": "xterm-256color"}
        return terminal([self.program, *more, *self.spoken(server, prompt)], self.repo, env)

    def talk(self, server: ModelServer, prompt: str) -> None:
        """A session in a terminal, as a person has it: from the prompt to its last answer, and out."""
        with self.terminal(server, prompt) as shown:
            ended = wait_until(lambda: len(server.turns()) >= len(server.steps))
            assert ended, f"{self.agent} came to no end\n{shown.shown[-3000:]}"
            assert not server.missed, server.missed
            assert self.leave(shown), f"{self.agent} does not leave\n{shown.shown[-3000:]}"

    def leave(self, shown: Terminal) -> bool:
        """Words typed while a client is still busy are not obeyed: they are taken away and typed again."""
        return shown.say(
            f"{CLEAR_LINE}{self.farewell}", lambda: shown.process.poll() is not None, TRIES, TRY_S
        )


def kill(process: subprocess.Popen[str]) -> None:
    """The client and all it started that is still in its group, as `kill -9` or a lost machine would."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
