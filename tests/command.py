"""`holdfast ARGUMENTS` for tests: in this process, or in one of its own where the process is what is tested."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from unittest import mock


class Finished(subprocess.CompletedProcess[str]):
    """A command that has ended, with what it printed."""

    def json(self) -> Any:
        return json.loads(self.stdout)


class Holdfast(Protocol):
    """Runs `holdfast ARGUMENTS`. `check` is the exit code to expect; None allows any."""

    def __call__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: int | None = None,
    ) -> Finished: ...


class Command:
    """The command line in `repo` unless another directory is given. What a subclass decides is where it runs."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo

    def __call__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        check: int | None = None,
    ) -> Finished:
        words = [str(argument) for argument in arguments]
        finished = self._run(words, cwd or self._repo, {"PYTHONUTF8": "1", **(env or {})}, input)
        if check is not None:
            said = f"holdfast {' '.join(words)}\n{finished.stdout}{finished.stderr}"
            assert finished.returncode == check, said
        return finished

    def _run(self, words: Sequence[str], cwd: Path, env: Mapping[str, str], given: str | None) -> Finished:
        raise AssertionError("a subclass runs it")


class OwnProcess(Command):
    """As a user runs it: a new interpreter for each command."""

    def _run(self, words: Sequence[str], cwd: Path, env: Mapping[str, str], given: str | None) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *words],
            cwd=cwd,
            env={**os.environ, **env},
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return Finished(done.args, done.returncode, done.stdout, done.stderr)


# These end the process themselves, or serve until their client is gone.
_MACHINE_INTERFACES = ("hook", "statusline", "mcp")


class ThisProcess(OwnProcess):
    """The same entry point without a new interpreter, which is most of what a command costs."""

    def _run(self, words: Sequence[str], cwd: Path, env: Mapping[str, str], given: str | None) -> Finished:
        from holdfast.cli.main import main

        if words[:1] and words[0] in _MACHINE_INTERFACES:
            return super()._run(words, cwd, env, given)
        out, err = _stream(), _stream()
        with mock.patch.dict(os.environ, env), contextlib.chdir(cwd), _streams(given or "", out, err):
            try:
                code = main(words)
            except SystemExit as exit:
                code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        return Finished(["holdfast", *words], code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


@contextlib.contextmanager
def _streams(given: str, out: io.TextIOWrapper, err: io.TextIOWrapper) -> Iterator[None]:
    read = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    with mock.patch.multiple(sys, stdin=read, stdout=out, stderr=err):
        yield
