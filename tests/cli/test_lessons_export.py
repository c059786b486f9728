"""`lessons export`: a lesson as the rule of a host's own guard, and what it would have refused in the past."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.builders import SESSION, ClaudeFile
from tests.command import Holdfast

from holdfast.lessons.deny_rules import DenyRule, deny_rules, render
from holdfast.model.lesson import Lesson

FAILS = "`npm test` fails here (no such script) → `pnpm test`"


def lesson(*rules: str) -> Lesson:
    return Lesson(name="testing", description="", rules=rules)


@pytest.fixture
def taught(holdfast: Holdfast, repo: Path, home: Path) -> Holdfast:
    """A project whose sessions ran `npm test` four times: it failed three times and worked once."""
    file = ClaudeFile(cwd=str(repo))
    file.user(0, "make the tests pass")
    for at, code in ((2, 1), (4, 1), (6, 0)):
        file.run(at, "npm test", "ran", exit_code=code)
    file.run(8, "cd web && npm test -- --watch", "no", exit_code=1)
    file.run(10, "pnpm test", "passed")
    file.assistant(12, "Done.")
    file.save(home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl")
    holdfast("lessons", "add", "testing", "--rule", FAILS, "--rule", "be brief", check=0)
    return holdfast


def test_the_rule_goes_to_standard_output_and_its_false_blocks_are_said_beside_it(taught: Holdfast) -> None:
    done = taught("lessons", "export", "testing", "--as", "claude", check=0)
    assert json.loads(done.stdout) == {"permissions": {"deny": ["Bash(npm test:*)"]}}
    assert "5 commands of 1 session here it would have refused 4: 3 had failed, 1 had worked" in done.stderr
    assert "20.00% of all commands, 25% of those refused" in done.stderr
    assert "Left out: be brief: it names no command that fails here." in done.stderr


def test_the_count_is_in_the_json(taught: Holdfast) -> None:
    value = taught("lessons", "export", "testing", "--as", "codex", "--json", check=0).json()
    counted = {"sessions": 1, "commands": 5, "refused": 4, "worked": 1, "failed": 3, "false_block_rate": 0.2}
    assert value["history"] == counted and value["as"] == "codex" and value["files"] == []


def test_a_check_before_a_commit_names_the_files_it_would_stop_today(taught: Holdfast, repo: Path) -> None:
    (repo / "ci.yml").write_text("run: |\n  npm test\n", encoding="utf-8")
    (repo / "README.md").write_text("Do not run npm test.\n", encoding="utf-8")
    (repo / "ok.sh").write_text("pnpm test\nnpm testing\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(repo), "add", "."], check=True)
    value = taught("lessons", "export", "testing", "--as", "pre-commit", "--json", check=0).json()
    assert value["files"] == ["ci.yml"]


def test_a_lesson_that_names_no_failing_command_is_refused_in_one_line(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("lessons", "add", "manners", "--rule", "be brief", check=0)
    done = holdfast("lessons", "export", "manners", "--as", "claude")
    assert (
        done.returncode == 2 and "cannot be a deny rule: it names no command that fails here" in done.stderr
    )


def test_nothing_is_written_by_an_export(taught: Holdfast, repo: Path, home: Path) -> None:
    before = sorted(str(path) for path in [*repo.rglob("*"), *(home / ".claude").rglob("*")])
    taught("lessons", "export", "testing", "--as", "gemini", check=0)
    assert sorted(str(path) for path in [*repo.rglob("*"), *(home / ".claude").rglob("*")]) == before


def test_a_rule_that_would_deny_its_own_remedy_is_left_out() -> None:
    found, others = deny_rules(lesson("`pytest` fails here (no module) → `pytest -p no:cov`"))
    assert found == [] and "it would deny `pytest -p no:cov` too" in others[0].reason


def test_a_line_of_several_commands_is_left_out() -> None:
    found, others = deny_rules(lesson("`cd web && npm test` fails here (no) → `pnpm test`"))
    assert found == [] and "more than one plain command" in others[0].reason


def test_a_program_that_is_not_there_is_denied_by_its_name() -> None:
    (rule,), _ = deny_rules(lesson("`python` is not found here → `python3`"))
    assert (
        rule.words == ("python",) and not rule.denies("python3 -m x") and rule.denies("cd a && python x.py")
    )


def test_codex_and_gemini_read_the_reason_with_the_rule() -> None:
    rules, _ = deny_rules(lesson(FAILS))
    (gemini,) = tomllib.loads(render(rules, "gemini"))["rule"]
    assert (gemini["commandPrefix"], gemini["decision"]) == ("npm test", "deny")
    assert "pnpm test" in gemini["denyMessage"]
    codex = render(rules, "codex")
    assert 'pattern = ["npm", "test"]' in codex and 'decision = "forbidden"' in codex and "pnpm test" in codex


WORDS = st.lists(st.text("abc.-'\"$*[(", min_size=1, max_size=6), min_size=1, max_size=3)


@given(WORDS)
def test_every_target_says_any_words_so_that_they_are_read_back(words: list[str]) -> None:
    rule = DenyRule(words=tuple(words), reason='it\'s "so"', instead="x")
    assert json.loads(render([rule], "claude"))["permissions"]["deny"] == [f"Bash({rule.text}:*)"]
    assert tomllib.loads(render([rule], "gemini"))["rule"][0]["commandPrefix"] == rule.text
    quoted = re.search(r"pattern = (\[.*\])", render([rule], "codex"))
    assert quoted and json.loads(quoted[1]) == words
    assert re.search(rule.pattern, f"run: {rule.text}; x")
