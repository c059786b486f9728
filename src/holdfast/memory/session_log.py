"""The log of a project on disk. Entries are only appended; old ones are moved unchanged to the archive.

An entry is written to the archive first, then removed from the log. A crash in between leaves it in both; readers
take each session once, and the next archiving recognises it by its bytes.
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
_KEPT = 0.6  # of the longest: archiving a little at every session would rewrite the log every time
_ARCHIVE = lazy_regex(r"(?:\d{4}-\d\d|undated)\.md")


class Mark(Struct, frozen=True):
    """The hash of a log entry as it was written, to detect manual edits."""

    project: str
    session: str
    mark: str


class Placed(Struct, frozen=True):
    """An entry and its place. `line` is 0 if it was removed, or can no longer be parsed as an entry."""

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
        """Entries that match no mark of their session, and sessions whose entries were removed."""
        marks_by_session: dict[str, set[str]] = {}
        for mark in self._marks():
            if mark.project == self._project and mark.session not in forgotten:
                marks_by_session.setdefault(mark.session, set()).add(mark.mark)
        present = list(entries)
        changed = [
            entry
            for entry in present
            if entry.session in marks_by_session and _mark(entry.text) not in marks_by_session[entry.session]
        ]
        removed = marks_by_session.keys() - {entry.session for entry in present}
        return [*changed, *(Placed(log, 0, session) for session in sorted(removed))]

    def accept(self, held: Held, entries: Iterable[Placed], but: Collection[str] = ()) -> None:
        """Accepts the entries as they are now, except those of the sessions in `but`."""
        old_marks = self._marks()
        unchanged = [mark for mark in old_marks if mark.project != self._project or mark.session in but]
        current_marks = [
            Mark(self._project, entry.session, _mark(entry.text))
            for entry in entries
            if entry.session not in but
        ]
        new_marks = [*unchanged, *dict.fromkeys(current_marks)]
        if new_marks != old_marks:
            files.replace_held(held, self._path, encode_json_lines(new_marks), files.ANYTHING)

    def _marks(self) -> list[Mark]:
        return read_json_lines(self._path, Mark)


def _mark(text: str) -> str:
    """The hash of an entry, whatever its line endings."""
    folded = text.replace("\r\n", "\n").rstrip("\n")
    return blake2b(encode_text(folded), digest_size=12).hexdigest()


class Entries(Struct, frozen=True):
    """One entry per session, oldest first, and the lines that could not be parsed."""

    entries: tuple[LogEntry, ...]
    problems: tuple[Problem, ...]


class SessionLog:
    """`log.md` and `archive/` of one project. The caller holds the lock, and has checked the paths."""

    def __init__(self, path: Path, archive: Path, project: str, marks: LogMarks | None = None) -> None:
        self.path = path
        self.archive_folder = archive
        self.project = project
        self._marks = marks

    def read(self) -> LogFile:
        return log_md.parse_log(decode_text(files.read(self.path) or b""), "log.md")

    def archives(self) -> Iterator[Path]:
        """The files of the archive, oldest month first; the file without a date comes before all others."""
        if self.archive_folder.is_dir():
            paths = [path for path in self.archive_folder.iterdir() if _ARCHIVE.fullmatch(path.name)]
            yield from sorted(paths, key=lambda path: (path.name != "undated.md", path.name))

    def entries(self) -> Entries:
        """All logged sessions. The last entry of a session counts; the log's entries are later than the archive's."""
        logs = [log for _, log in self._files()]
        forgotten = set().union(*(log.forgotten for log in logs))
        last_entries = log_md.latest(
            entry for log in logs for entry in log.entries if entry.session not in forgotten
        )
        ordered = sorted(last_entries, key=lambda entry: entry.at if entry.at is not None else 0)
        return Entries(tuple(ordered), tuple(problem for log in logs for problem in log.problems))

    def written(self) -> tuple[list[Placed], set[str]]:
        """Every entry as it is in its file, and the forgotten sessions."""
        present: list[Placed] = []
        forgotten: set[str] = set()
        for name, log in self._files():
            forgotten |= log.forgotten
            for block in log.blocks:
                if (entry := block.entry) is not None:
                    text = "".join(log.lines[block.start : block.end])
                    present.append(Placed(name, block.start + 1, entry.session, entry.at, text))
        return present, forgotten

    def _files(self) -> Iterator[tuple[str, LogFile]]:
        """The archive, oldest first, then the log, each with its path relative to the project's folder."""
        for path in (*self.archives(), self.path):
            name = path.relative_to(self.path.parent).as_posix()
            yield name, log_md.parse_log(decode_text(files.read(path) or b""), name)

    def add(self, held: Held, entries: Sequence[LogEntry]) -> list[LogEntry]:
        """Append entries in one write. Entries that equal the last one of their session are left out.

        So are those of forgotten sessions.
        """
        old_data = files.read(self.path) or b""
        last_entries, forgotten = self._last_of({entry.session for entry in entries}, old_data)
        added = [
            entry
            for entry in entries
            if entry.session not in forgotten and last_entries.get(entry.session) != entry
        ]
        if not added:
            return []
        rendered = [(entry.session, log_md.render_entry(entry)) for entry in added]
        text = "".join(entry_text for _, entry_text in rendered)
        if not old_data:
            text = log_md.render_beginning(self.project) + text
        files.append_held(held, self.path, text.encode())
        new_data = files.read(self.path) or b""
        if not (new_data.startswith(old_data) and new_data.endswith(text.encode())):
            what = "somebody else changed the log while an entry was added"
            raise StoreError(what, where=str(self.path), fix="Look at its end, and run the command again")
        if self._marks is not None:
            self._marks.add(held, ((session, entry_text.lstrip("\n")) for session, entry_text in rendered))
        return added

    def _last_of(self, sessions: set[str], log: bytes) -> tuple[dict[str, LogEntry], set[str]]:
        """The last entries, and the forgotten sessions. A file is searched for the names before it is parsed."""
        names = {log_md.end_prefix(session).encode() for session in sessions}
        last_entries: dict[str, LogEntry] = {}
        forgotten: set[str] = set()
        for path in (*self.archives(), self.path):
            data = log if path == self.path else files.read(path) or b""
            if data and (b"forgotten -->" in data or any(name in data for name in names)):
                log_file = log_md.parse_log(decode_text(data), path.name)
                last_entries.update(
                    (entry.session, entry) for entry in log_file.entries if entry.session in sessions
                )
                forgotten |= log_file.forgotten & sessions
        return last_entries, forgotten

    def too_old(self, longest: int = LONGEST) -> list[LogEntry]:
        """The entries that `archive` would move, oldest first."""
        return [block.entry for block in _oldest(self.read(), longest) if block.entry is not None]

    def archive(self, held: Held, longest: int = LONGEST) -> int:
        """Move the oldest entries of a log that is too long, and return their number. On Conflict, try again."""
        data = files.read(self.path) or b""
        log = log_md.parse_log(decode_text(data), "log.md")
        moved = _oldest(log, longest)
        if not moved:
            return 0
        self._put_into_archive(held, log, moved)
        remaining = "".join([log.preamble, *(log.text(block) for block in log.blocks[len(moved) :])])
        sync_names()  # the archive must be on disk before the entries leave the log
        files.replace_held(held, self.path, encode_text(remaining), files.digest(data))
        return len(moved)

    def _put_into_archive(self, held: Held, log: LogFile, moved: list[Block]) -> None:
        by_file: dict[Path, list[str]] = {}
        places: dict[str, Path] = {}
        path = self.archive_folder / "undated.md"
        for block in moved:
            if block.entry is not None:  # a torn block goes with the entry above it
                path = places.setdefault(block.entry.session, self._place_of(block.entry))
            by_file.setdefault(path, []).append(log.text(block))
        for path, texts in by_file.items():
            archived = files.read(path) or b""
            beginning = b"" if archived else f"# Sessions of {path.stem}\n\n".encode()
            missing = texts[_how_many_are_there(archived, texts) :]
            if missing:
                files.append_held(held, path, beginning + encode_text("".join(missing)))

    def _place_of(self, entry: LogEntry) -> Path:
        """The file of its month. All entries of a session go to one file, so that the last one there counts."""
        name = log_md.end_prefix(entry.session).encode()
        files_with_session = (path for path in self.archives() if name in (files.read(path) or b""))
        return next(files_with_session, self.archive_folder / f"{render_month(entry.at)}.md")


def _oldest(log: LogFile, longest: int) -> list[Block]:
    """The blocks to archive; the newest always stays."""
    remaining = len(log.lines)
    if remaining <= longest:
        return []
    count = 0
    for block in log.blocks[:-1]:
        if remaining <= longest * _KEPT:
            break
        remaining -= block.stop - block.start
        count += 1
    return log.blocks[:count]


def _how_many_are_there(archive: bytes, texts: list[str]) -> int:
    """How many of the first texts a crashed archiving has already written to the end of the file."""
    for count in range(len(texts), 0, -1):
        if archive.endswith(encode_text("".join(texts[:count]))):
            return count
    return 0
