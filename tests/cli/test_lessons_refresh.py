"""`holdfast lessons stale` and `refresh`, from transcripts to what is told: exactly the right lessons turn stale."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.agents.builders import START, ClaudeFile
from tests.command import Holdfast
from tests.flows.test_remember import put

DAY = 86_400.0
CHANGED = 10  # the day on which the repository changes

Call = tuple[str, str] | tuple[str, str, int]
UNIT: Call = ("npm run test:unit", "Tests: 12 passed")
LINT: Call = ("make lint", "0 issues.")
SOUGHT: Call = ("cat Makefile", "lint:")  # a command that had to be found stays a lesson, however many run it
ALL: tuple[Call, ...] = (UNIT, SOUGHT, LINT, ("cd tests && npm run e2e", "Tests: 3 passed"))


class Bench:
    """A repository with two sessions in it, and days on which more of them come."""

    def __init__(self, holdfast: Holdfast, repo: Path, folder: Path) -> None:
        self.holdfast, self.repo, self.folder = holdfast, repo, folder
        scripts = {"test:unit": "vitest run", "start": "node ."}
        self.write("package.json", json.dumps({"name": "shop", "scripts": scripts}))
        self.write("tests/package.json", json.dumps({"scripts": {"e2e": "playwright test"}}))
        self.write("Makefile", "lint:\n\techo lint\n")
        self.sessions({1: ALL, 2: ALL})

    def write(self, name: str, text: str) -> None:
        path = self.repo / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.changed(name)

    def changed(self, name: str, day: float = CHANGED) -> None:
        moment = START + DAY * day
        os.utime(self.repo / name, (moment, moment))

    def sessions(self, calls: dict[int, Sequence[Call]]) -> None:
        """Sessions by their day, each with the calls that it made."""
        self.holdfast("import", *(put(self.folder, self._session(*one)) for one in calls.items()), check=0)

    def _session(self, day: int, calls: Sequence[Call]) -> ClaudeFile:
        at = DAY * day
        file = ClaudeFile(f"{day:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(self.repo), prefix=f"p{day}")
        file.user(at, f"Mend the cart, part {day}")
        for place, (command, output, *code) in enumerate(calls):
            file.run(at + 10 * place + 10, command, output, exit_code=code[0] if code else 0)
        file.assistant(at + 500, "It adds up.")
        return file

    def stale(self) -> dict[str, list[str]]:
        told = self.holdfast("lessons", "stale", "--json", check=0).json()
        return {one["rules"][0]: one["stale_because"] for one in told}

    def refresh(self) -> dict[str, str]:
        told = self.holdfast("lessons", "refresh", "--json", check=0).json()
        return {one["rules"][0]: f"{one['done']} by {one['told_by']}" for one in told}

    def rules(self) -> set[str]:
        told = self.holdfast("lessons", "list", "--json", check=0).json()
        return {rule for one in told for rule in one["rules"]}


@pytest.fixture
def bench(holdfast: Holdfast, repo: Path, tmp_path: Path) -> Bench:
    bench = Bench(holdfast, repo, tmp_path / "transcripts")
    assert bench.rules() == {
        "tests: `npm run test:unit`",
        "lint: `make lint`",
        "tests: `cd tests && npm run e2e`",
    }
    return bench


@pytest.mark.promise("S7")
def test_exactly_the_lessons_turn_stale_whose_ground_changed(bench: Bench, repo: Path) -> None:
    for name in ("package.json", "Makefile", "tests/package.json"):
        (repo / name).touch()
    scripts = {"test:unit": "vitest run", "start": "node server.js"}
    bench.write("package.json", json.dumps({"name": "shop", "scripts": scripts}))
    assert bench.stale() == {}  # touched, and another field
    bench.write("package.json", json.dumps({"scripts": {**scripts, "test:unit": "jest"}}))
    assert bench.stale() == {
        "tests: `npm run test:unit`": ["package.json#scripts.test:unit changed: vitest run → jest"]
    }
    shutil.rmtree(repo / "tests")
    assert set(bench.stale()) == {"tests: `npm run test:unit`", "tests: `cd tests && npm run e2e`"}


@pytest.mark.promise("S7")
def test_a_task_that_is_still_defined_holds_and_what_is_gone_is_retired(bench: Bench, repo: Path) -> None:
    bench.write("package.json", json.dumps({"scripts": {"test:unit": "jest"}}))
    shutil.rmtree(repo / "tests")
    assert bench.refresh() == {
        "tests: `npm run test:unit`": "kept by repository",
        "tests: `cd tests && npm run e2e`": "retired by repository",
    }
    assert bench.stale() == {} and bench.rules() == {"tests: `npm run test:unit`", "lint: `make lint`"}


@pytest.mark.promise("S7")
def test_the_command_that_works_since_the_change_takes_the_place_of_the_old_one(bench: Bench) -> None:
    bench.holdfast("lessons", "promote", "npm-run-test-unit", check=0)
    bench.write("package.json", json.dumps({"scripts": {"check:unit": "jest"}}))
    gone = ("npm run test:unit", 'npm error Missing script: "test:unit"', 1)
    assert set(bench.stale()) == {"tests: `npm run test:unit`"}
    before = [("npm run old:test", "Tests: 9 passed")]  # says nothing of now
    bench.sessions({CHANGED - 1: before, CHANGED + 1: [gone, ("npx jest --ci", "Tests: 12 passed")]})
    assert bench.refresh()["tests: `npx jest --ci`"] == "rewritten by sessions"
    assert "tests: `npm run test:unit`" not in bench.rules() and bench.stale() == {}


@pytest.mark.promise("S7")
def test_what_sessions_saw_again_since_the_change_holds(bench: Bench) -> None:
    bench.holdfast("lessons", "promote", "make-lint", check=0)
    bench.write("Makefile", "lint:\n\techo other\n")
    assert bench.stale() == {"lint: `make lint`": ["Makefile changed"]}
    assert bench.refresh() == {"lint: `make lint`": "left by "}
    bench.sessions({CHANGED + 1: [LINT]})
    assert bench.stale() == {} and "lint: `make lint`" in bench.rules()


@pytest.mark.promise("S7")
def test_what_no_session_met_since_the_change_is_retired_and_a_persons_own_is_not(bench: Bench) -> None:
    bench.holdfast(
        "lessons", "add", "mine", "--rule", "lint before you push", "--fingerprint", "Makefile", check=0
    )
    bench.write("Makefile", "lint:\n\techo other\n")
    bench.sessions({CHANGED + day: [UNIT] for day in range(1, 4)})
    assert bench.refresh() == {"lint: `make lint`": "retired by sessions", "lint before you push": "left by "}
    assert "lint: `make lint`" not in bench.rules()
    assert (
        "lint: `make lint`" in bench.holdfast("undo", "--yes", check=0).stdout
        or "lint: `make lint`" in bench.rules()
    )


@pytest.mark.promise("S7")
def test_a_renamed_file_is_followed_to_where_it_is(bench: Bench, repo: Path) -> None:
    (repo / "guide.md").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
    bench.holdfast(
        "lessons", "add", "read", "--rule", "read guide.md first", "--fingerprint", "guide.md", check=0
    )
    for words in (["add", "guide.md"], ["commit", "-m", "guide"], ["mv", "guide.md", "docs.md"]):
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)
    assert bench.stale() == {}
    (repo / "docs.md").write_text("one\ntwo\nthree\nfour\nfive\n", encoding="utf-8")
    assert bench.stale() == {"read guide.md first": ["guide.md is now docs.md and changed"]}
