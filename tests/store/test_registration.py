"""An id counts only where this machine registered it: copies are refused, moves are recognised, a person joins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import Holdfast
from tests.core.test_place import git

from holdfast.core import place
from holdfast.core.errors import CopiedProject, StoreError
from holdfast.core.place import Entry, Registry, registered
from holdfast.store.machine import Machine
from holdfast.store.project import Project

pytestmark = pytest.mark.promise("G9")


def memory_of(root: Path) -> Path:
    return Machine(cwd=root).project().memory


def hook_memory(root: Path) -> Path | None:
    found = place.find(str(root), str(Machine(cwd=root).home))
    return Path(found.memory) if found else None


def refused(root: Path) -> str:
    """The line that refuses this folder. Hooks must refuse it as well."""
    assert hook_memory(root) is None
    with pytest.raises(CopiedProject) as error:
        Machine(cwd=root).project()
    assert "\n" not in error.value.line()
    return error.value.line()


@pytest.fixture
def shop(home: Path, tmp_path: Path) -> Path:
    """A repository with a commit and a memory."""
    root = tmp_path / "src" / "shop"
    root.mkdir(parents=True)
    git("init", "-q", "-b", "main", cwd=root)
    (root / "a.txt").write_text("a\n", encoding="utf-8")
    git("add", ".", cwd=root)
    git("commit", "-q", "-m", "first", cwd=root)
    Machine(cwd=root).project().prepare()
    return root


def copied_by_cp(shop: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(shop), str(target)], check=True)


def copied_with_hard_links(shop: Path, target: Path) -> None:
    subprocess.run(["cp", "-al", str(shop), str(target)], check=True)


def unpacked(shop: Path, target: Path) -> None:
    with tarfile.open(target.with_suffix(".tar"), "w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(shop, "shop")
    with tarfile.open(target.with_suffix(".tar")) as archive:
        archive.extractall(target.parent / "unpacked", filter="fully_trusted")
    (target.parent / "unpacked" / "shop").rename(target)


def only_the_id(shop: Path, target: Path) -> None:
    git("init", "-q", target, cwd=shop.parent)
    shutil.copy2(shop / ".git" / "holdfast-id", target / ".git" / "holdfast-id")


def pointer(shop: Path, target: Path) -> None:
    target.mkdir()
    (target / ".git").write_text(f"gitdir: {shop}/.git\n", encoding="utf-8")


def linked_git(shop: Path, target: Path) -> None:
    target.mkdir()
    (target / ".git").symlink_to(shop / ".git")


COPIES = [copied_by_cp, copied_with_hard_links, unpacked, only_the_id, pointer, linked_git]


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.__name__)
def test_a_copy_is_refused_with_a_line_that_says_how_to_join(
    copy: Callable[[Path, Path], None], shop: Path, tmp_path: Path
) -> None:
    memory = memory_of(shop)
    copy(shop, tmp_path / "copy")
    line = refused(tmp_path / "copy")
    assert str(shop) in line and "holdfast init --join" in line
    assert memory_of(shop) == hook_memory(shop) == memory, "the original keeps its memory"


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.__name__)
def test_a_person_lets_a_copy_share_the_memory(
    copy: Callable[[Path, Path], None], shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    copy(shop, tmp_path / "copy")
    shown = holdfast("init", "--join", "--no-wire", "--dry-run", cwd=tmp_path / "copy", check=0)
    assert memory_of(shop).name in shown.stdout and str(shop) in shown.stdout
    assert refused(tmp_path / "copy")
    done = holdfast("init", "--join", "--no-wire", "--no-import", "--json", cwd=tmp_path / "copy", check=0)
    assert done.json()["joined"]["id"] == memory_of(shop).name
    assert memory_of(tmp_path / "copy") == memory_of(shop) == hook_memory(tmp_path / "copy")


def test_joining_needs_an_answer_and_an_agent_cannot_give_it(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    copied_by_cp(shop, tmp_path / "copy")
    asked = holdfast("init", "--join", "--no-wire", cwd=tmp_path / "copy", check=2)
    assert "--yes" in asked.stderr
    agent = holdfast("init", "--join", "--yes", cwd=tmp_path / "copy", env={"CLAUDECODE": "1"}, check=2)
    assert "a person must decide" in agent.stderr
    assert refused(tmp_path / "copy")


def test_a_copy_gets_a_memory_of_its_own_when_a_person_asks(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    memory = memory_of(shop)
    copied_by_cp(shop, tmp_path / "copy")
    holdfast("init", "--new", "--no-wire", "--no-import", "--yes", cwd=tmp_path / "copy", check=0)
    assert memory_of(tmp_path / "copy") != memory == memory_of(shop)
    assert hook_memory(tmp_path / "copy") == memory_of(tmp_path / "copy")
    again = holdfast("init", "--new", "--no-wire", "--yes", cwd=tmp_path / "copy", check=2)
    assert "is not a copy" in again.stderr


def test_git_itself_never_copies_an_id(shop: Path, tmp_path: Path) -> None:
    for words in (["clone", "-q"], ["clone", "-q", "--mirror"], ["clone", "-q", "--shared"]):
        target = tmp_path / f"clone{len(words)}-{words[-1].strip('-')}"
        git(*words, shop, target, cwd=tmp_path)
        found = place.find(str(target), str(Machine(cwd=target).home))
        assert found is None and memory_of(target) != memory_of(shop)


def test_work_trees_of_git_share_and_a_link_to_the_repository_is_the_repository(
    shop: Path, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "-b", "feature", tmp_path / "tree", cwd=shop)
    (tmp_path / "link").symlink_to(shop)
    for other in (tmp_path / "tree", tmp_path / "link"):
        assert memory_of(other) == hook_memory(other) == memory_of(shop)


def test_a_repository_that_was_renamed_keeps_its_memory_and_its_new_path_is_recorded(
    shop: Path, tmp_path: Path
) -> None:
    memory = memory_of(shop)
    moved = tmp_path / "elsewhere"
    shop.rename(moved)
    assert memory_of(moved) == hook_memory(moved) == memory
    Machine(cwd=moved).project().prepare()
    registry = registered(str(memory))
    assert registry is not None
    assert [entry.path for entry in registry.entries] == [os.path.realpath(moved / ".git" / "holdfast-id")]
    assert (memory / "root").read_text(encoding="utf-8").strip() == str(moved)


def test_a_clone_in_the_place_of_a_moved_repository_gets_a_memory_of_its_own(
    shop: Path, tmp_path: Path
) -> None:
    memory = memory_of(shop)
    moved = tmp_path / "elsewhere"
    shop.rename(moved)
    Machine(cwd=moved).project().prepare()
    git("clone", "-q", moved, shop, cwd=tmp_path)
    Machine(cwd=shop).project().prepare()
    assert memory_of(shop) != memory == memory_of(moved)


def test_a_new_clone_in_the_same_place_finds_its_memory_again(shop: Path, tmp_path: Path) -> None:
    memory = memory_of(shop)
    git("clone", "-q", "--bare", shop, tmp_path / "origin.git", cwd=tmp_path)
    shutil.rmtree(shop)
    git("clone", "-q", tmp_path / "origin.git", shop, cwd=tmp_path)
    assert memory_of(shop) == memory
    Machine(cwd=shop).project().prepare()
    assert hook_memory(shop) == memory


def moved_to_another_disk(shop: Path, target: Path) -> None:
    """As `mv` does it between file systems: a copy with the same times, then the original goes."""
    shutil.copytree(shop, target, symlinks=True)
    shutil.rmtree(shop)


def test_a_repository_on_another_disk_is_recognised_and_asked_about(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    memory = memory_of(shop)
    moved = tmp_path / "disk"
    moved_to_another_disk(shop, moved)
    line = refused(moved)
    assert f"looks like {shop}, moved here" in line and "holdfast init --join keeps its memory" in line
    assert line.removeprefix(f"{moved}: ") in holdfast("--json", cwd=moved, check=1).stderr
    findings = holdfast("doctor", "--json", cwd=moved, check=1).json()["findings"]
    assert [one["check"] for one in findings if one["level"] == "problem"] == ["project"]
    holdfast("init", "--join", "--no-wire", "--no-import", "--yes", cwd=moved, check=0)
    assert memory_of(moved) == hook_memory(moved) == memory


def test_a_backup_put_back_in_its_place_is_the_same_repository(shop: Path, tmp_path: Path) -> None:
    """Another inode and another time: the application compares root commits, and hooks work again."""
    memory = memory_of(shop)
    copied_by_cp(shop, tmp_path / "backup")
    shutil.rmtree(shop)
    shutil.copytree(tmp_path / "backup", shop, symlinks=True)
    os.utime(shop / ".git" / "holdfast-id", (1_000_000_000, 1_000_000_000))
    assert hook_memory(shop) is None, "a hook cannot ask git"
    assert memory_of(shop) == memory
    Machine(cwd=shop).project().prepare()
    assert hook_memory(shop) == memory


def test_another_repository_in_the_same_place_is_refused(shop: Path, tmp_path: Path) -> None:
    """An archive unpacked where a project was: the path and the id fit, the history does not."""
    identity = (shop / ".git" / "holdfast-id").read_bytes()
    shutil.rmtree(shop)
    git("init", "-q", "-b", "main", shop, cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "theirs", cwd=shop)
    (shop / ".git" / "holdfast-id").write_bytes(identity)
    assert "a different repository is here now" in refused(shop)


def test_another_mount_point_or_device_is_no_reason_to_refuse(shop: Path) -> None:
    """As in a container: the path that was registered does not exist, the file is the same one."""
    memory = memory_of(shop)
    places = memory / "places"
    text = places.read_text(encoding="utf-8").replace(str(shop), "/mnt/of/the/host/shop")
    places.write_text(text, encoding="utf-8")
    assert memory_of(shop) == hook_memory(shop) == memory


def test_no_device_number_is_ever_stored(shop: Path) -> None:
    words = (memory_of(shop) / "places").read_text(encoding="utf-8").split()
    status = (shop / ".git" / "holdfast-id").stat()
    assert words[1:3] == [str(status.st_ino), str(status.st_mtime_ns)] and len(words) == 5


def test_a_moved_bare_repository_takes_its_work_trees_along_after_git_repaired_them(
    home: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    git("init", "-q", "-b", "main", source, cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=source)
    git("clone", "-q", "--bare", source, tmp_path / "all" / ".bare", cwd=tmp_path)
    git("worktree", "add", "-q", "../one", "main", cwd=tmp_path / "all" / ".bare")
    memory = memory_of(tmp_path / "all" / "one")
    Machine(cwd=tmp_path / "all" / "one").project().prepare()
    (tmp_path / "all").rename(tmp_path / "moved")
    git("worktree", "repair", "../one", cwd=tmp_path / "moved" / ".bare")
    moved = tmp_path / "moved" / "one"
    assert memory_of(moved) == hook_memory(moved) == memory


def test_a_work_tree_that_git_does_not_know_is_refused_until_it_is_repaired(
    shop: Path, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "-b", "feature", tmp_path / "tree", cwd=shop)
    (tmp_path / "tree").rename(tmp_path / "renamed")
    assert "git worktree repair" in refused(tmp_path / "renamed")
    git("worktree", "repair", tmp_path / "renamed", cwd=shop)
    assert memory_of(tmp_path / "renamed") == hook_memory(tmp_path / "renamed") == memory_of(shop)


def test_submodules_have_ids_of_their_own_and_a_copy_of_the_whole_refuses_each(
    shop: Path, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    git("init", "-q", outer, cwd=tmp_path)
    git("submodule", "add", "-q", shop, "inner", cwd=outer)
    for root in (outer, outer / "inner"):
        Machine(cwd=root).project().prepare()
    assert len({memory_of(root) for root in (shop, outer, outer / "inner")}) == 3
    copied_by_cp(outer, tmp_path / "copy")
    assert refused(tmp_path / "copy") and refused(tmp_path / "copy" / "inner")


def test_a_plain_folder_is_registered_like_a_repository(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    project = Machine(cwd=notes).project()
    project.prepare()
    copied_by_cp(notes, tmp_path / "copy")
    assert str(notes) in refused(tmp_path / "copy")
    notes.rename(tmp_path / "renamed")
    assert memory_of(tmp_path / "renamed") == hook_memory(tmp_path / "renamed") == project.memory


def test_an_id_of_another_machine_is_taken_as_a_name_only(shop: Path, tmp_path: Path) -> None:
    """Where no memory of that name is kept there is nothing to read; the id stays, and may be known elsewhere."""
    other = tmp_path / "other"
    git("init", "-q", other, cwd=tmp_path)
    (other / ".git" / "holdfast-id").write_text("from-afar-1234\n", encoding="utf-8")
    assert hook_memory(other) is None
    project = Machine(cwd=other).project()
    project.prepare()
    assert project.memory.name == "from-afar-1234" and hook_memory(other) == project.memory


def test_two_homes_of_holdfast_do_not_take_the_id_from_each_other(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(shop)
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "second"))
    Machine(cwd=shop).project().prepare()
    assert memory_of(shop).name == memory.name
    monkeypatch.delenv("HOLDFAST_HOME")
    assert memory_of(shop) == hook_memory(shop) == memory


# --- hostile id files --------------------------------------------------------------------------------


def fifo(path: Path) -> None:
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 33)


def to_devices(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def folder(path: Path) -> None:
    path.mkdir()


def path_in_it(path: Path) -> None:
    path.write_text("../../../etc\n", encoding="utf-8")


@pytest.mark.parametrize("make", [fifo, huge, to_devices, loop, folder, path_in_it], ids=lambda m: m.__name__)
def test_a_hostile_id_file_is_no_id_and_is_never_waited_for(
    make: Callable[[Path], None], home: Path, tmp_path: Path
) -> None:
    root = tmp_path / "theirs"
    git("init", "-q", root, cwd=tmp_path)
    make(root / ".git" / "holdfast-id")
    assert hook_memory(root) is None
    project = Machine(cwd=root).project()
    with pytest.raises(StoreError, match="does not contain a project id"):
        project.prepare()


def test_nothing_is_written_over_a_hostile_id_file(shop: Path, tmp_path: Path, holdfast: Holdfast) -> None:
    root = tmp_path / "theirs"
    git("init", "-q", root, cwd=tmp_path)
    fifo(root / ".git" / "holdfast-id")
    memory = memory_of(shop).name
    words = ("init", "--join", memory, "--no-wire", "--no-import", "--yes")
    assert "Remove it" in holdfast(*words, cwd=root, check=1).stderr
    (root / ".git" / "holdfast-id").unlink()
    holdfast(*words, cwd=root, check=0)
    assert memory_of(root).name == memory


def test_a_place_that_is_a_pipe_or_garbage_registers_nothing(shop: Path) -> None:
    memory = memory_of(shop)
    (memory / "places").unlink()
    os.mkfifo(memory / "places")
    assert hook_memory(shop) == memory, "as before 0.2: by the work tree that it was made for"
    (memory / "places").unlink()
    (memory / "places").write_bytes(b"\xff\xfe\n\0id\nid 1 2\ntree \n")
    assert refused(shop)


# --- orphans -----------------------------------------------------------------------------------------


def test_doctor_names_a_memory_without_a_folder_and_both_ways_out(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    holdfast("ledger", "add", "--goal", "wire the refund", cwd=shop, check=0)
    memory = memory_of(shop)
    other = tmp_path / "other"
    git("init", "-q", other, cwd=tmp_path)
    assert "memories" not in checks(holdfast, other)
    shutil.rmtree(shop)
    [line] = checks(holdfast, other)["memories"]
    assert f"{memory.name} (1 session, last used 20" in line and f"{shop} is gone" in line
    assert f"holdfast init --join {memory.name}" in line and f"holdfast prune --memory {memory.name}" in line
    holdfast("init", "--join", "shop", "--no-wire", "--no-import", "--yes", cwd=other, check=0)
    assert memory_of(other) == memory and "memories" not in checks(holdfast, other)


def test_doctor_does_not_offer_to_remove_the_memory_of_a_repository_that_was_moved(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    holdfast("ledger", "add", "--goal", "wire the refund", cwd=shop, check=0)
    shop.rename(tmp_path / "elsewhere")
    found = checks(holdfast, tmp_path / "elsewhere")
    assert "memories" not in found and "moved here from" in found["project"][0]


def checks(holdfast: Holdfast, cwd: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in holdfast("doctor", "--json", cwd=cwd).json()["findings"]:
        found.setdefault(one["check"], []).append(one["message"])
    return found


def test_a_memory_without_a_folder_is_removed_after_a_backup_and_one_in_use_is_not(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    holdfast("ledger", "add", "--goal", "wire the refund", cwd=shop, check=0)
    memory = memory_of(shop)
    used = holdfast("prune", "--memory", memory.name, "--yes", cwd=tmp_path, check=2)
    assert "is in use" in used.stderr
    shutil.rmtree(shop)
    holdfast("prune", "--memory", memory.name, cwd=tmp_path, check=0)
    assert memory.is_dir()
    done = holdfast("prune", "--memory", memory.name, "--yes", "--json", cwd=tmp_path, check=0).json()
    assert not memory.exists() and Path(done["backup"]).is_file()


def test_joining_does_not_hide_a_memory_that_a_folder_has(
    shop: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    other = tmp_path / "other"
    git("init", "-q", other, cwd=tmp_path)
    holdfast("ledger", "add", "--goal", "wire the refund", cwd=other, check=0)
    refusal = holdfast("init", "--join", "shop", "--no-wire", "--yes", cwd=other, check=2)
    assert "its own memory" in refusal.stderr


def test_importing_everything_leaves_copies_out_and_says_so(
    shop: Path, home: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    copied_by_cp(shop, tmp_path / "copy")
    folder = home / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    said = {"type": "user", "sessionId": "s-1", "cwd": str(tmp_path / "copy"), "uuid": "u-1"}
    said |= {"timestamp": "2026-11-01T10:00:00Z", "message": {"role": "user", "content": "Fix the refund"}}
    (folder / "s-1.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    done = holdfast("import", "--all", "--json", cwd=tmp_path, check=0)
    assert done.json()["copied"] == {str(tmp_path / "copy"): 1}


# --- the file ----------------------------------------------------------------------------------------

PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=60)


@given(st.lists(st.tuples(PATHS, st.integers(0, 2**64)), max_size=4), st.sets(PATHS, max_size=3))
def test_a_registry_is_read_as_it_was_written(entries: list[tuple[str, int]], trees: set[str]) -> None:
    before = Registry([Entry(path, str(number), str(number + 1), "ab,cd") for path, number in entries], trees)
    with tempfile.TemporaryDirectory() as memory:
        Path(memory, "places").write_bytes(before.text().encode("utf-8", "surrogateescape"))
        after = registered(memory)
    assert after is not None and after.text() == before.text()
    assert [entry.path for entry in after.entries] == [path for path, _ in entries] and after.trees == trees


def test_an_archive_cannot_bring_a_registry_along(shop: Path) -> None:
    project: Project = Machine(cwd=shop).project()
    from holdfast.store.bundle import canonical_files

    assert "places" not in canonical_files(project.memory).files
