"""The hook finds the same memory as the application, in every layout that git and people make."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import place
from holdfast.store.machine import Machine


def git(*words: str | Path, cwd: Path) -> None:
    command = ["git", "-c", "protocol.file.allow=always", *map(str, words)]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)


def plain(tmp: Path) -> list[Path]:
    git("init", "-q", "shop", cwd=tmp)
    (tmp / "shop" / "src" / "deep er").mkdir(parents=True)
    return [tmp / "shop", tmp / "shop" / "src" / "deep er"]


def worktrees(tmp: Path) -> list[Path]:
    git("init", "-q", "-b", "main", "shop", cwd=tmp)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp / "shop")
    git("worktree", "add", "-q", "-b", "feature/a", "../tree", cwd=tmp / "shop")
    return [tmp / "shop", tmp / "tree"]


def bare_with_worktrees(tmp: Path) -> list[Path]:
    [source, _] = worktrees(tmp)
    git("clone", "-q", "--bare", source, "all/.bare", cwd=tmp)
    (tmp / "all" / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
    git("worktree", "add", "-q", "one", "main", cwd=tmp / "all")
    git("worktree", "add", "-q", "two", "feature/a", cwd=tmp / "all")
    return [tmp / "all" / "one", tmp / "all" / "two", tmp / "all"]


def submodule(tmp: Path) -> list[Path]:
    [source, _] = worktrees(tmp)
    git("init", "-q", "outer", cwd=tmp)
    git("submodule", "add", "-q", source, "inner", cwd=tmp / "outer")
    return [tmp / "outer" / "inner"]


def no_git(tmp: Path) -> list[Path]:
    (tmp / "notes" / "2026").mkdir(parents=True)
    return [tmp / "notes", tmp / "notes" / "2026"]


def linked(tmp: Path) -> list[Path]:
    plain(tmp)
    (tmp / "link").symlink_to(tmp / "shop" / "src")
    return [tmp / "link" / ".." / "shop"]


LAYOUTS = [plain, worktrees, bare_with_worktrees, submodule, no_git, linked]


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("configured", ["", "elsewhere/memory", "~/else where"])
def test_hook_and_application_find_the_same_memory(
    make: Callable[[Path], list[Path]],
    configured: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"HOME": str(home)} | ({"HOLDFAST_HOME": configured} if configured else {})
    work = tmp_path / "work"
    work.mkdir()
    starts = make(work)
    machine = Machine(env, starts[0])
    assert place.find(str(starts[0]), place.home_of(env)) is None, "nothing was ever kept here"
    machine.project().prepare()
    for start in starts:
        expected = Machine(env, start).project()
        found = place.find(str(start), place.home_of(env))
        assert found is not None
        assert (found.memory, found.root) == (str(expected.memory), str(expected.root))
        assert found.memory == str(machine.project().memory), "all places of one project share"


def test_a_repository_inside_a_project_is_not_that_project(home: Path, tmp_path: Path) -> None:
    starts = submodule(tmp_path)
    Machine({"HOME": str(home)}, tmp_path / "outer").project().prepare()
    assert place.find(str(starts[0]), place.home_of({"HOME": str(home)})) is None


def test_the_branch_is_the_work_trees_own(home: Path, tmp_path: Path) -> None:
    main, tree = worktrees(tmp_path)
    Machine({"HOME": str(home)}, main).project().prepare()
    branches = [place.find(str(start), place.home_of({"HOME": str(home)})) for start in (main, tree)]
    assert [found.branch() for found in branches if found] == ["main", "feature/a"]
    git("checkout", "-q", "--detach", cwd=main)
    found = place.find(str(main), place.home_of({"HOME": str(home)}))
    assert found is not None and found.branch() == ""


@given(st.one_of(st.text(alphabet="ab9-_A.\n", max_size=70), st.from_regex(r"[a-z0-9][a-z0-9-]{2,61}")))
def test_an_identity_is_a_short_word_of_plain_letters(text: str) -> None:
    assert place.is_identity(text) == bool(re.fullmatch(r"[a-z0-9][a-z0-9-]{3,60}\Z", text))
