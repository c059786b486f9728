"""A disk that loses power: what a log of calls may have left on it.

What a file or a folder holds is durable once it was synced. Of the rest anything may be there:

- a write that was not synced is there, is not, is there in part (whole sectors of 512 bytes), or left zeros where the
  file grew;
- a name (created, renamed, removed) is durable once its folder was synced. The names of one folder change in order; two
  folders do not wait for each other. A rename between two folders is one step, durable with either of them;
- a folder that is not durable takes all that is in it along.

Modes and times are not modelled: they are taken from the last state. SQLite's -shm files do not survive.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts.fault_rig.shim import CUT, EXCHANGED, Call

SECTOR = 512
HOW = ("synced only", "names without data", "anything", "anything", "data in pieces")


@dataclass(eq=False)
class Folder:
    """`durable` was there when the log began, `now` is there by now."""

    durable: dict[str, Node] = field(default_factory=dict)
    now: dict[str, Node] = field(default_factory=dict)
    mode: int = 0o755


@dataclass(eq=False)
class Link:
    target: str


@dataclass(eq=False)
class File:
    """`content` is durable; `pending` are writes (offset, data), or (size, None) for a cut."""

    content: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    mode: int = 0o600
    mtime_ns: int = 0


Node = Folder | Link | File
Found = dict[str, tuple[Node, bytes]]


@dataclass(eq=False)
class Change:
    """Names that change in one step: folder, name, and what it leads to afterwards, None for nothing."""

    edits: tuple[tuple[Folder, str, Node | None], ...]
    durable: bool = False

    @property
    def folders(self) -> set[int]:
        return {id(folder) for folder, _, _ in self.edits}


class Disk:
    """The disk below a folder, which follows a log of the calls that were made there."""

    def __init__(self, world: Path) -> None:
        self.world = world
        self.changes: list[Change] = []
        self._inodes: dict[int, Node] = {}
        self.root = self._read(world)

    def _read(self, path: Path) -> Folder:
        folder = Folder(mode=path.stat().st_mode & 0o777)
        self._inodes[path.stat().st_ino] = folder
        for entry in os.scandir(path):
            status = entry.stat(follow_symlinks=False)
            node: Node
            if entry.is_symlink():
                node = Link(os.readlink(entry))
            elif entry.is_dir():
                node = self._read(Path(entry.path))
            else:
                content = Path(entry.path).read_bytes()
                node = File(content, mode=status.st_mode & 0o777, mtime_ns=status.st_mtime_ns)
            self._inodes[status.st_ino] = folder.durable[entry.name] = node
        folder.now = dict(folder.durable)
        return folder

    # --- following the log -------------------------------------------------------------------------------

    def follow(self, calls: Iterable[Call]) -> None:
        for call in calls:
            if call.result >= 0:
                self._follow(call)

    def _follow(self, call: Call) -> None:
        match call.kind:
            case "create":
                self._enter(call, File())
            case "mkdir":
                self._enter(call, Folder())
            case "symlink":
                self._enter(call, Link(call.path2))
            case "link":
                self._change((call.path2, self._at(call.path)))
            case "unlink" | "rmdir":
                self._change((call.path, None))
            case "rename":
                moved, there = self._at(call.path), self._at(call.path2)
                if moved is not there:  # of two links to one file a rename moves nothing
                    back = there if call.flags & EXCHANGED else None
                    self._change((call.path, back), (call.path2, moved))
            case "write":
                self._write(call.inode, call.offset, call.data)
            case "truncate":
                self._write(call.inode, call.offset, None)
            case "open to write" if call.flags & CUT:
                self._write(call.inode, 0, None)
            case "sync":
                self._sync(self._inodes.get(call.inode))

    def _enter(self, call: Call, node: Node) -> None:
        self._inodes[call.inode] = node
        self._change((call.path, node))

    def _place(self, path: str) -> tuple[Folder, str]:
        *parents, name = os.path.relpath(path, self.world).split("/")
        folder: Node = self.root
        for parent in parents:
            folder = folder.now[parent]  # type: ignore[union-attr]
        assert isinstance(folder, Folder), path
        return folder, name

    def _at(self, path: str) -> Node | None:
        folder, name = self._place(path)
        return folder.now.get(name)

    def _change(self, *edits: tuple[str, Node | None]) -> None:
        change = Change(tuple((*self._place(path), node) for path, node in edits))
        self.changes.append(change)
        for folder, name, node in change.edits:
            _put(folder.now, name, node)

    def _write(self, inode: int, offset: int, data: bytes | None) -> None:
        node = self._inodes.get(inode)
        if isinstance(node, File):
            node.pending.append((offset, data))

    def _sync(self, node: Node | None) -> None:
        if isinstance(node, File):
            node.content = _written(node.content, node.pending)
            node.pending.clear()
        elif isinstance(node, Folder):
            for change in self.changes:
                change.durable = change.durable or id(node) in change.folders

    # --- the power goes ----------------------------------------------------------------------------------

    def lose_power(self, how: str, dice: random.Random) -> Found:
        """What is found afterwards: nodes by path, parents first, with the content of files."""
        names: dict[int, dict[str, Node]] = {}
        for change in self._surviving(how, dice):
            for folder, name, node in change.edits:
                _put(names.setdefault(id(folder), dict(folder.durable)), name, node)
        contents: dict[int, bytes] = {}

        def walk(folder: Folder, above: str) -> Iterator[tuple[str, tuple[Node, bytes]]]:
            for name, node in sorted(names.get(id(folder), folder.durable).items()):
                if name.endswith("-shm"):
                    continue
                if isinstance(node, File) and id(node) not in contents:
                    contents[id(node)] = _content(node, how, dice)
                yield above + name, (node, contents.get(id(node), b""))
                if isinstance(node, Folder):
                    yield from walk(node, f"{above}{name}/")

        return dict(walk(self.root, ""))

    def _surviving(self, how: str, dice: random.Random) -> list[Change]:
        """The changes that are on the disk, in order. What precedes a durable change in its folder is durable too."""
        if how in ("names without data", "data in pieces"):
            return self.changes
        own: dict[int, list[int]] = {}  # the changes of each folder
        last: dict[int, int] = {}
        for number, change in enumerate(self.changes):
            for folder in change.folders:
                own.setdefault(folder, []).append(number)
                if change.durable:
                    last[folder] = number
        if how == "anything":  # each folder has some of its later changes
            for folder, numbers in own.items():
                later = [number for number in numbers if number > last.get(folder, -1)]
                if later and dice.random() < 0.7:
                    last[folder] = dice.choice(later)
        return [
            change
            for number, change in enumerate(self.changes)
            if any(number <= last.get(folder, -1) for folder in change.folders)
        ]


def _put(names: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _content(file: File, how: str, dice: random.Random) -> bytes:
    if how in ("synced only", "names without data"):
        return file.content
    kept: list[tuple[int, bytes | None]] = []
    for offset, data in file.pending:
        fate = dice.choice(("there", "there", "lost", "zeros", "sectors")) if data else "there"
        if fate == "there":
            kept.append((offset, data))
        elif fate == "zeros" and data:
            kept.append((offset, bytes(len(data))))
        elif fate == "sectors" and data:
            starts = (at for at in range(0, len(data), SECTOR) if dice.random() < 0.5)
            kept += [(offset + at, data[at : at + SECTOR]) for at in starts]
    return _written(file.content, kept)


def _written(content: bytes, writes: Iterable[tuple[int, bytes | None]]) -> bytes:
    whole = bytearray(content)
    for offset, data in writes:
        size = offset if data is None else offset + len(data)
        whole.extend(bytes(max(0, size - len(whole))))
        if data is None:
            del whole[offset:]
        else:
            whole[offset:size] = data
    return bytes(whole)


def lay_out(found: Found, world: Path) -> None:
    """Writes what was found into an empty folder."""
    for name, (node, content) in found.items():
        path = world / name
        if isinstance(node, Folder):
            path.mkdir(mode=node.mode)
        elif isinstance(node, Link):
            path.symlink_to(node.target)
        else:
            path.write_bytes(content)
            path.chmod(node.mode)
            if node.mtime_ns:
                os.utime(path, ns=(node.mtime_ns, node.mtime_ns))
