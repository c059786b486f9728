"""The log of a project on disk: entries are only ever added; old ones move whole to the archive, once.

An archived entry is first in the archive, then gone from the log. A crash between the two leaves it in both;
readers take each session once, and the next archiving knows it again by its bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.files import Held
from holdfast.core.hashes import blake2b
from holdfast.core.patterns import lazy_regex
from holdfast.core.sync_folders import sync_names
from holdfast.memory import log as log_md
from holdfast.memory.log import Block, LogFile
from holdfast.model.memory import LogEntry
from holdfast.store.json_files import encode_json_lines, read_json_lines
from holdfast.store.line_grammar import Problem, render_month
from holdfast.store.sections import decode_text, encode_text

LONGEST = 500
_KEPT = 0.6  # of the longest: archiving a little at every session would move the log's beginning all the time
_ARCHIVE = lazy_regex(r"(?:\d{4}-\d\d|undated)\.md")


class Mark(Struct, frozen=True):
    """The hash of a log entry as it was written, so that a change by hand is noticed."""

    project: str
    session: str
    mark: str


class Placed(Struct, frozen=True):
    """An entry and where it stands. `line` is 0 when it is gone, or cannot be read as an entry any more."""

    where: str
    line: int
    session: str
    at: float | None = None
    text: str = ""


class LogMarks:
    def __init__(self, memory: Path, project: str) -> None:
        self._path = memory / "history" / "log-marks.jsonl"
        self._project = project

    def add(self, held: Held, entries: Iterable[tuple[str, str]]) -> None:
        lines = [Mark(self._project, session, _mark(text)) for session, text in entries]
        if lines:
            files.append_held(held, self._path, encode_json_lines(lines))

    def edited(self, entries: Iterable[Placed], forgotten: Collection[str], log: str) -> list[Placed]:
        """The entries of which no mark is known though their session has some, and sessions that are gone."""
        known: dict[str, set[str]] = {}
        for mark in self._marks():
            if mark.project == self._project and mark.session not in forgotten:
                known.setdefault(mark.session, set()).add(mark.mark)
        present = list(entries)
        changed = [
            entry
            for entry in present
            if entry.session in known and _mark(entry.text) not in known[entry.session]
        ]
        gone = known.keys() - {entry.session for entry in present}
        return [*changed, *(Placed(log, 0, session) for session in sorted(gone))]

    def accept(self, held: Held, entries: Iterable[Placed], but: Collection[str] = ()) -> None:
        """From now on the entries are right as they are, but for those of some sessions."""
        before = self._marks()
        kept = [mark for mark in before if mark.project != self._project or mark.session in but]
        now = [
            Mark(self._project, entry.session, _mark(entry.text))
            for entry in entries
            if entry.session not in but
        ]
        after = [*kept, *dict.fromkeys(now)]
        if after != before:
            files.replace_held(held, self._path, encode_json_lines(after), files.ANYTHING)

    def _marks(self) -> list[Mark]:
        return read_json_lines(self._path, Mark)


def _mark(text: str) -> str:
    """Line ends of another system are no change."""
    folded = text.replace("\r\n", "\n").rstrip("\n")
    return blake2b(encode_text(folded), digest_size=12).hexdigest()


class Entries(Struct, frozen=True):
    """One entry per session, oldest first, and what could not be read."""

    entries: tuple[LogEntry, ...]
    problems: tuple[Problem, ...]


class SessionLog:
    """`log.md` and `archive/` of one project. The caller holds the lock, and has checked the places."""

    def __init__(self, path: Path, archive: Path, project: str, marks: LogMarks | None = None) -> None:
        self.path = path
        self.archive_folder = archive
        self.project = project
        self._marks = marks

    def read(self) -> LogFile:
        return log_md.parse_log(decode_text(files.read(self.path) or b""), "log.md")

    def archives(self) -> Iterator[Path]:
        """The files of the archive, oldest month first; those without a date stand before all others."""
        if self.archive_folder.is_dir():
            found = [path for path in self.archive_folder.iterdir() if _ARCHIVE.fullmatch(path.name)]
            yield from sorted(found, key=lambda path: (path.name != "undated.md", path.name))

    def entries(self) -> Entries:
        """All that was ever logged. Of a session the last entry counts, and the log's is later than the archive's."""
        logs = [log for _, log in self._files()]
        forgotten = set().union(*(log.forgotten for log in logs))
        kept = log_md.latest(entry for log in logs for entry in log.entries if entry.session not in forgotten)
        ordered = sorted(kept, key=lambda entry: entry.at if entry.at is not None else 0)
        return Entries(tuple(ordered), tuple(problem for log in logs for problem in log.problems))

    def written(self) -> tuple[list[Placed], set[str]]:
        """Every entry as it stands in its file, and the sessions that were forgotten."""
        present: list[Placed] = []
        forgotten: set[str] = set()
        for shown, log in self._files():
            forgotten |= log.forgotten
            for block in log.blocks:
                if (entry := block.entry) is not None:
                    text = "".join(log.lines[block.start : block.end])
                    present.append(Placed(shown, block.start + 1, entry.session, entry.at, text))
        return present, forgotten

    def _files(self) -> Iterator[tuple[str, LogFile]]:
        """The archive, oldest first, then the log, each by its path from the project's folder."""
        for path in (*self.archives(), self.path):
            shown = path.relative_to(self.path.parent).as_posix()
            yield shown, log_md.parse_log(decode_text(files.read(path) or b""), shown)

    def add(self, held: Held, entries: Sequence[LogEntry]) -> list[LogEntry]:
        """Append entries in one write; those whose session's last one says the same already are left out.

        So are those of sessions that were forgotten.
        """
        before = files.read(self.path) or b""
        known, forgotten = self._last_of({entry.session for entry in entries}, before)
        new = [
            entry for entry in entries if entry.session not in forgotten and known.get(entry.session) != entry
        ]
        if not new:
            return []
        rendered = [(entry.session, log_md.render_entry(entry)) for entry in new]
        text = "".join(shown for _, shown in rendered)
        if not before:
            text = log_md.render_beginning(self.project) + text
        files.append_held(held, self.path, text.encode())
        after = files.read(self.path) or b""
        if not (after.startswith(before) and after.endswith(text.encode())):
            what = "somebody else changed the log while an entry was added"
            raise StoreError(what, where=str(self.path), fix="Look at its end, and run the command again")
        if self._marks is not None:
            self._marks.add(held, ((session, shown.lstrip("\n")) for session, shown in rendered))
        return new

    def _last_of(self, sessions: set[str], log: bytes) -> tuple[dict[str, LogEntry], set[str]]:
        """The entries that count, and who was forgotten. A file is searched for the names before it is parsed."""
        names = {log_md.end_prefix(session).encode() for session in sessions}
        found: dict[str, LogEntry] = {}
        forgotten: set[str] = set()
        for path in (*self.archives(), self.path):
            data = log if path == self.path else files.read(path) or b""
            if data and (b"forgotten -->" in data or any(name in data for name in names)):
                read = log_md.parse_log(decode_text(data), path.name)
                found.update((entry.session, entry) for entry in read.entries if entry.session in sessions)
                forgotten |= read.forgotten & sessions
        return found, forgotten

    def too_old(self, longest: int = LONGEST) -> list[LogEntry]:
        """The entries that `archive` would move, oldest first."""
        return [block.entry for block in _oldest(self.read(), longest) if block.entry is not None]

    def archive(self, held: Held, longest: int = LONGEST) -> int:
        """Move the oldest entries of a log that has grown too long; how many went. Conflict: try again."""
        data = files.read(self.path) or b""
        log = log_md.parse_log(decode_text(data), "log.md")
        moved = _oldest(log, longest)
        if not moved:
            return 0
        self._put_into_archive(held, log, moved)
        rest = "".join([log.preamble, *(log.text(block) for block in log.blocks[len(moved) :])])
        sync_names()  # of the archive, before the log lets go
        files.replace_held(held, self.path, encode_text(rest), files.digest(data))
        return len(moved)

    def _put_into_archive(self, held: Held, log: LogFile, moved: list[Block]) -> None:
        by_file: dict[Path, list[str]] = {}
        places: dict[str, Path] = {}
        path = self.archive_folder / "undated.md"
        for block in moved:
            if block.entry is not None:  # what is torn goes with the entry above it
                path = places.setdefault(block.entry.session, self._place_of(block.entry))
            by_file.setdefault(path, []).append(log.text(block))
        for path, texts in by_file.items():
            there = files.read(path) or b""
            beginning = b"" if there else f"# Sessions of {path.stem}\n\n".encode()
            new = texts[_how_many_are_there(there, texts) :]
            if new:
                files.append_held(held, path, beginning + encode_text("".join(new)))

    def _place_of(self, entry: LogEntry) -> Path:
        """The file of its month; all entries of a session lie in one file, so that the last one there counts."""
        name = log_md.end_prefix(entry.session).encode()
        known = (path for path in self.archives() if name in (files.read(path) or b""))
        return next(known, self.archive_folder / f"{render_month(entry.at)}.md")


def _oldest(log: LogFile, longest: int) -> list[Block]:
    """The blocks that must go; the newest always stays."""
    left = len(log.lines)
    if left <= longest:
        return []
    count = 0
    for block in log.blocks[:-1]:
        if left <= longest * _KEPT:
            break
        left -= block.stop - block.start
        count += 1
    return log.blocks[:count]


def _how_many_are_there(archive: bytes, texts: list[str]) -> int:
    """How many of the first texts an archiving that crashed has left at the end of the file."""
    for count in range(len(texts), 0, -1):
        if archive.endswith(encode_text("".join(texts[:count]))):
            return count
    return 0
