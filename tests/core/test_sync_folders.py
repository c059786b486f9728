"""Directories are synced at once, or together once for many new names; what is taken away waits for its copy."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.sync_folders import names_together, sync_names
from holdfast.memory.session_log import SessionLog
from holdfast.model.memory import LogEntry


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the directories that were synced, in order."""
    found: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}")
        if path.is_dir():
            found.append(path.resolve().name)
        real(descriptor)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not tell what a descriptor stands for")
    monkeypatch.setattr(os, "fsync", fsync)
    return found


def write(folder: Path, *names: str) -> None:
    for name in names:
        files.replace(folder / name, b"x\n", folder / "lock", files.ANYTHING)


def test_one_write_is_synced_at_once(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    write(tmp_path / "a", "one", "two")
    assert synced == ["a", "a"]


def test_many_writes_are_synced_once_at_the_end(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    with names_together():
        with names_together():
            write(tmp_path / "a", "one", "two", "three")
        assert synced == []
    assert synced == ["a"]
    write(tmp_path / "a", "four")
    assert synced == ["a", "a"]


def test_they_are_synced_when_the_work_fails_too(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ValueError, match="later"), names_together():
        write(tmp_path / "a", "one")
        raise ValueError("later")
    assert synced == ["a"]


def test_what_asks_for_them_does_not_wait_for_the_end(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    with names_together():
        write(tmp_path / "a", "one")
        sync_names()
        assert synced == ["a"]
    assert synced == ["a"]


def test_a_directory_that_is_gone_again_is_nobodys_loss(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with names_together():
        write(tmp_path / "a", "one")
        (tmp_path / "a" / "one").unlink()
        (tmp_path / "a" / "lock").unlink()
        (tmp_path / "a").rmdir()


def test_a_disk_that_fails_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(StoreError, match="input/output error"), names_together():
        write(tmp_path, "one")
        monkeypatch.setattr(os, "fsync", refuse)
    monkeypatch.undo()
    write(tmp_path, "two")  # and the next one does not wait for a block that has ended


def test_the_archive_has_its_name_before_the_log_lets_go(tmp_path: Path, synced: list[str]) -> None:
    log = SessionLog(tmp_path / "log.md", tmp_path / "archive", "work")
    with files.lock(tmp_path / "lock") as held, names_together():
        log.add(
            held, [LogEntry(session=f"s{n}", agent="codex", at=1.7e9 + n, context="x" * 80) for n in range(9)]
        )
        assert log.archive(held, 3) > 0
        assert "archive" in synced
