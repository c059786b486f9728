"""`holdfast backtest` at the command line: what it says, and that it leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast

DEMO = Path(__file__).parents[2] / "src" / "holdfast" / "demo_sessions"


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.promise("P1")
def test_it_works_before_init_and_writes_only_its_cache(repo: Path, home: Path, holdfast: Holdfast) -> None:
    before = files_below(repo)
    printed = holdfast("backtest", str(DEMO), "--json", check=0).json()
    assert printed["sessions"] > 1
    assert printed["control"]["of"] == "the bundled demonstration"
    assert printed["used"] + printed["unused"] + printed["wrong"] == printed["lines"]
    assert files_below(repo) == before
    assert files_below(home) <= {".holdfast", ".holdfast/cache", ".holdfast/cache/regex"}


def test_without_sessions_it_says_so_in_one_line(holdfast: Holdfast) -> None:
    said = holdfast("backtest", check=1).stderr
    assert "no agent has recorded a session here" in said
    assert said.count("\n") == 1
