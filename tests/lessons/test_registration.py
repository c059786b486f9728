"""Where new files are registered: commits that add one change a list, and the list names them all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.lessons.registration import registrations

Commit = Callable[[dict[str, str]], None]


@pytest.fixture
def commit(repo: Path) -> Commit:
    def make(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        subprocess.run([*git, "add", "--all"], cwd=repo, check=True, capture_output=True)
        subprocess.run([*git, "commit", "-qm", "x"], cwd=repo, check=True, capture_output=True)

    return make


NAMES = ["cart", "total-sum", "tax", "label", "stock"]


def grow(commit: Commit, listed: Callable[[list[str]], str], other: str = "") -> None:
    commit({"app/routes.ts": "", "other.md": ""})
    for number, name in enumerate(NAMES):
        known = NAMES[: number + 1]
        more = {other: f"{number}"} if other else {}
        commit({f"src/steps/{name}.ts": "", "app/routes.ts": listed(known), **more})


def exports(names: list[str]) -> str:
    return "".join(f'import {{ {name.replace("-", "_")} }} from "../src/steps/{name}"\n' for name in names)


def test_a_list_that_names_every_file_of_a_folder_is_where_they_are_registered(
    repo: Path, commit: Commit
) -> None:
    grow(commit, exports)
    (found,) = registrations(repo)
    assert (found.folder, found.ending, found.registry) == ("src/steps", "ts", "app/routes.ts")
    assert (found.together, found.added, found.named, found.there) == (5, 5, 5, 5)


def test_what_changes_along_and_names_nothing_is_no_list(repo: Path, commit: Commit) -> None:
    grow(commit, lambda names: str(len(names)), other="other.md")
    assert registrations(repo) == []


def test_what_names_them_and_did_not_change_along_is_no_list(repo: Path, commit: Commit) -> None:
    commit({f"src/steps/{name}.ts": "" for name in NAMES})
    commit({"app/routes.ts": exports(NAMES)})
    assert registrations(repo) == []


def test_what_every_commit_changes_is_no_list(repo: Path, commit: Commit) -> None:
    grow(commit, exports)
    for number in range(80):
        commit({"app/routes.ts": exports(NAMES) + f"// {number}\n"})
    assert registrations(repo) == []


@pytest.mark.parametrize("name", ["CHANGELOG.md", "uv.lock", "tests/test_all.py", "src/mod.rs"])
def test_change_logs_lock_files_tests_and_what_a_compiler_asks_for_are_none(
    repo: Path, commit: Commit, name: str
) -> None:
    commit({name: ""})
    for number, known in enumerate(NAMES):
        commit({f"src/steps/{known}.ts": "", name: exports(NAMES[: number + 1])})
    assert registrations(repo) == []


def test_a_folder_without_git_shows_none(tmp_path: Path) -> None:
    assert registrations(tmp_path) == []
