"""`make bench-peers`: what is not installed is a row that says so, and nothing of the real home is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.promise("P4")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts CPU as Linux does")
def test_the_programs_are_measured_on_the_demonstration_and_missing_ones_are_named(tmp_path: Path) -> None:
    home, page = tmp_path / "home", tmp_path / "peers.md"
    home.mkdir()
    page.write_text("# Peers\n\nProse by hand.\n\n", encoding="utf-8")
    env = {**os.environ, "HOME": str(home), "HOLDFAST_PEERS": str(tmp_path / "nothing")}
    command = [sys.executable, "-m", "bench.peers", "--demo", "--page", str(page)]
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)

    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Peers\n\nProse by hand.\n\n<!-- Below")
    reading, bills, missing = (
        [line for line in text.split(f"## {part}")[1].split("## ")[0].split("\n") if line.startswith("| ")][
            1:
        ]
        for part in ("Reading ", "Tokens and cost", "Not measured")
    )
    assert [line.split(" | ")[0] for line in reading] == ["| holdfast", "| FTS5 alone"]
    (bill,) = bills
    assert bill.startswith("| holdfast | ") and float(bill.split(" | ")[-1].rstrip(" |")) > 0
    names = ("ccusage", "agentsview", "basic-memory")
    assert [line.split(" | ")[0] for line in missing] == [f"| {name}" for name in names]
    assert all(line.endswith("| it is not installed |") for line in missing)
    assert list(home.iterdir()) == [], "each program has a home of its own"
