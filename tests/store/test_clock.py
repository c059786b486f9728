"""The clock of a machine: no stamp twice, none that goes back, and letters that another machine does not have."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.core.stamp import Stamp, parse_stamp
from holdfast.store import clock as module
from holdfast.store.clock import MachineClock

START = datetime(2026, 11, 18, 12, tzinfo=UTC)
WRITER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from holdfast.store.clock import MachineClock
ahead = timedelta(seconds=int(sys.argv[2]))
clock = MachineClock(Path(sys.argv[1]), lambda: datetime.now(UTC) + ahead)
for _ in range(int(sys.argv[3])):
    print(clock.tick(), flush=True)
"""


class WallClock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def write_stamps(home: Path, ahead: int, number: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(home), str(ahead), str(number)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def stamps_of(process: subprocess.Popen[str]) -> list[Stamp]:
    text, _ = process.communicate()
    return [parse_stamp(line) for line in text.splitlines()]


def test_stamps_never_go_back_when_the_wall_clock_does(tmp_path: Path) -> None:
    wall = WallClock()
    clock = MachineClock(tmp_path, wall)
    stamps = []
    for move in (0, 1, -86_400, -86_400 * 365, 5, 86_400 * 800, -86_400):
        wall.now += timedelta(seconds=move)
        stamps.append(clock.tick())
        stamps.append(MachineClock(tmp_path, wall).tick())  # another process of the same machine
    assert stamps == sorted(set(stamps))
    assert clock.now() == stamps[-1].wall


def test_a_time_before_the_home_was_made_is_not_believed(tmp_path: Path) -> None:
    wall = WallClock()
    letters = MachineClock(tmp_path, wall).letters
    wall.now = datetime(1970, 1, 1, tzinfo=UTC)
    assert MachineClock(tmp_path, wall).tick() >= Stamp.of_time(START)._replace(machine=letters)


def test_sixteen_processes_with_different_clocks_never_share_a_stamp(tmp_path: Path) -> None:
    writers = [write_stamps(tmp_path, ahead=(place % 5 - 2) * 1000, number=25) for place in range(16)]
    by_process = [stamps_of(writer) for writer in writers]
    stamps = [stamp for stamps in by_process for stamp in stamps]
    assert len(set(stamps)) == len(stamps) == 16 * 25
    assert all(stamps == sorted(stamps) for stamps in by_process)
    assert len({stamp.machine for stamp in stamps}) == 1
    last = parse_stamp((tmp_path / "clock").read_text().strip())
    assert last == max(stamps)


def test_a_killed_writer_repeats_no_stamp(tmp_path: Path) -> None:
    seen: list[Stamp] = []
    for _ in range(4):
        writer = write_stamps(tmp_path, ahead=0, number=100_000)
        assert writer.stdout is not None
        seen += [parse_stamp(writer.stdout.readline().strip()) for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        seen += stamps_of(writer)[:-1]  # the last line may be cut off
    after = MachineClock(tmp_path, lambda: START).tick()
    assert seen == sorted(set(seen)) and seen[-1] < after


def test_a_stamp_from_elsewhere_is_followed_by_later_ones(tmp_path: Path) -> None:
    clock = MachineClock(tmp_path, lambda: START)
    theirs = Stamp.of_time(START + timedelta(seconds=30))._replace(counter=7, machine="zzzz")
    clock.merge([theirs, Stamp(5)])
    assert clock.tick() == Stamp(theirs.wall, 8, clock.letters)
    clock.merge([Stamp(5)])
    assert clock.tick() > theirs


def test_a_clock_that_is_damaged_or_gone_goes_on_from_the_wall_clock(tmp_path: Path) -> None:
    clock = MachineClock(tmp_path, lambda: START)
    clock.tick()
    for content in (b"", b"20261118T1", b"\xff\xfe", b"nonsense\n"):
        (tmp_path / "clock").write_bytes(content)
        assert clock.tick().time == START
    (tmp_path / "clock").unlink()
    assert clock.tick().time == START


def test_a_clock_that_ran_ahead_is_put_back_on_request_only(tmp_path: Path) -> None:
    wall = WallClock()
    clock = MachineClock(tmp_path, wall)
    wall.now = START.replace(year=2099)
    clock.tick()
    wall.now = START
    assert clock.tick().time.year == 2099 and clock.ahead_ms() > 0
    clock.put_back()
    assert clock.tick().time.year == 2026 and clock.ahead_ms() == 0


# --- letters -------------------------------------------------------------------------------------------


def test_letters_are_made_once_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    clock = MachineClock(tmp_path / "home", lambda: START)
    assert len(clock.letters) == 4 and clock.letters.isalpha()
    assert MachineClock(tmp_path / "home", lambda: START).letters == clock.letters
    if os.name != "nt":
        assert (tmp_path / "home" / "machine").stat().st_mode & 0o077 == 0


def test_asking_for_the_time_writes_nothing(tmp_path: Path) -> None:
    assert MachineClock(tmp_path, lambda: START).now() == Stamp.of_time(START).wall
    assert list(tmp_path.iterdir()) == []


def test_processes_that_start_together_agree_on_the_letters(tmp_path: Path) -> None:
    writers = [write_stamps(tmp_path, ahead=0, number=1) for _ in range(8)]
    assert len({stamp.machine for writer in writers for stamp in stamps_of(writer)}) == 1


def test_a_home_on_another_machine_gets_its_own_letters_and_keeps_its_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = MachineClock(tmp_path / "here", lambda: START)
    before = here.tick()
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    monkeypatch.setattr(module, "_system", lambda: "another system")
    there = MachineClock(tmp_path / "there", lambda: START)
    assert there.letters != here.letters
    assert there.tick() > before
    assert MachineClock(tmp_path / "there", lambda: START).letters == there.letters


def test_a_home_that_stays_on_its_machine_keeps_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = MachineClock(tmp_path / "home", lambda: START).letters
    shutil.copytree(tmp_path / "home", tmp_path / "backup")
    shutil.rmtree(tmp_path / "home")
    shutil.copytree(tmp_path / "backup", tmp_path / "home")  # a backup that is put back: another inode
    assert MachineClock(tmp_path / "home", lambda: START).letters == letters


def test_a_volume_in_a_new_container_keeps_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = MachineClock(tmp_path, lambda: START).letters
    monkeypatch.setattr(module, "_system", lambda: "a container that was made again")
    assert MachineClock(tmp_path, lambda: START).letters == letters


def test_a_machine_file_that_is_cut_off_is_made_again(tmp_path: Path) -> None:
    clock = MachineClock(tmp_path, lambda: START)
    clock.tick()
    (tmp_path / "machine").write_bytes(b'{"letters":"ab')
    fresh = MachineClock(tmp_path, lambda: START)
    assert len(fresh.letters) == 4 and fresh.tick().machine == fresh.letters
