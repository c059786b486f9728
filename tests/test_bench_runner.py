"""The benchmark runner, with made-up benchmarks: one that fails is reported, and the others run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.measuring import letters_in, report
from bench.run import BENCHES, ONLY_WHEN_NAMED, run

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str]) -> Lines:
    """What the runner has printed, read as JSON."""
    return lambda: [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def passes(folder: Path) -> bool:
    (folder / "made").touch()
    return report("passes", 1.0, "s", 2.0)


def misses_its_bound(folder: Path) -> bool:
    return report("misses", 3.0, "s", 2.0)


def raises(folder: Path) -> bool:
    raise AssertionError("not captured")


def exits(folder: Path) -> bool:
    raise SystemExit("no such folder")


def starts_a_process_that_fails(folder: Path) -> bool:
    script = "import sys; sys.exit('the port is taken')"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    return True


@pytest.mark.parametrize(
    ("bench", "error"),
    [
        (raises, "AssertionError: not captured"),
        (exits, "SystemExit: no such folder"),
        (starts_a_process_that_fails, "the port is taken"),
        ("bench.no_such_module:bench", "ModuleNotFoundError"),
        ("bench.run:no_such_function", "AttributeError"),
    ],
)
def test_a_benchmark_that_fails_is_reported_and_the_next_one_runs(
    lines: Lines, bench: Any, error: str
) -> None:
    assert run([], {"broken": bench, "passes": passes}) == 1
    broken, passed, summary = lines()
    assert (broken["name"], broken["ok"], broken["value"]) == ("broken", False, None)
    assert error in broken["error"]
    assert (passed["name"], passed["ok"]) == ("passes", True)
    assert summary == {"name": "summary", "ok": False, "ran": 2, "failed": ["broken"]}


def test_a_bound_that_is_missed_is_in_the_summary(lines: Lines) -> None:
    assert run([], {"misses": misses_its_bound, "passes": passes}) == 1
    assert lines()[-1]["failed"] == ["misses"]


def test_when_all_pass_the_exit_code_is_zero(lines: Lines) -> None:
    assert run([], {"passes": passes, "again": passes}) == 0
    assert lines()[-1] == {"name": "summary", "ok": True, "ran": 2, "failed": []}


def test_only_what_is_named_runs_and_an_unknown_name_fails(lines: Lines) -> None:
    assert run(["again", "nothing"], {"passes": passes, "again": passes}) == 1
    unknown, _, summary = lines()
    assert "no such benchmark; there are passes, again" in unknown["error"]
    assert (summary["ran"], summary["failed"]) == (1, ["nothing"])


def test_an_interruption_ends_the_run() -> None:
    def interrupted(folder: Path) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([], {"interrupted": interrupted, "passes": passes})


def test_the_table_names_functions_that_are_there() -> None:
    root = Path(__file__).parents[1]
    for entry in BENCHES.values():
        assert isinstance(entry, str)
        module, function = entry.split(":")
        path = root.joinpath(*module.split(".")).with_suffix(".py")
        assert f"def {function}(folder: Path" in path.read_text(encoding="utf-8"), entry
    assert set(BENCHES) >= ONLY_WHEN_NAMED


def test_an_empty_folder_in_the_inbox_is_no_letter(tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    assert letters_in(tmp_path) == []
    (tmp_path / "aside" / "unreadable.json").touch()
    assert letters_in(tmp_path) == ["unreadable.json"]
