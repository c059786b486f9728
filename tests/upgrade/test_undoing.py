"""What 0.1.0 did is taken back by the current code: changes, hosts' files, and archives that bring a memory back."""

from __future__ import annotations

import subprocess

import pytest
from scripts.old_home import HAND_EDITS, HOSTS, Said
from tests.upgrade.test_going_on import edited_by_hand
from tests.upgrade.world import Machine, contents


@pytest.mark.promise("U9", "M15")
def test_undo_takes_back_the_last_change_of_0_1_0_and_brings_it_back(machine: Machine) -> None:
    reference = machine.memory / "projects" / "shop" / "reference.md"
    before = reference.read_bytes()
    assert "Parcels are weighed twice" in machine.holdfast("undo", "--dry-run").out
    assert reference.read_bytes() == before
    machine.holdfast("undo", "--yes")
    assert b"Parcels are weighed twice" not in reference.read_bytes()
    assert HAND_EDITS["reference.md"].encode() in reference.read_bytes()
    machine.holdfast("undo", "--yes")
    assert reference.read_bytes() == before


@pytest.mark.promise("U9", "M15")
def test_undo_of_a_file_stops_at_what_a_person_wrote_into_it(machine: Machine) -> None:
    current = machine.memory / "current.md"
    machine.holdfast("undo", "current.md", "--yes")
    assert b"Send the parcel scales back" not in current.read_bytes()
    assert set(edited_by_hand(machine).values()) == {True}
    changes = machine.holdfast("history", "current.md", "--json").json()
    assert "edited by hand" in [change["reason"] for change in changes]
    # Any version of 0.1.0 comes back by its number, also one from before the person's words.
    first = min(change["n"] for change in changes if change["reason"] == "handoff")
    machine.holdfast("undo", "current.md", "--to", str(first), "--yes")
    assert HAND_EDITS["current.md"].encode() not in current.read_bytes()
    machine.holdfast("undo", "current.md", "--yes")
    assert HAND_EDITS["current.md"].encode() in current.read_bytes()


@pytest.mark.promise("U9", "M15")
def test_undo_takes_back_a_personal_lesson_of_0_1_0(machine: Machine) -> None:
    lesson = machine.home / ".holdfast" / "lessons" / "manners.md"
    assert lesson.exists()
    machine.holdfast("undo", "--personal", "--yes")
    assert not lesson.exists()


@pytest.mark.promise("H1")
def test_uninstall_restores_the_files_of_all_hosts_that_0_1_0_wired_to_the_byte(machine: Machine) -> None:
    was = {name.removeprefix("before/"): data for name, data in contents(machine.before).items()}

    def now() -> dict[str, bytes | str]:
        found = contents(machine.home, leave=(".holdfast",))
        return {name.removeprefix("home/"): data for name, data in found.items()}

    assert now() != was
    machine.holdfast("uninstall", "--all", "--yes")
    assert now() == was
    folders = {path.relative_to(machine.before) for path in machine.before.rglob("*") if path.is_dir()}
    left = {path.relative_to(machine.home) for path in machine.home.rglob("*") if path.is_dir()}
    assert {path for path in left - folders if path.parts[0] != ".holdfast"} == set()
    assert len(machine.sessions()) == 14, "memory stays"


@pytest.mark.promise("H1")
def test_where_a_host_file_has_changed_since_only_our_entries_go(machine: Machine) -> None:
    path = machine.home / ".claude" / "settings.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace('"includeCoAuthoredBy": false', '"includeCoAuthoredBy": true'), encoding="utf-8"
    )
    machine.holdfast("uninstall", "claude-code", "--yes")
    was = (machine.before / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == was.replace("false", "true", 1)


@pytest.mark.promise("H1")
def test_install_again_finds_hooks_of_0_1_0_and_does_not_add_its_own_beside_them(machine: Machine) -> None:
    """They may be written anew, to name another file; there is one for each event afterwards, and it can be undone."""
    path = machine.home / ".claude" / "settings.json"
    count = path.read_text(encoding="utf-8").count("claude-code SessionStart")
    assert count == 1
    machine.holdfast("install", *HOSTS, "--yes")
    assert path.read_text(encoding="utf-8").count("claude-code SessionStart") == 1
    machine.holdfast("uninstall", "--all", "--yes")
    for name in (
        ".claude/settings.json",
        ".gemini/settings.json",
        ".codex/config.toml",
        ".cursor/hooks.json",
    ):
        assert (machine.home / name).read_bytes() == (machine.before / name).read_bytes()


@pytest.mark.promise("H1")
def test_doctor_notes_hooks_of_0_1_0_and_renews_them_and_uninstall_still_restores_every_byte(
    machine: Machine,
) -> None:
    """Those for tools know nothing of files yet; they work, so nothing is wrong."""
    agents = {"claude-code", "copilot", "gemini", "qwen", "cursor"}
    report = machine.holdfast("doctor").out  # ends with 0
    assert {agent for agent in HOSTS if f"hooks of an older version for {agent} (" in report} == agents
    machine.holdfast("doctor", "--fix")
    assert "older version" not in machine.holdfast("doctor").out
    settings = (machine.home / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert "Bash|AskUserQuestion|Read|Edit|Write" in settings
    machine.holdfast("uninstall", "--all", "--yes")
    for path in machine.before.rglob("*.json*"):
        assert (machine.home / path.relative_to(machine.before)).read_bytes() == path.read_bytes(), path


@pytest.mark.promise("M9")
def test_an_archive_of_0_1_0_is_restored_on_another_machine(machine: Machine) -> None:
    """Another home, and a clone of the repository that has no memory yet."""
    rows = machine.sessions()
    clone, home = machine.folder / "clients" / "clone", machine.folder / "clients" / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(machine.repo), str(clone)], env=machine.env, check=True)
    env = {**machine.env, "HOME": str(home), "USERPROFILE": str(home)}

    def elsewhere(*words: str) -> Said:
        done = subprocess.run(
            [str(machine.installation.python), "-E", "-P", "-m", "holdfast", *words],
            cwd=clone,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return Said(done.returncode, done.stdout, done.stderr)

    elsewhere("restore", str(machine.archive), "--trust", "--yes")
    assert [row["session"] for row in elsewhere("ledger", "list", "--json").json()] == rows
    (memory,) = [
        path for path in (home / ".holdfast" / "projects").iterdir() if not path.name.startswith(".")
    ]
    for name, path in machine.about["edited"].items():
        assert HAND_EDITS[name].encode() in (memory / path).read_bytes(), name
    asked = elsewhere("ask", "Which region do we deploy the shop to?", "--no-record", "--json")
    assert "eu-west-1" in asked.out
    elsewhere("doctor")


@pytest.mark.promise("M9")
def test_an_archive_of_0_1_0_brings_back_what_was_lost_here(machine: Machine) -> None:
    rows, facts = machine.sessions(), machine.holdfast("fact", "list", "--json").json()
    machine.holdfast("restore", machine.archive, "--merge", "--trust", "--yes")  # 0.1.0 signed none
    assert machine.sessions() == rows, "nothing is missing, so nothing is added"
    assert set(edited_by_hand(machine).values()) == {True}
    machine.holdfast("forget", "--text", "8080", "--yes")
    (machine.memory / "current.md").write_text("lost\n", encoding="utf-8")
    machine.holdfast("restore", machine.archive, "--replace", "--trust", "--yes")
    assert machine.sessions() == rows
    now = machine.holdfast("fact", "list", "--json").json()
    assert [fact["id"] for fact in now] == [fact["id"] for fact in facts]
    assert "8080" not in str(now), "what was forgotten does not come back with an archive"
    assert set(edited_by_hand(machine).values()) == {True}
    assert any((machine.home / ".holdfast" / "backups").iterdir()), "what was replaced"


@pytest.mark.promise("M9", "U9")
def test_a_memory_of_0_1_0_that_is_purged_comes_back_from_its_backup(machine: Machine) -> None:
    rows, memory = machine.sessions(), machine.memory
    machine.holdfast("uninstall", "--all", "--purge", "--yes")
    assert not memory.exists()
    (backup,) = (machine.home / ".holdfast" / "backups").iterdir()
    machine.holdfast("restore", backup)
    assert machine.memory == memory and machine.sessions() == rows
    assert set(edited_by_hand(machine).values()) == {True}
