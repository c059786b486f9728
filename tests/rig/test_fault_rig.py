"""The fault rig itself, and a sample of it: `make faults` runs the whole (docs/research/fault-rig.md)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.fault_rig import shim
from scripts.fault_rig.__main__ import run
from scripts.fault_rig.power import Disk, File
from scripts.fault_rig.shim import Call

ROOT = Path(__file__).parents[2]
SAMPLED = (
    "capture",
    "import",
    "forget a session",
    "restore in place",
    "restore elsewhere",
    "undo",
    "archive",
    "export",
    "decide",
    "upgrade",
)
POINTS = 7  # of each; make faults has 185
needs_rig = pytest.mark.skipif(bool(shim.missing()), reason=shim.missing())


@needs_rig
@pytest.mark.slow
@pytest.mark.promise("F2", "F3")
def test_after_errors_kills_and_power_losses_everything_is_there_and_the_next_run_completes_it() -> None:
    results, problems = run(points=POINTS, scenarios=SAMPLED)
    shallow = [problem for problem in problems if "too shallow" in problem]
    assert problems == shallow
    violated = {
        f"{result.scenario}: {result.fault}@{result.at} {result.how} {result.place}": result.violations
        for result in results
        if result.violations
    }
    assert violated == {}
    reached = [result for result in results if result.reached]
    assert len(reached) >= (len(SAMPLED) - len(shallow)) * POINTS * 0.8
    assert {result.kind for result in reached} == {"error", "kill", "power loss"}


_CALLS = """
import ctypes, errno, os, sys
library, folder = ctypes.CDLL(sys.argv[1]), sys.argv[2]
library.faults_watch(folder.encode())
library.faults_arm.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int)
library.faults_arm(int(sys.argv[3]), 2, errno.ENOSPC, 0, os.path.join(folder, "..", "log").encode(), 1)
name = os.path.join(folder, "file")
file = os.open(name, os.O_WRONLY | os.O_CREAT)
try:
    print(os.write(file, b"whole"))
except OSError as error:
    print(errno.errorcode[error.errno])
os.fsync(file)
os.rename(name, name + "2")
"""


@needs_rig
@pytest.mark.parametrize(
    ("mode", "said", "code", "left"),
    [
        (shim.PASS, "5", 0, {"file2": b"whole"}),
        (shim.FAIL_ONCE, "ENOSPC", 0, {"file2": b""}),
        (shim.SHORT, "2", 0, {"file2": b"wh"}),
        (shim.KILL_AFTER, "", -9, {"file": b"whole"}),
        (shim.KILL_TORN, "", -9, {"file": b"wh"}),
    ],
)
def test_the_second_call_meets_its_fault(
    tmp_path: Path, mode: int, said: str, code: int, left: dict[str, bytes]
) -> None:
    library = shim.build(tmp_path)
    folder = tmp_path / "world"
    folder.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", _CALLS, str(library), str(folder), str(mode)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (code, said), ended.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == left
    kinds = [call.kind for call in shim.read_log(tmp_path / "log")]
    assert kinds == ["create", "write", "sync", "rename"][: 4 if code == 0 else 2]


def _call(kind: str, path: Path, *, inode: int, offset: int = 0, data: bytes = b"", path2: str = "") -> Call:
    return Call(0, kind, 0, offset, inode, 0, 0, str(path), path2, data)


def test_what_was_not_synced_may_be_gone_after_a_power_loss(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"before")
    new, inode, folder = tmp_path / "new", 1 << 60, tmp_path.stat().st_ino
    written = [_call("create", new, inode=inode), _call("write", new, inode=inode, data=b"after")]
    renamed = _call("rename", new, inode=inode, path2=str(tmp_path / "old"))
    synced_file, synced_folder = _call("sync", new, inode=inode), _call("sync", tmp_path, inode=folder)

    def left(*calls: Call, how: str) -> dict[str, bytes]:
        disk = Disk(tmp_path)
        disk.follow(calls)
        found = disk.lose_power(how, random.Random(0))
        return {name: content for name, (node, content) in found.items() if isinstance(node, File)}

    everything = (*written, synced_file, renamed, synced_folder)
    assert left(*written, renamed, how="synced only") == {"old": b"before"}
    assert left(*written, renamed, how="names without data") == {"old": b""}
    assert left(*written, synced_file, renamed, how="synced only") == {"old": b"before"}
    for how in ("synced only", "names without data", "anything", "data in pieces"):
        assert left(*everything, how=how) == {"old": b"after"}
    contents = {left(*written, renamed, synced_folder, how="data in pieces")["old"]}
    assert contents <= {b"", b"after", bytes(5)}


def test_a_removed_file_comes_back_unless_its_folder_was_synced(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"forgotten")
    gone = _call("unlink", tmp_path / "secret", inode=0)
    disk = Disk(tmp_path)
    disk.follow([gone])
    assert list(disk.lose_power("synced only", random.Random(0))) == ["secret"]
    disk.follow([_call("sync", tmp_path, inode=tmp_path.stat().st_ino)])
    assert list(disk.lose_power("synced only", random.Random(0))) == []


@needs_rig
def test_a_copy_of_the_rigs_process_makes_the_calls_of_a_process_of_its_own(tmp_path: Path) -> None:
    script = """
import json, os, subprocess, sys
from pathlib import Path
from scripts.fault_rig.scenarios import build_today, use_everything
from scripts.fault_rig.shim import read_log
from scripts.fault_rig.world import Saved, World, command, load_everything
folder, library = Path(sys.argv[1]), Path(sys.argv[2])
load_everything(folder / "used", library, use_everything)
world = World(folder, library)
build_today(world)
saved = Saved.of(world.root)
def calls(log):
    return [[call.kind, os.path.basename(call.path2 or call.path)] for call in read_log(log) if call.kind in CHANGES]
from scripts.fault_rig.shim import CHANGES
CHANGES = [*CHANGES, "sync"]
words = ["todo", "add", "Order new boxes"]
saved.put_back(world.root)  # before both: an id file that was laid out again is registered once more
world.run(command(*words), log=True)
forked = calls(world.log)
saved.put_back(world.root)
armed = {"LD_PRELOAD": str(library), "HOLDFAST_FAULTS_ROOT": str(world.root), "HOLDFAST_FAULTS_LOG": str(world.log)}
subprocess.run([sys.executable, "-m", "holdfast", *words], cwd=world.repo, env={**os.environ, **armed}, check=True,
               stdout=subprocess.DEVNULL)
print(json.dumps([forked, calls(world.log)]))
"""
    library = shim.build(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(library)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    forked, alone = (
        [(kind, shim.without_chance(name)) for kind, name in calls] for calls in json.loads(done.stdout)
    )
    assert forked == alone
