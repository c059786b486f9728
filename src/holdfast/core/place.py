"""Which project a directory belongs to, found without the application. `store/project.py` is the original.

Only projects that have an identity can be enabled, so where none is written the answer is None.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    from collections.abc import Container

_SMALL = 10_000
LOAD_FROM = "Load from "
LINKED = LOAD_FROM + ".holdfast/local/"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class Place:
    """A project as the hook sees it. `common` is where git keeps what all work trees share, '' outside git."""

    def __init__(self, root: str, memory: str, identity_file: str, private: str) -> None:
        self.root = root
        self.memory = memory
        self.identity_file = identity_file
        self.private = private  # this work tree's own git directory, '' outside git

    def known(self, marks: Container[str]) -> bool:
        """Whether this is where a person enabled the project, moved or not: all of it may have come with a download."""
        try:
            status = os.lstat(self.identity_file)
        except OSError:
            return False
        if stat.S_ISLNK(status.st_mode):
            return False
        if not self.private:
            window = os.path.dirname(self.identity_file)
            return not os.path.islink(window) and os.path.realpath(self.identity_file) in marks
        if mark_of(status) not in marks and os.path.realpath(self.identity_file) not in marks:
            return False
        return self._is_its_work_tree() or root_mark(self.root) in marks

    def _is_its_work_tree(self) -> bool:
        """Whether git's directory says so too: any folder can point to it."""
        marker = os.path.join(self.root, ".git")
        if self.private == marker:
            return not os.path.islink(marker)
        if self.private.startswith(os.path.realpath(self.root) + os.sep):
            return True
        back = text_of(os.path.join(self.private, "gitdir")).strip()
        if back:
            return _is_same(os.path.join(self.private, back), marker)
        for line in text_of(os.path.join(self.private, "config")).splitlines():  # a submodule's
            name, _, value = line.partition("=")
            if name.strip() == "worktree":
                return _is_same(os.path.join(self.private, value.strip().strip('"')), self.root)
        return False

    def reachable(self, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Lines as they are true here: a work tree that has no link yet is told where memory really is."""
        if os.path.lexists(os.path.join(self.root, ".holdfast", "local")):
            return lines
        where = f"{LOAD_FROM}{self.memory}/"
        return [
            (where + text[len(LINKED) :], reason) if text.startswith(LINKED) else (text, reason)
            for text, reason in lines
        ]

    def branch(self) -> str:
        """The branch that is checked out; '' when none is."""
        head = text_of(os.path.join(self.private, "HEAD")).strip() if self.private else ""
        return head[16:] if head.startswith("ref: refs/heads/") else ""


def mark_of(status: os.stat_result) -> str:
    """By this an identity file is known again after its repository was moved; no archive can bring it along."""
    return f"file:{status.st_ino}:{status.st_mtime_ns}"


def root_mark(root: str) -> str:
    return f"root:{os.path.realpath(root)}"


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def home_of(env: dict[str, str]) -> str:
    """`~/.holdfast`, or where HOLDFAST_HOME puts it."""
    user = env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    configured = env.get("HOLDFAST_HOME")
    if not configured:
        return os.path.join(user, ".holdfast")
    return os.path.abspath(os.path.expanduser(configured))


def find(start: str, home: str) -> Place | None:
    start = os.path.abspath(start)
    git = _git(start)
    if git is not None:
        root, private, common = git
        return _place(root, os.path.join(common, "holdfast-id"), home, private)
    for directory in _upwards(start):
        window = os.path.join(directory, ".holdfast")
        if os.path.isdir(window) and window != home:
            return _place(directory, os.path.join(window, "id"), home, "")
    return None


def _place(root: str, identity_file: str, home: str, private: str) -> Place | None:
    identity = text_of(identity_file).strip()
    if not is_identity(identity):
        return None
    return Place(root, os.path.join(home, "projects", identity), identity_file, private)


def is_identity(text: str) -> bool:
    """The same as the pattern of `store/project.py`, without compiling one."""
    return 4 <= len(text) <= 61 and text[0] != "-" and _LETTERS.issuperset(text.replace("-", ""))


def _git(start: str) -> tuple[str, str, str] | None:
    for directory in _upwards(start):
        marker = os.path.join(directory, ".git")
        if os.path.isdir(marker):
            return directory, marker, marker
        if os.path.isfile(marker):
            pointer = text_of(marker)
            if pointer.startswith("gitdir:"):
                private = os.path.realpath(os.path.join(directory, pointer[7:].strip()))
                shared = text_of(os.path.join(private, "commondir")).strip()
                return (
                    directory,
                    private,
                    os.path.realpath(os.path.join(private, shared)) if shared else private,
                )
    return None


def _upwards(directory: str) -> list[str]:
    found = [directory]
    while True:
        parent = os.path.dirname(directory)
        if parent == directory:
            return found
        found.append(parent)
        directory = parent


def text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_SMALL)
    except OSError:
        return ""


def stamp(path: str | os.PathLike[str]) -> str:
    """What tells that a file is still the one that was read; '' where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"
