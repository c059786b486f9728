"""What every transport keeps: one contract, and one suite over all of them, with real processes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.forked import exit_code, fork
from tests.sync.sshd import find_sshd
from tests.sync.transports import ANA, BEN, PROJECT, TARGETS, Target, at, everything, some_packs

from holdfast.sync.folder import Folder
from holdfast.sync.transport import SyncError, Transport, name_of

pytestmark = pytest.mark.promise("T5")


@pytest.fixture(params=list(TARGETS))
def target(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Iterator[Target]:
    if request.param == "ssh, sshd" and not find_sshd():
        pytest.skip("there is no sshd: scripts/install_sshd.sh")
    if request.param == "postgres" and "files_target" in request.fixturenames:
        pytest.skip("its packs are no files")
    with TARGETS[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def files_target(target: Target) -> Target:
    if target.folder is None:
        pytest.skip("its packs are no files")
    return target


def test_what_one_machine_publishes_another_fetches(target: Target) -> None:
    one, other = target.open("one"), target.open("two")
    assert everything(other) == {}
    packs = some_packs("a", "b") | {
        name_of(data): data for data in (b"x", bytes(511), bytes(512), bytes(513))
    }
    one.publish(ANA, packs)
    other.publish(BEN, some_packs("c"))
    expected = at(ANA, packs) | at(BEN, some_packs("c"))
    for transport in (one, other, target.open("three")):
        assert transport.packs() == {pack: len(data) for pack, data in expected.items()}
        assert everything(transport) == expected


def test_only_what_is_wanted_is_fetched_and_what_is_not_there_is_left_out(target: Target) -> None:
    one = target.open()
    packs = some_packs("a", "b", "c")
    one.publish(ANA, packs)
    first, *_ = packs
    wanted = [(ANA, first), (ANA, "0" * 40), (BEN, first)]
    assert dict(target.open("two").fetch(wanted)) == {(ANA, first): packs[first]}
    assert dict(one.fetch([])) == {}


def test_publishing_again_changes_nothing(target: Target) -> None:
    one = target.open()
    one.publish(ANA, some_packs("a", "b"))
    state, packs = one.state(), one.packs()
    one.publish(ANA, some_packs("a", "b"), drop=["f" * 40])
    one.publish(ANA, {})
    assert (one.state(), one.packs()) == (state, packs)


def test_the_state_changes_when_the_packs_do_and_only_then(target: Target) -> None:
    one, other = target.open("one"), target.open("two")
    one.publish(ANA, some_packs("a"))
    states = [other.state()]

    def is_new() -> bool:
        states.append(other.state())
        return states[-1] != states[-2]

    everything(one)
    everything(other)
    assert not is_new()
    one.publish(ANA, some_packs("b"))
    assert is_new()
    other.publish(BEN, some_packs("c"))
    assert is_new()
    one.publish(ANA, {}, drop=some_packs("a"))
    assert is_new()
    assert not is_new()
    assert len(set(states)) == 4


def test_what_is_dropped_is_gone_and_the_rest_stays(target: Target) -> None:
    one, other = target.open("one"), target.open("two")
    one.publish(ANA, some_packs("a", "b"))
    everything(other)
    one.publish(ANA, some_packs("c"), drop=some_packs("a"))
    assert everything(other) == at(ANA, some_packs("b", "c"))
    one.publish(ANA, {}, drop=some_packs("b", "c"))
    assert everything(other) == {}
    assert dict(other.fetch(at(ANA, some_packs("a", "b", "c")))) == {}
    one.publish(ANA, some_packs("a"))
    assert everything(other) == at(ANA, some_packs("a"))


def test_machines_that_publish_at_once_lose_nothing(target: Target) -> None:
    """Four processes: two machines of one author, one of another, and a second process of the first machine."""
    places = (ANA, "0123456789abcdef/zzz", BEN, ANA)

    def publisher(number: int) -> Callable[[], None]:
        def publish() -> None:
            for step in range(4):
                transport = target.open(f"machine{number}")
                transport.publish(places[number], some_packs((number, step, 0), (number, step, 1)))

        return publish

    for number in range(4):
        target.open(f"machine{number}")
    assert [exit_code(process) for process in [fork(publisher(number)) for number in range(4)]] == [0] * 4
    expected = {
        pack: data
        for number in range(4)
        for step in range(4)
        for pack, data in at(places[number], some_packs((number, step, 0), (number, step, 1))).items()
    }
    assert everything(target.open("reader")) == expected


def test_a_killed_publisher_leaves_each_pack_whole_or_not_at_all(target: Target) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    old = some_packs("old")
    reader = target.open("reader")
    started = time.monotonic()
    target.open().publish(ANA, some_packs(*range(30), size=40_000))
    duration = time.monotonic() - started
    for round_ in range(3 if "127.0.0.1" in target.words else 8):
        new = some_packs(*(f"{round_}-{number}" for number in range(30)), size=40_000)
        target.open().publish(ANA, old)
        process = fork(lambda new=new: target.open().publish(ANA, new, drop=old))  # type: ignore[misc]
        time.sleep(chance.uniform(0, duration * 1.2))
        os.kill(process, signal.SIGKILL)
        exit_code(process)
        listed = set(reader.packs())
        fetched = dict(reader.fetch(listed))
        assert listed - set(fetched) <= set(at(ANA, old)), f"seed {seed}"  # it may be removed just now
        assert all(name_of(data) == name for (_, name), data in fetched.items())
        if not set(at(ANA, old)) <= listed:
            assert set(at(ANA, new)) <= listed, f"seed {seed}: removed before all was added"
        target.open().publish(ANA, new, drop=old)
        now = everything(reader)
        assert at(ANA, new).items() <= now.items(), f"seed {seed}"
        assert not set(at(ANA, old)) & set(now)
        target.open().publish(ANA, {}, drop=new)


def test_a_target_that_is_away_is_one_line_and_is_right_again_later(target: Target) -> None:
    one = target.open()
    one.publish(ANA, some_packs("a"))
    target.remove()
    attempts: list[Callable[[Transport], object]] = [
        lambda transport: transport.state(),
        lambda transport: transport.packs(),
        lambda transport: transport.publish(ANA, some_packs("b")),
    ]
    for attempt in attempts:
        for transport in (one, target.open("two")):
            with pytest.raises(SyncError) as caught:
                attempt(transport)
            assert "\n" not in caught.value.line()
            assert caught.value.where
            assert caught.value.fix


def test_a_target_that_goes_away_during_a_fetch_ends_it_with_an_error(target: Target) -> None:
    if target.words == "git":
        pytest.skip("its packs are here once they are listed")
    one = target.open()
    packs = some_packs(*range(60), size=200_000)
    one.publish(ANA, packs)
    fetched = []
    with pytest.raises(SyncError):
        for pack, _ in one.fetch(one.packs()):
            fetched.append(pack)
            if len(fetched) == 3:
                target.remove()
                end_connections()
    assert 3 <= len(fetched) < 60


def end_connections() -> None:
    """Kills the connections of this process: each leads a group of its own."""
    for task in Path("/proc/self/task").iterdir():
        children = []
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            children = (task / "children").read_text(encoding="ascii").split()
        for child in children:
            with suppress(ProcessLookupError):
                if os.getpgid(int(child)) == int(child):
                    os.killpg(int(child), signal.SIGKILL)


# --- what others leave in a folder -------------------------------------------------------------------------


def test_files_that_are_no_packs_are_neither_listed_nor_fetched(files_target: Target) -> None:
    target = files_target
    one = target.open()
    packs = some_packs("a", "b")
    one.publish(ANA, packs)
    place = target.place(ANA)
    good = place / f"{next(iter(packs))}.pack"
    (place / ".syncthing.x.pack.tmp").write_bytes(b"half")
    (place / f"~syncthing~{good.name}.tmp").write_bytes(b"half")
    (place / f"{good.stem}.sync-conflict-20261118-221530-ABCDEFG.pack").write_bytes(good.read_bytes())
    (place / f"{'0' * 40}.pack").write_bytes(b"")
    (place / f"{'1' * 40}.pack").mkdir()
    (place / f"{'1' * 40}.pack" / good.name).write_bytes(good.read_bytes())
    (place / f"{'2' * 40}.pack").symlink_to(good)
    os.mkfifo(place / f"{'3' * 40}.pack")
    (place / f"{'3' * 40}.PACK").write_bytes(b"x")
    (place / "-rf.pack").write_bytes(b"x")
    (place / "two\nlines.pack").write_bytes(b"x")
    (place / "$(id).pack").write_bytes(b"x")
    for odd in ("..x/kfmt", "0123456789ABCDEF/kfmt", "0123456789abcdef/UPPER", "0123456789abcdef/a b"):
        target.place(odd).mkdir(parents=True)
        (target.place(odd) / good.name).write_bytes(good.read_bytes())
    target.place("0123456789abcdef/link").symlink_to(place)
    everywhere = [(ANA, digit * 40) for digit in "0123"]
    for transport in (one, target.open("two")):
        assert set(transport.packs()) == set(at(ANA, packs))
        assert dict(transport.fetch([*at(ANA, packs), *everywhere])) == at(ANA, packs)
        one.publish(ANA, some_packs("c"), drop=["4" * 40])
        one.publish(ANA, {}, drop=some_packs("c"))


def test_a_pack_that_is_not_what_its_name_says_is_not_fetched_and_is_put_right(files_target: Target) -> None:
    one = files_target.open()
    packs = some_packs("a", "b", "c")
    one.publish(ANA, packs)
    cut, turned, _ = (files_target.place(ANA) / f"{name}.pack" for name in packs)
    cut.write_bytes(cut.read_bytes()[:-1])
    turned.write_bytes(turned.read_bytes()[:-1] + b"!")
    assert list(dict(one.fetch(at(ANA, packs)))) == [(ANA, list(packs)[2])]
    one.publish(ANA, packs)
    assert everything(one) == at(ANA, packs)


def test_a_directory_in_the_place_of_a_pack_is_an_error_and_nothing_is_removed(files_target: Target) -> None:
    one = files_target.open()
    old, new = some_packs("old"), some_packs("new")
    one.publish(ANA, old)
    (files_target.place(ANA) / f"{next(iter(new))}.pack").mkdir()
    with pytest.raises(SyncError):
        one.publish(ANA, new, drop=old)
    assert everything(one) == at(ANA, old)
    assert leftovers(files_target) == []


def test_a_link_in_the_place_of_a_folder_is_not_written_through(files_target: Target, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    author = files_target.place(ANA).parent
    author.mkdir(parents=True)
    files_target.place(ANA).symlink_to(elsewhere)
    with pytest.raises(SyncError, match="link"):
        files_target.open().publish(ANA, some_packs("a"))
    assert list(elsewhere.iterdir()) == []


def test_nothing_is_left_beside_the_packs_and_only_their_owner_reads_them(files_target: Target) -> None:
    one = files_target.open()
    one.publish(ANA, some_packs("a", "b"))
    one.publish(ANA, some_packs("c"), drop=some_packs("a"))
    assert leftovers(files_target) == []
    assert {path.stat().st_mode & 0o777 for path in files_target.place(ANA).iterdir()} == {0o600}
    assert files_target.place(ANA).stat().st_mode & 0o077 == 0


def test_in_a_folder_that_a_group_shares_the_group_reads_the_packs(files_target: Target) -> None:
    assert files_target.folder is not None
    files_target.folder.chmod(0o2770)
    files_target.open().publish(ANA, some_packs("a"))
    place = files_target.place(ANA)
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o660}
    assert place.stat().st_mode & 0o077 == 0o070
    assert place.parent.stat().st_mode & 0o077 == 0o070


def test_what_a_crash_left_half_written_goes_once_it_is_old(files_target: Target) -> None:
    one = files_target.open()
    one.publish(ANA, some_packs("a"))
    place = files_target.place(ANA)
    for name, age in (("old", 4 * 86_400), ("new", 60)):
        half = place / f".holdfast-{name}.tmp"
        half.write_bytes(b"half")
        os.utime(half, (time.time() - age,) * 2)
    one.publish(ANA, some_packs("b"))
    assert leftovers(files_target) == [".holdfast-new.tmp"]


def test_a_disk_without_room_is_one_line_and_costs_nothing(files_target: Target, small_disk: Path) -> None:
    assert files_target.folder is not None
    files_target.folder.rmdir()
    files_target.folder.symlink_to(small_disk)
    one = files_target.open()
    old = some_packs("a", "b")
    one.publish(ANA, old)
    need_packs_on(small_disk)
    with pytest.raises(SyncError, match=r"the disk is full|there is no room left"):
        one.publish(ANA, some_packs("c", size=5_000_000), drop=old)
    assert everything(one) == at(ANA, old)
    assert leftovers(files_target) == []
    one.publish(ANA, some_packs("d"))
    assert everything(one) == at(ANA, old | some_packs("d"))


def need_packs_on(disk: Path) -> None:
    """Some systems give each session of sshd a view of the mounts that lacks what was mounted after it started."""
    if not list(disk.rglob("*.pack")):
        pytest.skip("sessions of this sshd do not see what is mounted here")


def leftovers(target: Target) -> list[str]:
    return sorted(
        path.name for path in target.place(ANA).iterdir() if not (path.is_dir() or path.suffix == ".pack")
    ) + sorted(path.name for path in target.place(ANA).glob(".*") if path.is_dir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_read_only_is_one_line(files_target: Target, small_disk: Path) -> None:
    assert files_target.folder is not None
    files_target.folder.rmdir()
    files_target.folder.symlink_to(small_disk)
    one = files_target.open()
    one.publish(ANA, some_packs("a"))
    need_packs_on(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(SyncError, match=r"read-only file system|file system is read-only"):
        one.publish(ANA, some_packs("b"), drop=some_packs("a"))
    assert everything(one) == at(ANA, some_packs("a"))


def test_a_folder_that_may_not_be_read_or_written_is_one_line() -> None:
    """As another user where the tests run as root, who may do everything."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        one = Folder(folder, PROJECT)
        one.publish(ANA, some_packs("a"))
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o600)
        first = (ANA, next(iter(some_packs("a"))))
        for attempt in (lambda: one.publish(BEN, some_packs("b")), lambda: list(one.fetch([first]))):
            assert exit_code(fork(lambda attempt=attempt: refused(attempt))) == 0  # type: ignore[misc]
        (folder / "holdfast").chmod(0o000)
        for attempt in (one.packs, one.state):
            assert exit_code(fork(lambda attempt=attempt: refused(attempt))) == 0  # type: ignore[misc]
        (folder / "holdfast").chmod(0o700)


def refused(attempt: Callable[[], object]) -> None:
    if os.geteuid() == 0:
        os.setuid(65_534)
    with pytest.raises(SyncError, match="permission denied"):
        attempt()
