"""Which project of a repository a session belongs to: its own, unless a branch or a path says otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from holdfast.app.wiring import Machine
from holdfast.errors import StoreError
from holdfast.guard.names import safe_name
from holdfast.model.session import DistilledSession, FileTouch
from holdfast.store import files
from holdfast.store.layout import Project, branch_of
from holdfast.store.memory import MemoryStore

_EDIT_WEIGHT = 5  # what a session changed says more of where it belongs than what it looked at


class Naming(Struct, frozen=True):
    """How sessions are sorted into projects: by branch as a person chose, then by the files they touched."""

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
        """As the rules name it: from the top of the repository."""
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
    """The memory of the project that the branch checked out here works on, or of the one named."""
    chosen = safe_name(name) if name else naming(machine, project).of_branch(branch_of(project.root))
    return MemoryStore(project, chosen, clock=lambda: machine.now().timestamp())


def known_projects(project: Project) -> list[str]:
    """Those that have something written down."""
    folder = project.memory / "projects"
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def use(project: Project, branch: str, name: str) -> None:
    """Sessions on this branch belong to a project from now on; '' is the repository's own."""
    project.prepare()
    path = _path(project)
    with files.lock(project.lock("projects")) as held:
        before = files.read(path)
        chosen = dict(_decode(path, before))
        chosen.pop(branch, None)
        if name and name != project.title:
            chosen[branch] = safe_name(name)
        data = msgspec.json.format(msgspec.json.encode({"branches": chosen}), indent=2) + b"\n"
        files.replace_held(held, path, data, files.digest(before))


def _chosen(project: Project) -> dict[str, str]:
    return _decode(_path(project), files.read(_path(project)))


def _path(project: Project) -> Path:
    return project.memory / "projects.json"


class _Written(Struct):
    branches: dict[str, str] = {}


def _decode(path: Path, data: bytes | None) -> dict[str, str]:
    if data is None:
        return {}
    try:
        chosen = msgspec.json.decode(data, type=_Written).branches
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"cannot be read: {error}", where=str(path), fix="Correct it, or delete it"
        ) from error
    return {branch: safe_name(name) for branch, name in chosen.items()}
