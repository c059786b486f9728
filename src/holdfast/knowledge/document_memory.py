"""Decision records and changelogs as memory: what git tracks at HEAD, read again only where it changed.

    reading = document_sources(root, since, clean=machine.clean)
    for source in reading.sources: …        # put; a source replaces the one with its id
    for id in reading.gone: …               # delete
    keep(reading.state)                     # pass it as `since` next time

What HEAD has in common with the default branch counts on every branch, anything else on the branch that is checked out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.file_names import LEFT_OUT
from holdfast.core.git_files import blobs_of, contents_of, last_changed
from holdfast.core.git_history import branches_of, git_dir_of, head_of
from holdfast.core.hashes import blake2b
from holdfast.core.stamp import Stamp
from holdfast.core.tokens import cut_to
from holdfast.guard.hidden_text import has_hidden
from holdfast.guard.quoted_text import Clean, is_hostile
from holdfast.knowledge.changelogs import is_changelog, releases_in
from holdfast.knowledge.commit_memory import cleaned_source
from holdfast.knowledge.commit_texts import kind_of
from holdfast.knowledge.decision_records import may_be_record, record_in
from holdfast.knowledge.quotations import Quotation
from holdfast.model.memory import content_id
from holdfast.model.source import Source
from holdfast.model.statement import Statement, Status

FORMAT = 1  # raise it when the same file gives other sources: everything is read again then
_LARGEST = 200_000
_LARGEST_CHANGELOG = 3_000_000
_MOST_FILES = 4000
_MOST_CHANGELOGS = 10
_MOST_TURNS = 30
_CHANGELOG_WORTH = (
    0.02  # it lists what was added, which the code shows: found when asked for, hardly ever told
)
_LONGEST_TURN = 800
_SUBJECT_TOKENS = 30
_MARK = 10  # digits of a blob's id that are kept of files that are no documents


class FileRead(Struct, frozen=True, omit_defaults=True):
    """A file that gave sources: the id of its content, and the sources."""

    blob: str
    sources: tuple[str, ...] = ()


class DocumentsRead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read: pass it as `since` to read only what changed. Kept by the caller, as JSON."""

    format: int = 0
    head: str = ""
    default: tuple[str, ...] = ()
    branch: str = ""
    files: dict[str, FileRead] = {}
    plain: tuple[str, ...] = ()  # contents that are no documents, by the first digits of their ids


class DocumentReading(Struct, frozen=True):
    """New and changed sources, the ids of those that are gone, and the state for the next reading."""

    sources: tuple[Source, ...]
    gone: tuple[str, ...]
    state: DocumentsRead


def document_sources(
    root: Path,
    since: DocumentsRead | None,
    *,
    clean: Clean,
    others: bool = True,
    now: float | None = None,
) -> DocumentReading:
    """Decision records and versions of changelogs as sources, redacted by `clean`.

    `since` is the `state` of the last reading; None reads everything. Documents have no author, so `others` False gives
    none. `now` bounds the dates that documents name.
    """
    known = since if since is not None and since.format == FORMAT else DocumentsRead(format=FORMAT)
    old_files = since.files if since is not None else {}
    git_dir = git_dir_of(root) if others else None
    if git_dir is None:
        return DocumentReading((), _ids(old_files), DocumentsRead(format=FORMAT))
    branches = branches_of(git_dir)
    branch, head = head_of(git_dir)
    begun = DocumentsRead(format=FORMAT, head=head, default=branches.tips, branch=branch)
    if since == msgspec.structs.replace(begun, files=known.files, plain=known.plain):
        return DocumentReading((), (), known)
    everywhere = _everywhere(git_dir, head, branch, branches.default, branches.tips)
    reader = _DocumentReader(git_dir, known, clean, now)
    reader.read(head, branch, everywhere)
    kept = {id for file in reader.files.values() for id in file.sources}
    gone = tuple(sorted({id for file in old_files.values() for id in file.sources} - kept))
    state = msgspec.structs.replace(
        begun, files=dict(sorted(reader.files.items())), plain=tuple(sorted(reader.plain))
    )
    return DocumentReading(tuple(reader.sources), gone, state)


def _everywhere(
    git_dir: Path, head: str, branch: str, default: str, tips: tuple[str, ...]
) -> set[str] | None:
    """The contents that the default branch has; None if HEAD is that branch, and all of it counts everywhere."""
    if not branch or branch == default or head in tips:
        return None
    return {blob for tip in tips for blob in blobs_of(git_dir, tip).values()}


class _DocumentReader:
    def __init__(self, git_dir: Path, known: DocumentsRead, clean: Clean, now: float | None) -> None:
        self._git_dir = git_dir
        self._known = known
        self._clean = clean
        self._now = now
        self.sources: list[Source] = []
        self.files: dict[str, FileRead] = {}
        self.plain: set[str] = set()

    def read(self, head: str, branch: str, everywhere: set[str] | None) -> None:
        known_plain = set(self._known.plain)
        changed: dict[str, tuple[str, tuple[str, ...]]] = {}
        for path, blob in candidates(blobs_of(self._git_dir, head) if head else {}):
            on: tuple[str, ...] = () if everywhere is None or blob in everywhere else (branch,)
            key = f"{blob}@{branch}" if on else blob
            if (before := self._known.files.get(path)) and before.blob == key:
                self.files[path] = before
            elif blob[:_MARK] in known_plain:
                self.plain.add(blob[:_MARK])
            else:
                changed[path] = (blob, on)
        texts = self._texts(changed)
        times = last_changed(
            self._git_dir, head, [path for path, (blob, _) in changed.items() if blob in texts]
        )
        for path, (blob, on) in changed.items():
            made = list(self._made(path, texts.get(blob, ""), times.get(path), on))
            if made:
                key = f"{blob}@{on[0]}" if on else blob
                self.files[path] = FileRead(key, tuple(source.id for source in made))
                self.sources += made
            else:
                self.plain.add(blob[:_MARK])

    def _texts(self, changed: Mapping[str, tuple[str, tuple[str, ...]]]) -> dict[str, str]:
        """The contents that are documents, as text; the others only cost a look."""
        paths = {blob: path for path, (blob, _) in changed.items()}
        logs = [blob for blob, path in paths.items() if is_changelog(path)]
        records = [blob for blob, path in paths.items() if not is_changelog(path)]
        texts: dict[str, str] = {}
        for blobs, largest in ((logs, _LARGEST_CHANGELOG), (records, _LARGEST)):
            for blob, data in contents_of(self._git_dir, blobs, largest):
                text = data.decode("utf-8-sig", "replace")
                if "\0" not in text[:8000] and (blobs is logs or record_in(paths[blob], text)):
                    texts[blob] = text
        return texts

    def _made(self, path: str, text: str, changed: float | None, on: tuple[str, ...]) -> Iterator[Source]:
        if not text:
            return
        text = self._clean(text)
        found = _of_changelog if is_changelog(path) else _of_record
        for source in found(path, text, changed, self._now):
            suffix = f"@{on[0]}" if on else ""
            placed = msgspec.structs.replace(source, id=source.id + suffix, branches=on)
            yield cleaned_source(placed, self._clean)


def candidates(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The files that may be documents; not those of third parties, nor names that hide something."""
    logs: list[tuple[str, str]] = []
    records: list[tuple[str, str]] = []
    for path, blob in files.items():
        folders = path.lower().split("/")[:-1]
        if not path.isprintable() or any(name in LEFT_OUT or name[:1] == "." for name in folders):
            continue
        if is_changelog(path):
            logs.append((path, blob))
        elif may_be_record(path):
            records.append((path, blob))
    logs = [item for item in sorted(logs, key=_depth)[:_MOST_CHANGELOGS] if not _is_unsafe(item[0])]
    return [*logs, *(item for item in sorted(records, key=_depth)[:_MOST_FILES] if not _is_unsafe(item[0]))]


def _depth(item: tuple[str, str]) -> tuple[int, str]:
    return item[0].count("/"), item[0]


def _is_unsafe(path: str) -> bool:
    return len(path) > 300 or has_hidden(path) or is_hostile(path)


def _of_record(path: str, text: str, changed: float | None, now: float | None) -> Iterator[Source]:
    record = record_in(path, text)
    if record is None:
        return
    at = _bounded(changed if record.at is None else record.at, now)
    told = [(quotation, record.status) for quotation in record.holds]
    told += [
        (quotation, "rejected" if record.status == "agreed" else record.status)
        for quotation in record.refused
    ]
    yield Source(
        id=f"doc:{path}",
        kind="document",
        at=at,
        title=record.title,
        turns=_turns(record.title, record.texts),
        statements=tuple(_statements(path, record.title, told, at)),
        stamp=_stamp(text),
    )


def _of_changelog(path: str, text: str, changed: float | None, now: float | None) -> Iterator[Source]:
    name = path.rpartition("/")[2].partition(".")[0]
    for number, release in enumerate(releases_in(text)):
        title = f"{name} {release.version}"
        at = _bounded(changed if release.at is None and number == 0 else release.at, now)
        told: list[tuple[Quotation, Status]] = [(quotation, "agreed") for quotation in release.entries]
        yield Source(
            id=f"doc:{path}#{release.version}",
            kind="document",
            at=at,
            title=title,
            turns=_turns(title, release.texts),
            statements=tuple(_statements(path, title, told, at, _CHANGELOG_WORTH)),
            stamp=_stamp("\n".join((title, str(at), *release.texts))),
        )


def _statements(
    path: str, title: str, told: list[tuple[Quotation, Status]], at: float | None, worth: float | None = None
) -> Iterator[Statement]:
    seen: set[str] = set()
    for quotation, status in told:
        id = content_id("D", quotation.text)
        if id in seen:
            continue
        seen.add(id)
        yield Statement(
            id=id,
            kind=kind_of(quotation.text),
            status=status,
            text=quotation.text,
            subject="" if quotation.text == title else cut_to(title, _SUBJECT_TOKENS),
            origin="git",
            stamp=None if at is None else Stamp.of_seconds(at),
            source=f"{path}:{max(quotation.line, 1)}",
            worth=quotation.worth if worth is None else worth,
        )


def _turns(title: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    return (title, *(text[:_LONGEST_TURN] for text in texts[:_MOST_TURNS]))


def _bounded(at: float | None, now: float | None) -> float | None:
    return at if at is None or now is None else min(at, now)


def _stamp(text: str) -> str:
    return blake2b(f"{FORMAT}\n{text}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def _ids(files: Mapping[str, FileRead]) -> tuple[str, ...]:
    return tuple(sorted(id for file in files.values() for id in file.sources))
