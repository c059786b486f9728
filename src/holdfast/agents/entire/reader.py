"""Entire: checkpoints of other agents' sessions, kept in the git objects of the repository itself.

On the branch `entire/checkpoints/v1` and below `refs/entire/checkpoints/` stand `…/<n>/full.jsonl`, the whole
transcript so far, and `metadata.json`. A checkpoint repeats the ones before it, or goes on where they ended
(early versions wrote pieces): what begins differently is read as well. The transcript is handed to the
importer that recognises it, and is that agent's session.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agent_kit.contract import BaseReader, Claims, Glance, Importer, ReadAnew, Warned
from holdfast.agent_kit.jsonl import seconds, text_in
from holdfast.agent_kit.loose import Record, object_in
from holdfast.core.errors import TranscriptError
from holdfast.core.git import run_git, start_git
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import checkout_at
from holdfast.model.events import Began, Event
from holdfast.store.machine import Places

_TREE_LINE = lazy_regex(rb"\d{6} blob ([0-9a-f]{40,64}) +(\d+|-)\t(.+)", re.DOTALL)
WAIT_SECONDS = 120
MOST_LISTED_BYTES = 500_000_000
HEAD = 64 * 1024
_PLACES = ("refs/heads/entire/checkpoints", "refs/entire/checkpoints", "refs/remotes")
_REF = lazy_regex(r"refs/(?:heads/|remotes/[^/]+/)?entire/checkpoints(?:/.+)?")
_TRANSCRIPT = lazy_regex(r"(?:(.*)/)?full\.jsonl(?:\.(\d+))?")
_HEAD_FILE = lazy_regex(rb"(?:ref: \S+|[0-9a-f]{40,64})\s*")


class Ref(Struct, frozen=True):
    name: str
    target: str


class Blob(Struct, frozen=True):
    identity: str
    size: int
    path: str


def common_folder(work_tree: Path) -> Path | None:
    """The folder in which a work tree's objects lie: its `.git`, the one that a worktree points to, itself if bare."""
    checkout = checkout_at(str(work_tree))
    entry = Path(checkout.common) if checkout else work_tree
    return entry if (entry / "HEAD").is_file() and (entry / "objects").is_dir() else None


def work_tree_of(common: Path) -> str:
    """A work tree that uses the objects: beside a `.git`, or the first linked one of a bare repository."""
    if common.name == ".git":
        return str(common.parent)
    for pointer in sorted(common.glob("worktrees/*/gitdir")):
        try:
            return str(Path(pointer.read_text(encoding="utf-8", errors="replace").strip()).parent)
        except OSError:
            continue
    return str(common)


def refs(git: Path, *patterns: str) -> list[Ref]:
    lines = _output(git, "for-each-ref", "--format=%(objectname) %(refname)", *patterns).splitlines()
    parts = (line.decode("utf-8", "replace").partition(" ") for line in lines)
    return [Ref(name, target) for target, _, name in parts if name]


def blobs(git: Path, tree: str) -> Iterator[Blob]:
    for line in _output(git, "ls-tree", "-r", "-l", "-z", "--full-tree", tree).split(b"\0"):
        if match := _TREE_LINE.fullmatch(line):
            size = int(match[2]) if match[2] != b"-" else 0
            yield Blob(match[1].decode(), size, match[3].decode("utf-8", "replace"))


def contents(git: Path, identities: Iterable[str]) -> Iterator[bytes]:
    """Small blobs, in the order asked for, by one process; an empty one for each that is missing."""
    process = _started(git, "cat-file", "--batch", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        for identity in identities:
            process.stdin.write(identity.encode() + b"\n")
            process.stdin.flush()
            header = process.stdout.readline().split()
            if len(header) != 3 or not header[2].isdigit():
                yield b""
                continue
            content = process.stdout.read(int(header[2]))
            process.stdout.read(1)
            yield content
    except OSError as error:
        raise _refused(git, str(error)) from error
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(WAIT_SECONDS)


def start_of(git: Path, identity: str, length: int) -> bytes:
    """The first bytes of a blob, without waiting for the rest."""
    answer = run_git(
        git, "cat-file", "blob", identity, seconds=WAIT_SECONDS, most_bytes=length, is_git_dir=True
    )
    return answer.data


def copy_blob(git: Path, identity: str, target: IO[bytes]) -> None:
    """A blob of any size, straight from git into a file."""
    with _started(git, "cat-file", "blob", identity, stdin=subprocess.DEVNULL, stdout=target) as process:
        try:
            code = process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise _refused(git, str(error)) from error
    if code:
        raise _refused(git, f"object {identity[:12]} is missing")


def _output(git: Path, *arguments: str) -> bytes:
    answer = run_git(git, *arguments, seconds=WAIT_SECONDS, most_bytes=MOST_LISTED_BYTES, is_git_dir=True)
    if not answer.whole:
        raise _refused(git, answer.complaint)
    return answer.data


def _started(git: Path, *arguments: str, stdin: int, stdout: int | IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return start_git(git, *arguments, stdin=stdin, stdout=stdout)
    except OSError as error:
        raise _refused(git, str(error)) from error


def _refused(git: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"git cannot read this repository: {why or 'no reason given'}",
        where=str(git),
        fix="Check that git is installed and that the repository is whole",
    )


class Checkpoint(Struct, frozen=True):
    """One transcript: a blob, or the pieces of a large one in order."""

    session: str
    ref: str
    made: float
    pieces: tuple[Blob, ...]
    branch: str = ""

    @property
    def place(self) -> str:
        return f"git:{self.ref}:{self.pieces[0].path}"

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


class Kept(Struct):
    """All checkpoints of a session, oldest first."""

    checkpoints: list[Checkpoint]

    @property
    def size(self) -> int:
        return self.checkpoints[-1].size

    @property
    def stamp(self) -> int:
        """Another number for other contents: git has made the hashes already."""
        return sum(
            int(piece.identity[:12], 16) for checkpoint in self.checkpoints for piece in checkpoint.pieces
        )


class CheckpointReading(ReadAnew):
    def __init__(self, git: Path, kept: Kept | None, importers: Sequence[Importer], claims: Claims) -> None:
        super().__init__(claims)
        self._git = git
        self._kept = kept
        self._importers = importers

    def events(self) -> Iterator[Event]:
        if self._kept is None:
            self.warnings.append(Warned(f"git:{self._git}", 0, "gone", "the checkpoint is no longer there"))
            return
        for checkpoint in self._worth_reading(self._kept.checkpoints):
            try:
                yield from self._read(checkpoint)
            except TranscriptError as error:
                self.warnings.append(Warned(checkpoint.place, 0, "unreadable", error.problem))

    def _worth_reading(self, checkpoints: list[Checkpoint]) -> list[Checkpoint]:
        """The newest, and older ones that are not its beginning. Whole documents are complete in the newest."""
        chosen = [checkpoints[-1]]
        starts = [start_of(self._git, checkpoints[-1].pieces[0].identity, HEAD)]
        if not object_in(starts[0].partition(b"\n")[0]):
            return chosen
        for older in reversed(checkpoints[:-1]):
            start = start_of(self._git, older.pieces[0].identity, HEAD)
            if all(
                older.size > newer.size or start[: len(newer_start)] != newer_start[: len(start)]
                for newer, newer_start in zip(chosen, starts, strict=True)
            ):
                chosen.append(older)
                starts.append(start)
        return chosen[::-1]

    def _read(self, found: Checkpoint) -> Iterator[Event]:
        with _unwritten_file() as (file, path):
            for piece in found.pieces:
                copy_blob(self._git, piece.identity, file)
                file.seek(0, 2)
            file.flush()
            self._size += found.size
            yield from self._inner(path, found)

    def _inner(self, path: Path, found: Checkpoint) -> Iterator[Event]:
        with open(path, "rb") as file:
            head = file.read(HEAD)
        importer = next((importer for importer in self._importers if importer.recognise(path, head)), None)
        if importer is None:
            if head.strip():
                self.warnings.append(
                    Warned(found.place, 1, "unknown", "no reader recognises this transcript")
                )
            return
        for glance in importer.sessions(path, head):
            reading = importer.open(path, 0, b"", self._claims, glance.part)
            for event in reading.events():
                if isinstance(event, Began):
                    event = replace(
                        event, agent=event.agent or importer.agent, branch=event.branch or found.branch
                    )
                yield event
            self.warnings += [replace(warning, path=found.place) for warning in reading.warnings]


@contextmanager
def _unwritten_file() -> Iterator[tuple[BinaryIO, Path]]:
    """A file for the inner importer that has a path and, where the system can, never reaches a disk.

    A checkpoint is unredacted; elsewhere it lies in a private temporary folder until it is read.
    """
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with open(os.memfd_create("holdfast"), "w+b") as file:
            yield file, Path(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        path = Path(folder, "checkpoint.jsonl")
        with open(path, "w+b") as file:
            yield file, path


class Entire(BaseReader):
    """`importers` are those to which transcripts are offered, in this order."""

    agent = "entire"
    title = "Entire"

    def __init__(self, importers: Sequence[Importer]) -> None:
        self._importers = importers
        self._listed: dict[Path, tuple[list[Ref], dict[str, Kept]]] = {}

    def roots(self, places: Places) -> Iterable[Path]:
        if places.project is not None and (git := common_folder(places.project)) is not None:
            yield git

    def candidates(self, root: Path) -> Iterable[Path]:
        """A repository stands for its checkpoints as its `HEAD`: discovery deals in regular files."""
        head = root / "HEAD"
        return (head,) if head.is_file() else ()

    def recognise(self, path: Path, head: bytes) -> bool:
        if path.name != "HEAD" or not _HEAD_FILE.fullmatch(head) or not (path.parent / "objects").is_dir():
            return False
        try:
            return bool(_checkpoint_refs(path.parent))
        except TranscriptError:
            return False

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        try:
            by_session = self._checkpoints(path.parent)
        except TranscriptError:
            return ()
        cwd = work_tree_of(path.parent)
        return [
            Glance(cwd, kept.checkpoints[0].made or None, part=session, size=kept.size, changed=kept.stamp)
            for session, kept in by_session.items()
        ]

    def open(
        self, path: Path, offset: int, state: bytes, claims: Claims, part: str = ""
    ) -> CheckpointReading:
        kept = self._checkpoints(path.parent).get(part)
        return CheckpointReading(path.parent, kept, self._importers, claims)

    def _checkpoints(self, git: Path) -> dict[str, Kept]:
        """By session; listed again only when a ref has moved."""
        now = _checkpoint_refs(git)
        cached = self._listed.get(git)
        if cached is None or cached[0] != now:
            cached = self._listed[git] = (now, _by_session(git, now))
        return cached[1]


def _checkpoint_refs(git: Path) -> list[Ref]:
    """Each distinct state once, the local name of it first."""
    by_target = {ref.target: ref for ref in reversed(refs(git, *_PLACES)) if _REF.fullmatch(ref.name)}
    return sorted(by_target.values(), key=lambda ref: ref.name)


def _by_session(git: Path, states: Iterable[Ref]) -> dict[str, Kept]:
    sessions: dict[str, dict[str, Checkpoint]] = {}
    for ref in states:
        for checkpoint in _listed(git, ref):
            checkpoints = sessions.setdefault(checkpoint.session, {})
            # One content may have several refs.
            checkpoints.setdefault(checkpoint.pieces[-1].identity, checkpoint)
    return {
        session: Kept(sorted(unique.values(), key=lambda checkpoint: (checkpoint.made, checkpoint.size)))
        for session, unique in sessions.items()
    }


def _listed(git: Path, ref: Ref) -> Iterator[Checkpoint]:
    transcripts: dict[str, dict[int, Blob]] = {}
    notes: dict[str, str] = {}
    for blob in blobs(git, ref.target):
        folder, _, name = blob.path.rpartition("/")
        if name == "metadata.json":
            notes[folder] = blob.identity
        elif match := _TRANSCRIPT.fullmatch(blob.path):
            transcripts.setdefault(folder, {})[int(match[2] or 0)] = blob
    folders = [folder for folder in transcripts if folder in notes]
    metadata = dict(zip(folders, contents(git, [notes[folder] for folder in folders]), strict=True))
    for folder, pieces in transcripts.items():
        about: Record = object_in(metadata.get(folder, b"{}"))
        ordered = tuple(pieces[number] for number in sorted(pieces))
        yield Checkpoint(
            session=text_in(about, "session_id") or ordered[0].identity,
            ref=ref.name,
            made=seconds(about.get("created_at")) or 0.0,
            pieces=ordered,
            branch=text_in(about, "branch"),
        )
