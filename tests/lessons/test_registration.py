"""Where new files are registered: commits that add one change a list, and the list names them all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.lessons.registration import registrations

Files = dict[str, str]
History = Callable[[list[Files]], None]


@pytest.fixture
def history(repo: Path) -> History:
    """Makes a commit of each, in one process: these tests need many."""

    def git(*words: str, given: bytes = b"") -> str:
        done = subprocess.run(["git", *words], cwd=repo, input=given, check=True, capture_output=True)
        return done.stdout.decode("utf-8").strip()

    def make(commits: list[Files]) -> None:
        branch = git("symbolic-ref", "HEAD")
        parent = f"from {branch}^0\n" if git("for-each-ref", branch) else ""
        stream = ""
        for files in commits:
            stream += f"commit {branch}\ncommitter Ada <ada@example.com> 1 +0000\ndata 1\nx\n{parent}"
            parent = ""
            for name, text in files.items():
                stream += f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n"
        git("fast-import", "--quiet", "--force", given=stream.encode())
        git("reset", "--hard", "--quiet")

    return make


NAMES = ["cart", "total-sum", "tax", "label", "stock"]


def growing(listed: Callable[[list[str]], str], other: str = "") -> list[Files]:
    commits: list[Files] = [{"app/routes.ts": "", "other.md": ""}]
    for number, name in enumerate(NAMES):
        known = NAMES[: number + 1]
        more = {other: f"{number}"} if other else {}
        commits.append({f"src/steps/{name}.ts": "", "app/routes.ts": listed(known), **more})
    return commits


def exports(names: list[str]) -> str:
    return "".join(f'import {{ {name.replace("-", "_")} }} from "../src/steps/{name}"\n' for name in names)


def test_a_list_that_names_every_file_of_a_folder_is_where_they_are_registered(
    repo: Path, history: History
) -> None:
    history(growing(exports))
    (found,) = registrations(repo)
    assert (found.folder, found.ending, found.registry) == ("src/steps", "ts", "app/routes.ts")
    assert (found.together, found.added, found.named, found.there) == (5, 5, 5, 5)


def test_what_changes_along_and_names_nothing_is_no_list(repo: Path, history: History) -> None:
    history(growing(lambda names: str(len(names)), other="other.md"))
    assert registrations(repo) == []


def test_what_names_them_and_did_not_change_along_is_no_list(repo: Path, history: History) -> None:
    history([{f"src/steps/{name}.ts": "" for name in NAMES}, {"app/routes.ts": exports(NAMES)}])
    assert registrations(repo) == []


def test_what_every_commit_changes_is_no_list(repo: Path, history: History) -> None:
    usual = [{"app/routes.ts": exports(NAMES) + f"// {number}\n"} for number in range(80)]
    history([*growing(exports), *usual])
    assert registrations(repo) == []


@pytest.mark.parametrize("name", ["CHANGELOG.md", "uv.lock", "tests/test_all.py", "src/mod.rs"])
def test_change_logs_lock_files_tests_and_what_a_compiler_asks_for_are_none(
    repo: Path, history: History, name: str
) -> None:
    listed = [
        {f"src/steps/{known}.ts": "", name: exports(NAMES[: number + 1])}
        for number, known in enumerate(NAMES)
    ]
    history([{name: ""}, *listed])
    assert registrations(repo) == []


def test_a_folder_without_git_shows_none(tmp_path: Path) -> None:
    assert registrations(tmp_path) == []
