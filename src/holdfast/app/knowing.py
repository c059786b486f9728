"""What this repository shows of itself and what sessions learned of it: looked up, looked at anew, and kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.wiring import Machine
from holdfast.model.knowledge import Caps, Items, Knowledge, LearnedFact
from holdfast.repo.checkout import head_of, index_stamp, listed
from holdfast.store import knowledge as store
from holdfast.store.layout import Project

# A scan's modules take as long to load as an unchanged checkout takes to be seen as such.
if TYPE_CHECKING:
    from holdfast.model.memory import Fact
    from holdfast.model.session import DistilledSession
    from holdfast.repo.scan import Progress
    from holdfast.store.capture import CaptureStore

_LEFT_OUT = frozenset({"result", "id"})  # of one moment, or of use to one query only
_MOST_RECORDS = 2000
_CACHE_VERSION = 3


class Stamps(Struct, array_like=True):
    """What a look rested on: read first, and nothing else is read when it is all unchanged."""

    version: int = 0
    scan: int = 0
    listing: str = ""
    head: str = ""
    index: str = ""
    memory: tuple[tuple[str, int, int], ...] = ()
    names: str = ""  # joined by newlines: decoding one text is faster than thousands
    stamps: tuple[int, ...] = ()  # mtime and size in turn; -1 for what was not there


class Look(Struct, frozen=True):
    knowledge: Knowledge
    unchanged: bool
    kept: bool


def knowledge_of(machine: Machine, project: Project) -> Knowledge:
    """What is kept of this project, without looking at the checkout: cheap, for those who ask often."""
    return store.load(project)


def look(machine: Machine, project: Project, *, keep: bool, progress: Progress | None = None) -> Look:
    """Knowledge as of now. Only what changed since the last look is read; `keep` writes it down."""
    known = store.load(project)
    cache = store.read_cache(project)
    head, _, rest = cache.partition(b"\n\n")
    stamps = _decoded(head)
    index = index_stamp(project.root)
    same = bool(index) and index == stamps.index and head_of(project.root) == stamps.head
    if known.scanned_at and same and _is_unchanged(project, stamps):
        return Look(known, True, keep)
    found = listed(project.root)
    same = not same and (found.digest, found.head) == (stamps.listing, stamps.head)
    if known.scanned_at and same and _is_unchanged(project, stamps):
        return Look(known, True, keep)
    from holdfast.repo.scan import VERSION, Remembered, scan

    try:
        before = (
            msgspec.msgpack.decode(rest, type=Remembered) if rest and stamps.scan == VERSION else Remembered()
        )
    except (msgspec.MsgspecError, UnicodeDecodeError):
        before = Remembered()
    memory = _memory_stamps(project)
    scanned = scan(project.root, found, before, progress or (lambda *_: None))
    facts = tuple(_facts(machine, project))
    items = _cleaned(machine, replace(scanned.items, facts=facts))
    now = machine.now().timestamp()
    caps = _caps(machine, project)

    def decide(known: Knowledge) -> Knowledge:
        from holdfast.app.knowledge_merging import merged

        return merged(known, items, scanned.looked, now, caps)

    if not keep:
        return Look(decide(known), False, False)
    project.prepare()
    new = store.change(project, decide)
    everything = {
        **scanned.remembered.configs,
        **{n: (k.stamp.mtime, k.stamp.size) for n, k in scanned.remembered.files.items()},
    }
    writable = {name: stamp for name, stamp in everything.items() if "\n" not in name}
    flat = [number for stamp in writable.values() for number in (stamp or (-1, -1))]
    own = Stamps(_CACHE_VERSION, VERSION, found.digest, found.head, index, memory,
                 os.fsencode("\n".join(writable)).decode("latin-1"), tuple(flat))  # fmt: skip
    data = msgspec.json.encode(own) + b"\n\n" + msgspec.msgpack.encode(_writable(scanned.remembered))
    store.write_cache(project, data)
    return Look(new, False, True)


def _writable(remembered: object) -> object:
    """Without names that are not UTF-8: what cannot be written down is looked at again."""
    from holdfast.repo.checkout import printable
    from holdfast.repo.scan import Remembered

    assert isinstance(remembered, Remembered)
    return Remembered(
        listing=remembered.listing,
        head=remembered.head,
        configs=remembered.configs,
        files={name: known for name, known in remembered.files.items() if printable(name)},
        looked=remembered.looked,
        version=remembered.version,
    )


def _decoded(head: bytes) -> Stamps:
    try:
        return msgspec.json.decode(head, type=Stamps) if head else Stamps()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Stamps()


def _is_unchanged(project: Project, before: Stamps) -> bool:
    """Whether a look would find what the last one found, the names and the commit being the same."""
    if before.version != _CACHE_VERSION:
        return False
    if before.memory != _memory_stamps(project):
        return False
    top = os.fsencode(f"{project.root}/")
    numbers = iter(before.stamps)
    for name in before.names.encode("latin-1").split(b"\n") if before.names else ():
        try:
            found = os.lstat(top + name)
            now = (found.st_mtime_ns, found.st_size)
        except OSError:
            now = (-1, -1)
        if (next(numbers, None), next(numbers, None)) != now:
            return False
    return True


def _memory_stamps(project: Project) -> tuple[tuple[str, int, int], ...]:
    """Of what facts come from."""
    found = []
    places = [project.capture, project.memory.parent.parent / "config.toml", project.window / "config.toml"]
    folder = project.memory / "projects"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for path in [*places, *(folder / name / "reference.md" for name in names)]:
        try:
            status = os.stat(path)
            found.append((path.name, status.st_mtime_ns, status.st_size))
        except OSError:
            continue
    return tuple(found)


def _caps(machine: Machine, project: Project) -> Caps:
    settings = machine.settings(project)
    return Caps(settings.know_conventions, settings.know_patterns, settings.know_facts, settings.know_files)


# --- facts from sessions ---------------------------------------------------------------------------------


def _facts(machine: Machine, project: Project) -> Iterable[LearnedFact]:
    """Verified facts of every project of this repository, and what sessions showed; each statement once."""
    if not project.memory.is_dir():
        return
    told: dict[tuple[str, ...], list[Fact]] = {}
    retired: set[tuple[str, ...]] = set()
    for fact, is_retired in _told(machine, project):
        key = LearnedFact(category="", statement=fact.text).key
        if is_retired:
            retired.add(key)
        elif fact.category not in _LEFT_OUT:
            told.setdefault(key, []).append(fact)
    latest: dict[tuple[str, str], float] = {}
    for facts in told.values():
        for fact in facts:
            if fact.command:
                asked = (str(fact.category), fact.command)
                latest[asked] = max(latest.get(asked, 0.0), _when(fact))
    for key, facts in told.items():
        if key in retired:
            continue
        first = min(facts, key=lambda fact: fact.at or float("inf"))
        newest = max(facts, key=_when)
        sources = tuple(dict.fromkeys(fact.session for fact in facts if fact.session)) or ("user",)
        sure = 1 - 0.4 * 0.6 ** (len(sources) - 1)
        if any(fact.verified_at for fact in facts):
            sure = 1 - (1 - sure) * 0.7
        if newest.command and latest[str(newest.category), newest.command] > _when(newest):
            sure *= 0.5  # the same question was answered otherwise since
        yield LearnedFact(
            category=str(first.category),
            statement=first.text,
            session=first.session,
            timestamp=_iso(first.at),
            confidence=round(sure, 2),
            sources=sources,
            confirmed=_when(newest),
        )


def _told(machine: Machine, project: Project) -> Iterable[tuple[Fact, bool]]:
    from holdfast.app.projects import known_projects, memory_of
    from holdfast.store.capture import CaptureStore

    dismissed: set[str] = set()
    for name in known_projects(project) or [""]:
        memory = memory_of(machine, project, name)
        dismissed |= memory.dismissed()
        for kept in memory.facts().reference.facts:
            yield kept.fact, kept.retired_at is not None
            for old in kept.was:
                yield old, True
    if not project.capture.exists():
        return
    for record in CaptureStore.glimpse(project.capture, _records, _NONE):
        yield from ((fact, False) for fact in record.harvest.facts if fact.id not in dismissed)


_NONE: list[DistilledSession] = []


def _records(capture: CaptureStore) -> list[DistilledSession]:
    return capture.records(_MOST_RECORDS)


def _when(fact: Fact) -> float:
    return max(fact.at or 0.0, fact.verified_at or 0.0)


def _iso(at: float | None) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else ""


# --- what may be written down ----------------------------------------------------------------------------


def _cleaned(machine: Machine, items: Items) -> Items:
    """Commands, commit messages and names of a repository can hold a secret like any other text."""
    texts = [text for one in items.conventions for text in (one.pattern, one.example)]
    texts += [evidence.field for one in items.conventions for evidence in one.evidence]
    texts += [one.path for one in items.files]
    machine.look_over(texts)
    clean: Callable[[str], str] = machine.clean
    conventions = tuple(
        replace(
            one,
            pattern=clean(one.pattern),
            example=clean(one.example),
            evidence=tuple(replace(evidence, field=clean(evidence.field)) for evidence in one.evidence),
        )
        for one in items.conventions
    )
    facts = tuple(replace(one, statement=clean(one.statement)) for one in items.facts)
    return replace(items, conventions=conventions, facts=facts)
