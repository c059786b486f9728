"""Scans what has changed in the repository, and stores what the scan and the sessions show about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import StoreError
from holdfast.core.patterns import lazy_regex
from holdfast.knowledge import store
from holdfast.knowledge.checkout import FileListing, head_of, index_stamp, listed, printable
from holdfast.model.knowledge import Caps, Items, Knowledge, LearnedFact
from holdfast.store.gate import gate
from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from holdfast.knowledge.scan import Progress, ScanState
    from holdfast.model.events import DistilledSession
    from holdfast.model.memory import Fact

# The modules of a scan are imported late: loading them takes as long as checking an unchanged checkout.

_CACHE_VERSION = 4
_LONG_RUN = lazy_regex(r"[A-Za-z0-9_+=-]{20}")
_LEFT_OUT = frozenset({"result", "id"})  # categories of facts that are only true for one moment or one query
_MOST_RECORDS = 2000
REST_S = 300.0  # between two background scans


class Stamps(Struct, array_like=True):
    """The inputs of the last look. Read first: if all are unchanged, nothing else is read."""

    version: int = 0
    scan: int = 0
    listing: str = ""
    head: str = ""
    index: str = ""
    memory: tuple[tuple[str, int, int], ...] = ()
    names: str = ""  # joined by newlines: decoding one text is faster than thousands
    stamps: tuple[int, ...] = ()  # mtime and size in turn; -1 for a missing file
    kept: float = 0.0  # when the knowledge from these inputs was stored; 0 if it was only displayed


class RepositoryLook(Struct, frozen=True):
    knowledge: Knowledge
    unchanged: bool
    kept: bool


def look(
    machine: Machine, project: Project, *, keep: bool, progress: Progress | None = None
) -> RepositoryLook:
    """The current knowledge. Reads only what changed since the last look; `keep` stores the result.

    The cache is derived data: it is written whenever the project has a memory, even without `keep`.
    """
    known = store.load(project)
    head, _, rest = store.read_cache(project).partition(b"\n\n")
    stamps = _decoded(head)
    files = _same_files(project, stamps) if known.scanned_at and known.scanned_at == stamps.kept else None
    if files is True:
        if stamps.memory == _memory_stamps(project):
            if keep:
                store.touch_cache(project)
            return RepositoryLook(known, True, keep)
        return _with_new_facts(machine, project, stamps, rest, keep=keep)
    names = files or listed(project.root)
    from holdfast.knowledge.scan import VERSION, ScanState, scan

    try:
        previous = (
            msgspec.msgpack.decode(rest, type=ScanState) if rest and stamps.scan == VERSION else ScanState()
        )
    except (msgspec.MsgspecError, UnicodeDecodeError):
        previous = ScanState()
    memory = _memory_stamps(project)
    index = index_stamp(project.root)
    scanned = scan(project.root, names, previous, progress or (lambda *_: None))
    items = _cleaned(machine, project, replace(scanned.items, facts=tuple(session_facts(machine, project))))
    now = machine.now().timestamp()
    caps = _caps(machine, project)

    def decide(known: Knowledge) -> Knowledge:
        return store.merged(known, items, scanned.looked, now, caps)

    if keep:
        project.prepare()
        new = store.change(project, decide)
    else:
        new = decide(known)
    if keep or project.memory.is_dir():
        everything = {
            **scanned.remembered.configs,
            **{n: (k.stamp.mtime, k.stamp.size) for n, k in scanned.remembered.files.items()},
        }
        clean = machine.clean
        writable = {name: stamp for name, stamp in everything.items() if _may_be_kept(name, clean)}
        flat = [number for stamp in writable.values() for number in (stamp or (-1, -1))]
        new_stamps = Stamps(_CACHE_VERSION, VERSION, names.digest, names.head, index, memory,
                     os.fsencode("\n".join(writable)).decode("latin-1"), tuple(flat),
                     new.scanned_at if keep else 0.0)  # fmt: skip
        _write_cache(
            project, new_stamps, msgspec.msgpack.encode(_writable(scanned.remembered, clean)), needed=keep
        )
    return RepositoryLook(new, False, keep)


def keep_fresh(machine: Machine, project: Project) -> None:
    """Scans what changed, in the background, unless the last scan was recent."""
    knowledge = store.load(project)
    if not 0 <= machine.now().timestamp() - knowledge.scanned_at < REST_S:
        look(machine, project, keep=True)


def learn_facts(machine: Machine, project: Project) -> None:
    """Updates the facts from sessions and people, if the repository was ever scanned, without a new scan.

    Facts of forgotten sessions are removed.
    """
    if not store.known(project):
        return
    facts = _cleaned(machine, project, Items(facts=tuple(session_facts(machine, project)))).facts
    if facts or store.load(project).now.facts:
        _change_facts(machine, project, facts)


def _with_new_facts(
    machine: Machine, project: Project, stamps: Stamps, rest: bytes, *, keep: bool
) -> RepositoryLook:
    stamps.memory = _memory_stamps(project)
    facts = _cleaned(machine, project, Items(facts=tuple(session_facts(machine, project)))).facts
    if not keep:
        return RepositoryLook(
            store.with_facts(store.load(project), facts, _caps(machine, project)), False, False
        )
    new = _change_facts(machine, project, facts)
    _write_cache(project, stamps, rest, needed=True)
    return RepositoryLook(new, False, True)


def _change_facts(machine: Machine, project: Project, facts: tuple[LearnedFact, ...]) -> Knowledge:
    caps = _caps(machine, project)
    return store.change(project, lambda known: store.with_facts(known, facts, caps))


def _same_files(project: Project, stamps: Stamps) -> FileListing | bool:
    """True if no input of the last look has changed; otherwise False, or the file listing if it had to be made."""
    index = index_stamp(project.root)
    if index and index == stamps.index and head_of(project.root) == stamps.head:
        return _is_unchanged(project, stamps)
    listing = listed(project.root)
    if (listing.digest, listing.head) == (stamps.listing, stamps.head) and _is_unchanged(project, stamps):
        return True
    return listing


def _write_cache(project: Project, stamps: Stamps, rest: bytes, *, needed: bool) -> None:
    try:
        store.write_cache(project, msgspec.json.encode(stamps) + b"\n\n" + rest)
    except StoreError:
        if needed:
            raise  # otherwise the next look is only slower


def _may_be_kept(name: str, clean: Callable[[str], str]) -> bool:
    """Whether a name has no newline and no secret. Only long runs are checked: there may be 100,000 names."""
    return "\n" not in name and (not _LONG_RUN.search(name) or clean(name) == name)


def _writable(remembered: ScanState, clean: Callable[[str], str]) -> ScanState:
    """The state without names that are not UTF-8 or contain a secret: those files are scanned again next time."""
    return replace(
        remembered,
        configs={n: stamp for n, stamp in remembered.configs.items() if _may_be_kept(n, clean)},
        files={n: state for n, state in remembered.files.items() if printable(n) and _may_be_kept(n, clean)},
    )


def _decoded(head: bytes) -> Stamps:
    try:
        return msgspec.json.decode(head, type=Stamps) if head else Stamps()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Stamps()


def _is_unchanged(project: Project, before: Stamps) -> bool:
    """Whether the files are unchanged, given the same names and commit."""
    if before.version != _CACHE_VERSION:
        return False
    top = os.fsencode(f"{project.root}/")
    numbers = iter(before.stamps)
    for name in before.names.encode("latin-1").split(b"\n") if before.names else ():
        try:
            status = os.lstat(top + name)
            now = (status.st_mtime_ns, status.st_size)
        except OSError:
            now = (-1, -1)
        if (next(numbers, None), next(numbers, None)) != now:
            return False
    return True


def _memory_stamps(project: Project) -> tuple[tuple[str, int, int], ...]:
    """Stamps of the files that facts come from."""
    stamps = []
    places = [project.capture, project.memory.parent.parent / "config.toml", project.window / "config.toml"]
    folder = project.memory / "projects"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for path in [*places, *(folder / name / "reference.md" for name in names)]:
        try:
            status = os.stat(path)
            stamps.append((path.name, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return tuple(stamps)


def _caps(machine: Machine, project: Project) -> Caps:
    settings = machine.settings(project)
    return Caps(settings.know_conventions, settings.know_patterns, settings.know_facts, settings.know_files)


def _cleaned(machine: Machine, project: Project, items: Items) -> Items:
    """The items without secrets and forgotten texts, which commands, commit messages and names may contain.

    A path is kept unchanged or left out.
    """
    texts = [text for item in items.conventions for text in (item.pattern, item.example)]
    texts += [evidence.field for item in items.conventions for evidence in item.evidence]
    texts += [item.path for item in items.files]
    machine.look_over(texts)
    clean = gate(machine, project)

    def fit(path: str) -> bool:
        return clean(path) == path

    conventions = tuple(
        replace(
            item,
            pattern=clean(item.pattern),
            example=clean(item.example),
            evidence=tuple(
                replace(evidence, field=clean(evidence.field))
                for evidence in item.evidence
                if fit(evidence.path)
            ),
        )
        for item in items.conventions
    )
    patterns = tuple(replace(item, files=tuple(filter(fit, item.files))) for item in items.patterns)
    notes = tuple(
        replace(item, neighbours=tuple(filter(fit, item.neighbours)))
        for item in items.files
        if fit(item.path)
    )
    facts = tuple(replace(item, statement=clean(item.statement)) for item in items.facts)
    return replace(items, conventions=conventions, patterns=patterns, files=notes, facts=facts)


def session_facts(machine: Machine, project: Project) -> Iterable[LearnedFact]:
    """Facts from the reference files of all projects of this repository and from sessions; each statement once."""
    if not project.memory.is_dir():
        return
    facts_by_key: dict[tuple[str, ...], list[Fact]] = {}
    retired: set[tuple[str, ...]] = set()
    for fact, is_retired in _told(project):
        key = LearnedFact(category="", statement=fact.text).key
        if is_retired:
            retired.add(key)
        elif fact.category not in _LEFT_OUT:
            facts_by_key.setdefault(key, []).append(fact)
    from holdfast.memory.state import useful_checks

    all_facts = [fact for facts in facts_by_key.values() for fact in facts]
    useful = {fact.id for fact in useful_checks(all_facts, [fact for fact in all_facts if not fact.session])}
    latest: dict[tuple[str, str], float] = {}
    for facts in facts_by_key.values():
        for fact in facts:
            if fact.command:
                check = (str(fact.category), fact.command)
                latest[check] = max(latest.get(check, 0.0), _when(fact))
    for key, facts in facts_by_key.items():
        if key in retired or not any(fact.id in useful for fact in facts):
            continue
        first = min(facts, key=lambda fact: fact.at or float("inf"))
        newest = max(facts, key=_when)
        sources = tuple(dict.fromkeys(fact.session for fact in facts if fact.session)) or ("user",)
        confidence = 1 - 0.4 * 0.6 ** (len(sources) - 1)
        if any(fact.verified_at for fact in facts):
            confidence = 1 - (1 - confidence) * 0.7
        if newest.command and latest[str(newest.category), newest.command] > _when(newest):
            confidence *= 0.5  # the same command has given another answer since
        yield LearnedFact(
            category=str(first.category),
            statement=first.text,
            session=first.session,
            timestamp=_iso(first.at),
            confidence=round(confidence, 2),
            sources=sources,
            confirmed=_when(newest),
        )


def _told(project: Project) -> Iterable[tuple[Fact, bool]]:
    from holdfast.memory.read import ProjectMemory
    from holdfast.sessions.store import CaptureStore

    memory = ProjectMemory(project, strict=True)
    for _, reference in memory.references():
        for known_fact in reference.facts:
            yield known_fact.fact, known_fact.retired_at is not None
            for earlier in known_fact.was:
                yield earlier, True
    if not project.capture.exists():
        return
    nothing: list[DistilledSession] = []
    for record in CaptureStore.glimpse(project.capture, lambda store: store.records(_MOST_RECORDS), nothing):
        yield from ((fact, False) for fact in record.harvest.facts if fact.id not in memory.dismissed)


def _when(fact: Fact) -> float:
    return max(fact.at or 0.0, fact.verified_at or 0.0)


def _iso(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else ""
