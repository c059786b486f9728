"""Forgetting on disk: every file of a project's memory, its versions and its ledgers.

The record and the log entries of a session show where its words are, so they are removed last: a second run finishes
an interrupted removal.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.files import Held
from holdfast.core.temporary_files import is_temporary
from holdfast.ledger import markdown
from holdfast.ledger.forgetting import forget_in_ledger
from holdfast.ledger.store import LedgerStore, refuse_newer
from holdfast.lessons.forgetting import LessonForgetting
from holdfast.memory import forget as md
from holdfast.memory.store import MemoryStore
from holdfast.model.ledger import LedgerEntry, Outcome
from holdfast.provenance.forgetting import count_edits, forget_edits
from holdfast.provenance.index import EDITS
from holdfast.sessions.store import CaptureForgetting
from holdfast.store import inbox
from holdfast.store.memory_files import kind_of, walk_memory
from holdfast.store.phrases import FORGOTTEN
from holdfast.store.project import Project
from holdfast.store.removal import Removal
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.sync_journal import NAME as SYNC
from holdfast.store.sync_journal import purge_journal
from holdfast.store.versions import Versions
from holdfast.transcripts.kept import KEPT, open_kept

_ABANDONED_S = 60.0
_MARKDOWN: dict[str, Callable[[str, Removal, str], str]] = {
    "current.md": md.forget_in_current,
    "style.md": md.forget_in_style,
    "reference.md": md.forget_in_reference,
    "open-questions.md": md.forget_in_questions,
}


def _markdown(shown: str) -> Callable[[str, Removal, str], str]:
    return _MARKDOWN.get(shown.rpartition("/")[2], md.forget_in_decisions)


class Forgetting:
    """One removal from one project's memory. The caller holds the capture, import and memory locks."""

    def __init__(self, project: Project, removal: Removal) -> None:
        self.project = project
        self.removal = removal
        self._root = project.memory
        self._lessons = LessonForgetting(project, removal)
        self._versions = Versions(self._root / "history")
        self._removed: Counter[str] = Counter()

    def count(self) -> dict[str, int]:
        """How much would be removed from each file. Writes nothing; raises StoreError if a file cannot be parsed."""
        for path, relative in [*self._files(logs=False), *self._files(logs=True)]:
            if (data := files.read(path)) is not None:
                self._note(relative, self._edit(relative, data)[1])
        for path, relative, _ in self._ledgers():
            self._note(relative, self._edit_ledger(files.read(path) or b"", path)[1])
        self._note("inbox", len(self._envelopes()))
        contents = self._versions.contents(self._versions.changes())
        self._note("history", sum(self._edit_version(file, data) != data for _, file, data in contents))
        self._lessons.count(self._note)
        self._note(EDITS, count_edits(self._root / EDITS, self.removal))
        if (store := CaptureForgetting.look(self.project.capture)) is not None:
            with closing(store):
                self._note("capture.db", store.count(self.removal))
        if (kept := open_kept(self._root)) is not None:
            with kept as transcripts:
                self._note(KEPT, transcripts.count(self.removal.sessions, self.removal.plain))
        return self._report()

    def apply(self, held: Held) -> dict[str, int]:
        """Removes the items and returns how much was removed from each file. A second run finds nothing."""
        self._replace_files(held, logs=False)
        self._lessons.apply(self._note, time.time())
        self._note("history", self._versions.rewrite(held, self._edit_version))
        for path, relative, lock in self._ledgers():
            self._note(relative, self._bury(path, lock))
        names = sorted(path.parent.name for path in self._root.glob("projects/*/log.md"))
        logs = [MemoryStore(self.project, name) for name in names]
        by_hand = {log: {edited.session for edited in log.edited_entries()} for log in logs}
        self._replace_files(held, logs=True)
        for log in logs:  # our removal must not look like a manual edit; real manual edits stay marked
            log.accept_entries(by_hand[log], held)
        envelopes = self._envelopes()
        inbox.remove(envelopes)
        self._note("inbox", len(envelopes))
        self._note(EDITS, forget_edits(self._root / EDITS, self.removal))
        self._note(SYNC, purge_journal(self._root, self._is_in_entry))
        if self.project.capture.exists():
            with closing(CaptureForgetting(self.project.capture)) as store:
                self._note("capture.db", store.forget(self.removal))
        if (kept := open_kept(self._root)) is not None:
            with kept as transcripts:
                self._note(KEPT, transcripts.forget(self.removal.sessions, self.removal.plain))
        remove_derived(self._root, locked=True)
        return self._report()

    def _is_in_entry(self, line: bytes) -> bool:
        """Whether an entry of sync is about what is forgotten, or has a part of it."""
        try:
            entry = json.loads(line)
        except ValueError:
            return True
        key, body = str(entry.get("key", "")), entry.get("body")
        if isinstance(body, dict) and body.get("outcome") == Outcome.FORGOTTEN:
            return False
        if body is None and key.startswith(("team/decision/", "team/fact/")):
            return False  # it takes them back from the others, may not have travelled yet, and has no words
        names = set(unquote(key).split("/"))
        if names & (self.removal.sessions | self.removal.ids) or self.removal.plain(body) != body:
            return True
        return any(self.removal.text(text) != text for text in _strings(body))

    def _note(self, shown: str, number: int) -> None:
        if number:
            self._removed[shown] += number

    def _report(self) -> dict[str, int]:
        removed, self._removed = dict(self._removed), Counter()
        return removed

    def _replace_files(self, held: Held, *, logs: bool) -> None:
        for path, relative in self._files(logs=logs):
            # An editor takes no lock: if a person saves the file in between, retry with the new content.
            self._note(relative, files.until_undisturbed(partial(self._replace, held, path, relative)))

    def _replace(self, held: Held, path: Path, shown: str) -> int:
        before = files.read(path)
        if before is None:
            return 0
        after, number = self._edit(shown, before)
        if before and not after and kind_of(shown).forget == "lesson":
            files.discard([path])
        elif after != before:
            files.replace_held(held, path, after, files.digest(before))
        return number

    # --- which files -----------------------------------------------------------------------------------

    def _files(self, *, logs: bool) -> Iterator[tuple[Path, str]]:
        """The logs, or every other file that may contain words of a session. Links are not followed."""
        for path, relative in walk_memory(self._root):
            treatment = kind_of(relative).forget
            managed = path.name in _MARKDOWN
            if managed or treatment == "log" or relative.startswith("projects/"):
                self._refuse_foreign(path, is_file=managed or path.name == "log.md")
            if treatment in ("keep", "remove") or (treatment == "log") != logs:
                continue
            if not path.is_symlink() and path.is_file():
                yield path, relative

    def _refuse_foreign(self, path: Path, *, is_file: bool) -> None:
        if path.is_symlink():
            fix = "Replace it with the file itself"
            raise StoreError(f"it is a link to {os.readlink(path)!r}", where=str(path), fix=fix)
        if is_file and path.is_dir():
            files.read(path)  # raises the error for a folder in place of a file

    def _ledgers(self) -> list[tuple[Path, str, Path]]:
        ledgers = [(self.project.ledger, "ledger.md", self.project.lock("ledger"))]
        if (shared := self.project.window_ledger) is not None:
            ledgers.append((shared, ".holdfast/ledger.md", self.project.lock("ledger-shared")))
        return [ledger for ledger in ledgers if ledger[0].exists()]

    def _envelopes(self) -> list[Path]:
        """The inbox files of these sessions, including quarantined ones."""
        sessions = self.removal.sessions
        envelopes = [
            envelope
            for folder in (self._root / "inbox", inbox.quarantine(self._root))
            for envelope in inbox.envelopes(folder)[0]
        ]
        removed = [envelope.path for envelope in envelopes if envelope.session in sessions]
        return [*removed, *inbox.faults_of(self._root, sessions)]

    # --- editing one file ------------------------------------------------------------------------------

    def _edit(self, shown: str, data: bytes) -> tuple[bytes, int]:
        """The file without the forgotten items, and how many it contained."""
        return self.removal.counted(lambda raw: self._edit_content(shown, raw), data)

    def _edit_content(self, shown: str, data: bytes) -> bytes:
        treatment = kind_of(shown).forget
        if treatment == "lesson":
            return self._lessons.edit(shown, data)
        if treatment == "injections":
            return b"".join(map(self._edit_injection, data.splitlines(keepends=True)))
        if treatment == "errors":
            return self._edit_errors(data)
        if treatment == "text":
            return self._edit_text(shown, data)
        forget = md.forget_in_log if treatment == "log" else _markdown(shown)
        return encode_text(forget(decode_text(data), self.removal, shown))

    def _edit_injection(self, line: bytes) -> bytes:
        """A trace entry: removed if its session is forgotten, else without lines from a forgotten session."""
        try:
            entry = json.loads(line)
        except ValueError:
            return encode_text(self.removal.text(decode_text(line)))
        if not isinstance(entry, dict):
            return line
        session = entry.get("session")
        if isinstance(session, str) and session in self.removal.sessions:
            self.removal.hits += 1
            return b""
        edited = {**entry}
        if isinstance(lines := entry.get("lines"), list):
            edited["lines"] = [self._edit_injected_line(item) for item in lines]
        if isinstance(
            paths := entry.get("files"), list
        ):  # whole or not at all: half a path names another file
            edited["files"] = [path for path in paths if not (isinstance(path, str) and self._mentions(path))]
            self.removal.hits += len(paths) - len(edited["files"])
        return line if edited == entry else _json(edited)

    def _mentions(self, path: str) -> bool:
        return self.removal.phrases.found_in(path) or self.removal.traces(path)

    def _edit_injected_line(self, line: Any) -> Any:
        if not isinstance(line, dict):
            return line
        texts = {key: text for key, text in line.items() if isinstance(text, str)}
        if any(map(self.removal.traces, texts.values())):
            self.removal.hits += 1
            return {**line, **dict.fromkeys(texts, ""), "text": FORGOTTEN}
        return {**line, **{key: self.removal.text(text) for key, text in texts.items()}}

    def _edit_errors(self, data: bytes) -> bytes:
        names = [name.encode() for name in self.removal.sessions]
        lines = data.splitlines(keepends=True)
        remaining = [line for line in lines if not any(name in line for name in names)]
        self.removal.hits += len(lines) - len(remaining)
        return encode_text(self.removal.text(decode_text(b"".join(remaining))))

    def _edit_text(self, shown: str, data: bytes) -> bytes:
        """A file of unknown structure: texts are replaced wherever they occur; the suffix gives the format."""
        if not self.removal.phrases or b"\0" in data:
            return data
        if shown.endswith(".jsonl"):
            return b"".join(self._edit_json(line, None) for line in data.splitlines(keepends=True))
        if Path(shown).suffix == ".json":
            return self._edit_json(data, 2)
        return encode_text(self.removal.text(decode_text(data)))

    def _edit_json(self, data: bytes, indent: int | None) -> bytes:
        try:
            value = json.loads(data)
        except ValueError:
            return encode_text(self.removal.text(decode_text(data)))
        edited = self.removal.plain(value)
        return data if edited == value else _json(edited, indent)

    def _edit_version(self, file: str, data: bytes) -> bytes | None:
        """A stored version without the forgotten items; None if it contains them and cannot be parsed."""
        treatment = kind_of(file).forget
        if treatment == "lesson":
            return self._lessons.version(file, data)
        if treatment not in ("markdown", "log"):
            return data
        try:
            return self._edit_content(file, data)
        except StoreError:
            return data if self.removal.counted(self.removal.prose, decode_text(data))[1] == 0 else None

    # --- ledgers ---------------------------------------------------------------------------------------

    def _edit_ledger(self, data: bytes, path: Path) -> tuple[bytes, int]:
        refuse_newer(markdown.parse_ledger(data, path.name).format, path)
        return self.removal.counted(lambda raw: forget_in_ledger(raw, self.removal, path.name), data)

    def _bury(self, path: Path, lock: Path) -> int:
        """Turns rows into tombstones. In a table without an outcome column they are added as new rows."""
        with files.lock(lock) as locked:

            def attempt() -> tuple[bytes, bytes, int]:
                before = files.read(path) or b""
                after, number = self._edit_ledger(before, path)
                if after != before:
                    files.replace_held(locked, path, after, files.digest(before))
                    locked.leave_note(b"")
                return before, after, number

            before, after, number = files.until_undisturbed(attempt)
        missing = _sessions(before, path) & self.removal.sessions - _sessions(after, path)
        if missing:
            stones = [LedgerEntry(session=name, outcome=Outcome.FORGOTTEN) for name in sorted(missing)]
            LedgerStore(path, lock).append(stones)
        return number


def remove_derived(memory: Path, *, locked: bool = False) -> None:
    """Removes derived files, and what crashed writers left: in the history, if it is `locked`, however new."""
    derived = []
    for path, relative in walk_memory(memory):
        with contextlib.suppress(OSError):
            abandoned = is_temporary(path.name) and (
                (locked and "history" in relative.split("/"))
                or time.time() - path.stat().st_mtime > _ABANDONED_S
            )
            is_derived = kind_of(relative).forget == "remove" and not (
                path.is_dir() and not path.is_symlink()
            )
            if abandoned or is_derived:
                derived.append(path)
    files.discard(derived)


def _sessions(data: bytes, path: Path) -> set[str]:
    return {entry.session for entry in markdown.parse_ledger(data, path.name).entries} if data else set()


def _strings(value: object) -> Iterator[str]:
    """Every text in plain values: in an entry from elsewhere no field is only a name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _json(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "replace") + b"\n"
