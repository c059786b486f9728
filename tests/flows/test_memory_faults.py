"""What a second look at the memory found, each fault with the test that keeps it away."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.command import Holdfast
from tests.flows.test_remember import put, working_session
from tests.remembered import AT, DAY
from tests.remembered import remember as fill

from holdfast.briefing.projects import memory_of
from holdfast.briefing.recovery import recovery
from holdfast.core.place import find
from holdfast.flows.import_sessions import import_into
from holdfast.flows.remember import remember
from holdfast.memory.current import parse_current
from holdfast.memory.current_digest import digest
from holdfast.model.events import DistilledSession, TaskResult
from holdfast.model.memory import Decision, Harvest, OpenItem
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

LATE = AT + 300 * DAY


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


@pytest.fixture
def record(machine: Machine, repo: Path, tmp_path: Path) -> DistilledSession:
    """A session as it was read, to be changed into what a test needs."""
    project = machine.project()
    import_into(machine, project, [put(tmp_path / "t", working_session(1, repo))])
    store = CaptureStore(project.capture)
    try:
        (found,) = store.all_records()
    finally:
        store.close()
    return replace(found, session="again", harvest=Harvest(), tasks=())


def with_decision(record: DistilledSession, text: str, at: float = AT) -> DistilledSession:
    decision = Decision(text=text, session=record.session, at=at)
    return replace(record, harvest=Harvest(decisions=(decision,)))


# --- a work tree without a link ------------------------------------------------------------------------


def loads(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("Load from ")]


@pytest.mark.promise("M4")
def test_a_fresh_work_tree_is_told_where_memory_really_is(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    import_into(
        Machine(cwd=repo), Machine(cwd=repo).project(), [put(tmp_path / "t", working_session(1, repo))]
    )
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=repo, check=True)
    tree = tmp_path / "tree"
    subprocess.run(["git", "worktree", "add", "-q", "-b", "side", str(tree)], cwd=repo, check=True)
    told = loads(holdfast("resume", cwd=tree, check=0).stdout.splitlines())
    assert told and not (tree / ".holdfast" / "local").exists()
    for line in told:
        folder = line.removeprefix("Load from ").partition(": ")[0]
        assert Path(folder).is_dir(), line
    assert all(line.startswith("Load from .holdfast/local/") for line in loads_in(repo))


def loads_in(repo: Path) -> list[str]:
    machine = Machine(cwd=repo)
    return loads([line.text for line in recovery(machine, machine.project())])


def test_the_start_hook_says_it_too(repo: Path, tmp_path: Path) -> None:
    fill(repo, "shop")
    home = Path(os.environ["HOME"]) / ".holdfast"
    place = find(str(repo), str(home))
    assert place is not None
    lines = [("Load from .holdfast/local/projects/shop/: log.md", "x"), ("Next: y", "z")]
    assert place.reachable(lines) == lines
    (repo / ".holdfast" / "local").unlink()
    assert place.reachable(lines) == [
        (f"Load from {place.memory}/projects/shop/: log.md", "x"),
        ("Next: y", "z"),
    ]


# --- one id for one to-do ------------------------------------------------------------------------------


@pytest.mark.promise("M2")
def test_a_todo_has_one_id_in_the_log_and_in_the_state(machine: Machine, record: DistilledSession) -> None:
    left = OpenItem(text="Write the docs of the discount rules", session="again", at=record.ended)
    failed = TaskResult(title="Write the docs for the discount rules", status="failed", at=record.ended)
    remember(
        machine, machine.project(), [replace(record, tasks=(failed,), harvest=Harvest(open_items=(left,)))]
    )
    store = memory_of(machine, machine.project())
    logged = [item for one in store.entries().entries if one.session == "again" for item in one.open_items]
    kept = [item for item in store.current().current.todo if item.session == "again"]
    assert [item.id for item in logged] == [item.id for item in kept]
    assert len(kept) == 1


# --- edits in the log ----------------------------------------------------------------------------------


@pytest.mark.promise("M2")
@pytest.mark.usefixtures("scanner_off")
def test_a_changed_log_entry_is_said_kept_and_accepted_on_request(holdfast: Holdfast, repo: Path) -> None:
    store = fill(repo, "shop")
    assert store.edited_entries() == []
    text = store.log_file.read_text(encoding="utf-8")
    edited = text.replace("work of shop-1", "work of shop-1, as I remember it")
    store.log_file.write_text(edited, encoding="utf-8")
    found = holdfast("doctor", "--json").json()["findings"]
    (said,) = [finding for finding in found if finding["check"] == "log"]
    assert said["level"] == "note"
    assert re.search(r"log\.md:\d+: the entry of session shop-1 has changed", said["message"])
    assert "doctor --fix accepts it" in said["message"]
    holdfast("doctor", "--fix", "--dry-run")
    assert len(store.edited_entries()) == 1
    assert "accept the entry of session shop-1" in holdfast("doctor", "--fix").stdout
    assert store.edited_entries() == []
    assert store.log_file.read_text(encoding="utf-8") == edited


@pytest.mark.promise("M2")
def test_an_entry_that_was_taken_out_is_said_and_words_between_entries_are_not(repo: Path) -> None:
    store = fill(repo, "shop")
    text = store.log_file.read_text(encoding="utf-8")
    store.log_file.write_text(text + "\nA word of mine, below everything.\n", encoding="utf-8")
    assert store.edited_entries() == []
    start = text.index("\n## ", text.index("shop-0 "))
    store.log_file.write_text(text[:start], encoding="utf-8")
    assert [(edited.session, edited.line) for edited in store.edited_entries()] == [
        ("shop-1", 0),
        ("shop-2", 0),
    ]


@pytest.mark.promise("M2")
def test_neither_archiving_nor_forgetting_counts_as_an_edit(holdfast: Holdfast, repo: Path) -> None:
    store = fill(repo, "shop", sessions=60)
    assert store.archive(longest=100) > 0
    assert store.edited_entries() == []
    path = next(store.archive_folder.glob("*.md"))
    path.write_text(
        path.read_text(encoding="utf-8").replace("work of shop-2\n", "my work\n"), encoding="utf-8"
    )
    assert [edited.session for edited in store.edited_entries()] == ["shop-2"]
    holdfast("forget", "--text", "shop-50 found something", "--yes", check=0)
    holdfast("forget", "--session", "shop-51", "--yes", check=0)
    assert [edited.session for edited in store.edited_entries()] == ["shop-2"]


# --- what was retired ----------------------------------------------------------------------------------


@pytest.mark.promise("M14")
def test_a_retired_decision_stays_retired_in_other_words(
    holdfast: Holdfast, machine: Machine, record: DistilledSession
) -> None:
    project = machine.project()
    remember(machine, project, [with_decision(record, "The importer skips broken lines")])
    (known,) = holdfast("decide", "--list", "--json", check=0).json()
    holdfast("decide", "retire", known["id"], check=0)
    remember(machine, project, [with_decision(record, "Broken lines are ignored by the importer")])
    assert holdfast("decide", "--list", "--json", check=0).json() == []


@pytest.mark.promise("M14")
def test_what_is_decided_anew_after_it_was_retired_counts(
    holdfast: Holdfast, machine: Machine, record: DistilledSession
) -> None:
    project = machine.project()
    remember(machine, project, [with_decision(record, "The importer skips broken lines")])
    (known,) = holdfast("decide", "--list", "--json", check=0).json()
    holdfast("decide", "retire", known["id"], check=0)
    later = machine.now().timestamp() + DAY
    anew = replace(record, session="later", started=later, ended=later + 60)
    remember(machine, project, [with_decision(anew, "Broken lines are ignored by the importer", later)])
    assert len(holdfast("decide", "--list", "--json", check=0).json()) == 1


# --- to-dos of projects --------------------------------------------------------------------------------


@pytest.mark.promise("M4")
def test_todos_are_those_of_the_project_unless_another_is_named(
    holdfast: Holdfast, repo: Path, record: DistilledSession
) -> None:
    machine = Machine(cwd=repo)
    store = memory_of(machine, machine.project())
    memory_of(machine, machine.project(), "billing").change_questions(lambda known: known, "make it known")
    fill(repo, "invoices", name="billing", sessions=1)
    items = (
        OpenItem(text="of the shop", session="a", at=AT),
        OpenItem(text="of billing", session="b", project="billing", at=AT),
        OpenItem(text="by hand", at=AT),
    )
    store.change_current(lambda file: replace(file.current, todo=items))

    def listed(*words: str) -> set[str]:
        return {item["text"] for item in holdfast("todo", *words, "--json", check=0).json()}

    assert listed() == {"of the shop", "by hand"}
    assert listed("--project", "billing") == {"of billing", "by hand"}
    assert listed("list", "--project", "billing") == {"of billing", "by hand"}
    assert listed("--all") == {"of the shop", "of billing", "by hand"}
    refused = holdfast("todo", "--project", "nowhere", check=1)
    assert "no project 'nowhere'" in refused.stderr


# --- boxes in code -------------------------------------------------------------------------------------


def test_a_box_in_a_block_of_code_is_not_told_as_a_todo() -> None:
    text = "# Mine\n\n- [ ] a real one\n\n```\n- [ ] an example\n```\n\n~~~md\n- [x] ticked\n~~~\n- [ ] another\n"
    told = [line.text for line in digest(parse_current(text), "main", 300, LATE)]
    assert "To do (by hand): a real one" in told
    assert "To do (by hand): another" in told
    assert not any("an example" in line or "ticked" in line for line in told)


# --- versions ------------------------------------------------------------------------------------------


def test_history_shows_an_edit_by_hand_at_once(holdfast: Holdfast, repo: Path) -> None:
    store = fill(repo, "shop")
    before = holdfast("history", "current.md", "--json", check=0).json()
    with store.current_file.open("a", encoding="utf-8") as file:
        file.write("\nA line of mine\n")
    now = holdfast("history", "current.md", "--json", check=0).json()
    assert now[1:] == before
    assert now[0]["reason"] == "edited by hand, not saved yet"
    assert (now[0]["added"], now[0]["removed"]) == (2, 0)
    shown = holdfast("history", "current.md", "--diff", str(now[0]["n"]), check=0).stdout
    assert "+A line of mine" in shown
    holdfast("todo", "add", "something", check=0)
    assert "not saved" not in holdfast("history", "current.md", check=0).stdout


# --- forgotten texts by hand ---------------------------------------------------------------------------


def test_a_forgotten_text_does_not_come_back_by_hand(holdfast: Holdfast, repo: Path) -> None:
    holdfast("decide", "Paint the vault of Ada Lovelace blue", check=0)
    holdfast("forget", "--text", "the vault of Ada Lovelace", "--yes", check=0)
    for words in (
        ("fact", "add", "The vault of Ada Lovelace is open", "--evidence", "seen"),
        ("fact", "add", "x is y", "--evidence", "the vault of ada lovelace"),
        ("decide", "Open the vault of Ada Lovelace"),
        ("todo", "add", "Paint the vault of Ada Lovelace"),
        ("handoff", "Paint the vault of Ada Lovelace"),
        ("answer", "Whose vault?", "The vault of Ada Lovelace"),
    ):
        refused = holdfast(*words, check=2)
        assert "forgotten in this project; nothing was written" in refused.stderr, words
        assert len(refused.stderr.splitlines()) == 1, words
    memory = (repo / ".holdfast" / "local").resolve()
    holding = [
        path for path in memory.rglob("*") if path.is_file() and b"lovelace" in path.read_bytes().lower()
    ]
    assert holding == []


# --- output that nobody takes --------------------------------------------------------------------------


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = command.replace("HOLDFAST", f"{sys.executable} -m holdfast")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["bash", "-c", line], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", ["todo", "todo --help", "--help", "resume"])
def test_a_full_disk_behind_the_output_is_one_clear_line(repo: Path, words: str) -> None:
    fill(repo, "shop")
    done = shell(f"HOLDFAST {words} > /dev/full", repo)
    assert done.stderr.splitlines() == ["holdfast: the output could not be written: No space left on device."]
    assert done.returncode == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize("words", ["todo", "todo --help", "--help", "resume"])
@pytest.mark.parametrize("away", ["| true", ">&-"])
def test_a_reader_that_has_gone_and_a_closed_stream_are_no_fault(repo: Path, words: str, away: str) -> None:
    fill(repo, "shop")
    done = shell(f"HOLDFAST {words} {away}", repo)
    assert done.stderr == ""
    assert done.returncode == 0
