"""A target for each agent in the registry: whatever a transcript holds, the rest is read and nothing breaks."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
from tests.agents.builders import Registry, SourceClaims, digest_of
from tests.agents.samples import SAMPLES
from tests.agents.samples_files import cursor_database, gemini_document
from tests.fuzz.mutations import join_files, split_files
from tests.fuzz.oracles import FAST, Target, require, require_one_line

from holdfast.agent_kit.contract import Glance, Importer, Reading, Warned
from holdfast.agents.registry import BY_AGENT, importers
from holdfast.core.errors import HoldfastError
from holdfast.demo.run import SESSIONS
from holdfast.model.events import Event
from holdfast.sessions.session import SessionPart, conclude

HEAD = 64 * 1024
_MOST_PARTS = 20
_AMPLIFIED = 16  # times its size: an event may repeat what a line said, and hold what it decoded


# Agents that keep sessions in more than one form.
_OTHER_FORMS = {
    "cursor-database": ("cursor", cursor_database),
    "gemini-document": ("gemini", gemini_document),
}


def reader_targets() -> Iterator[tuple[str, partial[Target]]]:
    """The name of each target, and what makes it. An agent of another package is one too."""
    for importer in importers():
        yield (
            f"reader-{importer.agent}",
            partial(_target, f"reader-{importer.agent}", importer, SAMPLES.get(importer.agent)),
        )
    for name, (agent, write) in _OTHER_FORMS.items():
        yield f"reader-{name}", partial(_target, f"reader-{name}", BY_AGENT[agent], write)


def _target(name: str, importer: Importer, write: Callable[[Path], Path] | None) -> Target:
    scratch = tempfile.TemporaryDirectory(prefix="holdfast-fuzz-", dir=FAST)
    path = write(Path(scratch.name)) if write else Path(scratch.name) / "session.jsonl"
    source = _Source(importer, path)
    seeds = [source.sample(), *_demo_sessions(importer)]
    return Target(
        name=name,
        check=source.check,
        seeds=tuple(seeds),
        words=_words(seeds),
        close=scratch.cleanup,
    )


def _demo_sessions(importer: Importer) -> list[bytes]:
    folder = SESSIONS / importer.agent
    found = sorted(
        (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    return [path.read_bytes()[:HEAD] for path in found[:3]] if folder.is_dir() else []


def _words(seeds: list[bytes]) -> tuple[bytes, ...]:
    """The keys of the format and what stands beside them: the short texts in quotes."""
    import re

    found = {word for seed in seeds for word in re.findall(rb'"([A-Za-z_][\w./ -]{1,30})"', seed)}
    return tuple(sorted(found))


class _Source:
    """A transcript at the place where its agent keeps it, alone or among the files that belong to it."""

    def __init__(self, importer: Importer, path: Path) -> None:
        self._importer = importer
        self._path = path
        self._git = path.parent if path.parent.name == ".git" else None
        found = sorted(path.parent.rglob("*")) if self._git is None and path.exists() else []
        self._files = [file for file in found if file.is_file() and ".git" not in file.parts]
        if path in self._files and path.suffix in (".db", ".vscdb"):
            self._files = [path]  # beside a database stand SQLite's own files
        self._part = next((glance.part for glance in self._glances()), "") if path.exists() else ""

    def sample(self) -> bytes:
        if self._git is not None:
            return join_files(_committed(self._git))
        if len(self._files) < 2:
            return self._path.read_bytes() if self._path.exists() else b""
        return join_files(
            {str(file.relative_to(self._path.parent)): file.read_bytes() for file in self._files}
        )

    def check(self, data: bytes) -> None:
        self._write(data)
        try:
            glances = self._glances()
        except HoldfastError as error:
            require_one_line(error)
            glances = []
        for part in [glance.part for glance in glances[:_MOST_PARTS]] or [self._part]:
            self._read(part, len(data))

    def _write(self, data: bytes) -> None:
        names, contents = split_files(data)
        if self._git is not None:
            _commit(self._git, dict(zip(names, contents, strict=True)))
        elif len(self._files) < 2:
            self._path.write_bytes(data)
        else:
            allowed = {str(file.relative_to(self._path.parent)): file for file in self._files}
            for name, content in zip(names, contents, strict=True):
                allowed.get(name, self._path).write_bytes(content)

    def _glances(self) -> list[Glance]:
        head = self._path.read_bytes()[:HEAD]
        recognised = self._importer.recognise(self._path, head)
        require(isinstance(recognised, bool), f"recognise answers no yes or no: {recognised!r}")
        return list(self._importer.sessions(self._path, head)) if recognised else []

    def _read(self, part: str, size: int) -> None:
        claims = Registry().source(str(self._path))
        try:
            reading, events = self._pass(part, claims)
        except HoldfastError as error:
            require_one_line(error)
            return
        for warning in reading.warnings:
            _require_place(warning)
        require(len(repr(events)) <= _AMPLIFIED * size + 20_000, "events are larger than their source")
        digest = digest_of(events, self._importer.agent)
        msgspec.msgpack.encode(digest)  # what an import stores
        if not digest.empty:
            conclude(digest.parent or digest.session, [SessionPart(str(self._path), digest)], None, None)
        if self._importer.appends:
            self._read_on(reading, part, claims)

    def _pass(
        self, part: str, claims: SourceClaims, offset: int = 0, state: bytes = b""
    ) -> tuple[Reading, list[Event]]:
        reading = self._importer.open(self._path, offset, state, claims, part)
        return reading, list(reading.events())

    def _read_on(self, before: Reading, part: str, claims: SourceClaims) -> None:
        """The next pass begins where this one stopped: nothing is read twice."""
        position, size = before.position(), self._path.stat().st_size
        require(0 <= position <= size, f"position outside of the file: {position} of {size}")
        after, events = self._pass(part, claims, position, before.state())
        require(not events, f"read twice: {events[:2]!r}"[:500])
        require(after.position() == position, f"position moves on: from {position} to {after.position()}")


def _require_place(warning: Warned) -> None:
    require(warning.path and warning.line >= 0, f"warning without a place: {warning!r}")
    require(warning.code and warning.message.strip(), f"warning says nothing: {warning!r}")


# --- transcripts that are kept in git ------------------------------------------------------------------


def _git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", "--git-dir", str(folder), *words], input=given, capture_output=True, check=True
    ).stdout


def _refs(folder: Path) -> list[str]:
    return [
        name
        for name in _git(folder, "for-each-ref", "--format=%(refname)").decode().split()
        if "entire" in name
    ]


def _committed(folder: Path) -> dict[str, bytes]:
    ref = _refs(folder)[0]
    names = _git(folder, "ls-tree", "-r", "-z", "--name-only", ref).decode().split("\0")
    return {name: _git(folder, "show", f"{ref}:{name}") for name in names if name}


def _commit(folder: Path, files: dict[str, bytes]) -> None:
    """The files as the only content of the ref that there is; a name that git refuses is another one."""
    lines = [
        b"commit %s\ncommitter A <a@example.org> 1772442000 +0000\ndata 1\nx\ndeleteall\n"
        % _refs(folder)[0].encode()
    ]
    for name, content in files.items():
        parts = [part for part in name.split("/") if part not in ("", ".", "..", ".git")]
        path = "".join(char for char in "/".join(parts) if char.isprintable() and char not in '"\\') or "x"
        lines.append(
            b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode("utf-8", "replace"), len(content), content)
        )
    for leftover in (folder / "objects" / "pack").glob("*"):
        if leftover.stat().st_size > 1 << 20:
            leftover.unlink()
    _git(folder, "fast-import", "--quiet", "--force", given=b"".join(lines))
