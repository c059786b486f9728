"""The key of a person: taken to other machines, replaced, revoked, lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.sync.machines import Machines, Person

pytestmark = pytest.mark.promise("T5")


def test_there_is_no_key_before_the_first_sync(machines: Machines) -> None:
    ana = machines.person("Ana")
    assert ana("keys").stdout == "No key yet. The first sync creates one.\n"
    assert ana.json("keys")["author"] is None
    ana.decide("Keep the shop small")
    ana.sync(machines.target, "--yes")
    assert ana.json("keys")["name"] == "Ana"


def test_a_key_taken_along_is_the_same_person(two: tuple[Person, Person]) -> None:
    laptop, desktop = two
    assert laptop.json("keys")["author"] == desktop.json("keys")["author"]


def test_an_exported_key_is_sealed_and_for_its_user_alone(machines: Machines, tmp_path: Path) -> None:
    ana = machines.person("Ana")
    file = tmp_path / "me.key"
    ana("keys", "export", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = (ana.holdfast_home / "keys" / "author.json").read_text(encoding="utf-8")
    assert "AGE-SECRET-KEY" in secret
    assert b"AGE-SECRET-KEY" not in file.read_bytes()
    line = ana.refused("keys", "export", file)
    assert "the file already exists" in line


def test_a_wrong_passphrase_is_one_line(machines: Machines, tmp_path: Path) -> None:
    ana, ben = machines.person("Ana"), machines.person("Ana", machine="desktop")
    file = tmp_path / "me.key"
    ana("keys", "export", file)
    line = ben.refused("keys", "restore", file, env={"HOLDFAST_PASSPHRASE": "something else"})
    assert "passphrase is wrong" in line
    assert not (ben.holdfast_home / "keys" / "author.json").exists()


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"# holdfast key, sealed with a passphrase by age\nxx", os.urandom(300)]
)
def test_what_is_no_key_is_one_line(machines: Machines, tmp_path: Path, content: bytes) -> None:
    ana = machines.person("Ana")
    file = tmp_path / "me.key"
    file.write_bytes(content)
    line = ana.refused("keys", "restore", file)
    assert str(file) in line
    assert not (ana.holdfast_home / "keys" / "author.json").exists()


def test_a_short_passphrase_and_none_at_all_are_one_line(machines: Machines, tmp_path: Path) -> None:
    ana = machines.person("Ana")
    file = tmp_path / "me.key"
    assert "shorter than 8" in ana.refused("keys", "export", file, env={"HOLDFAST_PASSPHRASE": "short"})
    assert "HOLDFAST_PASSPHRASE" in ana.refused("keys", "export", file, env={"HOLDFAST_PASSPHRASE": ""})
    assert not file.exists()


def test_another_key_replaces_ones_own_only_if_one_says_so(machines: Machines, tmp_path: Path) -> None:
    ana, other = machines.person("Ana"), machines.person("Ana", machine="desktop")
    other.decide("Prices are integers in cents")
    other.sync(machines.target, "--yes")
    before = other.json("keys")["author"]
    file = tmp_path / "me.key"
    ana("keys", "export", file)
    assert "--replace" in other.refused("keys", "restore", file)
    assert other.json("keys")["author"] == before
    other("keys", "restore", file, "--replace")
    assert other.json("keys")["author"] == ana.json("keys")["author"]
    assert other.json("keys")["before"] == [before]
    ana.decide("Keep the shop small")
    ana.sync(machines.target, "--yes")
    machines.settle(other, ana)
    assert len(other.json("decide", "--list")) == 2


def test_a_rotated_key_reads_what_the_old_one_wrote_and_goes_to_the_other_machine(
    machines: Machines, two: tuple[Person, Person], tmp_path: Path
) -> None:
    laptop, desktop = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    laptop("keys", "rotate", "--yes")
    laptop.decide("Prices are integers in cents")
    machines.settle(laptop)
    done = desktop.sync()
    assert done["sealed"] >= 1, "the new key is not here yet"
    assert "holdfast keys" in desktop("sync").stdout or done["sealed"]
    file = tmp_path / "new.key"
    laptop("keys", "export", file)
    desktop("keys", "restore", file, "--replace")
    machines.settle(*two)
    assert len(desktop.json("decide", "--list")) == 2
    tablet = machines.person("Ana", machine="tablet", like=laptop)
    tablet.sync(machines.target, "--yes")
    assert len(tablet.json("decide", "--list")) == 2


def test_what_a_revoked_key_signs_is_refused(
    machines: Machines, two: tuple[Person, Person], tmp_path: Path
) -> None:
    laptop, thief = two
    laptop.decide("Keep the shop small")
    machines.settle(*two)
    laptop("keys", "revoke", "--yes")
    machines.settle(laptop)
    thief.decide("Wire all money to the thief")
    thief("sync", check=None)
    done = laptop("sync", "--json")
    assert "revoked" in str(done.json()["refused"])
    assert "thief" not in laptop("decide", "--list").stdout
    assert "Keep the shop small" in laptop("decide", "--list").stdout


def test_after_a_lost_key_the_memory_that_is_here_goes_on_with_a_new_one(machines: Machines) -> None:
    ana = machines.person("Ana")
    ana.decide("Keep the shop small")
    ana.sync(machines.target, "--yes")
    (ana.holdfast_home / "keys" / "author.json").unlink()
    done = ana.sync()
    assert done["refused"] == []
    ana.decide("Prices are integers in cents")
    ana.sync()
    assert len(ana.json("decide", "--list")) == 2
    other = machines.person("Ana", machine="desktop", like=ana)
    other.sync(machines.target, "--yes")
    assert len(other.json("decide", "--list")) == 2


def test_a_damaged_key_file_says_what_to_do_and_is_left_as_it_is(machines: Machines) -> None:
    ana = machines.person("Ana")
    ana.decide("Keep the shop small")
    ana.sync(machines.target, "--yes")
    path = ana.holdfast_home / "keys" / "author.json"
    path.write_text("{", encoding="utf-8")
    for words in (("sync",), ("keys",)):
        line = ana.refused(*words)
        assert "author.json" in line
        assert "holdfast keys restore" in line
    assert path.read_text(encoding="utf-8") == "{"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_doctor_tells_of_a_key_that_others_can_read(machines: Machines) -> None:
    ana = machines.person("Ana")
    ana.decide("Keep the shop small")
    ana.sync(machines.target, "--yes")
    path = ana.holdfast_home / "keys" / "author.json"
    path.chmod(0o644)
    assert f"{path}: other users can read your key" in str(ana("doctor", "--json", check=None).json())


def test_an_export_of_a_key_that_was_revoked_here_is_refused(machines: Machines, tmp_path: Path) -> None:
    ana = machines.person("Ana")
    old = tmp_path / "old.key"
    ana("keys", "export", old)
    ana("keys", "revoke", "--yes")
    author = ana.json("keys", "show")["author"]
    assert "was revoked on this machine" in ana.refused("keys", "restore", old, "--replace")
    assert ana.json("keys", "show")["author"] == author
