"""The ledger under real faults: many processes, kill -9, full and read-only disks, git merging branches."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.ledger.markdown import render_row
from holdfast.ledger.store import LedgerStore
from holdfast.model.ledger import LedgerEntry

NOBODY = 65534


class Writer:
    """A process that appends rows of the given sizes, and names each once `append` has returned."""

    def __init__(self, store: LedgerStore, name: str, rows: int | None, *sizes: int) -> None:
        self.acknowledged, names = os.pipe()
        self.pid = os.fork()  # a fork has all modules loaded; starting Python would take most of the time
        if not self.pid:
            code = 1
            try:
                for n in count() if rows is None else range(rows):
                    session = f"{name}-{n}"
                    model = (session + "|") * (sizes[n % len(sizes)] // 10)
                    store.append([LedgerEntry(session=session, model=model)])
                    os.write(names, f"{session}\n".encode())
                code = 0
            finally:
                os._exit(code)
        os.close(names)

    def finish(self) -> tuple[list[bytes], int]:
        """The rows that it named, the last one perhaps in part, and how it ended."""
        with open(self.acknowledged, "rb") as named:
            lines = named.read().split(b"\n")
        return lines, os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def assert_whole(entries: list[LedgerEntry]) -> None:
    for entry in entries:
        assert entry.model is not None
        assert entry.model == (entry.session + "|") * (len(entry.model) // (len(entry.session) + 1))


@pytest.fixture
def store(tmp_path: Path) -> LedgerStore:
    return LedgerStore(tmp_path / "ledger.md", tmp_path / "locks" / "ledger.lock")


@pytest.mark.promise("F1")
@pytest.mark.slow
def test_sixteen_processes_of_two_hundred_rows_lose_and_tear_nothing(store: LedgerStore) -> None:
    done = [writer.finish() for writer in [Writer(store, f"w{n}", 200, 40, 400) for n in range(16)]]
    acknowledged = [line for lines, _ in done for line in lines[:-1]]
    assert [code for _, code in done] == [0] * 16
    found = store.read()
    assert found.problems == []
    assert len(found.entries) == len(acknowledged) == 3200
    assert {entry.session for entry in found.entries} == {
        f"w{n}-{row}" for n in range(16) for row in range(200)
    }
    assert_whole(found.entries)
    assert store.path.read_bytes().count(b"\n|---") == 1


@pytest.mark.promise("F2")
@pytest.mark.slow
def test_forty_killed_writers_lose_no_row_they_acknowledged(store: LedgerStore) -> None:
    chance = random.Random(20260304)
    acknowledged: list[str] = []
    for round_ in range(10):
        # Four at a time, so that a kill also happens while others wait for the lock.
        writers = [Writer(store, f"k{round_}.{n}", None, 40, 60_000, 400) for n in range(4)]
        for writer in writers:
            select.select([writer.acknowledged], [], [], chance.choice([0, PATIENCE_S]))
            time.sleep(chance.random() * 0.03)
            os.kill(writer.pid, signal.SIGKILL)
        for writer in writers:
            lines, _ = writer.finish()
            acknowledged += [line.decode() for line in lines[:-1]]
    store.append([LedgerEntry(session="after|", model="after||")])
    found = store.read()
    sessions = [entry.session for entry in found.entries]
    assert len(acknowledged) > 10
    assert set(acknowledged) <= set(sessions)
    assert len(sessions) == len(set(sessions))
    assert sessions[-1] == "after|"
    assert_whole(found.entries)
    assert {problem.code for problem in found.problems} <= {"torn", "cells"}
    assert len(found.problems) <= 40


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(point: str, patch: pytest.MonkeyPatch) -> None:
    """This process kills itself, uncatchably, at one point of an append: random kills seldom hit inside a write."""
    write = os.write

    def write_half(descriptor: int, data: bytes) -> None:
        write(descriptor, data[: len(data) // 2])
        die()

    if point == "before":
        patch.setattr(os, "write", die)
    elif point == "inside":
        patch.setattr(os, "write", write_half)
    elif point == "written":
        patch.setattr(os, "fsync", die)
    elif point == "synced":
        patch.setattr(files.Held, "leave_note", die)
    elif point == "noting":
        patch.setattr(files.Held, "leave_note", lambda held, note: write_half(held._descriptor, note))


@pytest.mark.promise("F2")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("point", ["before", "inside", "written", "synced", "noting"])
def test_a_writer_killed_at_any_point_leaves_a_ledger_that_goes_on(
    store: LedgerStore, point: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not first:
        store.append([LedgerEntry(session="kept")])
    store.lock_path.parent.mkdir(exist_ok=True)
    child = os.fork()
    if not child:
        try:
            die_at(point, monkeypatch)
            store.append([LedgerEntry(session="dying", model="m" * 60_000)])
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    store.append([LedgerEntry(session="next")])
    found = store.read()
    whole = [] if point in {"before", "inside"} else ["dying"]
    assert [entry.session for entry in found.entries] == ["kept"] * (not first) + whole + ["next"]
    assert len(found.problems) == (point == "inside")
    assert store.path.read_bytes().count(b"\n|---") == 1


@pytest.mark.promise("F2")
def test_a_torn_tail_is_reported_and_does_not_swallow_the_next_row(store: LedgerStore) -> None:
    store.append([LedgerEntry(session="kept")])
    torn = render_row(LedgerEntry(session="torn", model="x" * 60_000, goal=("a|b", "\\"))).encode()
    whole = store.path.read_bytes()
    for cut in [1, 2, 3, 100, 59_000, 60_010, 60_020, len(torn) - 2, len(torn) - 1]:
        store.path.write_bytes(whole + torn[:cut])
        store.append([LedgerEntry(session="next")])
        found = store.read()
        assert [entry.session for entry in found.entries] == ["kept", "next"]
        assert len(found.problems) == 1
        assert found.problems[0].line == len(whole.splitlines()) + 1


# --- disks ---------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.promise("F3")
def test_a_full_disk_is_said_and_costs_nothing_that_was_written(small_disk: Path, tmp_path: Path) -> None:
    store = LedgerStore(small_disk / "ledger.md", tmp_path / "ledger.lock")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(20_000))
    written = 0
    with pytest.raises(StoreError, match=r"ledger\.md: cannot append: the disk is full\. Free some space"):
        for written in range(100):
            before = store.path.read_bytes() if written else b""
            store.append([LedgerEntry(session=f"s{written}", model="m" * 3000)])
    assert written > 5
    assert store.path.read_bytes() == before
    with pytest.raises(StoreError, match="the disk is full"):
        files.replace(store.path, bytes(60_000), store.lock_path, files.digest(before))
    assert store.path.read_bytes() == before
    ballast.unlink()
    store.append([LedgerEntry(session="after")])
    found = store.read()
    assert found.problems == []
    assert [entry.session for entry in found.entries] == [*(f"s{n}" for n in range(written)), "after"]
    assert sorted(path.name for path in small_disk.iterdir()) == ["ledger.md"]


@pytest.mark.promise("F3")
def test_a_full_disk_at_the_first_row_leaves_no_empty_file(small_disk: Path, tmp_path: Path) -> None:
    store = LedgerStore(small_disk / "ledger.md", tmp_path / "ledger.lock")
    with pytest.raises(StoreError, match="the disk is full"):
        store.append([LedgerEntry(session="s", model="m" * 100_000)])
    assert list(small_disk.iterdir()) == []


@pytest.mark.promise("F3")
def test_a_read_only_disk_is_said_and_can_be_read(small_disk: Path, tmp_path: Path) -> None:
    elsewhere = LedgerStore(small_disk / "ledger.md", tmp_path / "ledger.lock")
    inside = LedgerStore(small_disk / "ledger.md", small_disk / "locks" / "ledger.lock")
    elsewhere.append([LedgerEntry(session="a")])
    before = elsewhere.path.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for store, what in ((elsewhere, "append"), (inside, "lock")):
        with pytest.raises(StoreError, match=f"cannot {what}: read-only file system. Make it writable"):
            store.append([LedgerEntry(session="b")])
        assert [entry.session for entry in store.read().entries] == ["a"]
    assert elsewhere.path.read_bytes() == before


DENIED = """
import os, sys
from pathlib import Path
from holdfast.core.errors import StoreError
from holdfast.model.ledger import LedgerEntry
from holdfast.ledger.store import LedgerStore

store = LedgerStore(Path(sys.argv[1]), Path(sys.argv[2]))
if os.geteuid() == 0:
    os.setuid(int(sys.argv[3]))
assert len(store.read().entries) == 1
try:
    store.append([LedgerEntry(session="b")])
except StoreError as error:
    print(error)
"""


@pytest.mark.promise("F3")
@pytest.mark.parametrize("denied", ["file", "directory", "lock"])
def test_a_missing_permission_is_said_and_changes_nothing(denied: str) -> None:
    # Not tmp_path: pytest keeps that closed to the other user this test becomes when it runs as root.
    place = Path(tempfile.mkdtemp(prefix="holdfast-denied-"))
    try:
        store = LedgerStore(place / "ledger.md", place / "locks" / "ledger.lock")
        store.append([LedgerEntry(session="a")])
        before = store.path.read_bytes()
        store.path.chmod(0o444 if denied == "file" else 0o666)
        store.lock_path.chmod(0o666)
        store.lock_path.parent.chmod(0o777)
        place.chmod(0o755)
        if denied == "lock":
            store.lock_path.chmod(0o444)
        if denied == "directory":
            missing = place / "none" / "ledger.md"
            place.chmod(0o555)
            with_what = [str(store.path), str(missing.parent / "ledger.lock")]
        else:
            with_what = [str(store.path), str(store.lock_path)]
        child = subprocess.run(
            [sys.executable, "-c", DENIED, *with_what, str(NOBODY)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "permission denied. Check who owns it" in child.stdout
        assert store.path.read_bytes() == before
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


# --- git -----------------------------------------------------------------------------------------------


def git(place: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(place), *settings, *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


SEED = """\
| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|---|---|---|---|---|---|---|---|
| seed | claude | 5 | 1 | $0.12 | 8min | react | refactor auth |
"""


@pytest.mark.promise("L1", "L5")
@pytest.mark.slow
@pytest.mark.parametrize("began_as", ["ours", "the seed's", "nothing"])
def test_twenty_branches_of_ten_rows_merge_clean_and_read_right(tmp_path: Path, began_as: str) -> None:
    place = tmp_path / "repository"
    place.mkdir()
    store = LedgerStore(place / "ledger.md", tmp_path / "ledger.lock")
    (place / ".gitattributes").write_text("ledger.md merge=union\n", encoding="utf-8")
    if began_as == "ours":
        store.append([LedgerEntry(session="seed")])
    elif began_as == "the seed's":
        store.path.write_text(SEED, encoding="utf-8")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "base")
    for branch in range(20):
        git(place, "checkout", "-qb", f"b{branch}", "main")
        store.append([LedgerEntry(session=f"b{branch}-{row}", model="a|b\\") for row in range(10)])
        if began_as == "nothing":
            git(place, "add", "-A")
        git(place, "commit", "-qam", f"b{branch}")
    git(place, "checkout", "-q", "main")
    for branch in range(20):
        git(place, "merge", "-q", "--no-edit", f"b{branch}")
    assert git(place, "status", "--porcelain") == ""
    found = store.read()
    assert found.problems == []
    expected = {f"b{branch}-{row}" for branch in range(20) for row in range(10)}
    if began_as != "nothing":
        expected.add("seed")
    assert {entry.session for entry in found.entries} == expected
    assert all(entry.model == "a|b\\" for entry in found.entries if entry.session != "seed")
