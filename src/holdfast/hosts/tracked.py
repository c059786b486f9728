"""Keeps paths of one machine out of files that a repository shares."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import ConfigError
from holdfast.hosts.contract import Scope, Where
from holdfast.store.layout import git


def refuse_tracked(where: Where, scope: Scope, path: Path) -> None:
    """Says so where a host's file for one repository is in git: what we write there names this machine."""
    if scope != "project" or not path.is_relative_to(where.project):
        return
    name = path.relative_to(where.project).as_posix()
    if git(where.project, "ls-files", "--", name):
        raise ConfigError(
            "is tracked by git, and our hooks name paths of this machine",
            where=str(path),
            fix="Install for yourself instead: leave out --scope project",
        )


def keep_out_of_git(where: Where, *names: str) -> tuple[str, ...]:
    """What a person does so that files of this machine do not get into a commit; nothing where git ignores them."""
    shown = [name for name in names if not git(where.project, "check-ignore", "--", name)]
    if not shown or not git(where.project, "rev-parse", "--git-dir"):
        return ()
    return (f"Keep what names this machine out of git: add {' and '.join(shown)} to .git/info/exclude.",)
