"""A transcript of any size is read in bounded memory: the benchmark does 2 GB, this shows that size does not matter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.corpus import write_giant


def peak_of_import(path: Path, cwd: Path) -> float:
    """Megabytes that an import of one file needed at most, by the kernel's own account."""
    import resource

    child = os.fork()
    if child == 0:  # a process of its own, so that its largest child is this import
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "import", "--json", str(path)],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        (cwd / "peak").write_text(f"{done.returncode} {peak}", encoding="utf-8")
        os._exit(0)
    os.waitpid(child, 0)
    code, peak = (cwd / "peak").read_text(encoding="utf-8").split()
    assert code == "0"
    return int(peak) / 1000


@pytest.mark.slow
@pytest.mark.promise("F6")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has other units elsewhere")
def test_ten_times_the_transcript_takes_about_the_same_memory(home: Path, tmp_path: Path) -> None:
    peaks = []
    for name, size in (("small", 30_000_000), ("large", 300_000_000)):
        work = tmp_path / name
        work.mkdir()
        write_giant(work / "giant.jsonl", size)
        peaks.append(peak_of_import(work / "giant.jsonl", work))
    small, large = peaks
    assert large < 300, "the bound that the benchmark holds at 2 GB"
    assert large < small * 1.8, f"{small} MB for 30 MB, {large} MB for 300 MB"
