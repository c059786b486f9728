"""Entire: checkpoints of other agents' sessions, kept in the git objects of the repository itself.

On the branch `entire/checkpoints/v1` and below `refs/entire/checkpoints/` stand `…/<n>/full.jsonl`, the whole
transcript so far, and `metadata.json`. Each checkpoint repeats the ones before it: of a session the newest
counts. The transcript is handed to the importer that recognises it, and is that agent's session.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import TranscriptError
from holdfast.model.session import Began, Event
from holdfast.transcripts.contract import Claims, Glance, Importer, Places, Warned
from holdfast.transcripts.git_objects import (
    Blob,
    Ref,
    blobs,
    common_folder,
    contents,
    copy_blob,
    refs,
    work_tree_of,
)
from holdfast.transcripts.jsonl import seconds
from holdfast.transcripts.loose import Record, object_in, text

HEAD = 64 * 1024
_PLACES = ("refs/heads/entire/checkpoints", "refs/entire/checkpoints", "refs/remotes")
_REF = re.compile(r"refs/(?:heads/|remotes/[^/]+/)?entire/checkpoints(?:/.+)?")
_TRANSCRIPT = re.compile(r"(?:(.*)/)?full\.jsonl(?:\.(\d+))?")
_HEAD_FILE = re.compile(rb"(?:ref: \S+|[0-9a-f]{40,64})\s*")


class Checkpoint(Struct, frozen=True):
    """The newest transcript of a session: one blob, or the pieces of a large one in order."""

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

    @property
    def stamp(self) -> int:
        """Another number for another content: git has made the hash already."""
        return int(self.pieces[-1].identity[:12], 16)


class CheckpointReading:
    def __init__(
        self, git: Path, found: Checkpoint | None, importers: Sequence[Importer], claims: Claims
    ) -> None:
        self._git = git
        self._found = found
        self._importers = importers
        self._claims = claims
        self.warnings: list[Warned] = []

    def position(self) -> int:
        return self._found.size if self._found else 0

    def state(self) -> bytes:
        return b""

    def events(self) -> Iterator[Event]:
        if self._found is None:
            self.warnings.append(Warned(f"git:{self._git}", 0, "gone", "the checkpoint is no longer there"))
            return
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            path = Path(folder, f"{re.sub(r'[^A-Za-z0-9._-]', '_', self._found.session)[:100]}.jsonl")
            try:
                with open(path, "wb") as file:
                    for piece in self._found.pieces:
                        copy_blob(self._git, piece.identity, file)
                        file.flush()
                yield from self._inner(path, self._found)
            except TranscriptError as error:
                self.warnings.append(Warned(self._found.place, 0, "unreadable", error.problem))

    def _inner(self, path: Path, found: Checkpoint) -> Iterator[Event]:
        with open(path, "rb") as file:
            head = file.read(HEAD)
        importer = next((importer for importer in self._importers if importer.recognise(path, head)), None)
        if importer is None:
            if head.strip():
                self.warnings.append(
                    Warned(found.place, 1, "unknown", "no importer recognises this transcript")
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


class Entire:
    """`importers` are those to which transcripts are offered, in this order."""

    agent = "entire"
    title = "Entire"
    appends = False
    copies = False

    def __init__(self, importers: Sequence[Importer]) -> None:
        self._importers = importers
        self._listed: dict[Path, tuple[list[Ref], dict[str, Checkpoint]]] = {}

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
            found = self._checkpoints(path.parent)
        except TranscriptError:
            return ()
        cwd = work_tree_of(path.parent)
        return [
            Glance(cwd, checkpoint.made or None, part=session, size=checkpoint.size, changed=checkpoint.stamp)
            for session, checkpoint in found.items()
        ]

    def open(
        self, path: Path, offset: int, state: bytes, claims: Claims, part: str = ""
    ) -> CheckpointReading:
        found = self._checkpoints(path.parent).get(part)
        return CheckpointReading(path.parent, found, self._importers, claims)

    def _checkpoints(self, git: Path) -> dict[str, Checkpoint]:
        """By session; listed again only when a ref has moved."""
        now = _checkpoint_refs(git)
        known = self._listed.get(git)
        if known is None or known[0] != now:
            known = self._listed[git] = (now, _newest(git, now))
        return known[1]


def _checkpoint_refs(git: Path) -> list[Ref]:
    """Each distinct state once, the local name of it first."""
    found = {ref.target: ref for ref in reversed(refs(git, *_PLACES)) if _REF.fullmatch(ref.name)}
    return sorted(found.values(), key=lambda ref: ref.name)


def _newest(git: Path, states: Iterable[Ref]) -> dict[str, Checkpoint]:
    newest: dict[str, Checkpoint] = {}
    for ref in states:
        for checkpoint in _listed(git, ref):
            known = newest.get(checkpoint.session)
            if known is None or (known.made, known.size) < (checkpoint.made, checkpoint.size):
                newest[checkpoint.session] = checkpoint
    return newest


def _listed(git: Path, ref: Ref) -> Iterator[Checkpoint]:
    transcripts: dict[str, dict[int, Blob]] = {}
    notes: dict[str, str] = {}
    for blob in blobs(git, ref.target):
        folder, _, name = blob.path.rpartition("/")
        if name == "metadata.json":
            notes[folder] = blob.identity
        elif found := _TRANSCRIPT.fullmatch(blob.path):
            transcripts.setdefault(folder, {})[int(found[2] or 0)] = blob
    folders = [folder for folder in transcripts if folder in notes]
    known = dict(zip(folders, contents(git, [notes[folder] for folder in folders]), strict=True))
    for folder, pieces in transcripts.items():
        about: Record = object_in(known.get(folder, b"{}"))
        ordered = tuple(pieces[number] for number in sorted(pieces))
        yield Checkpoint(
            session=text(about, "session_id") or ordered[0].identity,
            ref=ref.name,
            made=seconds(about.get("created_at")) or 0.0,
            pieces=ordered,
            branch=text(about, "branch"),
        )
