"""Work goes on in a home of 0.1.0: new sessions come on top, and nothing that was there is lost or rewritten."""

from __future__ import annotations

import json
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from scripts.old_home import FORGOTTEN_WORD, HAND_EDITS
from scripts.old_home_sessions import Edit, Run, Story, write
from tests.upgrade.world import Machine, contents


def new_story(machine: Machine, agent: str, name: str = "after-the-upgrade", ago: float = 3600) -> Story:
    """A session of an hour ago, which 0.1.0 has not seen."""
    return Story(
        agent,
        name,
        time.time() - ago,
        machine.repo,
        "Add gift cards to the cart",
        (Edit("src/shop/cart.py"), Run("make test", "6 passed in 0.35s")),
        "Gift cards are taken.\n\nNext steps:\n- print the gift card's balance",
    )


def edited_by_hand(machine: Machine) -> dict[str, bool]:
    """Whether what a person wrote is in its file still, to the byte."""
    return {
        name: HAND_EDITS[name].encode() in (machine.memory / path).read_bytes()
        for name, path in machine.about["edited"].items()
    }


def ledgers(machine: Machine) -> dict[Path, bytes]:
    """What is only added to: rows and log entries, here and in git."""
    kept = [machine.memory / "ledger.md", machine.repo / ".holdfast" / "ledger.md"]
    kept += sorted((machine.memory / "projects").glob("*/log.md"))
    return {path: path.read_bytes() for path in kept}


def written(*folders: Path) -> dict[str, bytes | str]:
    """All but what git and SQLite change when they only look."""
    found = contents(*folders, leave=(".git", "locks", "cache"))
    return {name: data for name, data in found.items() if ".db" not in name}


@pytest.mark.promise("U9")
def test_a_new_session_comes_on_top_and_past_bytes_and_hand_edits_stay(machine: Machine) -> None:
    before, rows = ledgers(machine), machine.sessions()
    agents = ("claude-code", "codex", "opencode")
    stories = [new_story(machine, agent, f"new-{agent}", 9000 - 1800 * n) for n, agent in enumerate(agents)]
    for story in stories:
        write(story, machine.home)
    machine.holdfast("import", "--quiet")
    assert machine.sessions() == [*rows, *(story.session for story in stories)]
    after = {path: path.read_bytes() for path in before}
    assert all(after[path].startswith(past) for path, past in before.items())
    assert after[machine.memory / "ledger.md"] != before[machine.memory / "ledger.md"]
    assert after[machine.repo / ".holdfast" / "ledger.md"] != before[machine.repo / ".holdfast" / "ledger.md"]
    assert set(edited_by_hand(machine).values()) == {True}
    assert "print the gift card's balance" in machine.holdfast("resume").out
    machine.holdfast("import", "--quiet")
    assert {path: path.read_bytes() for path in before} == after, "a second import adds nothing"


@pytest.mark.promise("U9", "L5")
def test_a_row_that_0_1_0_recorded_in_2099_no_longer_wins_for_ever(machine: Machine) -> None:
    """It is left as it is and clamped once more; rows of before are ordered as they were."""
    ledger = machine.memory / "ledger.md"
    before, sessions = ledger.read_bytes(), machine.sessions()
    head, row = _last_row(ledger)
    assert head[-1] == "Recorded", "0.1.0 has no stamps"
    row[head.index("Recorded")], row[head.index("Outcome")] = "2099-01-01T00:00:00Z", "failed"
    ledger.write_bytes(before + f"| {' | '.join(row)} |\n".encode())
    session, bad = row[0], ledger.read_bytes()
    story = new_story(machine, "claude-code")
    write(story, machine.home)
    machine.holdfast("import", "--quiet")
    assert ledger.read_bytes().startswith(bad)
    doctor = json.loads(machine.holdfast("doctor", "--json").out)
    assert [(row["session"], row["claimed"]) for row in doctor["clamped_rows"]] == [
        (session, "2099-01-01T00:00:00Z")
    ]
    assert not doctor["clamped_rows"][0]["used"].startswith("2099")
    machine.holdfast("ledger", "add", "--session", session, "--outcome", "done", "--goal", "corrected")
    rows = {row["session"]: row for row in json.loads(machine.holdfast("ledger", "--json").out)}
    assert rows[session]["outcome"] == "done" and rows.keys() == {*sessions, story.session}
    after = ledger.read_bytes()
    machine.holdfast("import", "--quiet")
    assert ledger.read_bytes() == after


def _last_row(ledger: Path) -> tuple[list[str], list[str]]:
    """The header and the last row, in cells."""
    rows = [line for line in ledger.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]
    return next(row for row in cells[::-1] if row[0] == "Session"), cells[-1]


@pytest.mark.promise("U9")
def test_notes_and_lessons_on_top_leave_hand_edits_alone(machine: Machine) -> None:
    machine.holdfast("fact", "add", "The scales weigh up to 30 kg", "--evidence", "a label")
    machine.holdfast("decide", "Gift cards never expire", "--because", "the law", "--by", "user")
    machine.holdfast("todo", "add", "Print the cards")
    machine.holdfast("lessons", "mute", "money")
    machine.holdfast("lessons", "unmute", "money")
    with (machine.repo / "src" / "shop" / "refunds.py").open("a", encoding="utf-8") as file:
        file.write("\n\nLONGEST = 30\n")
    assert "money" in machine.holdfast("lessons", "stale").out
    machine.holdfast("lessons", "refresh", "money", "--keep")
    assert set(edited_by_hand(machine).values()) == {True}
    machine.holdfast("doctor")


@pytest.mark.promise("U9")
def test_an_upgrade_is_tried_first_backs_up_and_keeps_what_was_written(machine: Machine) -> None:
    """The format stays as it is, or a step leads on from it; either way nothing of a person's is lost."""
    places = machine.home, machine.repo, machine.notes
    before, kept = written(*places), ledgers(machine)
    number = (machine.memory / "format").read_text()
    machine.holdfast("doctor", "--fix", "--dry-run")
    assert written(*places) == before, "tried without effect"
    machine.holdfast("doctor", "--fix")
    machine.holdfast("doctor")
    assert all(path.read_bytes().startswith(past) for path, past in kept.items())
    assert set(edited_by_hand(machine).values()) == {True}
    if (machine.memory / "format").read_text() != number:
        backup = sorted((machine.home / ".holdfast" / "backups").glob(f"{machine.memory.name}-*.tar.gz"))[0]
        with tarfile.open(backup) as archive:
            member = archive.extractfile(f"{machine.memory.name}/ledger.md")
            assert member is not None and member.read() == kept[machine.memory / "ledger.md"]


@pytest.mark.promise("U9")
def test_what_was_forgotten_stays_forgotten(machine: Machine) -> None:
    """The transcript is there still: only the denylist of 0.1.0 keeps it out."""
    forgotten = machine.about["sessions"]["forget-me"]
    assert forgotten not in machine.sessions()
    machine.holdfast("import", "--quiet")
    machine.holdfast("index", "--rebuild", check=None)
    assert forgotten not in machine.sessions()
    kept = contents(machine.home / ".holdfast", machine.repo / ".holdfast")
    word = FORGOTTEN_WORD.encode()
    assert [name for name, held in kept.items() if isinstance(held, bytes) and word in held] == []


def test_a_worktree_and_several_projects_are_one_memory_still(machine: Machine) -> None:
    machine.holdfast("todo", "add", "Tell Dora too", cwd=machine.worktree)
    assert "Tell Dora too" in (machine.memory / "current.md").read_text(encoding="utf-8")
    assert len(list((machine.home / ".holdfast" / "projects").iterdir())) == 2, "the repository and the notes"
    # The shared ledger has rows that nobody has committed yet, so the branch is changed without its files.
    head = ["git", "symbolic-ref", "HEAD", "refs/heads/payments"]
    subprocess.run(head, cwd=machine.repo, env=machine.env, check=True)
    machine.holdfast("decide", "Cards are charged on delivery", "--by", "user")
    kept = machine.memory / "projects" / "payments" / "reference.md"
    assert "Cards are charged on delivery" in kept.read_text(encoding="utf-8")


def test_a_lesson_of_somebody_else_is_not_trusted_by_an_upgrade(machine: Machine) -> None:
    states = {
        (one["name"], one["scope"]): one["state"]
        for one in machine.holdfast("lessons", "list", "--json").json()
    }
    assert states["theirs", "shared"] == "untrusted"
    assert states["noisy", "local"] == "muted"
    assert ("unwanted", "local") not in states


def test_0_1_0_reads_what_the_current_code_has_written(machine: Machine) -> None:
    """Somebody goes back, or another machine's is older: it may refuse to write, and never to read."""
    story = new_story(machine, "codex")
    write(story, machine.home)
    machine.holdfast("import", "--quiet")
    rows = machine.sessions()
    machine._switch("old")
    with machine.old() as old:
        assert [row["session"] for row in old("ledger", "list", "--json").json()] == rows
        assert old("resume").out
    assert set(edited_by_hand(machine).values()) == {True}
