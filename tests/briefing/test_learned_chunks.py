"""Lessons and knowledge are found by search; what is not agreed to is not, and what does not count is told to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.flows.test_lesson_trust import commit

RULE = "run one integration test with `make itest NAME=<name>`"
TASK = "run a single integration test of the importer"


def found(holdfast: Holdfast, kind: str, query: str = "integration test") -> list[str]:
    return [hit["text"] for hit in holdfast("search", query, "--kind", kind, "--json", check=0).json()]


def told(holdfast: Holdfast) -> str:
    return str(holdfast("recall", TASK, "--json", check=0).json()["text"])


@pytest.mark.promise("R2")
def test_a_lesson_is_found_and_told_and_no_longer_when_it_is_muted_or_gone(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("lessons", "add", "itest", "--rule", RULE, check=0)
    assert found(holdfast, "lesson") == [RULE] and RULE in told(holdfast)
    holdfast("lessons", "mute", "itest", check=0)
    assert found(holdfast, "lesson") == [RULE] and RULE not in told(holdfast)
    holdfast("lessons", "unmute", "itest", check=0)
    assert RULE in told(holdfast)
    holdfast("lessons", "rm", "itest", check=0)
    assert found(holdfast, "lesson") == [] and RULE not in told(holdfast)


@pytest.mark.promise("G2")
def test_a_lesson_that_came_with_a_clone_is_not_found_before_it_is_trusted(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("fact", "add", "The importer lives in src/importer", "--evidence", "ls", check=0)
    commit(repo, "itest", f"- {RULE}\n")
    assert found(holdfast, "lesson") == [] and RULE not in told(holdfast)
    holdfast("lessons", "trust", "itest", "--yes", check=0)
    assert found(holdfast, "lesson") == [RULE] and RULE in told(holdfast)
    holdfast("lessons", "trust", "--revoke", "itest", "--yes", check=0)
    assert found(holdfast, "lesson") == [] and RULE not in told(holdfast)


@pytest.mark.promise("R2")
def test_what_the_repository_shows_is_found(holdfast: Holdfast, repo: Path) -> None:
    (repo / "package.json").write_text(
        '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "1"}}'
    )
    (repo / "src").mkdir()
    (repo / "src" / "a.test.ts").write_text('import { it } from "vitest";\nit("works", () => {});\n')
    holdfast("know", "scan", check=0)
    assert any("vitest" in text for text in found(holdfast, "knowledge", "which test runner"))


@pytest.mark.promise("R4")
def test_a_rule_is_found_with_the_line_where_it_stands(holdfast: Holdfast, repo: Path) -> None:
    holdfast("lessons", "add", "itest", "--rule", RULE, check=0)
    (hit,) = holdfast("search", RULE, "--kind", "lesson", "--json", check=0).json()
    assert (repo / hit["path"]).read_text(encoding="utf-8").splitlines()[hit["line"] - 1] == f"- {RULE}"
