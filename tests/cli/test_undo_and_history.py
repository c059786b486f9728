"""`holdfast history`, `undo` and `archive` as a user runs them: what one command did goes back as one, a person's words never."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.test_terminal import on_terminal
from tests.command import Holdfast
from tests.remembered import contents, entry, everything, project_at, remember

import holdfast as package
from holdfast.briefing.projects import memory_of
from holdfast.memory.reference import propose
from holdfast.memory.store import MemoryStore
from holdfast.store.machine import Machine

DEMO = Path(package.__file__).parent / "demo_sessions"
FILES = ("current.md", "projects/shop/open-questions.md", "projects/shop/reference.md")


@pytest.mark.promise("M15")
def test_what_one_capture_changed_goes_back_as_one_and_comes_back(holdfast: Holdfast, repo: Path) -> None:
    remember(repo, "alpha")
    first = contents(project_at(repo))
    remember(repo, "beta", sessions=0)
    second = contents(project_at(repo))
    assert all(first[name] != second[name] for name in FILES)
    shown = holdfast("undo", "--dry-run", check=0).stdout
    assert "Would undo: capture beta" in shown and "-- [ ] tidy up beta" in shown
    assert contents(project_at(repo)) == second
    done = holdfast("undo", "--yes", check=0).stdout
    assert done.startswith("Undone: capture beta of 20") and "holdfast undo redoes it" in done
    assert all(name in done for name in FILES)
    now = contents(project_at(repo))
    assert all(now[name] == first[name] for name in FILES)
    again = holdfast("undo", "--json", check=0).json()
    assert again["done"] and {file["file"] for file in again["files"]} == set(FILES)
    now = contents(project_at(repo))
    assert all(now[name] == second[name] for name in FILES)
    assert now["projects/shop/log.md"] == second["projects/shop/log.md"]


@pytest.mark.promise("M15")
def test_several_changes_of_one_file_in_one_go_go_back_together(holdfast: Holdfast, repo: Path) -> None:
    before = remember(repo, "alpha").current_file.read_bytes()
    store = memory_of(Machine(cwd=repo), project_at(repo))
    for n in range(3):
        store.change(store.current_file, lambda text, n=n: f"{text}line {n}\n", "three at once")  # type: ignore[misc]
    assert holdfast("history", "current.md", "--json", check=0).json()[0]["n"] == 6
    done = holdfast("undo", "--yes", check=0).stdout
    assert "  6, 5, 4\n" in done and store.current_file.read_bytes() == before


@pytest.mark.promise("M15")
def test_an_edit_by_hand_is_never_taken_back(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    by_hand = store.current_file.read_bytes() + b"my own words\n"
    store.current_file.write_bytes(by_hand)
    before = contents(project_at(repo))
    for command in (["undo"], ["undo", "current.md"], ["undo", "--dry-run"]):
        refused = holdfast(*command, check=1)
        assert (
            "current.md: it has been edited by hand since" in refused.stderr
            and refused.stderr.count("\n") == 1
        )
    assert contents(project_at(repo)) == before  # all or nothing: the other files stay too
    holdfast("undo", "reference.md", "--yes", check=0)
    assert not store.reference_file.exists() and store.current_file.read_bytes() == by_hand
    # Our next change comes after theirs; going back stops at their words.
    remember(repo, "beta", sessions=0)
    holdfast("undo", "current.md", "--yes", check=0)
    assert store.current_file.read_bytes() == by_hand
    reasons = [change["reason"] for change in holdfast("history", "current.md", "--json", check=0).json()]
    assert reasons == ["undo", "capture beta", "edited by hand", "capture alpha"]


@pytest.mark.promise("M15")
def test_any_version_comes_back_by_its_number(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    first = store.current_file.read_bytes()
    number = holdfast("history", "current.md", "--json", check=0).json()[0]["n"]
    remember(repo, "beta")
    store.current_file.write_bytes(b"something else entirely\n")
    assert "Would restore" in holdfast("undo", "--to", str(number), "--dry-run", check=0).stdout
    assert store.current_file.read_bytes() == b"something else entirely\n"
    done = holdfast("undo", "current.md", "--to", str(number), "--yes", check=0).stdout
    assert f"Restored current.md as it was after change {number}." in done
    assert store.current_file.read_bytes() == first
    assert "already as it was then" in holdfast("undo", "current.md", "--to", str(number), check=0).stdout
    by_hand = [
        c for c in holdfast("history", "current.md", "--json").json() if c["reason"] == "edited by hand"
    ]
    holdfast("undo", "--to", str(by_hand[0]["n"]), "--yes", check=0)
    assert store.current_file.read_bytes() == b"something else entirely\n"
    assert "has no version 999" in holdfast("undo", "current.md", "--to", "999", check=1).stderr
    assert "has no version 999" in holdfast("history", "--diff", "999", check=1).stderr


def test_history_lists_files_changes_and_what_a_change_did(holdfast: Holdfast, repo: Path) -> None:
    assert "No versions" in holdfast("history", check=0).stdout
    assert not (repo / ".holdfast").exists()
    remember(repo, "alpha")
    remember(repo, "beta")
    listed = holdfast("history", "--json", check=0).json()
    assert {file["file"]: file["changes"] for file in listed} == dict.fromkeys(FILES, 2)
    assert listed[0]["last_reason"] == "capture beta"
    shown = holdfast("history", "current.md", check=0).stdout.splitlines()
    assert shown[0].split() == ["Change", "When", "Lines", "By"] and shown[1].endswith("capture beta")
    assert len(holdfast("history", "current.md", "-n", "1", "--json").json()) == 1
    change = holdfast("history", "current.md", "--json").json()[0]
    whole = holdfast("history", "current.md", "--diff", str(change["n"]), "--json", check=0).json()
    assert "+- [ ] tidy up beta" in whole["diff"] and whole["added"] == change["added"]
    by_path = holdfast("history", ".holdfast/local/current.md", "--json", check=0).json()
    assert by_path == holdfast("history", "current.md", "--json").json()
    below = repo / "src"
    below.mkdir()
    assert (
        holdfast("history", "../.holdfast/local/current.md", "--json", cwd=below, check=0).json() == by_path
    )


def test_a_diff_has_colours_on_a_terminal_and_none_in_a_pipe(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    store.change(store.current_file, lambda text: f"{text}\x1b[31mevil\x1b[0m\u202e\n")
    number = str(holdfast("history", "current.md", "--json").json()[0]["n"])
    piped = holdfast("history", "--diff", number, check=0).stdout
    assert "\x1b" not in piped and "\\x1b[31mevil" in piped and "\u202e" not in piped
    screen, sent = on_terminal(["history", "--diff", number], repo, 100)
    assert b"\x1b[32m+" in sent and b"\x1b[31mevil" not in sent
    assert any("current.md: change" in line for line in screen)


@pytest.mark.parametrize(
    "name", ["log.md", "", "../../etc/passwd", "/etc/passwd", "x\ny", "\x1b[31m", "ledger.md", "a" * 5000]
)
def test_a_file_without_versions_is_refused_in_one_line(holdfast: Holdfast, repo: Path, name: str) -> None:
    remember(repo, "alpha")
    for command in ("history", "undo"):
        refused = holdfast(command, name)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "\x1b" not in refused.stderr
        assert "bug in holdfast" not in refused.stderr


def test_with_nothing_to_take_back_nothing_is_written(holdfast: Holdfast, repo: Path, home: Path) -> None:
    assert "nothing to undo" in holdfast("undo", "--yes", check=0).stdout
    assert holdfast("undo", "--json", check=0).json() == {"done": False, "files": []}
    assert everything(home) == {} and not (repo / ".holdfast").exists()
    for bad in ("0", "-1", "x", "9" * 30):
        assert holdfast("undo", "--to", bad).returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_current_md_that_is_no_file_of_ours_is_left_alone(
    holdfast: Holdfast, repo: Path, tmp_path: Path, kind: str
) -> None:
    store = remember(repo, "alpha")
    store.current_file.unlink()
    (tmp_path / "mine.txt").write_bytes(b"mine")
    store.current_file.mkdir() if kind == "folder" else store.current_file.symlink_to(tmp_path / "mine.txt")
    reference = store.reference_file.read_bytes()
    refused = holdfast("undo", check=1)
    assert "current.md" in refused.stderr and refused.stderr.count("\n") == 1
    assert (tmp_path / "mine.txt").read_bytes() == b"mine" and store.reference_file.read_bytes() == reference


def test_lines_of_an_older_journal_are_read_and_each_goes_back_by_itself(
    repo: Path, holdfast: Holdfast
) -> None:
    store = remember(repo, "alpha")
    journal = store.project.memory / "history" / "changes.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        assert line.pop("group")
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = holdfast("undo", "--json", check=0).json()
    assert [file["file"] for file in done["files"]] == ["current.md"]
    assert store.reference_file.exists()


def test_what_one_capture_did_to_several_projects_goes_back_as_one(holdfast: Holdfast, repo: Path) -> None:
    remember(repo, "alpha", name="payments")
    holdfast("undo", "--yes", check=0)
    there = contents(project_at(repo))
    assert "current.md" not in there and "projects/payments/reference.md" not in there
    holdfast("undo", "--yes", check=0)
    # What was done to another project alone is not this one's to take back.
    store = memory_of(Machine(cwd=repo), project_at(repo), "payments")
    store.change(store.reference_file, lambda text: f"{text}more\n", "alone")
    before = store.reference_file.read_bytes()
    assert "alone" not in holdfast("undo", "--json", "--dry-run").stdout
    assert store.reference_file.read_bytes() == before


@pytest.mark.promise("M15")
def test_an_import_of_real_sessions_goes_back_as_one_and_nothing_of_the_log(
    holdfast: Holdfast, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    before = contents(project_at(repo))
    changed = {
        name for name in before if name.endswith(("current.md", "style.md", "reference.md", "questions.md"))
    }
    assert len(changed) >= 3
    done = holdfast("undo", "--yes", check=0).stdout
    assert done.startswith("Undone: what sessions left in memory of ")
    after = contents(project_at(repo))
    assert not changed & set(after) and after["projects/shop/log.md"] == before["projects/shop/log.md"]
    holdfast("undo", "--yes", check=0)
    assert {name: contents(project_at(repo))[name] for name in changed} == {
        name: before[name] for name in changed
    }


@pytest.mark.promise("M8")
def test_older_sessions_move_to_the_archive_when_asked(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha", sessions=0)
    store.record(*(entry(f"s{n}", day=n * 3) for n in range(30)))
    before = store.entries().entries
    log = store.log_file.read_bytes()
    assert "nothing to move" in holdfast("archive", check=0).stdout
    told = holdfast("archive", "--longest", "100", "--dry-run", "--json", check=0).json()
    assert store.log_file.read_bytes() == log and not told["done"] and told["moved"] > 0
    done = holdfast("archive", "--longest", "100", check=0).stdout
    assert (
        done.startswith(f"Moved {told['moved']} sessions of shop to projects/shop/archive;")
        and f"{told['left']} stay" in done
    )
    assert store.entries().entries == before
    assert len(store.latest()) == told["left"] and told["moved"] + told["left"] == 30
    assert sorted(path.name for path in store.archive_folder.iterdir())[0] == "2026-01.md"
    assert holdfast("archive", "--longest", "0").returncode == 2


def test_style_keeps_versions_too(holdfast: Holdfast, repo: Path) -> None:
    store = remember(repo, "alpha")
    assert isinstance(store, MemoryStore) and propose("", ["Say less"], "style.md")
    store.propose(["Say less"], "correction")
    holdfast("undo", "style.md", "--yes", check=0)
    assert "Say less" not in store.style()


def test_of_many_files_history_shows_as_many_as_are_wanted(holdfast: Holdfast, repo: Path) -> None:
    remember(repo, "alpha")
    shown = holdfast("history", "-n", "1", check=0)
    assert len(shown.stdout.splitlines()) == 2 and "and 2 more files: holdfast history -n 3" in shown.stderr
    assert len(holdfast("history", "--json", check=0).json()) == 3


def test_history_and_undo_name_the_command_as_it_is_called_today(holdfast: Holdfast, repo: Path) -> None:
    decided = holdfast(
        "note", "decision", "Use pnpm", "--because", "the lock file", "--json", check=0
    ).json()["id"]
    holdfast("note", "decision", "change", decided, "Use pnpm 9", check=0)
    assert "note decision change" in holdfast("history", "reference.md", check=0).stdout
    assert "note decision change of " in holdfast("undo", "--yes", check=0).stdout
