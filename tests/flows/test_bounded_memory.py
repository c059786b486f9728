"""A transcript of any size is read in bounded memory: the benchmark does 2 GB, this shows that size does not matter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.corpus import write_giant

# A small process of its own: a child begins with the size of what it was forked from, and a test runner is large.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "holdfast", "import", "--json", sys.argv[1]], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_of_import(path: Path, cwd: Path) -> float:
    """Megabytes that an import of one file needed at most, by the kernel's own account."""
    command = [sys.executable, "-c", MEASURE, str(path)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    code, peak = done.stdout.split()
    assert code == "0"
    return int(peak) / 1000


@pytest.mark.slow
@pytest.mark.promise("F6")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has other units elsewhere")
def test_a_transcript_takes_a_small_part_of_its_size_in_memory(home: Path, tmp_path: Path) -> None:
    peaks = []
    for name, size in (("small", 30_000_000), ("large", 300_000_000)):
        work = tmp_path / name
        work.mkdir()
        write_giant(work / "giant.jsonl", size)
        peaks.append(peak_of_import(work / "giant.jsonl", work))
    small, large = peaks
    at_two_gigabytes = large + (large - small) / 270 * 1700
    assert at_two_gigabytes < 300, f"{small} MB for 30 MB, {large} MB for 300 MB"
