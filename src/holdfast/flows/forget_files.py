"""Forgetting on disk: every file of a project's memory, its versions and its ledgers.

What tells where a session's words went (its record, its log entries) goes last, so that whoever was killed in the
middle finishes by doing it again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.files import Held
from holdfast.core.patterns import lazy_regex
from holdfast.ledger import markdown
from holdfast.ledger.forgetting import forget_in_ledger
from holdfast.ledger.store import LedgerStore, refuse_newer
from holdfast.lessons.notes import LessonForgetting
from holdfast.memory import forgetting as md
from holdfast.memory.store import MemoryStore
from holdfast.model.ledger import LedgerEntry, Outcome
from holdfast.sessions.store import CaptureForgetting
from holdfast.store import inbox
from holdfast.store import inbox as aside
from holdfast.store.phrases import FORGOTTEN
from holdfast.store.project import Project
from holdfast.store.removal import Removal
from holdfast.store.versions import Versions

_TEMPORARY = lazy_regex(r"\.holdfast-.*-[0-9a-f]{8}\.tmp")
_ABANDONED_S = 60.0
_EDITORS: dict[str, Callable[[str, Removal, str], str]] = {
    "current.md": md.forget_in_current,
    "style.md": md.forget_in_style,
    "reference.md": md.forget_in_reference,
    "open-questions.md": md.forget_in_questions,
}
_LOGS = lazy_regex(r"projects/[^/]+/(?:log|archive/(?:\d{4}-\d\d|undated))\.md")
_TOLD = ("why.jsonl", "why.jsonl.1")
_ERRORS = ("hook.log", "hook.log.1")
_DERIVED = lazy_regex(
    r"(?:resume|index)\.json|scan\.cache|(?:context|stamps)-[0-9a-f]{8}\.json|index\.db(?:-wal|-shm|-journal)?|"
    r"[^/]+\.(?:npy|vec)"
)
# Names and switches that the program lives by, and what keeps the forgotten away.
_KEPT = lazy_regex(
    r"(?:format|root|name|projects\.json|switches\.json|ledger\.md|dismissed\.jsonl|denied\.jsonl)"
    r"|(?:locks|history|inbox)/.*|.*\.db(?:-wal|-shm|-journal)?|(?:.*/)?\.holdfast-.*\.tmp"
)


class _Edit(Struct, frozen=True):
    """What becomes of one file. `whole`: with nothing left in it the file itself goes."""

    path: Path
    shown: str
    edit: Callable[[bytes], bytes]
    whole: bool = False


class Forgetting:
    """One removal from one project's memory. The caller holds the locks of capture, import and memory."""

    def __init__(self, project: Project, removal: Removal) -> None:
        self.project = project
        self.removal = removal
        self._root = project.memory
        self._lessons = LessonForgetting(project, removal)

    def count(self) -> dict[str, int]:
        """What would go, by file. Writes nothing; StoreError when a file cannot be understood."""
        found: dict[str, int] = {}
        for step in [*self._early(), *self._late()]:
            data = files.read(step.path)
            if data is not None:
                self._found(found, step.shown, self.removal.counted(step.edit, data)[1])
        for path, shown, _ in self._ledgers():
            self._found(found, shown, self._in_ledger(files.read(path) or b"", path)[1])
        self._found(found, "inbox", len(self._letters()))
        self._found(found, "history", self._versions_holding())
        self._lessons.count(lambda shown, number: self._found(found, shown, number))
        if (store := CaptureForgetting.look(self.project.capture)) is not None:
            with closing(store):
                self._found(found, "capture.db", store.count(self.removal))
        return found

    def apply(self, held: Held) -> dict[str, int]:
        """Takes it out; how much, by file. Done again it finds nothing."""
        found: dict[str, int] = {}
        for step in self._early():
            self._found(found, step.shown, self._replace(held, step))
        self._lessons.apply(lambda shown, number: self._found(found, shown, number), time.time())
        versions = Versions(self._root / "history")
        self._found(found, "history", versions.rewrite(held, self._version))
        for path, shown, lock in self._ledgers():
            self._found(found, shown, self._bury(path, lock))
        logs = self._logs()
        by_hand = {log: {edited.session for edited in log.edited_entries()} for log in logs}
        for step in self._late():
            self._found(found, step.shown, self._replace(held, step))
        for log in logs:  # what was taken out here is no edit by hand; what was one stays one
            log.accept_entries(by_hand[log], held)
        letters = self._letters()
        inbox.remove(letters)
        self._found(found, "inbox", len(letters))
        if self.project.capture.exists():
            with closing(CaptureForgetting(self.project.capture)) as store:
                self._found(found, "capture.db", store.forget(self.removal))
        self._remove_derived()
        return found

    def _found(self, found: dict[str, int], shown: str, number: int) -> None:
        if number:
            found[shown] = found.get(shown, 0) + number

    def _replace(self, held: Held, step: _Edit) -> int:
        """A person who edits by hand knows no lock, so it is tried again on what they wrote."""

        def attempt() -> int:
            before = files.read(step.path)
            if before is None:
                return 0
            after, number = self.removal.counted(step.edit, before)
            if not after and before and step.whole:
                step.path.unlink(missing_ok=True)
            elif after != before:
                files.replace_held(held, step.path, after, files.digest(before))
            return number

        return files.until_undisturbed(attempt)

    # --- which files -----------------------------------------------------------------------------------

    def _early(self) -> Iterator[_Edit]:
        for path, shown in self._files():
            if shown in _TOLD:
                yield _Edit(path, shown, self._in_told)
            elif shown in _ERRORS:
                yield _Edit(path, shown, self._in_errors)
            elif self._lessons.is_mine(shown):
                yield _Edit(path, shown, lambda data, shown=shown: self._lessons.edit(shown, data), True)  # type: ignore[misc]
            elif path.name in _EDITORS and not _KEPT.fullmatch(shown):
                yield _Edit(path, shown, lambda data, shown=shown: self._in_markdown(shown, data))  # type: ignore[misc]
            elif not (_LOGS.fullmatch(shown) or _KEPT.fullmatch(shown) or _DERIVED.fullmatch(shown)):
                yield _Edit(path, shown, lambda data, path=path: self._in_other(path, data))  # type: ignore[misc]

    def _late(self) -> Iterator[_Edit]:
        for path, shown in self._files():
            if _LOGS.fullmatch(shown):
                yield _Edit(path, shown, lambda data, shown=shown: self._in_log(shown, data))  # type: ignore[misc]

    def _files(self) -> Iterator[tuple[Path, str]]:
        """Every file of the memory. A link is never followed: what it leads to is not ours."""
        for directory, folders, names in os.walk(self._root):
            folders.sort()
            for name in sorted([*names, *folders]):
                path = Path(directory, name)
                shown = path.relative_to(self._root).as_posix()
                if name in _EDITORS or _LOGS.fullmatch(shown) or shown.startswith("projects/"):
                    self._refuse_what_is_not_ours(path, is_file=name in _EDITORS or name == "log.md")
                if name in names and not path.is_symlink() and path.is_file():
                    yield path, shown

    def _refuse_what_is_not_ours(self, path: Path, *, is_file: bool) -> None:
        if path.is_symlink():
            fix = "Move it away and put the file itself there"
            raise StoreError(f"it is a link to {os.readlink(path)!r}", where=str(path), fix=fix)
        if is_file and path.is_dir():
            files.read(path)  # says what is wrong with a folder in a file's place

    def _ledgers(self) -> list[tuple[Path, str, Path]]:
        ledgers = [(self.project.ledger, "ledger.md", self.project.lock("ledger"))]
        if (shared := self.project.window_ledger) is not None:
            ledgers.append((shared, ".holdfast/ledger.md", self.project.lock("ledger-shared")))
        return [ledger for ledger in ledgers if ledger[0].exists()]

    def _logs(self) -> list[MemoryStore]:
        logs = sorted(self._root.glob("projects/*/log.md"))
        return [MemoryStore(self.project, path.parent.name) for path in logs]

    def _letters(self) -> list[Path]:
        letters = [*inbox.envelopes(self._root / "inbox")[0], *inbox.envelopes(aside.folder(self._root))[0]]
        gone = [letter.path for letter in letters if letter.session in self.removal.sessions]
        return [*gone, *aside.faults_of(self._root, self.removal.sessions)]

    # --- what becomes of them --------------------------------------------------------------------------

    def _in_markdown(self, shown: str, data: bytes) -> bytes:
        edit = _EDITORS[Path(shown).name]
        return _encode(edit(_decode(data), self.removal, shown))

    def _in_log(self, shown: str, data: bytes) -> bytes:
        return _encode(md.forget_in_log(_decode(data), self.removal, shown))

    def _in_told(self, data: bytes) -> bytes:
        return b"".join(left for line in data.splitlines(keepends=True) if (left := self._told(line)))

    def _told(self, line: bytes) -> bytes:
        """What a session was told: gone with the session, else without what came from a forgotten one."""
        try:
            entry = json.loads(line)
        except ValueError:
            return _encode(self.removal.text(_decode(line)))
        if not isinstance(entry, dict):
            return line
        session = entry.get("session")
        if isinstance(session, str) and session in self.removal.sessions:
            self.removal.hits += 1
            return b""
        editors = {"lines": self._told_lines, "files": self._told_files}
        new = {name: editors[name](value) if name in editors else value for name, value in entry.items()}
        return (
            line if new == entry else json.dumps(new, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        )

    def _told_lines(self, lines: Any) -> Any:
        return [self._told_line(line) for line in lines] if isinstance(lines, list) else lines

    def _told_files(self, paths: Any) -> Any:
        """Whole or not at all: half a path names another file."""
        if not isinstance(paths, list):
            return paths
        kept = [path for path in paths if not (isinstance(path, str) and self._names_it(path))]
        self.removal.hits += len(paths) - len(kept)
        return kept

    def _names_it(self, path: str) -> bool:
        return self.removal.phrases.found_in(path) or self.removal.traces(path)

    def _told_line(self, line: Any) -> Any:
        if not isinstance(line, dict):
            return line
        texts = {key: text for key, text in line.items() if isinstance(text, str)}
        if any(map(self.removal.traces, texts.values())):
            self.removal.hits += 1
            return {**line, **dict.fromkeys(texts, ""), "text": FORGOTTEN}
        return {**line, **{key: self.removal.text(text) for key, text in texts.items()}}

    def _in_errors(self, data: bytes) -> bytes:
        names = [name.encode() for name in self.removal.sessions]
        lines = data.splitlines(keepends=True)
        kept = [line for line in lines if not any(name in line for name in names)]
        self.removal.hits += len(lines) - len(kept)
        return _encode(self.removal.text(_decode(b"".join(kept))))

    def _in_other(self, path: Path, data: bytes) -> bytes:
        """A file that is known by nothing but its kind: only texts are looked for."""
        if not self.removal.phrases or b"\0" in data:
            return data
        if path.suffix == ".json":
            with contextlib.suppress(ValueError):
                return self._in_json(data, json.loads(data), indent=2)
        if path.suffix == ".jsonl":
            return b"".join(map(self._in_json_line, data.splitlines(keepends=True)))
        return _encode(self.removal.text(_decode(data)))

    def _in_json_line(self, line: bytes) -> bytes:
        try:
            return self._in_json(line, json.loads(line), indent=None)
        except ValueError:
            return _encode(self.removal.text(_decode(line)))

    def _in_json(self, data: bytes, value: Any, indent: int | None) -> bytes:
        new = self.removal.plain(value)
        if new == value:
            return data
        return json.dumps(new, ensure_ascii=False, indent=indent).encode("utf-8", "replace") + b"\n"

    # --- versions --------------------------------------------------------------------------------------

    def _version(self, file: str, data: bytes) -> bytes | None:
        """A kept version without it; None for one that holds it and cannot be understood."""
        if self._lessons.is_mine(file):
            return self._lessons.version(file, data)
        if Path(file).name not in _EDITORS:
            return data
        try:
            return self._in_markdown(file, data)
        except StoreError:
            return data if self.removal.counted(self.removal.prose, _decode(data))[1] == 0 else None

    def _versions_holding(self) -> int:
        versions = Versions(self._root / "history")
        kept = versions.contents(versions.changes())
        return sum(self._version(file, data) != data for _, file, data in kept)

    # --- ledgers ---------------------------------------------------------------------------------------

    def _in_ledger(self, data: bytes, path: Path) -> tuple[bytes, int]:
        refuse_newer(markdown.parse_ledger(data, path.name).format, path)
        return self.removal.counted(lambda raw: forget_in_ledger(raw, self.removal, path.name), data)

    def _bury(self, path: Path, lock: Path) -> int:
        """Rows become tombstones; in a table that has no word for one, a tombstone is added below."""
        with files.lock(lock) as held:

            def attempt() -> tuple[bytes, bytes, int]:
                before = files.read(path) or b""
                after, number = self._in_ledger(before, path)
                if after != before:
                    files.replace_held(held, path, after, files.digest(before))
                    held.leave_note(b"")
                return before, after, number

            before, after, number = files.until_undisturbed(attempt)
        gone = _sessions(before, path) & self.removal.sessions - _sessions(after, path)
        if gone:
            stones = [LedgerEntry(session=name, outcome=Outcome.FORGOTTEN) for name in sorted(gone)]
            LedgerStore(path, lock).append(stones)
        return number

    # --- what is made again, and what dead writers left ---------------------------------------------------

    def _remove_derived(self) -> None:
        for directory, _, names in os.walk(self._root):
            for name in names:
                path = Path(directory, name)
                derived = path.parent == self._root and _DERIVED.fullmatch(name)
                with contextlib.suppress(OSError):
                    left = _TEMPORARY.fullmatch(name) and time.time() - path.stat().st_mtime > _ABANDONED_S
                    if derived or left:
                        path.unlink()


def _sessions(data: bytes, path: Path) -> set[str]:
    return {entry.session for entry in markdown.parse_ledger(data, path.name).entries} if data else set()


# Bytes that are no UTF-8 pass through unharmed: a person's file comes back as it was.


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
