"""What sessions leave behind: log, facts, questions, decisions and the state, under the rules that always hold."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.command import Holdfast
from tests.forked import exit_code, fork

from holdfast.briefing.projects import memory_of
from holdfast.briefing.recovery import BUDGET, recovery
from holdfast.core.tokens import count_tokens
from holdfast.flows.import_sessions import import_into
from holdfast.memory.log import parse_log
from holdfast.store.machine import Machine
from holdfast.store.project import Project

DAY = 86_400.0
PASSED = "12 passed in 0.40s"


def working_session(number: int, cwd: Path, *, branch: str = "main", day: float | None = None) -> ClaudeFile:
    """A session as they are: a goal, an edit, a failing command and its remedy, tests, a report with what is left."""
    at = DAY * (number if day is None else day)
    file = ClaudeFile(
        f"{number:08x}-58a4-4c4e-9b53-0d9f6b7e2a11", str(cwd), branch=branch, prefix=f"p{number}"
    )
    file.user(at, f"Add the discount rule number {number} to the checkout of the shop")
    file.edit(at + 20, f"{cwd}/src/rule{number}.py")
    file.run(at + 40, "python -m pytest tests", "bash: python: command not found", exit_code=127)
    file.run(at + 60, "uv run pytest tests", PASSED)
    file.assistant(
        at + 80,
        f"Added rule {number}. The bug was that `apply_rule_{number}` rounded before it added the tax.\n\n"
        f"## Next steps\n\n- Document rule {number} in docs/rules.md\n",
    )
    return file


def put(folder: Path, file: ClaudeFile) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{file.common['sessionId']}.jsonl"
    path.write_bytes(file.data())
    return path


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def project(machine: Machine) -> Project:
    return machine.project()


class Rules:
    """What must hold after every step, whatever was imported."""

    def __init__(self, machine: Machine, project: Project) -> None:
        self.machine = machine
        self.project = project
        self.entries: dict[str, str] = {}

    def check(self, *, torn: bool = False) -> None:
        """`torn`: somebody was killed while writing, so an entry may break off; it is there whole below."""
        store = memory_of(self.machine, self.project)
        now: dict[str, str] = {}
        for path in [*sorted(store.archive_folder.glob("*.md")), store.log_file]:
            if not path.exists():
                continue
            log = parse_log(path.read_text(encoding="utf-8"), path.name)
            assert [one for one in log.problems if not (torn and "breaks off" in one.message)] == []
            for block in log.blocks:
                assert block.entry is not None and block.entry.session and block.entry.at is not None
                now[f"{block.entry.session}@{block.entry.at}"] = log.text(block).strip()
        gone = {key for key, text in self.entries.items() if now.get(key) != text}
        assert not gone, "an entry was changed or lost"
        self.entries = now
        facts = store.facts()
        assert facts.problems == [] and all(kept.fact.evidence.strip() for kept in facts.reference.facts)
        assert store.questions().problems == [] and store.current().problems == []
        told = recovery(self.machine, self.project)
        assert sum(count_tokens(line.text) for line in told) <= BUDGET
        assert count_tokens(store.current_file.read_text(encoding="utf-8")) <= 6_000


@pytest.mark.promise("M2", "M3", "M6")
def test_the_rules_hold_after_every_one_of_many_sessions(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    rules = Rules(machine, project)
    for number in range(1, 40):
        import_into(machine, project, [put(tmp_path / "t", working_session(number, repo))])
        rules.check()
    assert len(rules.entries) == 39
    log = memory_of(machine, project).log_file
    assert len(log.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.promise("M2", "M3", "M6", "M8")
def test_the_rules_hold_for_real_sessions_in_time_order(
    machine: Machine, project: Project, shared: Path
) -> None:
    def began(path: Path) -> str:
        found = re.search(rb'"timestamp":"([^"]+)"', path.read_bytes()[:200_000])
        return found[1].decode() if found else ""

    folder = shared / "data" / "transcripts" / "claude-code" / "entireio-cli"
    paths = sorted(folder.glob("*.jsonl"), key=began)
    rules = Rules(machine, project)
    for number, path in enumerate(paths):
        import_into(machine, project, [path])
        if number % 8 == 0 or number > len(paths) - 4:
            rules.check()
    assert len(rules.entries) > 100
    assert memory_of(machine, project).archive_folder.is_dir()


@pytest.mark.promise("M2")
def test_importing_all_at_once_logs_what_importing_one_by_one_logs(
    machine: Machine, repo: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    paths = [put(folder, working_session(number, repo)) for number in range(1, 8)]
    project = machine.project()
    import_into(machine, project, paths)
    at_once = memory_of(machine, project)
    other = Machine(env={"HOME": str(tmp_path / "other")}, cwd=repo)
    (repo / ".git" / "holdfast-id").unlink()
    one_by_one = other.project()
    for path in paths:
        import_into(other, one_by_one, [path])
    again = memory_of(other, one_by_one)
    assert at_once.entries() == again.entries()
    assert at_once.current().current == again.current().current
    assert at_once.facts().reference == again.facts().reference


@pytest.mark.promise("M2", "C2")
def test_a_second_import_changes_no_byte(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    put(tmp_path / "t", working_session(1, repo))
    holdfast("import", tmp_path / "t", check=0)

    def bytes_of() -> dict[str, bytes]:
        memory = (repo / ".holdfast" / "local").resolve()
        return {str(path): path.read_bytes() for path in memory.rglob("*.md")}

    before = bytes_of()
    holdfast("import", tmp_path / "t", check=0)
    assert bytes_of() == before


@pytest.mark.promise("M1", "M2", "M3")
def test_a_session_is_found_in_log_reference_and_state(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        put(tmp_path / "t", working_session(number, repo))
    holdfast("import", tmp_path / "t", check=0)
    (entry,) = [e for e in holdfast("log", "--json", check=0).json() if e["session"].startswith("00000002")]
    assert entry["context"].startswith("Add the discount rule number 2")
    assert "rounded before it added the tax" in entry["findings"][0]["text"]
    assert entry["files"] == ["src/rule2.py"] and entry["outcome"].startswith("done")
    assert [item["text"] for item in entry["open_items"]] == ["Document rule 2 in docs/rules.md"]
    reference = (repo / ".holdfast/local/projects/shop/reference.md").read_text()
    assert "`uv run pytest tests` runs the tests here" in reference and PASSED in reference
    told = holdfast("resume", check=0).stdout
    assert "Document rule 2 in docs/rules.md" in told
    assert "`python` is not found here → `uv run pytest tests`" in told


@pytest.mark.promise("M7")
def test_a_session_that_goes_on_is_state_and_no_history_yet(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    path = put(tmp_path / "t", working_session(1, repo))
    import_into(machine, project, [path], rows=False)
    store = memory_of(machine, project)
    assert not store.log_file.exists() and "Document rule 1" in store.current_file.read_text()
    path.write_bytes(path.read_bytes() + working_session(1, repo, day=1.01).data())
    import_into(machine, project, [path])
    assert len(store.entries().entries) == 1


@pytest.mark.promise("M13")
def test_branches_keep_their_own_next(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    put(tmp_path / "t", working_session(1, repo, branch="main"))
    put(tmp_path / "t", working_session(2, repo, branch="feat/tax"))
    holdfast("import", tmp_path / "t", check=0)
    on_main = holdfast("resume", "--branch", "main", check=0).stdout
    on_feature = holdfast("resume", "--branch", "feat/tax", check=0).stdout
    assert "rule 1" in on_main and "rule 2" not in on_main and "number 2" not in on_main
    assert "rule 2" in on_feature and "rule 1" not in on_feature and "number 1" not in on_feature
    assert "rule 1" not in holdfast("resume", "--branch", "other", check=0).stdout


@pytest.mark.promise("M13")
def test_worktrees_share_the_memory(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    other = tmp_path / "elsewhere"
    subprocess.run(["git", "-C", repo, "worktree", "add", "-q", "-b", "feat", other], check=True)
    put(tmp_path / "t", working_session(1, other, branch="feat"))
    holdfast("import", tmp_path / "t", cwd=other, check=0)
    assert (repo.parent / "home/.holdfast").is_dir()
    assert holdfast("log", "--json", check=0).json()[0]["session"].startswith("00000001")
    assert "Document rule 1" in holdfast("resume", cwd=other, check=0).stdout
    assert "Document rule 1" not in holdfast("resume", check=0).stdout, "the main work tree is on main"


@pytest.mark.promise("M11", "G9")
def test_projects_of_one_repository_keep_apart_by_path_and_by_branch(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    (repo / ".holdfast").mkdir()
    (repo / ".holdfast" / "config.toml").write_text('[projects]\n"services/pay/**" = "payments"\n')
    pay = working_session(1, repo / "services" / "pay")
    put(tmp_path / "t", pay)
    put(tmp_path / "t", working_session(2, repo))
    holdfast("import", tmp_path / "t", check=0)
    of_payments = holdfast("log", "--project", "payments", "--json", check=0).json()
    of_shop = holdfast("log", "--json", check=0).json()
    assert [entry["session"][:8] for entry in of_payments] == ["00000001"]
    assert [entry["session"][:8] for entry in of_shop] == ["00000002"]
    assert "rule1" not in (repo / ".holdfast/local/projects/shop/log.md").read_text()
    assert holdfast("log", "--project", "nowhere", check=1).stderr.count("\n") == 1


@pytest.mark.promise("M1")
def test_what_was_handed_over_comes_before_what_was_derived(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    put(tmp_path / "t", working_session(1, repo))
    holdfast("import", tmp_path / "t", check=0)
    holdfast("handoff", "- Call Ada\n- Then deploy", check=0)
    told = holdfast("resume", check=0).stdout.splitlines()
    assert told[:2] == ["Next (by the user): Call Ada", "Next (by the user): Then deploy"]
    put(tmp_path / "t", working_session(2, repo))
    holdfast("import", tmp_path / "t", check=0)
    assert holdfast("resume", check=0).stdout.splitlines()[:2] == told[:2], "later sessions do not remove it"
    holdfast("handoff", "Only this", check=0)
    assert "Call Ada" not in holdfast("resume", check=0).stdout
    holdfast("handoff", "--clear", check=0)
    assert "by the user" not in holdfast("resume", check=0).stdout


@pytest.mark.promise("G1")
def test_a_secret_that_is_handed_over_is_not_written(holdfast: Holdfast, repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    holdfast("handoff", f"use the token {secret} for the upload", check=0)
    memory = (repo / ".holdfast" / "local").resolve()
    assert not any(secret.encode() in path.read_bytes() for path in memory.rglob("*") if path.is_file())


def test_a_handoff_that_says_nothing_or_too_much_is_refused(holdfast: Holdfast) -> None:
    for text in ("", "  \n ", "x" * 700, "step\n" * 30):
        done = holdfast("handoff", text, check=2)
        assert done.stderr.count("\n") == 1 and done.stdout == "", text


@pytest.mark.promise("M1")
def test_a_ticked_to_do_is_done_and_a_deleted_one_stays_deleted(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    path = put(tmp_path / "t", working_session(1, repo))
    import_into(machine, project, [path], rows=False)
    store = memory_of(machine, project)
    text = store.current_file.read_text()
    assert "- [ ] Document rule 1" in text
    store.current_file.write_text(text.replace("- [ ] Document rule 1", "- [x] Document rule 1"))
    path.write_bytes(path.read_bytes() + working_session(1, repo, day=1.01).data())
    import_into(machine, project, [path], rows=False)
    current = store.current().current
    assert [item.text for item in current.todo] == []
    assert any("Document rule 1" in item.text for item in current.done)
    path.write_bytes(path.read_bytes() + working_session(1, repo, day=1.02).data())
    import_into(machine, project, [path])
    assert [item.text for item in store.current().current.todo] == []


@pytest.mark.promise("M14")
def test_the_same_decision_in_other_words_is_kept_once(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    for number, said in enumerate(
        [
            "we should use msgspec instead of pydantic for all models",
            "We should use msgspec instead of pydantic, for all models.",
        ],
        1,
    ):
        file = ClaudeFile(f"{number:08x}-0000-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix=f"d{number}")
        file.user(DAY * number, "Look at the models of the shop please and tell me what you think")
        file.assistant(DAY * number + 5, "They use pydantic everywhere in the shop.")
        file.user(DAY * number + 30, said)
        file.edit(DAY * number + 40, f"{repo}/models.py")
        file.assistant(DAY * number + 50, "Done, all models are msgspec structs now.")
        import_into(machine, project, [put(tmp_path / "t", file)])
    decisions = memory_of(machine, project).facts().reference.decisions
    assert len([item for item in decisions if "msgspec" in item.text]) == 1


@pytest.mark.promise("F4")
@pytest.mark.parametrize("kind", ["directory", "link", "conflict", "damaged"])
def test_a_current_file_that_is_none_is_an_error_and_nothing_is_lost(
    holdfast: Holdfast, repo: Path, tmp_path: Path, kind: str
) -> None:
    put(tmp_path / "t", working_session(1, repo))
    holdfast("import", tmp_path / "t", check=0)
    current = (repo / ".holdfast" / "local").resolve() / "current.md"
    text = current.read_text()
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n")
    current.unlink()
    if kind == "directory":
        current.mkdir()
    elif kind == "link":
        current.symlink_to(outside)
    elif kind == "conflict":
        current.write_text(f"<<<<<<< HEAD\n{text}=======\nx\n>>>>>>> other\n")
    else:
        current.write_text(text.replace("<!-- holdfast:end next", "<!-- holdfast:end nex"))
    for command in (["handoff", "x"], ["resume"]):
        done = holdfast(*command, check=1)
        assert done.stderr.count("\n") == 1 and "current.md" in done.stderr
    assert outside.read_text() == "mine\n"
    put(tmp_path / "t", working_session(2, repo))
    done = holdfast("import", tmp_path / "t")
    assert done.stderr.count("\n") >= 1 and "current.md" in done.stderr
    if current.is_dir():
        current.rmdir()
    else:
        current.unlink()
    holdfast("import", tmp_path / "t", check=0)
    assert len(holdfast("log", "--json", "-n", "0", check=0).json()) == 2, "what waited is taken in now"
    assert "rule 2" in holdfast("resume", check=0).stdout


def import_each(repo: Path, paths: Sequence[Path]) -> None:
    machine = Machine(cwd=repo)
    for path in paths:
        import_into(machine, machine.project(), [path])


@pytest.mark.promise("F1", "M7")
def test_sessions_that_end_at_the_same_moment_lose_nothing(repo: Path, tmp_path: Path) -> None:
    paths = [put(tmp_path / "t", working_session(number, repo)) for number in range(1, 9)]
    running = [fork(lambda start=start: import_each(repo, paths[start::4])) for start in range(4)]  # type: ignore[misc]
    assert [exit_code(process) for process in running] == [0, 0, 0, 0]
    machine = Machine(cwd=repo)
    entries = memory_of(machine, machine.project()).entries()
    assert len(entries.entries) == 8 and entries.problems == ()


@pytest.mark.promise("F2", "M7")
def test_a_capture_that_is_killed_is_finished_by_the_next(repo: Path, tmp_path: Path) -> None:
    paths = [put(tmp_path / "t", working_session(number, repo)) for number in range(1, 6)]
    for delay in range(10):
        process = fork(lambda: import_each(repo, paths))
        time.sleep(0.02 + 0.05 * delay)
        os.kill(process, signal.SIGKILL)  # it may have finished by then
        assert exit_code(process) in (0, -signal.SIGKILL)
    import_each(repo, paths)
    machine = Machine(cwd=repo)
    rules = Rules(machine, machine.project())
    rules.check(torn=True)
    assert len(rules.entries) == 5
    assert "Document rule 5" in memory_of(machine, machine.project()).current_file.read_text()


@pytest.mark.promise("M6")
def test_what_was_prepared_is_what_the_application_says(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    put(tmp_path / "t", working_session(1, repo))
    put(tmp_path / "t", working_session(2, repo, branch="feat"))
    holdfast("import", tmp_path / "t", check=0)
    prepared = (repo / ".holdfast" / "local").resolve() / "resume.json"
    answers = prepared.read_bytes()
    for options in ([], ["--json"], ["--why"], ["--branch", "feat"], ["--branch", "none"]):
        prepared.write_bytes(answers)
        fast = holdfast("resume", *options, check=0).stdout
        prepared.unlink()
        assert holdfast("resume", *options, check=0).stdout == fast != "", options


def test_an_edit_by_hand_is_told_at_once(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    put(tmp_path / "t", working_session(1, repo))
    holdfast("import", tmp_path / "t", check=0)
    current = (repo / ".holdfast" / "local").resolve() / "current.md"
    current.write_text(current.read_text() + "\n## Mine\n\nCall Ada before the release.\n")
    assert "Noted by hand: Call Ada before the release." in holdfast("resume", check=0).stdout


@pytest.mark.promise("G1", "G6")
def test_secrets_and_private_words_in_an_edit_by_hand_are_not_told(holdfast: Holdfast, repo: Path) -> None:
    holdfast("handoff", "go on", check=0)
    current = (repo / ".holdfast" / "local").resolve() / "current.md"
    current.write_text(
        current.read_text() + "\nThe password is correcthorse99battery.\n<private>\nmy cat\n</private>\n"
    )
    told = holdfast("resume", check=0).stdout
    assert "The password is" in told
    assert "correcthorse99battery" not in told
    assert "my cat" not in told


def test_text_that_a_terminal_would_obey_is_shown_and_not_obeyed(holdfast: Holdfast, repo: Path) -> None:
    holdfast("handoff", "turn it \x1b[31mred\x1b[0m", check=0)
    assert "\x1b" not in holdfast("resume", check=0).stdout


@pytest.mark.promise("M5")
def test_a_correction_that_is_meant_to_last_is_proposed_and_never_twice(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        file = ClaudeFile(f"{number:08x}-0000-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix=f"r{number}")
        file.user(DAY * number, "Tidy up the checkout of the shop and its tests please")
        file.edit(DAY * number + 5, f"{repo}/checkout.py")
        file.assistant(DAY * number + 9, "Tidied up the checkout.")
        file.user(DAY * number + 30, "we should always use uv instead of pip in this repository")
        file.assistant(DAY * number + 50, "Understood, the scripts use uv now.")
        import_into(machine, project, [put(tmp_path / "t", file)])
    style = memory_of(machine, project).style_file
    text = style.read_text()
    assert text.count("always use uv instead of pip") == 1 and "## Anti-patterns" in text
    mine = "# Mine\n\nUse uv.\n"
    style.write_text(mine)
    import_into(machine, project, [put(tmp_path / "t", working_session(9, repo))])
    assert style.read_text().startswith(mine.strip()), "the manual is a person's"


@pytest.mark.promise("M8")
def test_archived_sessions_are_still_found(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    for number in range(1, 60):
        put(tmp_path / "t", working_session(number, repo))
    holdfast("import", tmp_path / "t", check=0)
    memory = (repo / ".holdfast" / "local").resolve() / "projects" / "shop"
    assert "rule number 1 " not in (memory / "log.md").read_text() and any((memory / "archive").iterdir())
    found = holdfast("log", "--grep", "RULE number 1 ", "--json", check=0).json()
    assert [entry["session"][:8] for entry in found] == ["00000001"]
    assert "rule number 1 " in holdfast("log", "00000001", check=0).stdout


@pytest.mark.promise("M11")
def test_a_project_is_not_told_another_ones_state(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    (repo / ".holdfast").mkdir()
    rules = '[projects]\n"services/pay/**" = "payments"\n"services/web/**" = "web"\n'
    (repo / ".holdfast" / "config.toml").write_text(rules)
    put(tmp_path / "t", working_session(1, repo / "services" / "pay"))
    put(tmp_path / "t", working_session(2, repo / "services" / "web"))
    put(tmp_path / "t", working_session(3, repo))
    holdfast("import", tmp_path / "t", check=0)
    own = holdfast("resume", check=0).stdout
    assert "rule 3" in own and "rule 1" not in own and "number 1" not in own and "rule 2" not in own
    holdfast("project", "use", "payments", check=0)
    told = holdfast("resume", check=0).stdout
    assert "rule 1" in told and "rule 2" not in told and "number 2" not in told and "rule 3" not in told
    of_web = holdfast("resume", "--project", "web", check=0).stdout
    assert "rule 2" in of_web and "rule 1" not in of_web
    put(tmp_path / "t", working_session(4, repo / "services" / "pay"))
    holdfast("import", tmp_path / "t", check=0)
    assert "rule 2" in holdfast("resume", "--project", "web", check=0).stdout, "its next step stands"


@pytest.mark.promise("M14")
def test_another_answer_to_the_same_question_is_asked_about_and_says_whose_it_is(
    machine: Machine, project: Project, repo: Path, tmp_path: Path
) -> None:
    for number, answer in enumerate(["Postgres", "SQLite"], 1):
        file = ClaudeFile(f"{number:08x}-0000-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix=f"q{number}")
        file.user(DAY * number, "Add a store for the readings of the stations please")
        call = file.call(
            DAY * number + 5,
            "AskUserQuestion",
            {"questions": [{"question": "Which database should `store.py` use?", "header": "Store",
                            "options": [{"label": "Postgres", "description": "a server"},
                                        {"label": "SQLite", "description": "a file"}]}]},
        )  # fmt: skip
        file.result(
            DAY * number + 20,
            call,
            f'User has answered your questions: "Which database should `store.py` use?"="{answer}".',
            details={"questions": [], "answers": {"Which database should `store.py` use?": answer}},
        )
        file.edit(DAY * number + 30, f"{repo}/store.py")
        file.assistant(DAY * number + 50, f"The store uses {answer}.")
        import_into(machine, project, [put(tmp_path / "t", file)])
    questions = memory_of(machine, project).questions().questions
    (asked,) = [one for one in questions if one.text == "Which database should `store.py` use?"]
    assert asked.answer == "SQLite" and asked.session.startswith("00000002")
    assert any(one.open and "Postgres" in one.text and "SQLite" in one.text for one in questions)


def test_what_somebody_said_themselves_does_not_grow_old(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    put(tmp_path / "t", working_session(1, repo))
    holdfast("import", tmp_path / "t", check=0)
    machine = Machine(cwd=repo)
    told = holdfast("resume", check=0).stdout
    assert told.startswith("Last state here is"), "the sessions are of March"
    holdfast("handoff", "Call Ada", check=0)
    holdfast("todo", "add", "Order cake", check=0)
    real = machine.now()
    machine.now = lambda: real + timedelta(days=40)
    lines = [line.text for line in recovery(machine, machine.project())]
    assert "Next (by the user): Call Ada" in lines and any("Order cake" in line for line in lines)
    assert any(line.startswith("Last state here is") for line in lines)


def test_a_fact_whose_evidence_was_taken_out_is_none_and_stops_no_import(
    repo: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    name = "914e68cc-d156-4742-8af4-439ddb54a7c0"
    file = ClaudeFile("0000abcd-58a4-4c4e-9b53-0d9f6b7e2a11", str(repo), prefix="p")
    file.user(0, "Find where the deployment comes from")
    for number in range(3):
        file.run(10.0 + number, f"deploy show {name} -n {number}", f"<private>{name} is up</private>")
    file.assistant(40, "It comes from the pipeline.")
    folder = tmp_path / "sessions"
    put(folder, file)
    holdfast("import", str(folder), check=0)
    assert "0000abcd" in holdfast("log").stdout
    assert f"{name} is in use" not in holdfast("fact", "list").stdout


def test_a_hosts_own_prompt_decides_nothing(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    rules = "Respond with only the JSON object. The subject must be imperative and have no trailing period."
    helper = ClaudeFile("0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a12", str(repo), prefix="h")
    helper.user(
        0, f"You write concise git commit messages.\nReturn a JSON object with keys: subject, body.\n{rules}"
    )
    helper.assistant(5, '{"subject": "Always use the session store for carts", "body": ""}')
    holdfast("import", helper.save(tmp_path / "helper.jsonl"), check=0)
    assert (
        holdfast(
            "search", "imperative subject without a trailing period", "--json", "--kind", "decision", check=0
        ).json()
        == []
    )
    assert holdfast("decide", "--list", "--json", check=0).json() == []
