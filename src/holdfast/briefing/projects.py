"""Assigns sessions to the projects of a repository: the default one, unless a branch or a path says otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import NameRefused, UsageError
from holdfast.core.names import safe_name
from holdfast.guard.hidden_text import has_hidden
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession, FileTouch
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of
from holdfast.store.versions import new_group

_EDIT_WEIGHT = 5  # edited files say more about a session's project than files it read
_LONGEST_BRANCH = 250


class Naming(Struct, frozen=True):
    """The rules that assign sessions to projects: by branch as a person chose, then by the files they touched."""

    default: str
    branches: Mapping[str, str] = {}
    paths: tuple[tuple[str, str], ...] = ()
    root: str = ""

    def of_branch(self, branch: str) -> str:
        return self.branches.get(branch, self.default)

    def of_session(self, record: DistilledSession) -> str:
        return self.branches.get(record.branch) or self._of_files(record.files, record.cwd) or self.default

    def _of_files(self, touched: Iterable[FileTouch], cwd: str) -> str:
        if not self.paths:
            return ""
        weights: Counter[str] = Counter()
        for touch in touched:
            path = self._relative(touch.path, cwd)
            name = next((name for pattern, name in self.paths if _matches(path, pattern)), "")
            weights[name] += touch.reads + _EDIT_WEIGHT * touch.edits
        return max(weights, key=lambda name: weights[name]) if weights else ""

    def _relative(self, path: str, cwd: str) -> str:
        """The path relative to the repository's root, as the rules have it."""
        whole = PurePosixPath(cwd.replace("\\", "/")) / path.replace("\\", "/")
        root = PurePosixPath(self.root.replace("\\", "/"))
        return str(whole.relative_to(root)) if whole.is_relative_to(root) else path


def _matches(path: str, pattern: str) -> bool:
    base = pattern.removesuffix("/**").removesuffix("/")
    return path == base or path.startswith(f"{base}/") or fnmatchcase(path, pattern)


def naming(machine: Machine, project: Project) -> Naming:
    return Naming(
        default=project.title,
        branches=_chosen(project),
        paths=machine.settings(project).projects,
        root=str(project.root),
    )


def memory_of(machine: Machine, project: Project, name: str = "") -> MemoryStore:
    """The memory of the checked-out branch's project, or of the named one."""
    chosen = safe_name(name) if name else naming(machine, project).of_branch(branch_of(project.root))
    # All changes through one store are undone together (holdfast undo).
    return MemoryStore(project, chosen, clock=machine.clock.seconds, group=new_group())


class ProjectSeen(Struct, frozen=True, kw_only=True):
    """A project of this repository: `default` is the repository's own, `current` that of the checked-out branch."""

    name: str
    default: bool
    current: bool
    sessions: int
    last: datetime | None
    branches: tuple[str, ...]
    paths: tuple[str, ...]


def projects_of(machine: Machine, project: Project) -> list[ProjectSeen]:
    """Projects with a memory, and those that a branch or a path rule names. The default one comes first."""
    rules = naming(machine, project)
    current = rules.of_branch(branch_of(project.root))
    names = {*known_projects(project), *rules.branches.values(), *(name for _, name in rules.paths), current}
    return [
        _seen(project, rules, name, current) for name in [rules.default, *sorted(names - {rules.default})]
    ]


def _seen(project: Project, rules: Naming, name: str, current: str) -> ProjectSeen:
    entries = MemoryStore(project, name).entries().entries
    last = max((entry.at for entry in entries if entry.at is not None), default=None)
    return ProjectSeen(
        name=name,
        default=name == rules.default,
        current=name == current,
        sessions=len(entries),
        last=None if last is None else datetime.fromtimestamp(last, UTC),
        branches=tuple(sorted(branch for branch, chosen in rules.branches.items() if chosen == name)),
        paths=tuple(pattern for pattern, chosen in rules.paths if chosen == name),
    )


def choose(machine: Machine, project: Project, name: str, branch: str = "") -> tuple[str, str]:
    """Assigns a branch, by default the checked-out one, to a project ('': the repository's own); returns both names."""
    chosen_branch = branch or branch_of(project.root)
    if not chosen_branch:
        raise UsageError(
            "no branch is checked out here", where=str(project.root), fix="Say which one: --branch NAME"
        )
    if (
        has_hidden(chosen_branch)
        or chosen_branch != chosen_branch.strip()
        or len(chosen_branch) > _LONGEST_BRANCH
    ):
        raise UsageError(f"{chosen_branch[:40]!a} is not a branch", fix="Name it as git branch does")
    for text in (name, chosen_branch):
        if machine.clean(text) != text:
            raise NameRefused("the name looks like a secret", fix="Choose another one")
    use(project, chosen_branch, safe_name(name) if name else "")
    return chosen_branch, name or project.title


def use(project: Project, branch: str, name: str) -> None:
    """Assigns future sessions on this branch to a project; '' is the repository's own."""
    project.prepare()
    path = _path(project)
    with files.lock(project.lock("projects")) as lock:
        content = files.read(path)
        branches = dict(_decode(path, content))
        branches.pop(branch, None)
        if name and name != project.title:
            branches[branch] = safe_name(name)
        files.replace_held(lock, path, encode_json({"branches": branches}), files.digest(content))


def _chosen(project: Project) -> dict[str, str]:
    return _decode(_path(project), files.read(_path(project)))


def _path(project: Project) -> Path:
    return project.memory / "projects.json"


class _Written(Struct):
    branches: dict[str, str] = {}


def _decode(path: Path, data: bytes | None) -> dict[str, str]:
    chosen = decode_json(data, _Written, path, "Correct it, or delete it").branches
    return {branch: safe_name(name) for branch, name in chosen.items()}
