"""Paths that a repository, a payload or another process chooses: pipes, devices, folders, loops, links elsewhere."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.hooks.enabled import SESSION, Enabled, run_hook
from tests.test_layers import SOURCE, calls, tree_of

from holdfast.core import place, reading
from holdfast.hooks import compaction, rebuild, trace

pytestmark = [
    pytest.mark.promise("H3"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names"),
]

# Calls that open files without asking what they are. Everything else goes through core/reading.py.
OPENS = {"open", "io.open", "os.open", "os.fdopen", ".open", ".read_text", ".read_bytes", "mmap.mmap"}
ALLOWED = {
    "core/reading.py": "the one safe way",
    "core/patterns.py": "writes what it opened through core/reading.py",
    "core/processes.py": "the kernel's files under /proc; standard streams of a child",
    "hooks/meaning.py": "files of this package",
    "hooks/relevance.py": "a file of this package",
}


def modules() -> Iterator[Path]:
    """The modules of a hook's process: its own, and those of core that they import."""
    waiting = sorted((SOURCE / "hooks").glob("*.py"))
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("holdfast.core"):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                files = [SOURCE.parent / f"{name.replace('.', '/')}.py" for name in names]
                waiting += [file for file in files if file.is_file()]


def test_hooks_open_files_in_one_way_only() -> None:
    opening = {
        f"{name}:{call.lineno} {function}"
        for path in modules()
        if (name := path.relative_to(SOURCE).as_posix()) not in ALLOWED
        for call, function in calls(tree_of(path))
        if function in OPENS or function.endswith((".read_text", ".read_bytes"))
    }
    assert opening == set()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def nothing(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(6 << 30)


BAD: list[Callable[[Path], None]] = [fifo, zeros, folder, loop, nothing, sparse]


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_no_file_is_waited_for_and_none_is_read_to_its_end(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "x"
    make(path)
    data = reading.bytes_of(path, 1000)
    assert data == (b"\0" * 1000 if make is sparse else None)
    assert len(reading.small_text(path)) <= 10_000


def test_a_device_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros(tmp_path / "x")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
    with pytest.raises(reading.NotAFile):
        reading.open_regular(tmp_path / "x")


def test_a_path_that_changes_after_the_look_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    regular = os.stat(path)
    path.unlink()
    fifo(path)
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(reading.NotAFile):
        reading.open_regular(path)
    assert len(os.listdir("/dev/fd")) == before


def replaced(path: Path, make: Callable[[Path], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    make(path)


def in_memory(name: str) -> Callable[[Enabled], Path]:
    return lambda enabled: enabled.memory / name


def in_git(name: str) -> Callable[[Enabled], Path]:
    return lambda enabled: enabled.root / ".git" / name


PLACES: dict[str, Callable[[Enabled], Path]] = {
    "id": in_git("holdfast-id"),
    "HEAD": in_git("HEAD"),
    "packed-refs": in_git("packed-refs"),
    "branch": in_git("refs/heads/main"),
    "config": in_git("config"),
    "prepared file": in_memory("hot.db"),
    "words": in_memory("hot.words"),
    "decisions": in_memory("told.db"),
    "switches": in_memory("switches.json"),
    "trace": in_memory("why.jsonl"),
    "old trace": in_memory("why.jsonl.1"),
    "log": in_memory("hook.log"),
    "lock": in_memory("locks/capture.lock"),
    "seen": in_memory(f"seen/{SESSION}.json"),
    "left": in_memory(f"seen/{SESSION}.left"),
    "told files": in_memory(f"said/{SESSION}.files"),
    "envelope": in_memory("inbox/other.1-1.json"),
    "instructions": lambda enabled: enabled.root / "CLAUDE.md",
    "settings": lambda enabled: enabled.root / ".claude" / "settings.local.json",
    "git directory": lambda enabled: enabled.root / "inner" / ".git",
    "transcript": lambda enabled: enabled.root / "transcript.jsonl",
}


@pytest.fixture
def git_project(home: Path, tmp_path: Path) -> Enabled:
    root = tmp_path / "shop"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    (root / "CLAUDE.md").write_text("# Rules\n", encoding="utf-8")
    return Enabled(root)


@pytest.mark.parametrize("make", [fifo, zeros, loop, sparse], ids=lambda make: make.__name__)
@pytest.mark.parametrize("where", PLACES)
def test_whatever_stands_in_its_way_a_hook_ends_by_itself(
    git_project: Enabled, where: str, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: a hook that waited for a pipe would stop the test, and so would one that read six gigabytes."""
    project = git_project
    monkeypatch.setattr(rebuild, "prepare_now", lambda *_: False)  # the application's, and only waited for
    path = PLACES[where](project)
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"):
        replaced(path, make)
        fields = project.payload(
            prompt="fix the refund", source="resume", tool_name="Read", tool_input={"file_path": str(path)}
        )
        fields["transcript_path"] = str(project.root / "transcript.jsonl")
        if where == "git directory":
            fields["cwd"] = str(path.parent)
        run_hook(event, json.dumps(fields).encode(), cwd=project.root, child=False)


def test_a_head_that_links_to_a_secret_says_nothing_of_it(git_project: Enabled, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password: hunter2\n", encoding="utf-8")
    head = git_project.root / ".git" / "HEAD"
    head.unlink()
    head.symlink_to(secret)
    checkout = place.find_checkout(str(git_project.root))
    assert checkout is not None and checkout.head() == ("", "") and checkout.commit() == ""


def test_an_id_that_is_a_link_is_no_id(git_project: Enabled, tmp_path: Path) -> None:
    identity = git_project.root / ".git" / "holdfast-id"
    identity.rename(tmp_path / "id")
    identity.symlink_to(tmp_path / "id")
    assert place.find(str(git_project.root), str(git_project.memory.parents[1])) is None


def test_a_trace_that_is_a_link_or_a_pipe_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "why.jsonl").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "hook.log")
    for write in (trace.explain, trace.log):
        with pytest.raises(OSError):
            write(str(tmp_path), {"session": "x"} if write is trace.explain else "x")  # type: ignore[operator]
    assert (tmp_path / "target").read_bytes() == b""


def test_of_a_long_transcript_a_part_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    sparse(path)
    assert compaction.happened(str(path), 5) is False
    assert compaction.happened(str(path), 1 << 62) is False
    assert compaction.happened("x\0y", 0) is False


def test_a_path_that_no_system_opens_has_no_parents() -> None:
    assert place.find_checkout("/a" * 500_000) is None
    assert sys.getrecursionlimit() < 500_000
