"""What the checkout no longer has is not told: a script that is gone, a file that was found and is not there any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.briefing.test_learning import taken_in
from tests.flows.test_remember import DAY

from holdfast.briefing.lesson_proposals import offered
from holdfast.store.machine import Machine


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


def wrong_name(number: int, repo: Path) -> ClaudeFile:
    """A session that called a script by a wrong name, found the right one, and read what is in the checkout."""
    at = DAY * number
    file = ClaudeFile(f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix=f"p{number}")
    file.user(at, f"Mend part {number} of the cart")
    file.run(at + 10, "npm run unit", 'npm error Missing script: "unit"', exit_code=1)
    file.run(at + 20, "npm run test:unit", "Tests: 12 passed")
    for place, name in enumerate(("cart.ts", "total.ts", "package.json")):
        call = file.call(at + 30 + place, "Read", {"file_path": str(repo / name)})
        file.result(at + 31 + place, call, "export const a = 1")
    file.assistant(at + 60, "Mended it.")
    return file


RULE = '`npm run unit` fails here (Missing script: "unit") → `npm run test:unit`'


def scripts(repo: Path, **defined: str) -> None:
    (repo / "package.json").write_text(json.dumps({"scripts": defined}), encoding="utf-8")


def told(machine: Machine) -> set[str]:
    return {rule for lesson in offered(machine.project()).lessons for rule in lesson.rules}


@pytest.mark.promise("S7")
def test_a_remedy_whose_script_is_gone_is_not_told(machine: Machine, repo: Path, tmp_path: Path) -> None:
    for name in ("cart.ts", "total.ts"):
        (repo / name).write_text("export const a = 1\n", encoding="utf-8")
    scripts(repo, **{"test:unit": "vitest"})
    taken_in(machine, tmp_path / "t", wrong_name(1, repo), wrong_name(2, repo))
    assert RULE in told(machine)
    scripts(repo, test="vitest")
    assert RULE not in told(machine)


@pytest.mark.promise("S7")
def test_where_sessions_worked_elsewhere_nothing_is_gone(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    """Sessions may be taken in beside another repository, or none: that says nothing of theirs."""
    scripts(repo, test="vitest")
    taken_in(machine, tmp_path / "t", wrong_name(1, repo), wrong_name(2, repo))
    assert RULE in told(machine)
