"""Whatever is wrong is one clear line, and nothing is lost."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.sync.machines import Machines, Person, below

from holdfast.core.hashes import sha256

pytestmark = pytest.mark.promise("T5")


@pytest.fixture
def ana(machines: Machines) -> Person:
    ana = machines.person("Ana")
    ana.decide("Keep the shop small")
    return ana


def test_a_target_is_named_once(ana: Person) -> None:
    line = ana.refused("sync")
    assert "no sync target yet" in line
    assert not (ana.memory / "sync.db").exists()


@pytest.mark.parametrize(
    "target",
    [
        "nowhere",
        "http://example.org/x",
        "ftp://x/y",
        "ssh://",
        "ssh://-oProxyCommand=x/y",
        "",
        "a\nb",
        "ext::sh -c x",
    ],
)
def test_what_is_no_target_is_one_line(ana: Person, target: str) -> None:
    line = ana.refused("sync", target, "--yes")
    assert "holdfast" in line
    assert not (ana.memory / "sync.json").exists(), "a target that cannot be is not remembered"


def test_a_target_that_nobody_agreed_to_is_asked_about(machines: Machines, ana: Person) -> None:
    line = ana.refused("sync", machines.target)
    assert "--yes" in line
    assert list(machines.target.iterdir()) == []


def test_in_continuous_integration_nobody_is_asked(machines: Machines, ana: Person) -> None:
    line = ana.refused("sync", machines.target, env={"CI": "true"})
    assert "--yes" in line
    assert list(machines.target.iterdir()) == []


def test_an_agent_may_not_agree_to_a_target(machines: Machines, ana: Person) -> None:
    line = ana.refused("sync", machines.target, "--yes", env={"CLAUDECODE": "1"})
    assert "a person must decide" in line
    assert list(machines.target.iterdir()) == []


def test_an_agent_may_sync_with_a_target_that_a_person_agreed_to(machines: Machines, ana: Person) -> None:
    ana.sync(machines.target, "--yes")
    ana.decide("Prices are integers in cents")
    assert "1 entry sent" in ana("sync", env={"CLAUDECODE": "1"}).stdout


def test_an_agent_may_not_unseal_a_target_or_settle_a_conflict(machines: Machines, ana: Person) -> None:
    ana.sync(machines.target, "--yes")
    assert "a person must decide" in ana.refused("sync", "--plain", env={"CLAUDECODE": "1"})
    assert "a person must decide" in ana.refused("sync", "--keep", "3f9a01c2", env={"CLAUDECODE": "1"})
    assert "a person must decide" in ana.refused("sync", "--after-session", "on", env={"CLAUDECODE": "1"})
    assert json.loads((ana.memory / "sync.json").read_text(encoding="utf-8"))["after_session"] is False


def test_a_target_that_is_away_changes_nothing_and_the_next_sync_goes_on(
    machines: Machines, ana: Person
) -> None:
    ana.sync(machines.target, "--yes")
    ana.decide("Prices are integers in cents")
    away = machines.target.with_name("away")
    machines.target.rename(away)
    line = ana.refused("sync")
    assert str(machines.target) in line
    assert "there is no such folder" in line
    away.rename(machines.target)
    assert ana.sync()["sent"] == 1


def test_a_target_that_is_away_is_not_remembered_as_agreed(machines: Machines, ana: Person) -> None:
    ana.refused("sync", machines.target / "missing", "--yes")
    assert "no sync target yet" in ana.refused("sync")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(machines: Machines, ana: Person) -> None:
    machines.target.chmod(0o500)
    try:
        line = ana.refused("sync", machines.target, "--yes")
    finally:
        machines.target.chmod(0o700)
    assert "cannot be written" in line


def test_a_file_in_the_place_of_the_folder_is_one_line(
    machines: Machines, ana: Person, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    line = ana.refused("sync", file, "--yes")
    assert "there is no such folder" in line or "no folder" in line


def test_half_written_packs_are_taken_when_they_are_whole(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    laptop.sync(machines.target, "--yes")
    (pack,) = machines.target.rglob("*.pack")
    data = pack.read_bytes()
    pack.write_bytes(data[: len(data) // 2])
    done = desktop.sync(machines.target, "--yes")
    assert (done["received"], done["refused"]) == (0, [])
    pack.write_bytes(data)
    assert desktop.sync()["received"] == 1


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"holdfast-pack 1\nnot zlib", b"age-encryption.org/v1\nbroken"]
)
def test_a_damaged_pack_is_told_once_and_the_rest_is_read(
    machines: Machines, two: tuple[Person, Person], content: bytes
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    laptop.sync(machines.target, "--yes")
    (pack,) = machines.target.rglob("*.pack")
    pack.with_name(f"{sha256(content).hexdigest()[:40]}.pack").write_bytes(content)
    done = desktop("sync", machines.target, "--yes", check=0)
    assert "Traceback" not in done.stderr
    assert "Keep the shop small" in desktop("decide", "--list").stdout
    assert desktop.sync()["received"] == 0


def test_a_pack_of_a_newer_holdfast_is_named_as_that(machines: Machines, two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    laptop.sync(machines.target, "--yes")
    content = b"holdfast-pack 2\nof the future"
    (pack,) = machines.target.rglob("*.pack")
    pack.with_name(f"{sha256(content).hexdigest()[:40]}.pack").write_bytes(content)
    said = desktop("sync", machines.target, "--yes").stderr
    assert "newer holdfast" in said
    assert "Upgrade" in said
    assert "Keep the shop small" in desktop("decide", "--list").stdout


def test_another_persons_sealed_memory_is_not_read_and_that_is_said(machines: Machines) -> None:
    ana, ben = machines.person("Ana"), machines.person("Ben")
    ana.decide("The marmosetta client is called every night")
    ana.sync(machines.target, "--yes")
    ben.decide("Prices are integers in cents")
    said = ben("sync", machines.target, "--yes").stdout
    assert "1 pack encrypted for others" in said
    assert "marmosetta" not in ben("decide", "--list").stdout


def test_a_damaged_journal_says_what_to_do_and_nothing_is_lost(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    journal = desktop.memory / "sync.db"
    journal.write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    line = desktop.refused("sync")
    assert "sync.db" in line
    assert "Move it away" in line
    assert "sync.db" in str(desktop("doctor", "--json", check=1).json())
    desktop("status", check=None)
    journal.unlink()
    machines.settle(*two)
    assert "Keep the shop small" in desktop("decide", "--list").stdout


def test_a_journal_of_the_future_is_left_alone(machines: Machines, ana: Person) -> None:
    ana.sync(machines.target, "--yes")
    journal = ana.memory / "sync.db"
    with sqlite3.connect(journal) as db:
        db.execute("PRAGMA user_version=9")
    db.close()
    line = ana.refused("sync")
    assert "Upgrade holdfast" in line


@pytest.mark.parametrize("content", ["{", "[]", '{"targets": 3}'])
def test_damaged_settings_say_what_to_do(machines: Machines, ana: Person, content: str) -> None:
    ana.sync(machines.target, "--yes")
    path = ana.memory / "sync.json"
    path.write_text(content, encoding="utf-8")
    line = ana.refused("sync")
    assert "sync.json" in line
    assert "Correct it, or delete it" in line
    assert path.read_text(encoding="utf-8") == content
    assert "sync.json" in str(ana("doctor", "--json", check=1).json())
    assert "Traceback" not in ana("status", check=None).stderr


def test_another_repository_under_the_same_target_shares_nothing(
    machines: Machines, ana: Person, tmp_path: Path
) -> None:
    ana.sync(machines.target, "--yes")
    other = Person(tmp_path / "other", "Ana", None)
    (other.repo / "x").write_text("x", encoding="utf-8")
    other.git("add", "x")
    other.git("commit", "--quiet", "-m", "another beginning")
    key = tmp_path / "me.key"
    ana("keys", "export", key)
    other("keys", "restore", key)
    other.decide("Prices are integers in cents")
    done = other.sync(machines.target, "--yes")
    assert done["received"] == 0
    assert "Keep the shop small" not in other("decide", "--list").stdout


def test_an_invitation_to_another_project_is_refused(machines: Machines, ana: Person, tmp_path: Path) -> None:
    ana("team", "create", "Shop")
    code = ana.json("team", "invite")["code"]
    other = Person(tmp_path / "other", "Ben", None)
    (other.repo / "x").write_text("x", encoding="utf-8")
    other.git("add", "x")
    other.git("commit", "--quiet", "-m", "another beginning")
    assert "the invitation is for another project" in other.refused("team", "join", code, "--yes")


@pytest.mark.parametrize("code", ["", "holdfast-team-", "holdfast-team-xyz", "hello", "holdfast-team-bnVsbA"])
def test_what_is_no_invitation_is_one_line(ana: Person, code: str) -> None:
    assert "not an invitation" in ana.refused("team", "join", code, "--yes")


def test_a_team_command_without_a_team_says_how_to_begin(ana: Person) -> None:
    for words in (
        ("members",),
        ("items",),
        ("share", "D-000000"),
        ("trust", "Ben", "--yes"),
        ("invite",),
        ("leave", "--yes"),
    ):
        assert "team" in ana.refused("team", *words)


def test_without_commits_the_folders_name_is_the_identity(machines: Machines, tmp_path: Path) -> None:
    first, second = (Person(tmp_path / name, "Ana", None) for name in ("one", "two"))
    first.decide("Keep the shop small")
    first.sync(machines.target, "--yes")
    key = tmp_path / "me.key"
    first("keys", "export", key)
    second("keys", "restore", key)
    assert second.sync(machines.target, "--yes")["received"] == 1


def test_a_folder_without_git_syncs_by_its_name_or_the_one_given(machines: Machines, tmp_path: Path) -> None:
    from shutil import rmtree

    first, second = (Person(tmp_path / name, "Ana", None) for name in ("one", "two"))
    for person in (first, second):
        rmtree(person.repo / ".git")
    second.repo.rename(second.repo.with_name("store"))
    second.repo = second.repo.with_name("store")
    second._run._repo = second.repo
    first.decide("Keep the shop small")
    first.sync(machines.target, "--yes", "--as", "our shop")
    key = tmp_path / "me.key"
    first("keys", "export", key)
    second("keys", "restore", key)
    assert second.sync(machines.target, "--yes", "--as", "our shop")["received"] == 1


def test_only_a_version_that_is_in_conflict_can_be_kept(machines: Machines, ana: Person) -> None:
    ana.sync(machines.target, "--yes")
    for version in ("3f9a01c2", "zz", "%"):
        assert "no open conflict has a version" in ana.refused("sync", "--keep", version)


def test_a_second_sync_at_the_same_time_waits(machines: Machines, two: tuple[Person, Person]) -> None:
    import threading

    laptop, desktop = two
    laptop.decide("Keep the shop small")
    laptop.sync(machines.target, "--yes")
    before = below(machines.target)
    problems: list[BaseException] = []

    def run() -> None:
        try:
            from holdfast.sync import service

            service.sync(laptop.machine, laptop.project, str(machines.target))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert below(machines.target) == before
    desktop.sync(machines.target, "--yes")
