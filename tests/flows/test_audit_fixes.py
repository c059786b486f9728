"""`holdfast audit --fix`: what it changes, what it asks and keeps, in real files."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tests.command import Holdfast

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
RULE = "- Run the whole test suite before every commit\n"

pytestmark = [pytest.mark.promise("G7"), pytest.mark.usefixtures("scanner_off")]


def backups(home: Path) -> list[Path]:
    return sorted((home / ".holdfast" / "backups").glob("*-audit-*.tar.gz"))


def test_nothing_is_written_without_a_yes(holdfast: Holdfast, repo: Path, home: Path) -> None:
    text = f"# Tests\n\n{RULE}- Keep functions short\n{RULE}- token {SECRET}\n"
    (repo / "AGENTS.md").write_text(text)
    refused = holdfast("audit", "--fix", check=2)
    assert "-- token ****(40 characters)" in refused.stdout and "+- token [redacted:" in refused.stdout
    for arguments in (("--dry-run",), ("--json",)):
        done = holdfast("audit", "--fix", *arguments, check=1)
        assert SECRET not in done.stdout + refused.stdout
    assert (repo / "AGENTS.md").read_text() == text and backups(home) == []
    assert holdfast("audit", "--yes").returncode == 2


def test_duplicates_go_and_secrets_are_redacted_after_a_backup(
    holdfast: Holdfast, repo: Path, home: Path
) -> None:
    text = f"# Tests\n\n{RULE}- Keep functions short\n{RULE}- token {SECRET}\n"
    (repo / "AGENTS.md").write_text(text)
    done = holdfast("audit", "--fix", "--yes", check=0)
    assert SECRET not in done.stdout and "Nothing to report" in done.stdout
    after = (repo / "AGENTS.md").read_text()
    assert after.count(RULE) == 1 and SECRET not in after and after.startswith("# Tests\n\n- Run")
    (backup,) = backups(home)
    assert str(backup).replace(str(home), "~") in done.stdout
    with tarfile.open(backup) as archive:
        member = archive.extractfile("AGENTS.md")
        assert member is not None and member.read().decode() == text
    assert backup.stat().st_mode & 0o077 == 0
    assert "can be fixed automatically" in holdfast("audit", "--fix", "--yes", check=0).stdout


def test_a_bullet_with_something_below_it_stays(holdfast: Holdfast, repo: Path) -> None:
    text = f"# Tests\n\n{RULE}  - on Linux\n{RULE}  - on Windows\n"
    (repo / "AGENTS.md").write_text(text)
    holdfast("audit", "--fix", "--yes", check=0)
    assert (repo / "AGENTS.md").read_text() == text


def test_a_secret_in_memory_goes_from_the_file_and_from_its_versions(
    holdfast: Holdfast, home: Path, repo: Path
) -> None:
    holdfast("handoff", "go on", check=0)
    (memory,) = (home / ".holdfast" / "projects").iterdir()
    current = memory / "current.md"
    current.write_text(current.read_text() + f"\nMy own note: the token is {SECRET}\n")
    holdfast("handoff", "then go on further", check=0)  # the version with the secret is kept
    assert any(SECRET.encode() in path.read_bytes() for path in memory.glob("history/contents/*"))
    done = holdfast("audit", "--fix", "--yes", check=0)
    assert "delete it once you have rotated them" in done.stdout
    left = [path for path in memory.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []
    assert "go on further" in holdfast("resume", check=0).stdout
    assert holdfast("doctor", "--json", check=0).json()["ok"] is True
