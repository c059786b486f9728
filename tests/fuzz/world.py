"""A scratch home with one enabled project whose memory holds something of every kind, for what needs a whole machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from unittest import mock

from msgspec.structs import replace
from tests.fuzz.oracles import FAST
from tests.hooks.enabled import Enabled
from tests.remembered import AT, remember

from holdfast.briefing.prepare import prepare
from holdfast.core import processes
from holdfast.demo.run import SESSIONS
from holdfast.flows.import_sessions import import_into
from holdfast.flows.portability import export
from holdfast.hooks import hook, rebuild
from holdfast.model.memory import Decision, Question
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_KEPT = ("PATH", "LANG", "TMPDIR", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
# What hooks leave in a memory; without it every input meets the same memory.
_TRACES = ("why.jsonl", "why.jsonl.1", "hook.log", "hook.log.1", "inbox", "claims", "seen", "said")


class World:
    """It takes the place of this process's environment until it is closed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.folder = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-fuzz-", dir=FAST))
        )
        self.home, self.repo = self.folder / "home", self.folder / "shop"
        self.home.mkdir()
        self._stack.enter_context(mock.patch.dict(os.environ, self._environment(), clear=True))
        for module in (processes, rebuild):  # no input may start a process
            self._stack.enter_context(mock.patch.object(module, "detach", lambda *_: None))
        self._stack.enter_context(mock.patch.object(rebuild, "prepare_now", lambda *_: False))
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(self.repo)], check=True)
        (self.home / ".holdfast").mkdir(mode=0o700)
        (self.home / ".holdfast" / "config.toml").write_text('scanner = "off"\n', encoding="utf-8")
        self._remember()
        self._copy = self.folder / "copy"
        shutil.copytree(self.memory, self._copy, symlinks=True)

    def close(self) -> None:
        self._stack.close()

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        people = {
            f"GIT_{role}_{what}": "ada@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return {**kept, **people, **git, "HOME": str(self.home), "USERPROFILE": str(self.home), "TZ": "UTC"}

    def _remember(self) -> None:
        machine = self.machine()
        Enabled(self.repo)
        import_into(machine, self.project, [SESSIONS])
        store = remember(self.repo, "refund")
        question = Question(text="Which database do we use?", answer="PostgreSQL", by="user", at=AT)
        store.change_questions(lambda known: (*known, question))
        decision = Decision(
            text="Keep src/reef.py free of I/O", rationale="it is tested without a disk", by="user", at=AT
        )
        store.change_facts(lambda now: replace(now, decisions=(*now.decisions, decision)), "by hand")
        (self.repo / "src").mkdir()
        (self.repo / "src" / "reef.py").write_text("def tide(): ...\n", "utf-8")
        lessons = self.memory / "lessons"
        lessons.mkdir(exist_ok=True)
        (lessons / "testing.md").write_text(
            "---\nname: testing\nfingerprint:\n  - tests/\n---\n- run make test\n", "utf-8"
        )
        prepare(machine, self.project)

    def machine(self) -> Machine:
        return Machine(cwd=self.repo)

    @property
    def project(self) -> Project:
        return self.machine().project()

    @property
    def memory(self) -> Path:
        return self.project.memory

    def forget_traces(self) -> None:
        memory = self.memory
        for name in _TRACES:
            path = memory / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def restore(self) -> None:
        """The memory as it was in the beginning."""
        memory = self.memory
        shutil.rmtree(memory)
        shutil.copytree(self._copy, memory, symlinks=True)

    def memory_files(self) -> dict[str, bytes]:
        """The markdown files of the memory, by their names."""
        return {path.name: path.read_bytes() for path in sorted(self.memory.rglob("*.md"))}

    def archive(self) -> bytes:
        target = self.folder / "seed.tar.gz"
        export(self.machine(), self.project, str(target), "0.1.0")
        data = target.read_bytes()
        target.unlink()
        return data

    @contextmanager
    def _as_started(self) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.repo)
        try:
            yield
        finally:
            os.chdir(before)

    def run_hook(self, words: list[str], payload: bytes) -> bytes:
        """What the hook's process prints for a call: the same function, in this process."""
        from holdfast.hooks import trace

        output = BytesIO()
        trace._read.clear()
        hook.at_work.clear()
        with self._as_started(), mock.patch.object(hook, "DEADLINE_S", 10**6):
            hook.main(words, BytesIO(payload), output, dict(os.environ))
        return output.getvalue()
