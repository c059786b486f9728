"""Which files a branch is about: what it changed since it left the default branch, committed or not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.knowledge.branch_files import MOST_FILES, branch_files
from holdfast.knowledge.co_change import changed_together

pytestmark = pytest.mark.promise("W11")


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def commit(root: Path, message: str, *paths: str) -> None:
    for path in paths:
        (root / path).write_text(f"{message}\n", encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", message)


def checkout(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "first", "a.py", "b.py", "c.py")
    return root


def test_a_branch_is_about_what_it_changed_since_it_left_and_what_is_not_committed(tmp_path: Path) -> None:
    root = checkout(tmp_path / "shop")
    git(root, "switch", "--quiet", "-c", "feature")
    commit(root, "on the branch", "b.py")
    git(root, "switch", "--quiet", "main")
    commit(root, "meanwhile", "a.py")
    git(root, "switch", "--quiet", "feature")
    (root / "c.py").write_text("not committed\n", encoding="utf-8")
    assert branch_files(root, "feature") == ["b.py", "c.py"]


def test_the_default_branch_is_about_what_is_not_committed(tmp_path: Path) -> None:
    root = checkout(tmp_path / "shop")
    assert branch_files(root, "main") == []
    (root / "c.py").write_text("not committed\n", encoding="utf-8")
    assert branch_files(root, "main") == ["c.py"]


def test_a_branch_that_changes_many_files_says_nothing_about_any(tmp_path: Path) -> None:
    root = checkout(tmp_path / "shop")
    git(root, "switch", "--quiet", "-c", "sweep")
    commit(root, "all", *(f"{number}.py" for number in range(MOST_FILES + 1)))
    assert branch_files(root, "sweep") == []


def test_without_a_repository_or_a_branch_there_are_none(tmp_path: Path) -> None:
    assert branch_files(tmp_path, "main") == []
    assert branch_files(checkout(tmp_path / "shop"), "") == []


def test_the_files_of_a_number_are_those_of_the_commits_that_name_it(tmp_path: Path) -> None:
    root = checkout(tmp_path / "shop")
    commit(root, "Refunds (#12)", "a.py")
    commit(root, "Refunds again, see #12\n\nNot #13", "b.py")
    commit(root, "Everything (#14)", *(f"{number}.py" for number in range(9)))
    assert changed_together(root).numbered == {"#12": {"a.py", "b.py"}}
