"""The script that builds homes of 0.1.0: what it says, and that the commit is named in one place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.old_home import KINDS, VERSION_0_1_0, missing_history
from tests.upgrade.world import Machine, contents

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "old_home.py"


def run(*words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, words)],
        env={**os.environ, **env},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_it_says_what_it_builds() -> None:
    done = run("--help")
    assert done.returncode == 0 and all(kind in done.stdout for kind in KINDS)


def test_a_history_without_the_commit_is_one_clear_line(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "empty")], check=True)
    elsewhere = {"GIT_DIR": str(tmp_path / "empty" / ".git"), "HOLDFAST_OLD_HOME": str(tmp_path / "cache")}
    done = run(tmp_path / "dest", "--quiet", **elsewhere)
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("old_home: history is too shallow: fetch") and VERSION_0_1_0 in line


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"")
    done = run(tmp_path, "--quiet")
    assert done.returncode == 1 and "is not empty" in done.stderr


def test_the_commit_is_named_in_one_place() -> None:
    sources = [path for folder in ("scripts", "tests", "src") for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in sources if VERSION_0_1_0[:10].encode() in path.read_bytes()] == [SCRIPT]


def test_a_home_is_made_by_the_code_of_that_commit_alone(before: Machine) -> None:
    """Also what hooks leave behind: the interpreter that they name finds 0.1.0, and nothing of this checkout."""
    assert not missing_history()
    where = "import holdfast.hosts.capture as module; print(module.__file__)"
    found = subprocess.run(
        [str(before.installation.python), "-E", "-P", "-c", where],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    assert Path(found.strip()).is_relative_to(before.installation.package)
    assert before.about["commit"] == VERSION_0_1_0
    kept = contents(before.home, leave=("projects",))
    assert not [name for name, data in kept.items() if isinstance(data, bytes) and str(ROOT).encode() in data]
