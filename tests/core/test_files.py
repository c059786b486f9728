"""Locks exclude, appends are whole or absent, replacements never lose the old file, errors say what to do."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from holdfast.core import files
from holdfast.core.errors import StoreError


@pytest.fixture
def guard(tmp_path: Path) -> Path:
    return tmp_path / "locks" / "a.lock"


# --- locking -------------------------------------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from holdfast.core import files
with files.lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.promise("F1")
def test_a_lock_excludes_other_processes_and_ends_with_its_holder(guard: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(guard)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        refusal = pytest.raises(StoreError, match=r"a\.lock: another process has held this lock for 0\.1 s")
        with refusal, files.lock(guard, timeout=0.1):
            pass
        holder.kill()
        with files.lock(guard, timeout=PATIENCE_S):
            pass
    assert guard.exists()


def test_threads_exclude_each_other(guard: Path) -> None:
    inside: list[int] = []

    def enter() -> None:
        with files.lock(guard):
            inside.append(1)
            assert len(inside) == 1
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == []


@pytest.mark.promise("F1")
def test_a_lock_file_deleted_while_one_waits_does_not_let_two_in(guard: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def wait_for_the_lock() -> None:
        with files.lock(guard):
            entered.set()
            leave.wait(PATIENCE_S)

    with files.lock(guard):
        waiter = threading.Thread(target=wait_for_the_lock)
        waiter.start()
        time.sleep(0.1)
        guard.unlink()
    assert entered.wait(PATIENCE_S)
    with pytest.raises(StoreError, match="another process"), files.lock(guard, timeout=0.05):
        pass
    leave.set()
    waiter.join()


def test_a_note_passes_from_holder_to_holder(guard: Path) -> None:
    with files.lock(guard) as held:
        assert held.note() == b""
        held.leave_note(b"a long first note")
    with files.lock(guard) as held:
        assert held.note() == b"a long first note"
        held.leave_note(b"short")
        assert held.note() == b"short"


# --- appending -----------------------------------------------------------------------------------------


def test_append_makes_the_file_and_its_directories(tmp_path: Path, guard: Path) -> None:
    path = tmp_path / "deep" / "er" / "x.md"
    files.append(path, b"a\n", guard)
    files.append(path, b"b\nc\n", guard)
    assert path.read_bytes() == b"a\nb\nc\n"


@pytest.mark.promise("F2")
def test_append_closes_a_line_that_was_torn(tmp_path: Path, guard: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"whole\ntor")
    files.append(path, b"next\n", guard)
    assert path.read_bytes() == b"whole\ntor\nnext\n"


@pytest.mark.promise("F3")
@pytest.mark.parametrize("fail_at", ["first", "second", "sync"])
def test_a_failing_append_takes_its_bytes_back(
    tmp_path: Path, guard: Path, monkeypatch: pytest.MonkeyPatch, fail_at: str
) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"old, torn")
    real_write, calls = os.write, []

    def short_then_full(descriptor: int, data: memoryview) -> int:
        calls.append(len(data))
        if fail_at == "first" or len(calls) % 2 == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        if fail_at == "sync":
            calls.clear()
            return real_write(descriptor, data)
        return real_write(descriptor, data[:3])

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short_then_full)
        if fail_at == "sync":
            patch.setattr(os, "fsync", refuse)
        with pytest.raises(StoreError):
            files.append(path, b"0123456789\n", guard)
        with pytest.raises(StoreError):
            files.append(tmp_path / "new.md", b"0123456789\n", guard)
    assert path.read_bytes() == b"old, torn"
    assert not (tmp_path / "new.md").exists()


def test_short_writes_are_carried_on(tmp_path: Path, guard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, bytes(data[:7])))
    files.append(tmp_path / "x.md", b"0123456789" * 10 + b"\n", guard)
    assert (tmp_path / "x.md").read_bytes() == b"0123456789" * 10 + b"\n"


# --- replacing -----------------------------------------------------------------------------------------


def test_replace_creates_and_replaces_what_was_read(tmp_path: Path, guard: Path) -> None:
    path = tmp_path / "current.md"
    files.replace(path, b"one", guard, files.digest(files.read(path)))
    files.replace(path, b"two", guard, files.digest(b"one"))
    files.replace(path, b"three", guard, files.ANYTHING)
    assert files.read(path) == b"three"
    assert sorted(os.listdir(tmp_path)) == ["current.md", "locks"]


@pytest.mark.promise("F1")
@pytest.mark.parametrize("now", [b"theirs", None])
def test_replace_refuses_when_the_file_changed_meanwhile(
    tmp_path: Path, guard: Path, now: bytes | None
) -> None:
    path = tmp_path / "current.md"
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(files.Conflict, match="changed by someone else"):
        files.replace(path, b"mine", guard, files.digest(b"read"))
    assert files.read(path) == now


def test_replace_refuses_a_file_that_appeared_meanwhile(tmp_path: Path, guard: Path) -> None:
    path = tmp_path / "current.md"
    path.write_bytes(b"theirs")
    with pytest.raises(files.Conflict):
        files.replace(path, b"mine", guard, None)


def test_replace_keeps_the_mode(tmp_path: Path, guard: Path) -> None:
    path = tmp_path / "current.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    files.replace(path, b"new", guard, files.digest(b"old"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.promise("F3")
def test_a_failing_replace_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, guard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "current.md"
    path.write_bytes(b"old")

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(StoreError, match="the disk is full"):
            files.replace(path, b"new", guard, files.digest(b"old"))
    assert path.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["current.md", "locks"]


@pytest.mark.promise("F2")
def test_what_dead_writers_left_is_swept_and_nothing_else(tmp_path: Path, guard: Path) -> None:
    stale = tmp_path / ".holdfast-current.md-0123abcd.tmp"
    others = [
        tmp_path / ".holdfast-log.md-0123abcd.tmp",
        tmp_path / "notes.tmp",
        tmp_path / ".current.md.tmp",
    ]
    for path in (stale, *others):
        path.write_bytes(b"")
    files.replace(tmp_path / "current.md", b"new", guard, None)
    assert not stale.exists()
    assert all(path.exists() for path in others)


# --- refusing ------------------------------------------------------------------------------------------

Write = Callable[[Path, Path], None]


def do_append(path: Path, guard: Path) -> None:
    files.append(path, b"x\n", guard)


def do_replace(path: Path, guard: Path) -> None:
    files.replace(path, b"x\n", guard, files.ANYTHING)


@pytest.mark.promise("F3")
@pytest.mark.parametrize("write", [do_append, do_replace])
def test_links_directories_and_pipes_are_not_written(tmp_path: Path, guard: Path, write: Write) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious\n")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, cause in [
        ("link", "it is a symbolic link"),
        ("dangling", "it is a symbolic link"),
        ("device", "it is a symbolic link"),
        ("directory", "it is a directory"),
        ("fifo", "it is not a regular file"),
    ]:
        with pytest.raises(StoreError, match=rf"{name}: cannot \w+: {cause}\. [A-Z]"):
            write(tmp_path / name, guard)
    with pytest.raises(StoreError, match="a part of the path is not a directory"):
        write(target / "x.md", guard)
    assert target.read_bytes() == b"precious\n"
    assert not (tmp_path / "nowhere").exists()
    write((tmp_path / "link").resolve(), guard)
    assert target.read_bytes().endswith(b"x\n")


def test_reading_tells_missing_from_unreadable(tmp_path: Path) -> None:
    assert files.read(tmp_path / "no" / "file") is None
    assert list(files.read_lines(tmp_path / "no")) == []
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "loop", tmp_path / "zero"):
        with pytest.raises(StoreError, match="cannot read"):
            files.read(path)


def test_what_can_be_made_again_is_removed_and_what_cannot_be_removed_says_so(tmp_path: Path) -> None:
    (tmp_path / "index.db").write_bytes(b"x")
    files.discard([tmp_path / "index.db", tmp_path / "never.there"])
    assert not list(tmp_path.iterdir())
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot remove"):
        files.discard([tmp_path / "folder"])
