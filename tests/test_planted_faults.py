"""The tool that plants faults: its table is well formed, and it tells a caught fault from a missed one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = """
[[fault]]
id = "caught"
what = "adds one too many"
find = "return a + b"
replace = "return a + b + 1"
tests = ["tests"]

[[fault]]
id = "missed"
what = "greets nobody | or all"
find = "return 'hello'"
replace = "return ''"
tests = ["tests"]
"""


def test_every_fault_of_the_table_is_complete() -> None:
    faults = tomllib.loads((ROOT / "tests" / "faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len({fault["id"] for fault in faults}) == len(faults)
    assert [fault["id"] for fault in faults if fault["find"] == fault["replace"]] == []
    assert [fault["id"] for fault in faults if not (fault["what"] and fault["find"] and fault["tests"])] == []


@pytest.mark.skipif(os.name == "nt", reason="the copy's environment is laid out as on POSIX")
def test_a_fault_is_caught_when_a_test_fails_with_it_and_missed_otherwise(tmp_path: Path) -> None:
    package, tests = tmp_path / "src" / "holdfast", tmp_path / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    source = "def add(a, b):\n    return a + b\n\ndef greet():\n    return 'hello'\n"
    (package / "__init__.py").write_text(source, encoding="utf-8")
    (tests / "faults.toml").write_text(TABLE, encoding="utf-8")
    (tests / "test_add.py").write_text(
        "from holdfast import add\n\ndef test_sum(): assert add(1, 2) == 3\n", encoding="utf-8"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: long\n", encoding="utf-8")

    def plant(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "plant_faults.py"), *arguments],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "2 faults, 0 stale" in plant("--check")
    printed = plant()
    assert "caught: tests/test_add.py::test_sum" in printed
    assert "missed: not caught" in printed
    assert (package / "__init__.py").read_text(encoding="utf-8") == source
    assert set(json.loads((tmp_path / "bench/out/planted.json").read_text(encoding="utf-8"))) == {
        "caught",
        "missed",
    }
    plant("--page", "faults.md")
    page = (tmp_path / "faults.md").read_text(encoding="utf-8")
    assert "| caught | adds one too many | `tests/test_add.py::test_sum` |" in page
    assert "| missed | greets nobody \\| or all | no, by tests |" in page

    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "test_greet.py").write_text(
        "from holdfast import greet\n\ndef test_words(): assert greet()\n\ndef test_sound(): pass\n",
        encoding="utf-8",
    )
    assert "missed: more/test_greet.py::test_words" in plant("--missed", "--tests", "more/test_greet.py")
