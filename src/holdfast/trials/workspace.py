"""The places of a trial: a work tree and a home of its own, with memory or without. All of it goes when it is over.

The work tree has the repository's history up to the commit and no other ref, so no later solution is in its log. It
borrows the repository's objects, and git in it cannot change them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from holdfast.briefing.prepare import prepare
from holdfast.core.errors import NotFound, StoreError
from holdfast.core.folders import scratch_projects
from holdfast.core.git import git_text, run_git
from holdfast.flows.hosts import install, plan_install
from holdfast.store.machine import Machine
from holdfast.store.memory_files import CAPTURE, kind_of, walk_memory
from holdfast.store.project import Project
from holdfast.store.switches import switch
from holdfast.trials.clients import client_of
from holdfast.trials.taskfile import Experiment, Task

_GIT_S = 300.0
_LESSONS = ("lessons/",)
# Without statements these stay: what a memory is, and its lessons.
_FRAME = ("name", "projects.json", *_LESSONS)
_GIT_USER = "[user]\n\tname = holdfast trial\n\temail = trial@localhost\n"


class Place(Struct, frozen=True):
    """Where one session works."""

    tree: Path
    home: Path
    env: dict[str, str]

    def machine(self) -> Machine:
        return Machine(env=self.env, cwd=self.tree)


def commit_of(experiment: Experiment) -> tuple[str, str]:
    """The commit that trials start from, and the name of the branch."""
    root = experiment.repository
    commit = git_text(root, "rev-parse", "--verify", "--end-of-options", f"{experiment.commit}^{{commit}}")
    if not commit:
        raise NotFound(
            f"there is no commit {experiment.commit!r}",
            where=root,
            fix="Set `repository` and `commit` in the tasks",
        )
    return commit, git_text(root, "symbolic-ref", "--short", "HEAD") or "main"


@contextmanager
def frozen_memory(machine: Machine, project: Project) -> Iterator[Path]:
    """A copy of a project's memory, so that all warm sessions start from the same. It goes afterwards: `forget` would
    not find it.
    """
    with scratch_projects("ab") as folder:
        target = folder / "memory"
        target.mkdir()
        if project.memory.is_dir():
            for path, name in walk_memory(project.memory):
                if kind_of(name).exported and path.is_file() and not path.is_symlink():
                    _copy(path, target / name, is_database=name == CAPTURE)
        personal = machine.home / "lessons"
        if personal.is_dir():
            shutil.copytree(personal, target / ".personal", symlinks=True)
        yield target


def _copy(path: Path, target: Path, *, is_database: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not is_database:
        shutil.copyfile(path, target)
        return
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


@contextmanager
def place_for(
    experiment: Experiment,
    task: Task,
    *,
    warm: bool,
    commit: tuple[str, str],
    memory: Path,
    env: Mapping[str, str],
) -> Iterator[Place]:
    """A place for one session, made and removed."""
    with scratch_projects("ab") as folder:
        base = folder.resolve()
        name = Path(experiment.repository).name
        place = Place(base / name, base / "home", _environment(experiment, base / "home", env))
        _make_home(experiment, place, env)
        _check_out(experiment, place, *commit)
        if warm or experiment.cold == "empty":
            _wire(experiment, place, memory if warm else None, task)
        yield place


def _environment(experiment: Experiment, home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Only what the task file names, so that both arms have the same and nothing of the person's own settings."""
    kept = {name: env[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE") if name in env}
    named = {name: env[name] for name in experiment.env if name in env}
    # Hooks wait for nobody, and a client inside another one must not think that it is its subagent.
    return {
        **kept,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "TERM": "dumb",
        "NO_COLOR": "1",
        **client_of(experiment.agent).variables,
        **named,
    }


def _make_home(experiment: Experiment, place: Place, env: Mapping[str, str]) -> None:
    place.home.mkdir(mode=0o700)
    (place.home / ".gitconfig").write_text(_GIT_USER, encoding="utf-8")
    for path, text in client_of(experiment.agent).trusts(place.home, place.tree).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    own = Path(env.get("HOME") or Path.home())
    for name in experiment.home_files:
        source, target = own / name[2:], place.home / name[2:]
        if not source.is_file():
            raise NotFound(f"there is no {name}", where=experiment.path, fix="Correct `home_files`")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o600)


def _check_out(experiment: Experiment, place: Place, commit: str, branch: str) -> None:
    objects = git_text(experiment.repository, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    place.tree.mkdir()
    _git(place.tree, "init", "-q")
    alternates = place.tree / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{objects}\n", encoding="utf-8")
    _git(place.tree, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    _git(place.tree, "reset", "-q", "--hard", commit)
    shutil.rmtree(place.tree / ".holdfast", ignore_errors=True)  # lessons in git would be read in both arms


def _git(root: Path, *arguments: str) -> None:
    answer = run_git(root, *arguments, seconds=_GIT_S)
    if not answer.whole:
        what = f"git {arguments[0]} failed: {answer.complaint or 'it took too long'}"
        raise StoreError(what, where=str(root), fix="Check the repository with git fsck")


def _wire(experiment: Experiment, place: Place, memory: Path | None, task: Task) -> None:
    """Hooks and tools of holdfast, the same in both arms; `memory` is what the warm one has besides."""
    machine = place.machine()
    project = machine.project()
    project.prepare()
    if memory is not None:
        _fill(project, machine, memory, task)
    if experiment.agent != "command":
        install(machine, project, plan_install(machine, project, experiment.agent, "user"))
        switch(
            project, place.tree, capture=False, inject=None
        )  # a trial must not teach the next prompt of itself
    prepare(machine, project)


def _fill(project: Project, machine: Machine, memory: Path, task: Task) -> None:
    for path in sorted(path for path in memory.rglob("*") if path.is_file()):
        name = path.relative_to(memory).as_posix()
        if name.startswith(".personal/"):
            target = machine.home / "lessons" / name.removeprefix(".personal/") if task.lessons else None
        elif name.startswith(_LESSONS):
            target = project.memory / name if task.lessons else None
        else:
            target = project.memory / name if task.statements or name in _FRAME else None
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def state_folder(machine: Machine, experiment: Experiment) -> Path:
    """Where the results of an experiment are kept, so that it can be resumed."""
    name = sha256(os.path.abspath(experiment.path).encode()).hexdigest()[:12]
    return machine.home / "cache" / "ab" / name
