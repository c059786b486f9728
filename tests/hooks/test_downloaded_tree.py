"""A tree that was downloaded, git's directory included, cannot pass for a project that was enabled here."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.core.test_place import LAYOUTS, git
from tests.hooks.enabled import Enabled, run_hook

from holdfast.briefing.explain import why_silent
from holdfast.core.errors import CopiedProject, UsageError
from holdfast.flows.agent_access import permit
from holdfast.hooks.statusline import line_for
from holdfast.store import project
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("G9")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")


def told(root: Path) -> str:
    said = {"session_id": f"s-{root.name}", "cwd": str(root), "source": "startup"}
    return run_hook("SessionStart", json.dumps(said).encode(), cwd=root).context


def guessed(enabled: Enabled, tree: Path) -> None:
    """A git directory of its own, with the name of another's memory in it."""
    git("init", "-q", tree, cwd=tree.parent)
    shutil.copy2(enabled.root / ".git" / "holdfast-id", tree / ".git" / "holdfast-id")


def linked_id(enabled: Enabled, tree: Path) -> None:
    git("init", "-q", tree, cwd=tree.parent)
    (tree / ".git" / "holdfast-id").symlink_to(enabled.root / ".git" / "holdfast-id")


def linked_directory(enabled: Enabled, tree: Path) -> None:
    (tree / ".git").symlink_to(enabled.root / ".git")


def pointer(enabled: Enabled, tree: Path) -> None:
    (tree / ".git").write_text(f"gitdir: {enabled.root}/.git\n", encoding="utf-8")


def pointer_to_a_work_tree(enabled: Enabled, tree: Path) -> None:
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=enabled.root)
    git("worktree", "add", "-q", "-b", "feature", "../true-tree", cwd=enabled.root)
    (tree / ".git").write_text(f"gitdir: {enabled.root}/.git/worktrees/true-tree\n", encoding="utf-8")


def copied(enabled: Enabled, tree: Path) -> None:
    shutil.copytree(enabled.root / ".git", tree / ".git", symlinks=True)


HOSTILE = [guessed, linked_id, linked_directory, pointer, pointer_to_a_work_tree, copied]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_tree_that_names_another_projects_memory_sees_nothing_of_it(
    enabled: Enabled, tmp_path: Path, make: Callable[[Enabled, Path], None]
) -> None:
    tree = tmp_path / "downloaded"
    tree.mkdir()
    make(enabled, tree)
    assert "refund" in enabled.told()
    before = sorted(path for path in enabled.memory.rglob("*") if path.suffix != ".tmp")
    for event in EVENTS:
        said = {"session_id": "theirs", "cwd": str(tree), "source": "startup", "prompt": "Fix the refund"}
        assert run_hook(event, json.dumps(said).encode(), cwd=tree).printed == b""
    assert not any("theirs" in str(letter) for letter in enabled.inbox())
    assert sorted(path for path in enabled.memory.rglob("*") if path.suffix != ".tmp") == before
    machine = Machine(cwd=tree)
    with pytest.raises(UsageError, match="not enabled"):
        permit(machine, reads=True, writes=False)
    if make is not linked_id:  # where the id is a link, the tree has none
        with pytest.raises(CopiedProject, match="holdfast init --join"):
            machine.project()
    else:
        assert machine.project().memory != enabled.memory
    shown = json.dumps({"workspace": {"project_dir": str(tree)}, "cwd": str(tree)}).encode()
    assert line_for(shown, dict(os.environ)) == ""


def test_a_window_that_is_a_link_sees_nothing_either(home: Path, tmp_path: Path) -> None:
    notes, tree = tmp_path / "notes", tmp_path / "downloaded"
    for path in (notes, tree):
        path.mkdir()
    enabled = Enabled(notes)
    assert "refund" in enabled.told()
    (tree / ".holdfast").symlink_to(notes / ".holdfast")
    assert told(tree) == ""


def test_a_broken_prepared_file_does_not_open_the_door(enabled: Enabled, tmp_path: Path) -> None:
    tree = tmp_path / "downloaded"
    tree.mkdir()
    guessed(enabled, tree)
    (enabled.memory / "hot.db").write_bytes(b"torn")
    assert told(tree) == "" and enabled.inbox() == []


def test_a_repository_that_was_moved_is_still_known(enabled: Enabled, tmp_path: Path) -> None:
    moved, memory = tmp_path / "renamed", enabled.memory
    enabled.root.rename(moved)
    assert "refund" in told(moved)
    machine = Machine(cwd=moved)
    assert permit(machine, reads=True, writes=True).memory == memory
    assert why_silent(machine, machine.project(), moved) == ""


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_every_layout_that_was_enabled_is_known(
    make: Callable[[Path], list[Path]], home: Path, tmp_path: Path
) -> None:
    first, *others = [Path(os.path.abspath(path)) for path in make(tmp_path)]
    enabled = Enabled(first)
    assert "refund" in enabled.told()
    for other in others:
        if project.find_project(other, home / ".holdfast").memory == enabled.memory:
            # A hook that finds the envelope of another session has it captured, and with it these lines made anew.
            for letter in (enabled.memory / "inbox").iterdir():
                letter.unlink()
            assert "refund" in told(other), other


def test_a_git_directory_that_lies_elsewhere_is_known_where_it_was_enabled(
    home: Path, tmp_path: Path
) -> None:
    git("init", "-q", "--separate-git-dir", tmp_path / "kept.git", "shop", cwd=tmp_path)
    assert "refund" in Enabled(tmp_path / "shop").told()


def test_a_copy_is_known_once_a_person_says_so(enabled: Enabled, tmp_path: Path, holdfast: Holdfast) -> None:
    tree = tmp_path / "copy"
    shutil.copytree(enabled.root, tree, symlinks=True)
    assert told(tree) == ""
    refused = holdfast("init", "--no-wire", "--yes", cwd=tree, check=1)
    assert "holdfast init --join" in refused.stderr and "holdfast init --new" in refused.stderr
    assert told(tree) == ""
    holdfast("init", "--join", "--no-wire", "--yes", cwd=tree, check=0)
    enabled.prepare()
    assert "refund" in told(tree) and "refund" in enabled.told()


def test_what_was_enabled_by_an_older_holdfast_stays_enabled(enabled: Enabled) -> None:
    (enabled.memory / "places").unlink()
    path = enabled.memory / "switches.json"
    switches = json.loads(path.read_bytes())
    switches["places"] = [str(enabled.root / ".git" / "holdfast-id")]
    path.write_text(json.dumps(switches), encoding="utf-8")
    enabled.prepare()
    assert "refund" in enabled.told()


def test_switching_a_directory_keeps_what_is_known(
    enabled: Enabled, holdfast: Holdfast, tmp_path: Path
) -> None:
    holdfast("off", cwd=enabled.root, check=0)
    holdfast("on", cwd=enabled.root, check=0)
    enabled.prepare()
    moved = tmp_path / "renamed"
    enabled.root.rename(moved)
    assert "refund" in told(moved)
