"""Decides which project a directory is: repository, branch, identity and memory, from git's files and ours.

`identify` is the one decision for hooks, commands, agents' tools and imports. Hooks use this module, so it must not
import anything heavy; `store/project.py` adds what a new project needs.

An id lies in the checkout, so a copy, a download or an unpacked archive can carry it. It is valid only where this
machine registered it: in `<memory>/places`, with a line for each place.
"""

from __future__ import annotations

import os
import stat

from holdfast.core.reading import bytes_of, json_of, small_text

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Iterator

# What an id is worth in the place where it was found.
REGISTERED = "registered"
SAME_PATH = "same path"  # another file where a registered one was: the application compares the root commits
COPY = "copy"  # registered on this machine, but elsewhere
POINTER = (
    "pointer"  # this folder points to the git directory of a registered repository, which does not know it
)
NEW = "new"  # no memory of that name is kept here

PLACES = "places"
# The top of a scratch folder holds a file of this name: what lies above it is no project of what lies below.
BOUNDARY = ".holdfast-scratch"
_MOST_PLACES = 1 << 20
_LEGACY = "switches.json"
_ESCAPES = (("%", "%25"), ("\n", "%0A"), ("\r", "%0D"))
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


class Entry:
    """Where an id file was registered: its real path, inode and creation, and the root commits of the repository.

    holdfast writes an id file once, so its modification time is its creation time, on every system. Nothing here is
    known of an entry of 0.1.0 but its path, or its inode and creation.
    """

    __slots__ = ("created", "inode", "path", "roots")

    def __init__(self, path: str, inode: str = "", created: str = "", roots: str = "") -> None:
        self.path = path
        self.inode = inode
        self.created = created
        self.roots = roots

    def line(self) -> str:
        return f"id {self.inode or '-'} {self.created or '-'} {self.roots or '-'} {escaped(self.path)}\n"


class Registry:
    """All places of a memory. `trees` are work trees that git's own files do not confirm."""

    __slots__ = ("entries", "is_legacy", "trees")

    def __init__(self, entries: list[Entry], trees: set[str], *, is_legacy: bool = False) -> None:
        self.entries = entries
        self.trees = trees
        self.is_legacy = is_legacy

    def __bool__(self) -> bool:
        return bool(self.entries)

    def by_inode(self, status: os.stat_result) -> Entry | None:
        """The entry of this very file, wherever it lies now: a device number is never looked at."""
        inode, created = str(status.st_ino), str(status.st_mtime_ns)
        for entry in self.entries:
            if entry.inode == inode and entry.created == created:
                return entry
        return None

    def by_path(self, path: str) -> Entry | None:
        for entry in self.entries:
            if entry.path == path:
                return entry
        return None

    def text(self) -> str:
        lines = [entry.line() for entry in self.entries if entry.path]
        return "".join([*lines, *(f"tree {escaped(tree)}\n" for tree in sorted(self.trees))])


def registered(memory: str) -> Registry | None:
    """What is registered for a memory; None if it has no such file, as before 0.2."""
    data = bytes_of(os.path.join(memory, PLACES), _MOST_PLACES)
    if data is None:
        return None
    entries, trees = [], set()
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        kind, _, rest = line.partition(" ")
        if kind == "tree":
            trees.add(_unescaped(rest))
        elif kind == "id":
            words = rest.split(" ", 3)
            if len(words) == 4:
                inode, created, roots = ("" if word == "-" else word for word in words[:3])
                entries.append(Entry(_unescaped(words[3]), inode, created, roots))
    return Registry(entries, trees)


def enabled_places(memory: str) -> Registry:
    """Where 0.1.0 enabled a memory."""
    entries: list[Entry] = []
    trees: set[str] = set()
    try:
        switches = json_of(os.path.join(memory, _LEGACY), _MOST_PLACES)
        marks = [*switches.get("places", ()), *switches.get("marks", ())]
    except (OSError, ValueError, AttributeError, TypeError):
        marks = []
    for mark in marks:
        if not isinstance(mark, str):
            continue
        kind, _, rest = mark.partition(":")
        if kind == "file":
            inode, _, created = rest.partition(":")
            entries.append(Entry("", inode, created))
        elif kind == "root":
            trees.add(rest)
        elif os.path.isabs(mark):
            entries.append(Entry(mark))
    return Registry(entries, trees, is_legacy=True)


def escaped(path: str) -> str:
    for sign, code in _ESCAPES:
        path = path.replace(sign, code)
    return path


def _unescaped(text: str) -> str:
    for sign, code in reversed(_ESCAPES):
        text = text.replace(code, sign)
    return text


class Place:
    """A project that has an identity: only such a project can be enabled."""

    def __init__(self, root: str, memory: str, identity_file: str, checkout: Checkout | None) -> None:
        self.root = root
        self.memory = memory
        self.identity_file = identity_file
        self.checkout = checkout
        self.private = checkout.private if checkout else ""

    def standing(self) -> str:
        """What the id is worth here. It may come with a download, so only what this machine registered counts."""
        try:
            status = os.lstat(self.identity_file)
        except OSError:
            return COPY
        if not stat.S_ISREG(status.st_mode) or (not self.private and os.path.islink(self.window)):
            return COPY
        registry = self.registry
        if not registry and not os.path.exists(os.path.join(self.memory, "format")):
            return NEW  # or another command is just setting it up
        # A file with a second name, as `cp -al` makes it, is in two places: then the path decides.
        if status.st_nlink > 1 or registry.by_inode(status) is None:
            entry = registry.by_path(os.path.realpath(self.identity_file))
            if entry is None:
                return COPY
            # One of 0.1.0 has no more than its path; it gets the rest at the next write.
            if not registry.is_legacy and entry.created != str(status.st_mtime_ns):
                return SAME_PATH
        if not self.private or self.is_confirmed() or os.path.realpath(self.root) in registry.trees:
            return REGISTERED
        return POINTER

    @property
    def window(self) -> str:
        return os.path.join(self.root, ".holdfast")

    @property
    def registry(self) -> Registry:
        return read_registry(self.memory)

    def is_confirmed(self) -> bool:
        """Whether git's directory knows this work tree: any folder can point to that directory."""
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


def read_registry(memory: str) -> Registry:
    """The places of a memory. One of 0.1.0 belongs where it was enabled, else to the work tree that it was made for."""
    registry = registered(memory)
    if registry is None:
        registry = enabled_places(memory)
        root = "" if registry else small_text(os.path.join(memory, "root")).strip()
        if root:
            checkout = checkout_at(root)
            parent = checkout.common if checkout else os.path.join(root, ".holdfast")
            path = os.path.join(parent, "holdfast-id" if checkout else "id")
            registry = Registry([Entry(os.path.realpath(path))], {os.path.realpath(root)}, is_legacy=True)
    return registry


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
    """The project of a directory, if this machine registered it there; None otherwise."""
    place = identify(start, home)
    return place if place is not None and place.standing() == REGISTERED else None


def identify(start: str, home: str) -> Place | None:
    """The project that a directory claims to be, and by `standing` whether it is; None without an id."""
    located = locate(start, home)
    return None if located is None else claimed_place(*located, home)


def claimed_place(root: str, identity_file: str, checkout: Checkout | None, home: str) -> Place | None:
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
    """A directory and its parents, up to the top of a scratch folder; none of a path that is too long to exist: it may
    come from a payload.
    """
    if len(directory) > _LONGEST_PATH:
        return
    yield directory
    while (parent := os.path.dirname(directory)) != directory:
        if os.path.lexists(os.path.join(directory, BOUNDARY)):
            return
        yield parent
        directory = parent


def stamp(path: str | os.PathLike[str]) -> str:
    """A stamp that changes when the file does; '' when it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"
