"""Finds the project of a directory: repository, branch, identity and memory, from git's files and ours.

Hooks use this module, so it must not import anything heavy; `store/project.py` adds what a new project needs.
"""

from __future__ import annotations

import os
import stat

from holdfast.core.reading import bytes_of, small_text

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

LOAD_FROM = "Load from "
LINKED = LOAD_FROM + ".holdfast/local/"
_MOST_PACKED = 4 << 20
_LONGEST_PATH = 4_096  # characters: no system opens a longer one
_LONGEST_NAME = 1_024  # characters of a branch
_HEXADECIMAL = frozenset("0123456789abcdef")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class Checkout:
    """A work tree. `private` is its own git directory, `common` the one shared by all work trees of the repository."""

    __slots__ = ("common", "private", "root")

    def __init__(self, root: str, private: str, common: str) -> None:
        self.root = root
        self.private = private
        self.common = common

    @property
    def first_tree(self) -> str:
        """The main work tree of the repository; '' for a bare one."""
        return os.path.dirname(self.common) if os.path.basename(self.common) == ".git" else ""

    def head(self) -> tuple[str, str]:
        """The branch that is checked out, or the commit of a detached HEAD."""
        head = small_text(os.path.join(self.private, "HEAD")).strip()
        if head.startswith("ref: refs/heads/"):
            return head[16:].partition("\n")[0][:_LONGEST_NAME], ""
        return "", _commit(head)

    def commit(self) -> str:
        """The commit that is checked out; '' when it is not known."""
        branch, commit = self.head()
        if not branch:
            return commit
        commit = small_text(os.path.join(self.common, "refs", "heads", *branch.split("/"))).strip()
        return _commit(commit) or self._packed(f" refs/heads/{branch}\n".encode("utf-8", "surrogateescape"))

    def _packed(self, name: bytes) -> str:
        packed = bytes_of(os.path.join(self.common, "packed-refs"), _MOST_PACKED) or b""
        at = packed.find(name)
        return (
            _commit(packed[packed.rfind(b"\n", 0, at) + 1 : at].decode("ascii", "replace")) if at > 0 else ""
        )


def _commit(text: str) -> str:
    """A commit's hash; '' for any other text: git's files may be links to somebody's secrets."""
    return text if len(text) in (40, 64) and _HEXADECIMAL.issuperset(text) else ""


class Place:
    """A project that has an identity: only such a project can be enabled."""

    def __init__(self, root: str, memory: str, identity_file: str, checkout: Checkout | None) -> None:
        self.root = root
        self.memory = memory
        self.identity_file = identity_file
        self.checkout = checkout
        self.private = checkout.private if checkout else ""

    def known(self, marks: Container[str]) -> bool:
        """Whether a person enabled the project here, even if it was moved since: it may all come from a download."""
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
        """Whether git's directory confirms it: any folder can point to that directory."""
        marker = os.path.join(self.root, ".git")
        if self.private == marker:
            return not os.path.islink(marker)
        if self.private.startswith(os.path.realpath(self.root) + os.sep):
            return True
        back = small_text(os.path.join(self.private, "gitdir")).strip()
        if back:
            return _is_same(os.path.join(self.private, back), marker)
        for line in small_text(os.path.join(self.private, "config")).splitlines():  # of a submodule
            name, _, value = line.partition("=")
            if name.strip() == "worktree":
                return _is_same(os.path.join(self.private, value.strip().strip('"')), self.root)
        return False

    def reachable(self, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Adapts lines to this work tree: one without a link to the memory gets its real path."""
        if os.path.lexists(os.path.join(self.root, ".holdfast", "local")):
            return lines
        where = f"{LOAD_FROM}{self.memory}/"
        return [
            (where + text[len(LINKED) :], reason) if text.startswith(LINKED) else (text, reason)
            for text, reason in lines
        ]

    def branch(self) -> str:
        """The branch that is checked out; '' for a detached HEAD."""
        return self.checkout.head()[0] if self.checkout else ""


def mark_of(status: os.stat_result) -> str:
    """Identifies an identity file even after its repository was moved; an archive cannot reproduce it."""
    return f"file:{status.st_ino}:{status.st_mtime_ns}"


def root_mark(root: str) -> str:
    return f"root:{os.path.realpath(root)}"


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def home_of(env: dict[str, str]) -> str:
    """`~/.holdfast`, or the value of HOLDFAST_HOME."""
    configured = env.get("HOLDFAST_HOME")
    if not configured:
        return os.path.join(user_home(env), ".holdfast")
    return os.path.abspath(os.path.expanduser(configured))


def user_home(env: dict[str, str]) -> str:
    return env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")


def find(start: str, home: str) -> Place | None:
    """The project of a directory; None without an identity file."""
    located = locate(start, home)
    if located is None:
        return None
    root, identity_file, checkout = located
    identity = small_text(identity_file, follow=False).strip()
    if not is_identity(identity):
        return None
    return Place(root, os.path.join(home, "projects", identity), identity_file, checkout)


def locate(start: str, home: str) -> tuple[str, str, Checkout | None] | None:
    """The root and the identity file of a directory's project: its git work tree, else the nearest `.holdfast/`."""
    checkout = find_checkout(start)
    if checkout is not None:
        return checkout.root, os.path.join(checkout.common, "holdfast-id"), checkout
    for directory in _upwards(os.path.abspath(start)):
        window = os.path.join(directory, ".holdfast")
        if os.path.isdir(window) and window != home:
            return directory, os.path.join(window, "id"), None
    return None


def is_identity(text: str) -> bool:
    return 4 <= len(text) <= 61 and text[0] != "-" and _LETTERS.issuperset(text.replace("-", ""))


def find_checkout(start: str) -> Checkout | None:
    """The work tree that a path lies in."""
    for directory in _upwards(os.path.abspath(start)):
        checkout = checkout_at(directory)
        if checkout is not None:
            return checkout
    return None


def checkout_at(directory: str) -> Checkout | None:
    """The work tree whose top is exactly this directory."""
    marker = os.path.join(directory, ".git")
    if os.path.isdir(marker):
        return Checkout(directory, marker, marker)
    pointer = small_text(marker)
    if not pointer.startswith("gitdir:"):
        return None
    private = os.path.realpath(os.path.join(directory, pointer[7:].strip()))
    shared = small_text(os.path.join(private, "commondir")).strip()
    return Checkout(
        directory, private, os.path.realpath(os.path.join(private, shared)) if shared else private
    )


def is_checkout(root: str | os.PathLike[str]) -> bool:
    """Whether the folder has files to look for: sessions may have been imported into an empty one."""
    try:
        with os.scandir(root) as entries:
            return any(entry.name not in (".git", ".holdfast") for entry in entries)
    except OSError:
        return False


def _upwards(directory: str) -> Iterator[str]:
    """A directory and its parents; none of a path that is too long to exist: it may come from a payload."""
    if len(directory) > _LONGEST_PATH:
        return
    yield directory
    while (parent := os.path.dirname(directory)) != directory:
        yield parent
        directory = parent


def stamp(path: str | os.PathLike[str]) -> str:
    """A stamp that changes when the file does; '' when it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"
