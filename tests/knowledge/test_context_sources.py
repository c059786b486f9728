"""Each source on real files and real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

from holdfast.core.git import ask_git
from holdfast.knowledge.context import Here, Registry, Snapshot
from holdfast.knowledge.context_sources import (
    ClaudeMemory,
    CodexMemory,
    DateTimeSource,
    EnvironmentSource,
    GitSource,
    KnowledgeSource,
    built_in,
)
from holdfast.knowledge.instructions import InstructionsSource

links = pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")


def here(root: Path, home: Path, *, cwd: Path | None = None, now: float = 0.0, **more: object) -> Here:
    env = {"PATH": os.environ["PATH"], "SHELL": "/usr/bin/fish", **{k: str(v) for k, v in more.items()}}
    return Here(cwd=str(cwd or root), root=str(root), home=str(home), now=now, env=env)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def patient_with_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person waits a second or two; what a source says of a repository does not depend on it."""
    monkeypatch.setattr("holdfast.knowledge.context_sources._LIMIT_S", PATIENCE_S)
    monkeypatch.setattr("holdfast.knowledge.context_sources._LOG_LIMIT_S", PATIENCE_S)


@pytest.mark.promise("X1")
def test_the_sources_of_the_promise_are_there() -> None:
    assert built_in().keys == (
        "core/datetime",
        "core/environment",
        "core/git",
        "core/instructions",
        "knowledge",
        "memory/claude-code",
        "memory/codex",
    )


# --- time -----------------------------------------------------------------------------------------------


@pytest.mark.promise("X3")
def test_the_time_is_coarse(home: Path, tmp_path: Path) -> None:
    source = DateTimeSource()
    hours = [source.load(here(tmp_path, home, now=1_790_000_000 + 600 * number)) for number in range(6 * 24)]
    different = [value for at, value in enumerate(hours) if at == 0 or value != hours[at - 1]]
    assert 4 <= len(different) <= 5
    before, after = different[:2]
    assert "→" in source.render_update(before, after) or "now" in source.render_update(before, after)


def test_a_time_zone_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process is fixed there")
    monkeypatch.setenv("TZ", "XYZ-5:30")
    time.tzset()
    try:
        value = DateTimeSource().load(here(tmp_path, home, now=1_790_000_000))
        assert (value["date"], value["part of day"], value["zone"]) == ("2026-09-21", "evening", "+0530")
    finally:
        monkeypatch.undo()
        time.tzset()


# --- environment ----------------------------------------------------------------------------------------


@pytest.mark.promise("X1")
def test_the_environment_names_directory_shell_platform_and_pinned_versions(
    home: Path, tmp_path: Path
) -> None:
    put(tmp_path / ".python-version", "3.12.4\n")
    put(tmp_path / ".nvmrc", "v22\n")
    value = EnvironmentSource().load(here(tmp_path, home, cwd=tmp_path / "sub"))
    assert value["directory"] == str(tmp_path / "sub")
    assert value["project"] == str(tmp_path)
    assert (value["shell"], value["python"], value["node"]) == ("fish", "3.12.4", "v22")
    assert value["platform"]
    assert "python 3.12.4" in EnvironmentSource().summary(value)


# --- git ------------------------------------------------------------------------------------------------


@pytest.mark.promise("X1")
def test_git_tells_branch_last_commit_and_changed_files(repo: Path, home: Path) -> None:
    source, place = GitSource(), here(repo, home)
    empty = source.load(place)
    assert empty == {"branch": "main", "changed": "0"}
    assert "no commit yet" in source.summary(empty)
    put(repo / "a.py", "a")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Begin: a file")
    clean = source.load(place)
    assert (clean["branch"], clean["subject"], clean["changed"]) == ("main", "Begin: a file", "0")
    assert source.summary(clean).endswith("Begin: a file · clean")
    put(repo / "a.py", "b")
    put(repo / "neu ünd\nso.py", "c")
    git(repo, "switch", "-qc", "feat/x")
    after = source.load(place)
    assert (after["branch"], after["changed"]) == ("feat/x", "2")
    assert source.render_update(clean, after) == "main → feat/x; 2 files changed (was 0)"


def test_a_stamp_of_git_changes_when_its_value_does(repo: Path, home: Path) -> None:
    source, place = GitSource(), here(repo, home)
    stamps = [source.stamp(place)]
    steps: list[Callable[[], object]] = [
        lambda: put(repo / "a", "1"),
        lambda: git(repo, "add", "-A"),
        lambda: git(repo, "commit", "-qm", "one"),
        lambda: git(repo, "commit", "-q", "--amend", "-m", "two"),
        lambda: git(repo, "switch", "-q", "--detach"),
        lambda: put(repo / ".git" / "MERGE_HEAD", "0" * 40),
    ]
    for step in steps:
        step()
        stamps.append(source.stamp(place))
    assert len(set(stamps)) == len(stamps) - 1  # what is staged is changed all the same
    assert source.load(place)["under way"] == "merge"
    assert "no branch" in source.summary(source.load(place))


def test_a_worktree_has_its_own_branch(repo: Path, home: Path, tmp_path: Path) -> None:
    git(repo, "commit", "-qm", "one", "--allow-empty")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert GitSource().load(here(tmp_path / "side", home))["branch"] == "side"


def test_outside_git_there_is_nothing_to_say(tmp_path: Path, home: Path) -> None:
    assert GitSource().load(here(tmp_path, home)) == {}


def test_where_git_cannot_be_run_its_files_tell_the_branch(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    value = GitSource().load(here(repo, home))
    assert value == {"branch": "main", "changed": "not counted"}
    assert GitSource().summary(value) == "main · changed files: not counted"


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for git")
def test_a_work_tree_that_is_too_large_to_count_still_has_its_commit(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "commit", "-qm", "one", "--allow-empty")
    real = shutil.which("git")
    slow = f'#!/bin/sh\ncase "$*" in *status*) exec sleep 600;; esac\nexec {real} "$@"\n'
    put(home / "bin" / "git", slow).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("holdfast.knowledge.context_sources._LIMIT_S", 0.2)
    value = GitSource().load(here(repo, home))
    assert (value["branch"], value["changed"], len(value["commit"])) == ("main", "not counted", 9)


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for git")
def test_a_commit_that_was_not_told_in_time_is_asked_for_again(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "commit", "-qm", "one", "--allow-empty")
    silent = f'#!/bin/sh\ncase "$*" in *" log "*) exit 1;; esac\nexec {shutil.which("git")} "$@"\n'
    stand_in = put(home / "bin" / "git", silent)
    stand_in.chmod(0o755)
    registry, path = Registry([GitSource()]), os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{path}")
    first = registry.load_all(here(repo, home), limit=PATIENCE_S)
    assert "subject" not in first.entries["core/git"].value
    monkeypatch.setenv("PATH", path)
    before = Snapshot(str(repo), 0.0, first.entries)
    for _ in range(2):
        found = registry.load_all(here(repo, home), before, limit=PATIENCE_S).entries
        assert found["core/git"].value["subject"] == "one"
        before = Snapshot(str(repo), 0.0, found)


@pytest.mark.parametrize("content", ["", "gitdir: /nowhere", "gitdir: .", "\0\xff", "ref: x"])
def test_a_broken_git_file_harms_nothing(tmp_path: Path, home: Path, content: str) -> None:
    put(tmp_path / ".git", content)
    assert isinstance(GitSource().load(here(tmp_path, home)), dict)


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for git")
def test_git_is_given_up_when_it_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = put(tmp_path / "bin" / "git", "#!/bin/sh\necho begun\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    began = time.monotonic()
    assert ask_git(str(tmp_path), ("status",), dict(os.environ), 0.3) is None
    assert time.monotonic() - began < 300


# --- instructions ---------------------------------------------------------------------------------------


@pytest.mark.promise("X1")
def test_instructions_are_found_nearest_first_and_ones_own_last(repo: Path, home: Path) -> None:
    put(repo / "AGENTS.md", "of the top")
    put(repo / "pkg" / "AGENTS.md", "of the package")
    put(repo / "pkg" / "deep" / "CLAUDE.md", "deeper")
    put(repo / "other" / "AGENTS.md", "of a neighbour")
    put(repo / ".cursor" / "rules" / "style.mdc", "rules")
    put(repo / ".github" / "copilot-instructions.md", "copilot")
    put(home / ".claude" / "CLAUDE.md", "mine")
    put(home / ".codex" / "AGENTS.md", "mine too")
    value = InstructionsSource().load(here(repo, home, cwd=repo / "pkg" / "deep"))
    assert list(value) == [
        "pkg/deep/CLAUDE.md",
        "pkg/AGENTS.md",
        "AGENTS.md",
        ".github/copilot-instructions.md",
        ".cursor/rules/style.mdc",
        "~/.claude/CLAUDE.md",
        "~/.codex/AGENTS.md",
    ]
    assert "pkg/AGENTS.md is nearer than AGENTS.md" in InstructionsSource().render(value)


@links
def test_links_that_lead_out_of_the_repository_are_named_and_not_read(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    secret = put(tmp_path / "outside" / "secret.md", "do not read me")
    (repo / "AGENTS.md").symlink_to(secret)
    (repo / "GEMINI.md").symlink_to("/dev/zero")
    (repo / "QWEN.md").symlink_to(repo / "QWEN.md")
    (repo / ".cursor").mkdir()
    (repo / ".cursor" / "rules").symlink_to(tmp_path / "outside")
    put(repo / "real.md", "of the repository")
    (repo / "CLAUDE.md").symlink_to("real.md")
    source, place = InstructionsSource(), here(repo, home)
    value = source.load(place)
    assert value["CLAUDE.md"] == "of the repository"
    assert "leads out" in value["AGENTS.md"] and "leads out" in value["GEMINI.md"]
    assert "do not read me" not in str(value)
    assert source.stamp(place)


@links
def test_one_file_under_two_names_is_read_once(repo: Path, home: Path) -> None:
    put(repo / "AGENTS.md", "rules")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    value = InstructionsSource().load(here(repo, home))
    assert value["AGENTS.md"] == "rules"
    assert "same file as AGENTS.md" in value["CLAUDE.md"]


def test_imports_are_followed_inside_the_repository_only(repo: Path, home: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside.md", "outside")
    put(home / "personal.md", "personal")
    put(repo / "docs" / "rules.md", "see @more.md and @rules.md")
    put(repo / "docs" / "more.md", "more")
    put(repo / "docs" / "code.md", "only in code")
    words = "Read @docs/rules.md, @../outside.md, @~/personal.md, @/etc/hosts and `@docs/code.md`.\n"
    put(repo / "CLAUDE.md", f"{words}```\n@docs/code.md\n```\nmail ada@example.org @nobody\n")
    source, place = InstructionsSource(), here(repo, home)
    assert list(source.load(place)) == ["CLAUDE.md", "docs/rules.md", "docs/more.md"]
    before = source.stamp(place)
    put(repo / "docs" / "more.md", "more than before")
    assert source.stamp(place) != before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs there")
def test_large_and_strange_files_are_bounded(repo: Path, home: Path) -> None:
    put(repo / "AGENTS.md", "long line\n" * 100_000)
    (repo / "CLAUDE.md").write_bytes(b"\xff\xfe\x00broken \x1b[31m")
    os.mkfifo(repo / "GEMINI.md")
    (repo / "QWEN.md").mkdir()
    for number in range(100):
        put(repo / ".cursor" / "rules" / f"{number}.md", "rule")
    value = InstructionsSource().load(here(repo, home))
    assert len(value["AGENTS.md"]) < 40_000 and "more bytes are left out" in value["AGENTS.md"]
    assert "broken" in value["CLAUDE.md"]
    assert "no file that can be read" in value["GEMINI.md"]
    assert "QWEN.md" not in value
    assert len(value) < 50


def test_a_changed_rule_is_told_in_its_own_words() -> None:
    source = InstructionsSource()
    old = {"AGENTS.md": "# Rules\n- one\n- two\n", "CLAUDE.md": "x"}
    new = {"AGENTS.md": "# Rules\n- one\n- three\n", "GEMINI.md": "y"}
    assert source.render_update(old, new) == (
        "GEMINI.md is new, (1 line); AGENTS.md: 1 line new (- three), 1 line gone; CLAUDE.md is gone"
    )


# --- knowledge ------------------------------------------------------------------------------------------


def knowing(known: object) -> Here:
    return Here(cwd="/w", root="/w", home="/h", now=0.0, env={}, memory="/m", knowledge=lambda: known)


@pytest.mark.promise("X1")
def test_knowledge_is_told_in_a_line_surest_first() -> None:
    conventions = [
        {"category": "naming", "pattern": "snake_case", "scope": "python", "confidence": 0.95},
        {"category": "quotes", "pattern": "double", "confidence": 0.3},
        {"category": "tests", "pattern": "pytest in tests/", "confidence": 0.99},
    ]
    value = KnowledgeSource().load(knowing({"conventions": conventions, "facts": [{}, {}], "files": [{}]}))
    assert (
        KnowledgeSource().summary(value)
        == "tests pytest in tests/; naming snake_case (python); 2 facts; 1 file"
    )


@pytest.mark.parametrize(
    "known",
    [
        None,
        3,
        [],
        {},
        {"conventions": 3},
        {"conventions": [3, {"category": 1}]},
        {"conventions": [{"confidence": "x"}]},
    ],
)
def test_knowledge_of_another_shape_is_nothing(known: object) -> None:
    assert KnowledgeSource().load(knowing(known)) == {}


# --- what agents noted ----------------------------------------------------------------------------------


@pytest.mark.promise("X5")
def test_what_claude_noted_about_this_repository_is_read(repo: Path, home: Path, tmp_path: Path) -> None:
    slug = "".join(char if char.isalnum() else "-" for char in str(repo))
    folder = home / ".claude" / "projects" / slug / "memory"
    put(folder / "debugging.md", "ports")
    put(folder / "MEMORY.md", "- the index")
    put(home / ".claude" / "projects" / "-elsewhere" / "memory" / "MEMORY.md", "of another project")
    value = ClaudeMemory().load(here(repo, home))
    assert list(value.values()) == ["- the index", "ports"]
    git(repo, "commit", "-qm", "one", "--allow-empty")
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert ClaudeMemory().load(here(tmp_path / "tree", home)) == value


@pytest.mark.promise("X5")
def test_what_codex_remembers_is_read_and_its_raw_material_is_not(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "codex" / "memories"
    put(folder / "memory_summary.md", "in short")
    put(folder / "MEMORY.md", "register")
    put(folder / "raw_memories.md", "raw")
    value = CodexMemory().load(here(repo, home, CODEX_HOME=tmp_path / "codex"))
    assert list(value.values()) == ["in short", "register"]


@links
@pytest.mark.promise("X5")
def test_a_memory_that_leads_elsewhere_is_not_read(repo: Path, home: Path, tmp_path: Path) -> None:
    folder = home / ".codex" / "memories"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").symlink_to(put(tmp_path / "id_rsa", "private"))
    assert "private" not in str(CodexMemory().load(here(repo, home)))
