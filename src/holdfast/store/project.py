"""The places of a project: its memory outside the work tree, and its window `.holdfast/` inside.

`git clean`, a deleted clone or another worktree must lose nothing, so the memory is stored in
`~/.holdfast/projects/<id>/` and the repository only links to it.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, StoreError
from holdfast.core.folders import recover
from holdfast.core.git import git_text
from holdfast.core.hashes import blake2b
from holdfast.core.names import as_name
from holdfast.core.place import (
    NEW,
    REGISTERED,
    Checkout,
    Place,
    checkout_at,
    claimed_place,
    find_checkout,
    is_identity,
    locate,
    read_registry,
)
from holdfast.core.reading import small_text
from holdfast.core.temporary_files import sweep_abandoned
from holdfast.store.registration import copied, is_same_repository, register

FORMAT = 1
_MOST_TURNS = 100  # repositories that were in one place, one after the other
LINKS = os.name != "nt"  # on Windows links need a privilege, and the ledger is a plain file in the window

IGNORE_ALL = """# Written by holdfast: nothing here is shared until you ask for it (holdfast ledger share).
*
"""
_SHARED = {
    "ledger": ("the ledger", "!ledger.md\n"),
    "lessons": ("lessons", "!lessons/\n!lessons/*.md\n"),
    "decisions": ("decisions", "!decisions/\n!decisions/*.md\n"),
}


def ignore_rules(*shared: str) -> str:
    """The git rules of the window: everything is ignored but what is shared."""
    if not shared:
        return IGNORE_ALL
    names = [_SHARED[part][0] for part in _SHARED if part in shared]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    verb = "is" if listed == "the ledger" else "are"
    rules = "".join(_SHARED[part][1] for part in _SHARED if part in shared)
    return (
        f"# Written by holdfast: {listed} {verb} shared in git, the rest is yours alone.\n"
        f"*\n!.gitignore\n!.gitattributes\n{rules}"
    )


UNION_MERGE = """# Written by holdfast: each line of the ledger is an entry, so a merge keeps both sides.
ledger.md merge=union text eol=lf
"""


class Project(Struct, frozen=True):
    """The places of one project on this machine. Creating an instance writes nothing; `prepare` does."""

    root: Path
    window: Path  # <root>/.holdfast
    memory: Path  # ~/.holdfast/projects/<id>
    identity_file: Path

    @property
    def name(self) -> str:
        return self.root.name or "root"

    @property
    def title(self) -> str:
        """The name of its memory: the same in every worktree, and after the folder is renamed."""
        recorded = (files.read(self.memory / "name") or b"").decode("utf-8", "replace").strip()
        return as_name(recorded) if recorded else self._natural_title()

    def _natural_title(self) -> str:
        common = self.identity_file.parent
        if self.identity_file.name != "holdfast-id":
            return as_name(self.root.name)
        # `.git`, or the `.bare` beside which people keep their worktrees
        return as_name(
            common.parent.name if common.name.startswith(".") else common.name.removesuffix(".git")
        )

    @property
    def ledger(self) -> Path:
        """The ledger with all rows that this machine wrote, shared or not."""
        return self.memory / "ledger.md"

    @property
    def window_ledger(self) -> Path | None:
        """The ledger in the repository if it is a separate file, such as one shared through git.

        A link is never followed: one that came with a clone could point anywhere.
        """
        ledger = self.window / "ledger.md"
        real = os.path.lexists(ledger) and not ledger.is_symlink()
        return ledger if real or not LINKS else None

    @property
    def capture(self) -> Path:
        return self.memory / "capture.db"

    @property
    def known(self) -> bool:
        """Whether anything was ever stored for this project."""
        return self.memory.is_dir() or (self.window / "ledger.md").exists()

    def lock(self, name: str) -> Path:
        return self.memory / "locks" / f"{name}.lock"

    @property
    def shared(self) -> bool:
        ledger = self.window / "ledger.md"
        return (
            ledger.is_file()
            and not ledger.is_symlink()
            and "!ledger.md" in small_text(self.window / ".gitignore")
        )

    def shares(self, part: str) -> bool:
        """Whether git tracks a part of the window: `lessons` or `decisions`."""
        return f"!{part}/" in small_text(self.window / ".gitignore").split()

    def write_ignore_rules(self, **wanted: bool) -> None:
        """Sets what git tracks in the window: `ledger`, `lessons`, `decisions`. What is not named stays as it is."""
        now = {
            "ledger": "!ledger.md" in small_text(self.window / ".gitignore").split(),
            "lessons": self.shares("lessons"),
            "decisions": self.shares("decisions"),
            **wanted,
        }
        rules = ignore_rules(*(part for part, is_shared in now.items() if is_shared))
        files.replace(self.window / ".gitignore", rules.encode(), self.lock("layout"), files.ANYTHING)

    def prepare(self) -> None:
        """Creates what is missing: the id, the memory, the window and its git rules. Safe to repeat."""
        self.check_window()
        recover(self.memory)
        require_format(self)
        for folder in (self.memory.parent.parent, self.memory.parent, self.memory):
            files.make_private(folder)
        sweep_abandoned(self.memory, deep=True)
        sweep_abandoned(self.window, self.identity_file.parent)
        self._put_new(self.identity_file, f"{self.memory.name}\n")
        self._require_identity()
        # The root first: by it another first command knows the place until it is registered.
        self._put_new(self.memory / "root", f"{self.root}\n")
        self._put_new(self.memory / "format", f"{FORMAT}\n")
        self._put_new(self.memory / "name", f"{self._natural_title()}\n")
        self._put_new(self.window / ".gitignore", IGNORE_ALL)
        self._put_new(self.window / ".gitattributes", UNION_MERGE)
        self._link("local", self.memory)
        if LINKS:
            self._link("ledger.md", Path("local") / "ledger.md")
        self.register()

    def register(self) -> None:
        """Registers this place for the memory. A repository that was moved gets its new path."""
        if (place := self.place()) is not None:
            register(place, self.lock("layout"))

    def place(self) -> Place | None:
        """This project as hooks see it; None before it has an id."""
        checkout = checkout_at(str(self.root)) if self.identity_file.name == "holdfast-id" else None
        home = self.memory.parent.parent
        return claimed_place(str(self.root), str(self.identity_file), checkout, str(home))

    def _require_identity(self) -> None:
        """Raises StoreError if the id file is not that of this memory."""
        identity = small_text(self.identity_file, follow=False).strip()
        if identity == self.memory.name:
            return
        if is_identity(identity):
            problem, fix = (
                "another command set up this project at the same moment",
                "Run the command again",
            )
        else:
            problem, fix = "it does not contain a project id", "Remove it, and run the command again"
        raise StoreError(problem, where=str(self.identity_file), fix=fix)

    def check_window(self) -> None:
        """Raises StoreError if the window must not be written to."""
        if self.window.is_symlink():
            problem, fix = "is a link; holdfast writes only inside the repository", "Remove the link"
        elif self.window == self.memory.parent.parent:
            problem, fix = (
                "is holdfast's own folder, so it cannot be a project",
                "Work in a project's folder",
            )
        elif self.root == Path(self.root.anchor):
            problem, fix = "would make the whole disk one project", "Work in a project's folder"
        elif self.window.exists() and not self.window.is_dir():
            problem, fix = "is a file where holdfast needs a folder", "Move it away"
        else:
            return
        raise StoreError(problem, where=str(self.window), fix=f"{fix} and run the command again")

    def _put_new(self, path: Path, text: str) -> None:
        if not os.path.lexists(path):
            with contextlib.suppress(files.Conflict):  # another first command was faster
                files.replace(path, text.encode(), self.lock("layout"), expected=None)

    def _link(self, name: str, target: Path) -> None:
        """Creates a link in the window. A link to another target is replaced, never followed."""
        link = self.window / name
        if link.is_symlink():
            if Path(os.readlink(link)) == target:
                return
            link.unlink()
        elif os.path.lexists(link):
            return
        try:
            link.symlink_to(target)
        except FileExistsError:
            return  # another first command was faster
        except OSError:
            if name == "local":  # a file with the path, if links cannot be created
                self._put_new(link, f"{target}\n")


def find_project(start: Path, home: Path) -> Project:
    """The project of a directory: its git work tree, else the nearest folder with `.holdfast/`, else itself.

    Raises CopiedProject where the directory has the id of a project that this machine registered elsewhere.
    """
    start = _out_of_memory(Path(os.path.abspath(start)), home)
    located = locate(str(start), str(home))
    if located is None:
        return project_at(start, home)
    root, identity_file, checkout = located
    return _project(Path(root), Path(identity_file), checkout, home)


def _out_of_memory(start: Path, home: Path) -> Path:
    """For a directory inside a memory, as reached through `.holdfast/local`, the root of the memory's project."""
    memories = Path(os.path.realpath(home)) / "projects"
    below = Path(os.path.realpath(start))
    if not below.is_relative_to(memories) or below == memories:
        return start
    root = small_text(memories / below.relative_to(memories).parts[0] / "root").strip()
    return Path(root) if root and Path(root).is_dir() else start


def find_git(start: Path) -> tuple[Path, Path] | None:
    """The work tree and the common git directory of a path."""
    checkout = find_checkout(str(start))
    return (Path(checkout.root), Path(checkout.common)) if checkout else None


def place_of(cwd: str) -> Path | None:
    """The directory of a session, or the repository around it if the directory was removed."""
    if not cwd:
        return None
    place = Path(cwd)
    if place.is_dir():
        return place
    nearest = next((parent for parent in place.parents if parent.is_dir()), None)
    git = find_git(nearest) if nearest is not None else None
    return git[0] if git is not None else None


def branch_of(root: Path) -> str:
    """The branch that is checked out in a work tree; '' if none is."""
    checkout = checkout_at(str(root))
    return checkout.head()[0] if checkout else ""


def worktrees(project: Project) -> list[Path]:
    """The other work trees of the same repository, from git's own files."""
    if project.identity_file.name != "holdfast-id":
        return []
    common = project.identity_file.parent
    trees = [common.parent] if common.name == ".git" else []
    for pointer in sorted(common.glob("worktrees/*/gitdir")):
        trees.append(Path(small_text(pointer).strip()).parent)
    return [tree for tree in trees if tree != project.root]


def project_at(root: Path, home: Path) -> Project:
    """The project of exactly this directory, whatever contains it."""
    return _project(root, root / ".holdfast" / "id", None, home)


def _project(root: Path, identity_file: Path, checkout: Checkout | None, home: Path) -> Project:
    place = claimed_place(str(root), str(identity_file), checkout, str(home))
    if place is None:
        return at_new_place(root, identity_file, home)
    standing = place.standing()
    if standing not in (REGISTERED, NEW) and not is_same_repository(place, standing):
        raise copied(place, standing)
    return Project(root, root / ".holdfast", Path(place.memory), identity_file)


def at_new_place(root: Path, identity_file: Path, home: Path) -> Project:
    """The project of a directory that has no id, or is to get another one."""
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "project"
    here = os.path.realpath(identity_file)
    origin = _origin(root, identity_file)
    for turn in range(_MOST_TURNS):
        memory = home / "projects" / f"{slug}-{_suffix(root, origin, turn)}"
        registry = read_registry(str(memory))
        # A memory of that name is this folder's own, unless its repository was moved away: then another one is made.
        if not registry or registry.by_path(here) is not None:
            break
    return Project(root, root / ".holdfast", memory, identity_file)


def _origin(root: Path, identity_file: Path) -> bytes:
    if identity_file.name != "holdfast-id":
        return b""
    return git_text(root, "rev-list", "--max-parents=0", "HEAD").encode() or _made_at(identity_file.parent)


def _suffix(root: Path, origin: bytes, turn: int) -> str:
    """A suffix that a new clone of the same repository in the same place gets again, but no other repository there.

    Two first commands at the same moment must agree, so nothing here is random.
    """
    seed = os.fsencode(root.resolve()) + origin + (b"%d" % turn if turn else b"")
    return blake2b(seed, digest_size=4).hexdigest()


def _made_at(common: Path) -> bytes:
    """When a repository without commits was created: git writes these files only then."""
    for name in ("description", "info/exclude"):
        with contextlib.suppress(OSError):
            return str((common / name).stat().st_mtime_ns).encode()
    return b""


def require_format(project: Project) -> None:
    """Raises FormatTooNew if this program must not write the stored format."""
    number = check_format(project)
    if number == FORMAT:
        return
    problem, fix = (
        ("was written by a newer holdfast", "Upgrade holdfast; until then this memory is only read")
        if number > FORMAT
        else (
            "is an old one",
            "Run holdfast doctor --fix, which makes a backup (--dry-run shows what it does)",
        )
    )
    problem = f"format {number} {problem}; this holdfast writes {FORMAT}"
    raise FormatTooNew(problem, where=str(project.memory), fix=fix)


def check_format(project: Project) -> int:
    """The stored format number. Raises StoreError if it is not a number."""
    text = small_text(project.memory / "format").strip()
    if not text:
        return FORMAT
    if not text.isdigit():
        raise StoreError(
            f"holds {text[:20]!r} where a number belongs",
            where=str(project.memory / "format"),
            fix="Restore it",
        )
    return int(text)
