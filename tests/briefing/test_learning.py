"""What sessions teach becomes a candidate when they are taken in, and is told when it recurs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.flows.test_remember import DAY, put

from holdfast.briefing.projects import memory_of
from holdfast.briefing.recovery import recovery
from holdfast.flows.import_sessions import import_into
from holdfast.flows.lessons import read_lessons, reject
from holdfast.store.machine import Machine
from holdfast.store.project import Project

FLAG = "`gh pr diff --stat` fails here (unknown flag: --stat) → `gh pr diff --name-only`"


def stumbling(number: int, cwd: Path, said: str = "") -> ClaudeFile:
    at = DAY * number
    file = ClaudeFile(f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(cwd), prefix=f"p{number}")
    file.user(at, f"Review pull request {number} of the shop")
    file.run(
        at + 10, f"gh pr diff {number} --stat", "unknown flag: --stat\n\nUsage:  gh pr diff", exit_code=1
    )
    file.run(at + 20, f"gh pr diff {number} --name-only", "src/cart.ts")
    if number == 1:  # it had to be found once
        file.run(at + 25, "cat package.json", '{"scripts": {"test": "vitest"}}')
    file.run(at + 30, "npm test", "Tests: 12 passed")
    file.assistant(at + 40, "Reviewed it.")
    if said:
        file.user(at + 50, said)
        file.assistant(at + 60, "Understood.")
    return file


def working_again(number: int, cwd: Path) -> ClaudeFile:
    at = DAY * number
    file = ClaudeFile(f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(cwd), prefix=f"p{number}")
    file.user(at, f"Review pull request {number} of the shop")
    file.run(at + 10, f"gh pr diff {number} --stat", "1 file changed")
    file.assistant(at + 40, "Reviewed it.")
    return file


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def project(machine: Machine) -> Project:
    return machine.project()


def taken_in(machine: Machine, folder: Path, *files: ClaudeFile) -> None:
    import_into(machine, machine.project(), [put(folder, file) for file in files])


def rules(machine: Machine, state: str = "") -> set[str]:
    seen = read_lessons(machine, machine.project()).lessons
    return {rule for one in seen if not state or one.state == state for rule in one.lesson.rules}


@pytest.mark.promise("S2")
def test_sessions_leave_candidates_with_their_evidence(machine: Machine, repo: Path, tmp_path: Path) -> None:
    (repo / "package.json").write_text(json.dumps({"scripts": {"test": "vitest"}}), encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(1, repo), stumbling(2, repo))
    assert rules(machine) == {FLAG, "tests: `npm test`"}
    by_rule = {one.lesson.rules[0]: one.lesson for one in read_lessons(machine, machine.project()).lessons}
    flag, test = by_rule[FLAG], by_rule["tests: `npm test`"]
    assert flag.strong and len(flag.sessions) == 2
    assert "unknown flag: --stat" in flag.evidence[0].line
    assert [item.target for item in test.fingerprint] == ["package.json#scripts.test"]


def test_the_same_sessions_again_change_no_lesson(machine: Machine, repo: Path, tmp_path: Path) -> None:
    files = [stumbling(1, repo), stumbling(2, repo)]
    taken_in(machine, tmp_path / "t", *files)
    folder = machine.project().memory / "lessons"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    taken_in(machine, tmp_path / "t", *files, stumbling(3, repo))
    taken_in(machine, tmp_path / "t", *files)
    assert {path.name for path in folder.rglob("*.md")} == {
        path.name for path in before if path.suffix == ".md"
    }
    assert len(read_lessons(machine, machine.project()).lessons) == 2


@pytest.mark.promise("S2")
def test_what_recurs_is_told_at_the_start_and_once(machine: Machine, repo: Path, tmp_path: Path) -> None:
    taken_in(machine, tmp_path / "t", stumbling(1, repo))
    assert not [line for line in recovery(machine, machine.project()) if "--stat" in line.text]
    taken_in(machine, tmp_path / "t", stumbling(2, repo))
    told = [line.text for line in recovery(machine, machine.project()) if "--stat" in line.text]
    assert told == [FLAG]


def test_what_was_rejected_is_not_told_and_does_not_come_back(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    project = machine.project()
    taken_in(machine, tmp_path / "t", stumbling(1, repo), stumbling(2, repo))
    reject(machine, project, ["gh-pr-diff-stat"])
    taken_in(machine, tmp_path / "t", stumbling(3, repo))
    assert FLAG not in rules(machine, "candidate") | rules(machine, "active")
    assert not [line for line in recovery(machine, project) if "--stat" in line.text]


def test_a_candidate_that_is_contradicted_is_withdrawn(machine: Machine, repo: Path, tmp_path: Path) -> None:
    taken_in(machine, tmp_path / "t", stumbling(1, repo))
    assert FLAG in rules(machine)
    taken_in(machine, tmp_path / "t", working_again(2, repo))
    assert FLAG not in rules(machine)


@pytest.mark.promise("M5")
def test_a_correction_is_a_lesson_and_is_proposed_to_the_manual(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    taken_in(
        machine, tmp_path / "t", stumbling(1, repo, "No, always use `pnpm` in this repository, never `npm`.")
    )
    wanted = "Always use `pnpm` in this repository, never `npm`"
    assert wanted in rules(machine)
    manual = memory_of(machine, machine.project()).style_file.read_text(encoding="utf-8")
    assert wanted[1:] in manual


def test_a_secret_in_a_command_does_not_get_into_a_lesson(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    at = DAY
    file = ClaudeFile("00000001-58a4-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix="p1")
    file.user(at, "Deploy the shop")
    file.run(at + 10, f"shopctl deploy --token={secret} --force", "unknown flag: --force", exit_code=1)
    file.run(at + 20, f"shopctl deploy --token={secret} --yes", "done")
    file.assistant(at + 40, "Deployed it.")
    taken_in(machine, tmp_path / "t", file)
    assert any("shopctl deploy --force" in rule for rule in rules(machine))
    everything = b"".join(path.read_bytes() for path in machine.project().memory.rglob("*") if path.is_file())
    assert secret.encode() not in everything


def test_a_command_that_a_guide_states_is_no_lesson(machine: Machine, repo: Path, tmp_path: Path) -> None:
    taken_in(machine, tmp_path / "t", stumbling(1, repo), stumbling(2, repo))
    assert rules(machine) == {FLAG, "tests: `npm test`"}
    (repo / "AGENTS.md").write_text("Run `npm test:all` and `pnpm test`.\n", encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(3, repo))
    assert "tests: `npm test`" in rules(machine)  # another command
    own = "<!-- holdfast:begin lessons -->\nnpm test\n<!-- holdfast:end lessons 3f2a9c -->\n"
    (repo / "CLAUDE.md").write_text(own, encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(3, repo, "Thanks."))
    assert "tests: `npm test`" in rules(machine)  # said by holdfast itself
    (repo / "CLAUDE.md").write_text("# Shop\n\n```sh\nnpm test\n```\n", encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(3, repo, "Thanks a lot."))
    assert rules(machine) == {FLAG}


@pytest.mark.promise("H7")
def test_what_imported_sessions_were_shown_of_a_guide_is_no_candidate(home: Path, tmp_path: Path) -> None:
    """A history without its checkout: the guide is known as far as a session read it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    machine, away = Machine(cwd=folder), Path("/home/ada/shop")
    reader = stumbling(3, away)
    call = reader.call(DAY * 3 + 50, "Read", {"file_path": f"{away}/CLAUDE.md"})
    reader.result(DAY * 3 + 51, call, "     1→# Shop\n     2→\n     3→- `npm test` runs all tests\n")
    taken_in(machine, tmp_path / "t", stumbling(1, away), stumbling(2, away))
    assert "tests: `npm test`" in rules(machine)
    taken_in(machine, tmp_path / "t", reader)
    assert rules(machine) == {FLAG}  # a stumble happened in spite of every guide


@pytest.mark.promise("H7")
def test_a_rule_of_a_person_that_a_guide_states_is_no_candidate(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    said = "Always use US English in comments and docs."
    (repo / "docs").mkdir()
    (repo / "CLAUDE.md").write_text("# Shop\n\n@docs/words.md\n", encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(1, repo, said))
    assert any("US English" in rule for rule in rules(machine))
    (repo / "docs" / "words.md").write_text(
        "- Always use US English in comments and docs\n", encoding="utf-8"
    )
    taken_in(machine, tmp_path / "t", stumbling(2, repo))
    assert not any("US English" in rule for rule in rules(machine))


def test_a_command_that_only_the_readme_states_is_a_lesson(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    """No agent is given the README unasked: what stands there costs a look."""
    (repo / "README.md").write_text("Run `npm test`.\n", encoding="utf-8")
    taken_in(machine, tmp_path / "t", stumbling(1, repo), stumbling(2, repo))
    assert "tests: `npm test`" in rules(machine)


def linting(number: int, cwd: Path, *commands: str) -> ClaudeFile:
    at = DAY * number
    file = ClaudeFile(f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(cwd), prefix=f"p{number}")
    file.user(at, f"Tidy part {number} of the shop")
    for place, command in enumerate(commands):
        file.run(at + 10 + 10 * place, command, "0 issues.")
    file.assistant(at + 90, "Tidied it.")
    return file


@pytest.mark.promise("S2")
def test_sessions_one_by_one_teach_what_they_teach_together(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule is as strong as the evidence of all sessions: one that only the first of them showed does not stay."""
    files = [linting(number, repo, "golangci-lint run ./cart") for number in (1, 2)]
    files += [linting(number, repo, "mise tasks", "mise run lint") for number in range(3, 9)]
    files += [stumbling(9, repo), stumbling(10, repo)]
    seen = []
    for name, batches in (("together", [files]), ("one by one", [[file] for file in files])):
        monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / name))
        machine = Machine(cwd=repo)
        for batch in batches:
            taken_in(machine, tmp_path / f"t {name}", *batch)
        seen.append(rules(machine))
    assert seen[0] == seen[1] == {"lint: `mise run lint`", FLAG}
