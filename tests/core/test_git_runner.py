"""The one git runner: the repository that is meant is the one that is read, and nothing it configures is run."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents.samples_stores import entire
from tests.cli.test_inert_output import calls as calls_of_commands
from tests.command import Holdfast
from tests.test_layers import MODULES, name_of, tree_of

from holdfast.core.git import ask_git, git_complaint, git_text, run_git
from holdfast.knowledge.checkout import listed
from holdfast.knowledge.co_change import changed_together
from holdfast.knowledge.context import Here
from holdfast.knowledge.context_sources import GitSource
from holdfast.knowledge.history import history_of
from holdfast.lessons.registration import registrations

Make = Callable[[str], Path]


def git(root: Path, *words: str) -> str:
    """As a person runs it: without what this test puts into the environment."""
    led = ("GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT")
    env = {name: value for name, value in os.environ.items() if name not in led}
    done = subprocess.run(
        ["git", "-C", str(root), *words], env=env, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout.strip()


def commit(root: Path, name: str, text: str, message: str) -> None:
    (root / name).write_text(text, encoding="utf-8")
    git(root, "add", name)
    git(root, "commit", "--quiet", "-m", message)


@pytest.fixture
def other(make_repo: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another repository, which the environment names as git does for the hooks it runs."""
    path = make_repo("other")
    git(path, "checkout", "--quiet", "-b", "wrong")
    tools = '{"name": "wrong", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "1"}}'
    commit(path, "package.json", tools, "wrong subject")
    for number in range(12):
        commit(path, f"a{number}.test.ts", "import { test } from 'vitest'\n", "wrong subject")
    for name, value in (("GIT_DIR", path / ".git"), ("GIT_WORK_TREE", path), ("GIT_PREFIX", "x/")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("GIT_INDEX_FILE", str(path / ".git" / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(path))
    return path


def test_the_scan_and_the_context_read_the_repository_that_is_meant(
    repo: Path, other: Path, holdfast: Holdfast
) -> None:
    commit(repo, "pyproject.toml", '[project]\nname = "right"\n[tool.pytest.ini_options]\n', "right subject")
    for number in range(12):
        commit(repo, f"test_{number}.py", "def test_it() -> None:\n    assert True\n", "right subject")
    known = holdfast("know", "--json", check=0).stdout
    assert "pytest" in known
    assert "vitest" not in known
    context = holdfast("context", check=0).stdout
    assert "right subject" in context
    assert "wrong" not in context


def test_a_project_is_set_up_and_reported_where_it_is(repo: Path, other: Path, holdfast: Holdfast) -> None:
    commit(repo, "package.json", '{"name": "right"}', "right subject")
    holdfast("init", "--yes", check=0)
    assert (repo / ".git" / "holdfast-id").is_file()
    assert not (other / ".git" / "holdfast-id").exists()
    assert not (other / ".holdfast").exists()
    status = json.loads(holdfast("status", "--json", check=0).stdout)
    assert str(other) not in json.dumps(status)
    holdfast("ledger", "share", check=0)
    assert ".holdfast/ledger.md" in git(repo, "ls-files")
    assert ".holdfast/ledger.md" not in git(other, "ls-files")


def test_a_new_identity_does_not_depend_on_the_environment(
    repo: Path, holdfast: Holdfast, request: pytest.FixtureRequest
) -> None:
    commit(repo, "a.py", "x = 1\n", "right subject")
    plain = json.loads(holdfast("status", "--json", check=0).stdout)
    request.getfixturevalue("other")
    assert json.loads(holdfast("status", "--json", check=0).stdout) == plain


def test_checkpoints_are_imported_from_the_repository_that_is_meant(
    tmp_path: Path, home: Path, request: pytest.FixtureRequest
) -> None:
    project = tmp_path / "work"
    entire(project)
    request.getfixturevalue("other")
    for folder, expected in ((project, True), (tmp_path / "other", False)):
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "import", "--json"],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        told = json.loads(done.stdout)
        assert bool(told["sessions"]) is expected, done.stdout + done.stderr


HOSTILE = (
    *("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "core.askPass"),
    *("core.editor", "diff.external", "diff.evil.command", "diff.evil.textconv", "gpg.program", "pager.log"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.a=b.clean", "pager.status"),
)


@pytest.fixture
def hostile(repo: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A repository whose configuration names a program wherever git takes one, and the file that it would leave."""
    mark, script, hooks = tmp_path / "ran", tmp_path / "run.sh", tmp_path / "hooks"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n', encoding="utf-8")
    script.chmod(0o755)
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"):
        (hooks / name).symlink_to(script)
    for number in range(4):
        commit(repo, f"m{number}.py", f"x = {number}\n", f"change {number}")
    (repo / ".gitattributes").write_text("*.py filter=evil diff=evil\nb.py filter=a=b\n", encoding="utf-8")
    (repo / "b.py").write_text("y = 1\n", encoding="utf-8")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", "attributes")
    included = tmp_path / "included"
    included.write_text("", encoding="utf-8")
    for name in HOSTILE[:8]:
        git(repo, "config", name, str(script))
    for name in HOSTILE[8:]:
        git(repo, "config", "--file", str(included), name, str(script))
    git(repo, "config", "filter.evil.required", "true")
    git(repo, "config", "include.path", str(included))
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "core.hooksPath", str(hooks))
    git(repo, "config", "remote.origin.url", f"ext::{script}")
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "protocol.ext.allow", "always")
    mark.unlink(missing_ok=True)
    later = time.time() + 5  # git cannot tell by the time whether these are the same
    for path in repo.glob("*.py"):
        os.utime(path, (later, later))
    (repo / "m1.py").write_text("x = 100\n", encoding="utf-8")
    return repo, mark


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for the program")
def test_a_hostile_repository_runs_nothing(hostile: tuple[Path, Path], home: Path) -> None:
    repo, mark = hostile
    subprocess.run(["git", "-C", str(repo), "status"], capture_output=True, check=False)
    assert mark.exists(), "the trap is live"
    mark.unlink()
    status = ask_git(repo, ("status", "--porcelain"), os.environ, 60)
    assert status == b" M m1.py\n"
    assert git_text(repo, "diff", "HEAD", "--name-only") == "m1.py"
    assert "+x = 100" in git_text(repo, "diff", "HEAD")
    assert "x = 3" in git_text(repo, "log", "-p", "--all", "-Sx")
    assert git_text(repo, "show", "HEAD:./m0.py") == "x = 0"
    assert git_text(repo, "show", "HEAD~1").endswith("+x = 3")
    assert listed(repo).names()
    history_of(repo, git_text(repo, "rev-parse", "HEAD"))
    changed_together(repo)
    registrations(repo)
    GitSource().load(Here(cwd=str(repo), root=str(repo), home=str(home), now=0.0, env=dict(os.environ)))
    missing = git_text(repo, "rev-parse", "HEAD:m2.py")
    (repo / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    assert not run_git(repo, "cat-file", "blob", missing, seconds=60).usable
    assert not mark.exists(), mark.read_text(encoding="utf-8")


# These change the repository for its owner, and git runs their hooks.
FOR_THE_OWNER = {("ledger", "share"), ("lessons", "share")}
# Modules that start a process, and what.
STARTS = {
    "core/git.py": "git",
    "core/processes.py": "this program",
    "hooks/rebuild.py": "this program",
    "core/remote_process.py": "ssh, and git for core/git.py, to a target that a person named",
    "core/bounded_process.py": "what a person configured, or a fact's command after a yes",
    "flows/lesson_sharing.py": "the person's editor",
    "terminal/pager.py": "the person's pager",
    "cli/handoff.py": "the client that a session is handed to, in the place of this process",
}
_STARTING = {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
_OF_OS = {"system", "popen", "posix_spawn", "posix_spawnp", "execv", "execvp", "execve", "execvpe", "spawnv"}


def test_only_one_module_starts_git() -> None:
    starting, naming = set(), set()
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if (owner == "subprocess" and node.func.attr in _STARTING) or (
                    owner == "os" and node.func.attr in _OF_OS
                ):
                    starting.add(name_of(path))
            if isinstance(node, ast.ImportFrom) and node.module == "subprocess":
                named = {alias.name for alias in node.names} - {"Popen"}  # a type
                starting |= {name_of(path)} if named & _STARTING else set()
            if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "'git'":
                naming.add(name_of(path))
    assert starting == set(STARTS)
    assert naming == {"core/git.py"}


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for the program")
def test_the_commands_run_nothing_in_a_hostile_repository(
    hostile: tuple[Path, Path], holdfast: Holdfast
) -> None:
    _, mark = hostile
    first = [("know",), ("context",), ("status",), ("init", "--yes"), ("import",), ("doctor",)]
    ran = 0
    for words in (*first, *calls_of_commands()):
        if words[:2] in FOR_THE_OWNER or "--json" in words:
            continue
        holdfast(*words)
        ran += 1
        assert not mark.exists(), (words, mark.read_text(encoding="utf-8"))
    assert ran > 60, "every command and verb"


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for the hook")
def test_what_changes_a_repository_for_its_owner_runs_their_hooks(repo: Path, tmp_path: Path) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    (repo / "a.txt").write_text("a\n", encoding="utf-8")
    assert git_complaint(repo, "add", "a.txt") == ""
    assert git_complaint(repo, "commit", "-m", "a") == "not today"


def test_output_is_bounded_and_says_so(repo: Path) -> None:
    commit(repo, "a.txt", "a" * 5000, "one")
    answer = run_git(repo, "show", "HEAD:a.txt", seconds=60, most_bytes=100)
    assert (answer.data, answer.cut, answer.whole, answer.usable) == (b"a" * 100, True, False, True)
    exact = run_git(repo, "show", "HEAD:a.txt", seconds=60, most_bytes=5000)
    assert (len(exact.data), exact.cut, exact.whole) == (5000, False, True)
    refused = run_git(repo, "rev-parse", "--verify", "nothing", seconds=60)
    assert not refused.usable
    assert refused.complaint == "fatal: Needed a single revision"
    assert run_git(repo / "nowhere", "status", seconds=60).data == b""
