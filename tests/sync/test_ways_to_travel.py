"""`holdfast sync` through each kind of target: two machines of one person share what one of them decides."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.sync.machines import Machines, Person
from tests.sync.sshd import find_sshd, running_sshd, stub_ssh, user_name
from tests.sync.transports import some_packs

from holdfast.sync.folder import Folder
from holdfast.sync.service import sync
from holdfast.sync.settings import read_settings

pytestmark = pytest.mark.promise("T5")


def share(laptop: Person, desktop: Person, target: str) -> None:
    """A decision goes one way, and another back; then nothing moves."""
    laptop.decide("Prices are integers in cents", "floats lost a cent")
    assert laptop.sync(target, "--yes")["sent"]
    assert desktop.sync(target, "--yes")["received"]
    assert "integers in cents" in desktop("recall", "how are prices stored").stdout
    desktop.decide("The export client makes five attempts")
    desktop.sync(target)
    assert laptop.sync(target)["received"]
    assert "five attempts" in laptop("decide", "--list").stdout
    for person in (desktop, laptop, desktop):
        moved = person.sync(target)
        assert (moved["sent"], moved["received"], moved["conflicts"]) == (0, 0, 0)


def test_over_ssh(two: tuple[Person, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = tmp_path / "far"
    (far / "sync").mkdir(parents=True)
    path = stub_ssh(tmp_path / "bin", far, noise="echo Welcome")
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
    share(*two, "ben@box:sync")
    assert list((far / "sync").rglob("*.pack"))


def test_over_ssh_to_a_real_server(
    two: tuple[Person, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not find_sshd():
        pytest.skip("there is no sshd: scripts/install_sshd.sh")
    (tmp_path / "far").mkdir()
    with running_sshd(tmp_path / "sshd") as (port, path):
        monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
        share(*two, f"ssh://{user_name()}@127.0.0.1:{port}{tmp_path}/far")


def test_through_the_git_remote(two: tuple[Person, Person], tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "clone", "-q", "--bare", two[0].repo.as_uri(), str(remote)], check=True)
    for person in two:
        person.git("remote", "add", "origin", remote.as_uri())
    share(*two, "git")
    for person in two:
        assert "holdfast" not in person.git("for-each-ref")


def test_what_another_machine_publishes_while_one_syncs_is_taken_in_by_the_next(
    machines: Machines, two: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came after this sync had looked, and before it noted the state of the target."""
    laptop, desktop = two
    for person in two:
        person.sync(machines.target, "--yes")
    laptop.decide("Prices are integers in cents")
    desktop.decide("The export client makes five attempts")
    publish = Folder.publish

    def late(folder: Folder, *arguments: object) -> None:
        monkeypatch.setattr(Folder, "publish", publish)
        desktop.sync(machines.target)
        publish(folder, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "publish", late)
    assert laptop.sync(machines.target)["received"] == 0
    assert laptop.sync(machines.target)["received"] > 0
    assert "five attempts" in laptop("decide", "--list").stdout


def test_what_is_no_pack_at_the_target_hinders_no_sync(
    machines: Machines, two: tuple[Person, Person]
) -> None:
    laptop, desktop = two
    laptop.decide("Prices are integers in cents")
    laptop.sync(machines.target, "--yes")
    project = read_settings(laptop.project).project
    Folder(machines.target, project).publish("fedcba9876543210/x7", some_packs("noise"))
    done = sync(desktop.machine, desktop.project, str(machines.target), dry_run=True)
    assert done.received
    assert desktop.sync(machines.target, "--yes")["received"]
    assert laptop.sync(machines.target)["sent"] == 0
