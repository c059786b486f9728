"""A command opens a file once, and still sees what anybody else writes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.core import files
from holdfast.core.open_files import opened_once, part_of

_seen: Counter[str] | None = None


def _count(event: str, given: tuple[object, ...]) -> None:
    if event == "open" and _seen is not None and not isinstance(given[0], int):
        _seen[str(given[0])] += 1


sys.addaudithook(_count)


@pytest.fixture
def opens() -> Iterator[Counter[str]]:
    global _seen
    _seen = Counter()
    yield _seen
    _seen = None


def settled(path: Path, data: bytes) -> Path:
    """A file that was written a while ago."""
    path.write_bytes(data)
    past = time.time_ns() - 5_000_000_001
    os.utime(path, ns=(past, past))
    time.sleep(0.15)  # its ctime is of now
    return path


def test_what_was_read_is_not_opened_again(tmp_path: Path, opens: Counter[str]) -> None:
    path = settled(tmp_path / "a.md", b"one\ntwo\n")
    opens.clear()
    with opened_once():
        assert {files.read(path) for _ in range(5)} == {b"one\ntwo\n"}
        assert list(files.read_lines(path)) == [b"one\n", b"two\n"]
        assert files.read(tmp_path / "none.md") is None
    assert opens == {str(path): 1}
    files.read(path)
    assert opens[str(path)] == 2, "the next command reads for itself"


def test_what_we_replaced_or_appended_is_opened_at_most_once_more(
    tmp_path: Path, opens: Counter[str]
) -> None:
    path, journal = settled(tmp_path / "a.md", b"one"), settled(tmp_path / "j.jsonl", b"1\n")
    lock = tmp_path / "lock"
    opens.clear()
    with opened_once():
        for number in range(4):
            before = files.read(path)
            files.replace(path, b"new %d" % number, lock, files.digest(before))
            assert files.read(path) == b"new %d" % number
            files.append(journal, b"%d\n" % number, lock)
            assert (files.read(journal) or b"").endswith(b"%d\n" % number)
    assert opens[str(path)] == 1
    assert opens[str(journal)] == opens[str(lock)] == 1
    assert journal.read_bytes() == b"1\n0\n1\n2\n3\n"


@pytest.mark.parametrize("in_place", [True, False])
def test_a_change_of_the_same_size_by_another_process_is_seen(tmp_path: Path, in_place: bool) -> None:
    path, lock = settled(tmp_path / "a.md", b"one"), tmp_path / "lock"
    name = str(path) if in_place else f"{path}.new"
    script = f"import os; open({name!r}, 'r+b' if {in_place} else 'wb').write(b'two'); os.replace({name!r}, {str(path)!r})"
    with opened_once():
        before = files.read(path)
        subprocess.run([sys.executable, "-c", script], check=True)
        assert files.read(path) == b"two"
        with pytest.raises(files.Conflict):
            files.replace(path, b"mine", lock, files.digest(before))
        files.replace(path, b"our", lock, files.ANYTHING)
        path.write_bytes(b"his")  # at once, and as long as ours
        assert files.read(path) == b"his"


def test_a_file_that_has_just_changed_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with opened_once():
        for number in range(50):
            path.write_bytes(b"%02d" % number)
            assert files.read(path) == b"%02d" % number


def test_a_lock_that_waits_open_still_excludes_and_survives_its_deletion(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    order: list[str] = []

    def other() -> None:
        with opened_once(), files.lock(lock):
            order.append("other")

    with opened_once():
        with files.lock(lock):
            pass
        with files.lock(lock):
            thread = threading.Thread(target=other)
            thread.start()
            time.sleep(0.1)
            order.append("first")
        thread.join()
        with files.lock(lock), pytest.raises(files.StoreError), files.lock(lock, timeout=0.05):
            pass
        lock.unlink()
        with files.lock(lock):
            assert lock.exists()
    assert order == ["first", "other"]


def test_parts_of_a_large_file_share_a_descriptor_and_follow_a_replacement(
    tmp_path: Path, opens: Counter[str]
) -> None:
    path = settled(tmp_path / "a.jsonl", b"0123456789")
    opens.clear()
    with opened_once():
        assert (part_of(path, 0, 4), part_of(path, 8, 4)) == (b"0123", b"89")
        assert opens[str(path)] == 1
        (tmp_path / "b").write_bytes(b"abcdefghij")
        os.replace(tmp_path / "b", path)
        assert part_of(path, 8, 4) == b"ij"
