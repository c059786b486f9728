"""Faults of the disk that the fault rig found, each with its own test."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.briefing import told_index
from holdfast.core import files, sync_folders
from holdfast.core.errors import StoreError
from holdfast.core.temporary_files import ABANDONED_S, temporary_for
from holdfast.flows.capture_child import main as capture_child
from holdfast.hooks import trace
from holdfast.memory.store import MemoryStore
from holdfast.store import inbox
from holdfast.store.machine import Machine
from holdfast.store.project import find_project


def memory_of(home: Path) -> Path:
    (memory,) = (path for path in (home / ".holdfast" / "projects").iterdir() if path.name[0] != ".")
    return memory


def leave_temporary_file(path: Path, age_s: float) -> Path:
    left = temporary_for(path)
    left.write_bytes(b"half a te")
    then = time.time() - age_s
    os.utime(left, (then, then))
    return left


@pytest.mark.promise("F2")
def test_a_removed_file_stays_removed_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "folder" / "other"
    other.parent.mkdir()
    for path in (one, other):
        path.write_bytes(b"forgotten")
    synced: list[tuple[Path, bool]] = []
    monkeypatch.setattr(
        sync_folders,
        "sync_directory",
        lambda folder: synced.append((folder, one.exists() or other.exists())),
    )
    files.discard([one, other, tmp_path / "never was"])
    assert synced == [(one.parent, False), (other.parent, False)]


@pytest.mark.promise("F2")
def test_what_forget_removes_is_synced_before_it_says_so(
    holdfast: Holdfast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("The quagga signs in May", "Boxes are blue"):
        holdfast("fact", "add", text, "--evidence", "a sign", check=0)
    contents = memory_of(home) / "history" / "contents"
    before = set(contents.iterdir())
    left_when_synced: set[Path] = set(before)
    real = sync_folders.sync_directory

    def sync(folder: Path) -> None:
        if folder == contents:
            left_when_synced.intersection_update(contents.iterdir())
        real(folder)

    monkeypatch.setattr(sync_folders, "sync_directory", sync)
    holdfast("forget", "--text", "quagga", "--yes", check=0)
    assert before - set(contents.iterdir())
    assert left_when_synced == before & set(contents.iterdir())


@pytest.mark.promise("F3")
def test_a_capture_on_a_disk_that_takes_nothing_ends_without_a_traceback(
    holdfast: Holdfast, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("init", "--yes", "--no-wire", "--no-import", "--no-scan", check=0)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "hook.log")

    monkeypatch.setattr(trace, "log", refuse)
    assert capture_child([str(memory_of(home)), str(repo.parent)]) == 1


@pytest.mark.promise("F3")
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.EIO, "Input/output error"), "the disk reported an error. Check the disk"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "/x/y: the disk is full. Free some space"),
        (
            PermissionError(errno.EPERM, "Operation not permitted", "/x/y"),
            "/x/y: permission denied. Check who",
        ),
        (
            sqlite3.OperationalError("disk I/O error"),
            "a database cannot be used: disk I/O error. Check the disk",
        ),
    ],
)
def test_what_the_disk_refuses_anywhere_is_one_line_and_no_fault_of_holdfast(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(MemoryStore, "_put", refuse)
    done = holdfast("fact", "add", "Boxes are blue", "--evidence", "a sign", check=1)
    assert line in done.stderr
    assert "bug in holdfast" not in done.stderr and "output" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.promise("F3")
def test_a_disk_error_in_a_derived_database_is_said_and_does_not_delete_it(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("fact", "add", "Boxes are blue", "--evidence", "a sign", check=0)
    memory = memory_of(home)
    with told_index.open_told(memory):
        pass
    before = (memory / told_index.NAME).read_bytes()
    with pytest.raises(StoreError, match="disk I/O error"), told_index.open_told(memory):
        raise sqlite3.OperationalError("disk I/O error")
    assert (memory / told_index.NAME).read_bytes() == before
    (memory / told_index.NAME).write_bytes(b"no database" * 100)
    with told_index.open_told(memory):
        pass
    assert (memory / told_index.NAME).read_bytes()[:15] == b"SQLite format 3"


@pytest.mark.promise("F2")
def test_temporary_files_of_killed_commands_are_removed_by_the_next_command_that_writes(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("fact", "add", "Boxes are blue", "--evidence", "a sign", check=0)
    memory = memory_of(home)
    places = [
        memory / "hot.db",
        memory / "history" / "contents" / "0123",
        memory / "projects" / repo.name / "log.md",
        repo / ".holdfast" / ".gitignore",
    ]
    left = [leave_temporary_file(place, ABANDONED_S + 60) for place in places if place.parent.is_dir()]
    assert len(left) == len(places)
    being_written = leave_temporary_file(memory / "hot.words", 0)
    holdfast("todo", "add", "Order boxes", check=0)
    assert [path for path in left if path.exists()] == []
    assert being_written.exists()


@pytest.mark.promise("F2")
def test_a_capture_removes_the_temporary_notes_of_one_that_was_killed(tmp_path: Path) -> None:
    aside = inbox.quarantine(tmp_path)
    aside.mkdir(parents=True)
    left = [tmp_path / "inbox" / "a.json.17.tmp", aside / "b.17.tmp"]
    for path in left:
        path.write_bytes(b"{")
    inbox.sweep(tmp_path / "inbox", now=time.time() + 3600)
    assert [path for path in left if path.exists()] == []


@pytest.mark.promise("F2")
def test_an_export_removes_what_a_killed_export_left(holdfast: Holdfast, home: Path, tmp_path: Path) -> None:
    holdfast("fact", "add", "Boxes are blue", "--evidence", "a sign", check=0)
    memory = memory_of(home)
    stage = memory.parent / f".{memory.name}-stage-0123abcd"
    stage.mkdir()
    (stage / "capture.db").write_bytes(b"a copy with all that was said")
    left = leave_temporary_file(tmp_path / "memory.tar.gz", ABANDONED_S + 60)
    holdfast("export", tmp_path / "memory.tar.gz", check=0)
    assert not stage.exists() and not left.exists()


@pytest.mark.promise("F2")
def test_a_merge_completes_a_restore_that_died_before_the_project_was_set_up(
    holdfast: Holdfast, home: Path, repo: Path, tmp_path: Path
) -> None:
    holdfast("fact", "add", "Boxes are blue", "--evidence", "a sign", check=0)
    archive = tmp_path / "memory.tar.gz"
    holdfast("export", archive, check=0)
    shutil.rmtree(repo / ".holdfast")  # the memory was put into its place, and then the process was killed
    (memory_of(home) / "root").unlink()
    holdfast("restore", archive, "--merge", check=0)
    assert (repo / ".holdfast" / ".gitignore").is_file() and (repo / ".holdfast" / "local").exists()
    assert (memory_of(home) / "root").is_file()
    assert find_project(repo, Machine().home).memory == memory_of(home)
