"""A registration step that a session had to discover is a convention; one that nobody met, or a guide has, is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.briefing.test_learning import rules, taken_in
from tests.flows.test_remember import DAY
from tests.lessons.test_registration import History, exports, growing, history

from holdfast.store.machine import Machine

__all__ = ["history"]
RULE = "a new `src/steps/*.ts` is registered in `app/routes.ts`"


def working(number: int, cwd: Path, *paths: str) -> ClaudeFile:
    at = DAY * number
    file = ClaudeFile(f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(cwd), prefix=f"p{number}")
    file.user(at, f"Add step {number} to the shop")
    for place, path in enumerate(paths):
        file.edit(at + 10 * place, f"{cwd}/{path}")
    file.assistant(at + 90, "Added it.")
    return file


@pytest.mark.promise("S2")
def test_where_new_files_are_registered_is_learned_once_a_session_met_it(
    repo: Path, tmp_path: Path, history: History
) -> None:
    machine = Machine(cwd=repo)
    history(growing(exports))
    others = [working(number, repo, "README.md") for number in range(1, 4)]
    taken_in(machine, tmp_path / "t", *others)
    assert RULE not in rules(machine)  # nobody worked on it
    history(
        [
            {
                "src/steps/parcel.ts": "",
                "app/routes.ts": exports(["cart", "total-sum", "tax", "label", "stock", "parcel"]),
            }
        ]
    )
    taken_in(machine, tmp_path / "t", working(5, repo, "src/steps/parcel.ts", "app/routes.ts"))
    assert RULE in rules(machine, "candidate")


def test_what_a_guide_names_is_not_learned(repo: Path, tmp_path: Path, history: History) -> None:
    machine = Machine(cwd=repo)
    history([*growing(exports), {"AGENTS.md": "Steps are listed in app/routes.ts.\n"}])
    sessions = [working(number, repo, "src/steps/tax.ts", "app/routes.ts") for number in range(1, 5)]
    taken_in(machine, tmp_path / "t", *sessions)
    assert RULE not in rules(machine)
