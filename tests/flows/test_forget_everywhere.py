"""Forgotten means gone from everything that holdfast wrote on this machine, or named; and doctor finds what is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.every_byte import leftovers
from tests.flows.remembered import OTHER, SECRET, A, BuiltOnce, Remembered

from holdfast.store.bundle import check_bundle

pytestmark = pytest.mark.promise("G5")


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> BuiltOnce:
    return BuiltOnce(tmp_path_factory.mktemp("everywhere"))


@pytest.fixture
def tmp_path(built_once: BuiltOnce) -> Path:
    return built_once.empty()


@pytest.fixture
def memory(built_once: BuiltOnce, repo: Path, home: Path) -> Remembered:
    return built_once.memory(repo, home)


def left(memory: Remembered, word: str = SECRET) -> list[str]:
    return leftovers((memory.home / ".holdfast", memory.root / ".holdfast"), [word])


def archives(memory: Remembered, holdfast: Holdfast) -> tuple[Path, Path]:
    """An export, and the backup that a restore makes of what it replaces."""
    holdfast("export", check=0)
    (exported,) = (memory.home / ".holdfast" / "exports").iterdir()
    holdfast("restore", exported, "--replace", check=0)
    (backup,) = (memory.home / ".holdfast" / "backups").iterdir()
    return exported, backup


@pytest.mark.parametrize("what", [["--text", SECRET], ["--session", A], ["--session", A, "--text", SECRET]])
def test_backups_and_exports_lose_it_and_can_still_be_restored(
    memory: Remembered, holdfast: Holdfast, what: list[str]
) -> None:
    exported, backup = archives(memory, holdfast)
    preview = holdfast("forget", *what, "--dry-run", "--json", check=0).json()["removed"]
    assert left(memory) != []
    report = holdfast("forget", *what, "--yes", "--json", check=0).json()
    assert left(memory) == []
    for path in (exported, backup):
        check_bundle(path)
        assert path.stat().st_mode & 0o077 == 0
        shown = f"{path.parent.name}/{path.name}"
        assert report["removed"][shown] == preview[shown] > 0
        assert str(path) not in [copy["path"] for copy in report["elsewhere"]]
    holdfast("restore", backup, "--replace", check=0)
    assert left(memory) == []
    assert left(memory, OTHER) != []
    assert holdfast("forget", *what, "--yes", "--json", check=0).json()["removed"] == {}


def test_an_archive_that_may_be_of_another_project_is_named(memory: Remembered, holdfast: Holdfast) -> None:
    exported, _ = archives(memory, holdfast)
    twin = memory.memory.parent / "shop-00000000"
    twin.mkdir()
    (twin / "name").write_text("shop\n", encoding="utf-8")
    before = exported.read_bytes()
    report = holdfast("forget", "--text", SECRET, "--yes", "--json", check=0).json()
    assert str(exported) in [copy["path"] for copy in report["elsewhere"]]
    assert exported.read_bytes() == before


def test_an_archive_that_cannot_be_read_is_named(memory: Remembered, holdfast: Holdfast) -> None:
    exported, _ = archives(memory, holdfast)
    exported.write_bytes(exported.read_bytes()[:-200])
    report = holdfast("forget", "--text", SECRET, "--yes", "--json", check=0).json()
    (copy,) = [copy for copy in report["elsewhere"] if copy["path"] == str(exported)]
    assert "cannot be read" in copy["what"]


def test_what_a_killed_restore_left_beside_the_memory_goes(memory: Remembered, holdfast: Holdfast) -> None:
    for name in (f".{memory.memory.name}-stage-0badcafe", f".{memory.memory.name}-aside"):
        shutil.copytree(memory.memory, memory.memory.parent / name, symlinks=True)
    holdfast("forget", "--text", SECRET, "--yes", check=0)
    assert left(memory) == []


def test_transcripts_that_say_a_forgotten_text_are_named(memory: Remembered, holdfast: Holdfast) -> None:
    report = holdfast("forget", "--text", f"Fix the {SECRET} refund", "--yes", "--json", check=0).json()
    named = [copy["path"] for copy in report["elsewhere"] if copy["what"] == "transcript of the agent"]
    assert named == [str(memory.transcripts[A])]


def test_what_no_program_here_can_reach_is_said(memory: Remembered, holdfast: Holdfast) -> None:
    report = holdfast("forget", "--text", SECRET, "--dry-run", "--json", check=0).json()
    assert any("other machines" in line for line in report["beyond"])
    assert "copied elsewhere" in holdfast("forget", "--text", SECRET, "--dry-run", check=0).stdout


# --- doctor --------------------------------------------------------------------------------------------


def findings(holdfast: Holdfast, check: str) -> list[tuple[str, str]]:
    results = holdfast("doctor", "--json").json()["findings"]
    return [(one["level"], one["message"]) for one in results if one["check"] == check]


@pytest.mark.usefixtures("scanner_off")
def test_doctor_finds_what_is_left_of_what_was_forgotten(memory: Remembered, holdfast: Holdfast) -> None:
    phrase = f"the {SECRET} refund rounding"
    copy = memory.memory.parent / f".{memory.memory.name}-aside"
    exported, _ = archives(memory, holdfast)
    away = memory.home / "away"
    shutil.copytree(memory.memory, away, symlinks=True)
    kept = exported.read_bytes()
    holdfast("forget", "--text", phrase, "--yes", check=0)
    assert findings(holdfast, "forgotten") == []
    exported.write_bytes(kept)
    (memory.memory / "notes.md").write_text(f"We spoke of {phrase.upper()} again.\n", encoding="utf-8")
    shutil.move(away, copy)
    found = findings(holdfast, "forgotten")
    assert {level for level, _ in found} == {"problem"}
    text = "\n".join(message for _, message in found)
    for path in (exported, memory.memory / "notes.md", copy / "capture.db"):
        assert str(path) in text
    assert SECRET not in text and "holdfast forget" in text


@pytest.mark.usefixtures("scanner_off")
def test_doctor_finds_a_forgotten_session(memory: Remembered, holdfast: Holdfast) -> None:
    holdfast("forget", "--session", A, "--yes", check=0)
    assert findings(holdfast, "forgotten") == []
    (memory.memory / "hook.log").write_text(f"2026 capture: {A} broke\n", encoding="utf-8")
    ((level, message),) = findings(holdfast, "forgotten")
    assert level == "problem" and f"holdfast forget --session {A}" in message


@pytest.mark.promise("G9")
@pytest.mark.usefixtures("scanner_off")
@pytest.mark.parametrize(("mode", "level"), [(0o777, "problem"), (0o770, "problem"), (0o755, "note")])
def test_doctor_says_that_others_can_open_the_home(
    home: Path, holdfast: Holdfast, mode: int, level: str
) -> None:
    holdfast("decide", "Keep it small", check=0)
    place = home / ".holdfast"
    place.chmod(mode)
    ((found, message),) = findings(holdfast, "permissions")
    assert found == level and f"chmod 700 {place}" in message
    holdfast("doctor", "--fix")
    assert place.stat().st_mode & 0o777 == 0o700
    assert findings(holdfast, "permissions") == []


def test_a_forgotten_text_is_not_in_what_remembers_it(memory: Remembered, holdfast: Holdfast) -> None:
    holdfast("forget", "--text", SECRET, "--yes", check=0)
    assert SECRET.encode() not in (memory.memory / "denied.jsonl").read_bytes()
