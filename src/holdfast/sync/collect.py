"""From the memory to entries: whatever a person or a session changed since the last sync becomes an entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from holdfast.core.stamp import Stamp
from holdfast.store.denied import Denied
from holdfast.store.gate import pass_value
from holdfast.store.machine import Machine
from holdfast.store.phrases import FORGOTTEN
from holdfast.store.project import Project
from holdfast.store.sync_journal import Shown, SyncJournal
from holdfast.sync.entry import Entry, Scope, Signed, encode
from holdfast.sync.file_items import ChosenLessons, Files, Lessons, Lines, Taught
from holdfast.sync.intake import is_denied, row_of
from holdfast.sync.items import Family, Items, Place
from holdfast.sync.keys import Keys, Signer
from holdfast.sync.merge import bodies_of, essence, version_of, winner
from holdfast.sync.rewording import aliased, reworded
from holdfast.sync.session_items import Log, Records, Rows
from holdfast.sync.statement_items import Facts, Passages, Questions, Register, State

_EDITED_BY_PEOPLE = ("passage/", "fact/", "register/", "question/", "lesson/", "file/", "log/")
_STATEMENTS = ("passage/", "fact/", "register/", "question/", "state/")
_UNCLEANED = ("line/", "row/", "taught/")  # hashes and metadata: rows pass the gate when they are written


def families(place: Place) -> list[Family]:
    """In the order in which they are written: what was forgotten first."""
    return [
        Lines(place),
        Records(place),
        Rows(place),
        Passages(place),
        Facts(place),
        Register(place),
        Questions(place),
        Lessons(place),
        Taught(place),
        ChosenLessons(place),
        Files(place),
        Log(place),
        State(place),
    ]


class Collected(Struct):
    """How many entries were made, and the files that could not be read and were left out."""

    made: int = 0
    problems: list[str] = []


class Author:
    """Makes signed entries of this person on this machine."""

    def __init__(self, machine: Machine, keys: Keys, project: str) -> None:
        self._machine, self._keys, self._project = machine, keys, project
        self._signer = Signer(keys.own)
        self._last: Stamp | None = None

    @property
    def authors(self) -> frozenset[str]:
        """The present key and those before it."""
        return frozenset(pair.author for pair in self._keys.pairs)

    def entry(self, key: str, body: Any, parents: Iterable[str] = (), scope: Scope = "own") -> Signed:
        entry = Entry(
            stamp=str(self._stamp()),
            author=self._keys.author,
            by=self._keys.name,
            project=self._project,
            scope=scope,
            key=key,
            body=body,
            parents=tuple(sorted(parents)),
        )
        line = encode(entry)
        return Signed(line, self._signer.sign(line), entry)

    def _stamp(self) -> Stamp:
        """A stamp later than the last. The clock is written once: a first sync makes many thousand entries."""
        if self._last is None:
            self._last = self._machine.clock.tick()
        else:
            self._last = self._last.next(self._last.machine)
        return self._last

    def keep(self) -> None:
        """No later process stamps with what was used here, also where the wall clock was put back."""
        if self._last is not None:
            self._machine.clock.merge([self._last])


class Collector:
    """Compares the memory with what the journal last saw in it. The caller holds the journal in a transaction."""

    def __init__(self, machine: Machine, project: Project, journal: SyncJournal, author: Author) -> None:
        self._place = Place(machine, project)
        self._journal, self._author = journal, author
        # What a lost key wrote is written again with the present one: no other machine could read it.
        self._lost = journal.keys_of_others(author.authors)
        self._denied = Denied(project.memory)
        self._clean = self._denied.cleaner(machine.clean)
        self._machine = machine
        self._shown = journal.shown()

    def run(self) -> Collected:
        collected = Collected()
        for family in families(self._place):
            read = family.read()
            collected.problems += read.problems
            read.items = {key: body for key, body in read.items.items() if not _is_holed(key, body)}
            items = reworded(aliased(read.items, self._shown), self._shown, read.whole, self._bodies)
            collected.made += self._changed(items)
            collected.made += self._removed(family.prefix, items, read.whole)
            absent = tuple(read.absent)
            self._journal.outdate(key for key in self._shown if absent and key.startswith(absent))
        return collected

    def _bodies(self, key: str) -> list[Any]:
        versions = map(version_of, self._journal.heads(key))
        return [version.entry.body for version in versions if version is not None]

    def _changed(self, items: Items) -> int:
        new = {
            key: body
            for key, body in items.items()
            if key in self._lost or (seen := self._shown.get(key)) is None or seen.digest != essence(body)
        }
        self._machine.look_over(text for body in new.values() for text in _texts(body))
        made = 0
        for key, body in new.items():
            digest = essence(body)
            heads = self._journal.heads(key)
            versions = [version for row in heads if (version := version_of(row)) is not None]
            same = next((one for one in versions if essence(one.entry.body) == digest), None)
            if same is not None and key not in self._lost:
                self._journal.show(key, digest, same.id)
                continue
            clean = body if key.startswith(_UNCLEANED) else pass_value(body, self._clean)
            clean = self._placed(clean, versions)
            seen = self._shown.get(key)
            if seen is not None and essence(clean) == seen.digest and key not in self._lost:
                continue
            before = self._journal.lineage([seen.id] if seen is not None and seen.id else ())
            signed = self._author.entry(key, clean, before)
            if is_denied(signed.entry, self._denied):
                continue
            made += self._journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
            self._journal.show(key, digest, signed.id)
        return made

    def _placed(self, body: Any, versions: Iterable[Any]) -> Any:
        """An item keeps the place in which it was first seen."""
        before = next((one.entry.body for one in versions if isinstance(one.entry.body, dict)), None)
        if isinstance(body, dict) and before is not None and "place" in before and "place" in body:
            return {**body, "place": before["place"]}
        return body

    def _removed(self, prefix: str, items: Items, whole: set[str]) -> int:
        made = 0
        for key, seen in self._shown.items():
            if not key.startswith(prefix) or key in items or not any(key.startswith(part) for part in whole):
                continue
            self._journal.show(key, "", "")
            signed = self._author.entry(key, None, self._journal.lineage([seen.id] if seen.id else ()))
            if is_denied(signed.entry, self._denied):
                continue  # it was forgotten: the list of what is forgotten travels, and takes it away everywhere
            made += self._journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
        return made


def _is_holed(key: str, body: Any) -> bool:
    """Whether a part of a statement was forgotten: what is left of it says nothing, and is not kept."""
    if not key.startswith(_STATEMENTS) or not isinstance(body, dict):
        return False
    inner = body.get("fact") or body.get("passage") or body
    return isinstance(inner, dict) and FORGOTTEN in str(inner.get("text", ""))


def _texts(body: Any) -> Iterable[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for value in body.values():
            yield from _texts(value)
    elif isinstance(body, list):
        for value in body:
            yield from _texts(value)


class Applier:
    """Writes what counts now into the memory's files, and notes what they say then."""

    def __init__(self, machine: Machine, project: Project, journal: SyncJournal, group: str) -> None:
        self._place = Place(machine, project, group)
        self._journal = journal

    def run(self, stale: Iterable[str]) -> int:
        """Returns how many items of the memory changed."""
        by_prefix: dict[str, list[str]] = {}
        for key in stale:
            by_prefix.setdefault(f"{key.partition('/')[0]}/", []).append(key)
        changed = 0
        for family in families(self._place):
            if keys := by_prefix.get(family.prefix):
                changed += self._write(family, keys)
        return changed

    def _write(self, family: Family, keys: list[str]) -> int:
        wanted: Items = {}
        ids: dict[str, str] = {}
        for key in keys:
            version = winner(self._journal.heads(key))
            wanted[key] = None if version is None else version.entry.body
            ids[key] = "" if version is None else version.id
        shown = self._journal.shown()
        differing = {
            key: body
            for key, body in wanted.items()
            if (seen := shown.get(key)) is None or seen.digest != essence(body)
        }
        by_hand = self._edited_meanwhile(family, shown, wanted)

        def everything() -> Items:
            return bodies_of(self._journal, family.prefix) | by_hand

        family.write({key: body for key, body in wanted.items() if key not in by_hand}, everything)
        now = aliased(family.read().items, {key: Shown(essence(body), "") for key, body in wanted.items()})
        for key, id in ids.items():
            if key in by_hand:
                continue  # the next sync takes it for what it is: a person's own words
            self._journal.show(key, essence(now[key]) if key in now else "", id)
        return sum(essence(now.get(key)) != (shown[key].digest if key in shown else "") for key in differing)

    def _edited_meanwhile(self, family: Family, shown: dict[str, Shown], wanted: Items) -> Items:
        """What a person wrote since the memory was read: it stays, whatever came."""
        if not family.prefix.startswith(_EDITED_BY_PEOPLE):
            return {}
        return {
            key: body
            for key, body in aliased(family.read().items, shown).items()
            if (digest := essence(body)) != (shown[key].digest if key in shown else "")
            and digest != essence(wanted.get(key))
            and (key in shown or key in wanted)
        }
