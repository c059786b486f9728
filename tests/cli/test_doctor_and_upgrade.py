"""`holdfast doctor`, formats, and what a newer or older store leads to."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tests.command import Holdfast

import holdfast as package
from holdfast.core.errors import FormatTooNew
from holdfast.store.machine import Machine
from holdfast.upkeep import doctor
from holdfast.upkeep.doctor import UpgradeStep, upgrade

DEMO = Path(package.__file__).parent / "demo_sessions"


def memory_of(home: Path) -> Path:
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    return memory


def test_a_sound_project_and_an_untouched_one_are_both_fine(holdfast: Holdfast) -> None:
    assert "no ledger yet" in holdfast("doctor", check=0).stdout
    holdfast("import", DEMO, check=0)
    assert "Everything is in order." in holdfast("doctor", check=0).stdout
    assert holdfast("doctor", "--json", check=0).json()["ok"] is True


def test_a_place_for_memory_that_cannot_be_written_is_named(holdfast: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    done = holdfast("doctor", check=1, env={"HOLDFAST_HOME": str(tmp_path / "taken" / "memory")})
    assert f"{tmp_path / 'taken'} is not writable" in done.stdout and "HOLDFAST_HOME" in done.stdout


def test_a_corrupt_capture_store_is_named_with_its_cure(holdfast: Holdfast, home: Path) -> None:
    holdfast("import", DEMO, check=0)
    (memory_of(home) / "capture.db").write_bytes(b"not a database" * 1000)
    assert "Delete capture.db" in holdfast("doctor", check=1).stdout
    assert "Delete capture.db" in holdfast("import", DEMO, check=1).stderr


@pytest.mark.parametrize(
    "file", ["current.md", "projects/repo/reference.md", "projects/repo/open-questions.md"]
)
def test_a_file_that_commands_refuse_is_no_sound_one(holdfast: Holdfast, home: Path, file: str) -> None:
    holdfast("handoff", "go on", check=0)
    holdfast("fact", "add", "the port is 8080", "--evidence", "ss -ltn", check=0)
    holdfast("ask", "--keep", "Which region do we deploy to?", check=0)
    (path,) = memory_of(home).glob(file.replace("repo", "*"))
    path.write_text(path.read_text() + "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n")
    assert f"{path.name}:" in holdfast("doctor", check=1).stdout
    path.unlink()
    path.mkdir()
    assert "it is a directory" in holdfast("doctor", check=1).stdout


@pytest.mark.usefixtures("scanner_off")
def test_missing_links_and_rules_are_made_again(holdfast: Holdfast, repo: Path) -> None:
    holdfast("import", DEMO, check=0)
    (repo / ".holdfast" / "local").unlink()
    (repo / ".holdfast" / ".gitignore").unlink()
    assert "would" in holdfast("doctor", "--fix", "--dry-run").stdout
    assert not (repo / ".holdfast" / "local").is_symlink()
    holdfast("doctor", "--fix", env={"PYTHONPATH": ""}, check=0)
    assert (repo / ".holdfast" / "local").is_symlink() and (repo / ".holdfast" / ".gitignore").exists()


def test_rules_of_the_scanner_are_compiled_where_it_is_installed(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("import", DEMO, check=0)
    compiled: list[Machine] = []
    monkeypatch.setattr(doctor, "scanner_missing_rules", lambda machine: not compiled)
    monkeypatch.setattr(doctor, "compile_rules", compiled.append)
    assert "compile the scanner's rules" in holdfast("doctor", "--fix", "--dry-run", check=0).stdout
    assert compiled == []
    assert "compile the scanner's rules" in holdfast("doctor", "--fix", check=0).stdout
    assert len(compiled) == 1


def test_a_secret_written_by_hand_is_found(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--session", "x", check=0)
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    path = repo / ".holdfast" / "ledger.md"
    path.write_text(path.read_text(encoding="utf-8") + f"<!-- {token} -->\n", encoding="utf-8")
    done = holdfast("doctor", check=1)
    assert "looks like a secret" in done.stdout and token not in done.stdout


@pytest.mark.promise("U9")
def test_a_newer_store_is_read_and_never_written(holdfast: Holdfast, home: Path, repo: Path) -> None:
    holdfast("import", DEMO, check=0)
    (memory_of(home) / "format").write_text("99\n")
    assert len(holdfast("ledger", "--json", check=0).json()) == 10
    before = (repo / ".holdfast" / "ledger.md").read_bytes()
    for arguments in (["ledger", "add", "--session", "x"], ["import", str(DEMO)], ["doctor", "--fix"]):
        done = holdfast(*arguments, check=1)
        assert "Upgrade holdfast" in done.stderr
    assert (repo / ".holdfast" / "ledger.md").read_bytes() == before


@pytest.mark.promise("U9")
def test_an_upgrade_shows_its_steps_backs_up_and_then_runs_them(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    memory = memory_of(home)
    (memory / "format").write_text("1\n")
    project = Machine(cwd=repo).project()
    ran: list[int] = []
    steps = {
        1: UpgradeStep("rename the log", lambda _: ran.append(1)),
        2: UpgradeStep("split the index", lambda _: ran.append(2)),
    }
    shown = upgrade(project, dry_run=True, steps=steps, target=3)
    assert shown.steps == ("rename the log", "split the index") and shown.backup is None and ran == []
    assert (memory / "format").read_text() == "1\n"
    done = upgrade(project, steps=steps, target=3)
    assert ran == [1, 2] and (memory / "format").read_text() == "3\n"
    assert done.backup is not None
    with tarfile.open(done.backup) as archive:
        assert f"{memory.name}/ledger.md" in archive.getnames()
    with pytest.raises(FormatTooNew):
        upgrade(project, steps=steps, target=2)


@pytest.mark.promise("U9")
def test_an_upgrade_that_breaks_off_goes_on_from_the_last_whole_step(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("import", DEMO, check=0)
    project = Machine(cwd=repo).project()
    ran: list[int] = []

    def fail(_: object) -> None:
        raise OSError("power cut")

    with pytest.raises(OSError, match="power cut"):
        upgrade(
            project, steps={1: UpgradeStep("a", lambda _: ran.append(1)), 2: UpgradeStep("b", fail)}, target=3
        )
    steps = {1: UpgradeStep("a", lambda _: ran.append(1)), 2: UpgradeStep("b", lambda _: ran.append(2))}
    upgrade(project, steps=steps, target=3)
    assert ran == [1, 2]
