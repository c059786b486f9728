"""Promises and tests hold each other: none is done without a test, and no test names one that is not made."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MANIFEST = TESTS.parent / "docs" / "promises.toml"
PROMISES = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def promised_in(source: str, name: str) -> Iterator[tuple[str, str]]:
    """Every id that `pytest.mark.promise(...)` names, with its place."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise":
            for argument in node.args:
                place = f"{name}:{node.lineno}"
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise AssertionError(f"{place}: a promise is named by a plain string")
                yield argument.value, place


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """Each id that a test carries, with one place where it does."""
    found: dict[str, str] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        found.update(promised_in(path.read_text(encoding="utf-8"), path.relative_to(TESTS).as_posix()))
    return found


def test_a_promise_that_is_done_has_a_test(shown: dict[str, str]) -> None:
    done = [name for name, promise in PROMISES.items() if promise["state"] == "done"]
    missing = [name for name in done if name not in shown]
    assert not missing, f"done, and no test carries them: {', '.join(missing)}"


def test_a_test_names_only_promises_that_are_made(shown: dict[str, str]) -> None:
    assert {name: place for name, place in shown.items() if name not in PROMISES} == {}


@pytest.mark.parametrize("name", PROMISES)
def test_the_manifest_says_what_is_promised_and_how_it_stands(name: str) -> None:
    promise = PROMISES[name]
    assert re.fullmatch(r"[A-Z]\d{1,2}", name)
    assert set(promise) <= {"text", "issue", "state"}
    assert promise["text"].endswith(".")
    assert promise["state"] in ("done", "open")
    assert isinstance(promise.get("issue", 0), int)
    assert promise["state"] == "open" or "issue" in promise


def test_the_manifest_has_every_promise_of_the_design(shared: Path) -> None:
    text = (shared / "promises.md").read_text(encoding="utf-8")
    asked = set(re.findall(r"(?:^|[;,] )([A-Z]\d{1,2}) (?=\S)", text, re.MULTILINE))
    assert asked == set(PROMISES)


def test_marks_are_found_wherever_they_stand() -> None:
    source = 'pytestmark = pytest.mark.promise("A1")\n@pytest.mark.promise("B2", "C3")\ndef f(): ...\n'
    assert list(promised_in(source, "x.py")) == [("A1", "x.py:1"), ("B2", "x.py:2"), ("C3", "x.py:2")]


SOME_TESTS = """
import pytest

@pytest.mark.promise("A1")
@pytest.mark.skip(reason="needs a server")
def test_skipped(): ...

@pytest.mark.promise("A1", "B2")
def test_skipped_inside():
    pytest.skip("needs the extra")

@pytest.mark.promise("B2")
def test_that_runs(): ...

@pytest.mark.promise("C3")
@pytest.mark.skip(reason="not made yet")
def test_of_an_open_promise(): ...

@pytest.mark.promise("D4")
@pytest.mark.xfail(reason="known to fail")
def test_that_is_expected_to_fail():
    assert False

@pytest.mark.promise("E5")
@pytest.mark.parametrize("there", [True, False])
def test_with_one_case_skipped(there):
    if not there:
        pytest.skip("not there")
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["in one process", "in two workers"])
def test_a_run_names_the_promises_whose_tests_were_all_skipped(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    (tmp_path / "test_some.py").write_text(SOME_TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    promise(*ids): x\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        f"import sys; sys.path.insert(0, {str(TESTS.parent)!r})\n"
        "from tests.promise_report import PromiseReport\n"
        "def pytest_configure(config):\n"
        "    config.pluginmanager.register(PromiseReport({'A1', 'B2', 'D4', 'E5', 'F6'}))\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("promises not shown"))
    named = dict(re.findall(r"([A-Z]\d) \(skipped: ([^)]*)\)", line))
    assert set(named) == {"A1", "D4"}, done.stdout
    assert set(named["A1"].split("; ")) == {"needs a server", "needs the extra"}
    assert named["D4"] == "known to fail"
