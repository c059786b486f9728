"""`make test` runs a failed test again, alone, and says what happened in pytest's words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_tests.py"
CLOSING = re.compile(
    r"=+ (.+) in [\d.]+s(?: \([\d:]+\))? =+"
)  # a run of more than a minute says it both ways
PAGE = "# Flaky\n\n| date | commit | test | load | state |\n| --- | --- | --- | --- | --- |\n"
FAILS_ONCE = """
from pathlib import Path

def test_{name}():
    mark = Path(__file__).with_name("{name}.mark")
    seen = mark.exists()
    mark.touch()
    assert seen
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="make runs the script, and Windows has no make")


class Outcome:
    """An ended run of the script in a made-up project."""

    def __init__(self, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.text = done.stdout + done.stderr
        self.lines = done.stdout.splitlines()
        self.flaky = [line.split()[1] for line in self.lines if line.startswith("FLAKY ")]
        closing = [match[1] for line in self.lines if (match := CLOSING.fullmatch(line))]
        assert len(closing) == 1, self.text
        assert CLOSING.fullmatch(self.lines[-1]), self.text
        self.closing = closing[0]
        self.page = (folder / "docs/research/flaky.md").read_text(encoding="utf-8")
        self.suite = json.loads((folder / "bench/out/suite.json").read_text(encoding="utf-8"))


def run(folder: Path, tests: dict[str, str], *arguments: str, **variables: str) -> Outcome:
    (folder / "docs/research").mkdir(parents=True)
    (folder / "docs/research/flaky.md").write_text(PAGE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_") and name != "CI"
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=folder,
        env={**kept, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return Outcome(folder, done)


def fail_once(*names: str) -> dict[str, str]:
    return {name: FAILS_ONCE.format(name=name) for name in names}


STEADY = {"steady": "import pytest\n\ndef test_a(): pass\n\n@pytest.mark.skip\ndef test_b(): pass\n"}
FAILING = {"failing": "def test_a(): assert False\n"}


def test_a_test_that_passes_when_run_alone_is_flaky_and_the_run_passes(tmp_path: Path) -> None:
    outcome = run(tmp_path, fail_once("late") | STEADY, "-n", "2")
    assert outcome.code == 0, outcome.text
    assert outcome.flaky == ["test_late.py::test_late"]
    assert re.search(r"FLAKY \S+ \(load [\d.]+/[\d.]+/[\d.]+ when it failed", outcome.text)
    assert outcome.closing == "2 passed, 1 skipped, 1 flaky"
    row = outcome.page.removeprefix(PAGE)
    assert re.fullmatch(
        r"\| \d{4}-\d\d-\d\d \| \w+ \| `test_late.py::test_late` \| [\d./]+ \| open \|\n", row
    )
    suite = outcome.suite
    assert [suite[name] for name in ("passed", "skipped", "failed", "flaky")] == [2, 1, 0, 1]
    assert suite["wall"] > 0 and suite["cpu_user"] > 0
    assert {test for test, _ in suite["slowest"]} >= {"test_late.py::test_late", "test_steady.py::test_a"}


def test_in_ci_the_row_is_printed_and_the_page_left_alone(tmp_path: Path) -> None:
    outcome = run(tmp_path, fail_once("late"), CI="true")
    assert (outcome.code, outcome.closing, outcome.page) == (0, "1 passed, 1 flaky", PAGE)
    assert "| `test_late.py::test_late` |" in outcome.text


def test_a_test_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    outcome = run(tmp_path, fail_once("late") | FAILING | STEADY)
    assert (outcome.code, outcome.flaky) == (1, ["test_late.py::test_late"])
    assert outcome.closing == "1 failed, 2 passed, 1 skipped, 1 flaky"


def test_a_fixture_that_fails_once_is_flaky_too(tmp_path: Path) -> None:
    text = FAILS_ONCE.format(name="made").replace("def test_made", "import pytest\n@pytest.fixture\ndef made")
    outcome = run(tmp_path, {"made": text + "\ndef test_a(made): pass\n"})
    assert (outcome.code, outcome.closing) == (0, "1 passed, 1 flaky")


def test_more_than_three_flaky_tests_fail_the_run(tmp_path: Path) -> None:
    outcome = run(tmp_path, fail_once("a", "b", "c", "d") | STEADY)
    assert (outcome.code, len(outcome.flaky)) == (1, 4)
    assert outcome.closing == "4 failed, 1 passed, 1 skipped"


def test_a_file_that_cannot_be_collected_is_never_flaky(tmp_path: Path) -> None:
    once = FAILS_ONCE.format(name="read") + "\ntest_read()\n"
    outcome = run(tmp_path, {"read": once} | fail_once("late"), "--continue-on-collection-errors")
    assert (outcome.code, outcome.flaky, outcome.closing) == (1, [], "1 failed, 1 error")
    assert "test_read.py cannot be collected" in outcome.text


def test_a_crash_of_a_worker_is_never_flaky(tmp_path: Path) -> None:
    dies = FAILS_ONCE.format(name="dies").replace("assert seen", "seen or __import__('os')._exit(0)")
    outcome = run(tmp_path, {"dies": dies} | fail_once("late"), "-n", "1")
    assert (outcome.code, outcome.flaky, outcome.closing) == (1, [], "2 failed")
    assert "a worker crashed while running test_dies.py::test_dies" in outcome.text


def test_a_crash_of_pytest_itself_is_a_failure_whatever_its_exit_code(tmp_path: Path) -> None:
    outcome = run(tmp_path, {"dies": "def test_a(): pass\n\ndef test_b(): __import__('os')._exit(0)\n"})
    assert (outcome.code, outcome.closing) == (1, "1 failed, 1 passed")
    assert "Was running: test_dies.py::test_b" in outcome.text


def test_an_internal_error_of_pytest_is_never_flaky(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("def pytest_runtest_protocol(): 1 / 0\n", encoding="utf-8")
    outcome = run(tmp_path, STEADY)
    assert (outcome.code, outcome.flaky, outcome.closing) == (3, [], "1 error")


def test_a_run_that_was_stopped_early_cannot_pass(tmp_path: Path) -> None:
    outcome = run(tmp_path, fail_once("late") | STEADY, "-x")
    assert (outcome.code, outcome.flaky, outcome.closing) == (1, [], "1 failed")


def test_a_hanging_test_is_killed_at_the_time_limit_and_named(tmp_path: Path) -> None:
    hangs = "import time\n\ndef test_a(): pass\n\ndef test_b(): time.sleep(600)\n"
    for limit in (10, 40, 160):  # a busy machine may need longer to come to the test
        folder = tmp_path / str(limit)
        folder.mkdir()
        outcome = run(folder, {"hangs": hangs}, HOLDFAST_TEST_LIMIT=str(limit))
        if "Was running" in outcome.text:
            break
    assert (outcome.code, outcome.closing) == (1, "1 failed, 1 passed")
    assert "the time limit was reached" in outcome.text
    assert "Was running: test_hangs.py::test_b" in outcome.text


def test_arguments_choose_a_part_and_none_chosen_is_pytests_code(tmp_path: Path) -> None:
    outcome = run(tmp_path, STEADY | FAILING, "-k", "nothing_of_that_name")
    assert (outcome.code, outcome.closing) == (5, "3 deselected")
