"""Which of several entries about one item counts, and where two people said different things unaware of each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from holdfast.store.sync_journal import Row, SyncJournal
from holdfast.sync.entry import Entry, decode, digest_of
from holdfast.sync.items import Items, parts_of

# Of these a person decides; of all else the latest counts.
_DECIDED_BY_PEOPLE = ("passage/", "fact/", "register/", "question/", "lesson/", "team/", "file/style.md")
_PLACE = "place"  # where an item stands says nothing of what it says


class Version(Struct, frozen=True):
    """One of the things that were said of an item."""

    id: str
    entry: Entry


class Conflict(Struct, frozen=True):
    """Versions of one item, the one that counts until a person decides last; or items that replace the same one."""

    key: str
    versions: tuple[Version, ...]
    replaced: str = ""

    @property
    def name(self) -> str:
        """What a person types to settle it."""
        return min(version.id for version in self.versions)[:8]


def essence(body: Any) -> str:
    """A digest of what a body says."""
    if isinstance(body, dict) and _PLACE in body:
        body = {name: value for name, value in body.items() if name != _PLACE}
    return digest_of(body)


def winner(rows: Sequence[Row], owners: Collection[str] = ()) -> Version | None:
    """The entry that counts: the latest. What its author or an owner of the team took back stays away for ever."""
    versions = [version for row in rows if (version := version_of(row)) is not None]
    if versions and versions[0].entry.scope == "team":
        for version in versions:
            others = {other.entry.author for other in versions if other.entry.body is not None}
            if version.entry.body is None and (
                version.entry.author in owners or {version.entry.author} >= others
            ):
                return version
        # Nobody else takes back what another shared.
        versions = [version for version in versions if version.entry.body is not None] or versions
    return max(versions, key=lambda version: (version.entry.order, version.id), default=None)


def version_of(row: Row) -> Version | None:
    try:
        return Version(row.id, decode(row.line))
    except ValueError:
        return None


def items_of(journal: SyncJournal, prefix: str, owners: Collection[str] = ()) -> dict[str, Version]:
    """What counts of every item whose key begins with `prefix`, without what is gone."""
    found: dict[str, Version] = {}
    for rows in journal.all_heads(prefix):
        version = winner(rows, owners)
        if version is not None and version.entry.body is not None:
            found[version.entry.key] = version
    return found


def bodies_of(journal: SyncJournal, prefix: str, owners: Collection[str] = ()) -> Items:
    return {key: version.entry.body for key, version in items_of(journal, prefix, owners).items()}


def conflicts(journal: SyncJournal) -> list[Conflict]:
    """What people have to settle."""
    found = []
    for key in journal.divided():
        if not key.startswith(_DECIDED_BY_PEOPLE):
            continue
        versions = [version for row in journal.heads(key) if (version := version_of(row)) is not None]
        if key.startswith("team/"):  # what was taken back is no other version
            versions = [version for version in versions if version.entry.body is not None]
        if len({essence(version.entry.body) for version in versions}) > 1:
            versions.sort(key=lambda version: (version.entry.order, version.id))
            found.append(Conflict(key, tuple(versions)))
    settled = set(bodies_of(journal, "settled/"))
    return [*found, *(one for one in _replaced_twice(journal) if f"settled/{_group(one)}" not in settled)]


def _replaced_twice(journal: SyncJournal) -> list[Conflict]:
    """Different decisions of the team that replace the same one, or facts of one command that say different things."""
    groups: dict[str, list[Version]] = {}
    for key, version in items_of(journal, "team/").items():
        body, kind = version.entry.body, parts_of(key)[1]
        if not isinstance(body, dict):
            continue
        if kind == "decision" and body.get("replaces"):
            groups.setdefault(f"replaces {body['replaces']}", []).append(version)
        elif kind == "fact" and body.get("command"):
            groups.setdefault(f"command {body['command']}", []).append(version)
    found = []
    for what, versions in groups.items():
        ids = {str(version.entry.body.get("id", "")) for version in versions}
        unaware = [
            version
            for version in versions
            if not (what.startswith("replaces") and version.entry.body.get("replaces") in ids)
        ]
        texts = {str(version.entry.body.get("text", "")) for version in unaware}
        authors = {version.entry.author for version in unaware}
        if len(texts) > 1 and len(authors) > 1:
            unaware.sort(key=lambda version: (version.entry.order, version.id))
            found.append(Conflict(unaware[0].entry.key, tuple(unaware), what.partition(" ")[2]))
    return found


def _group(conflict: Conflict) -> str:
    return "+".join(sorted(version.id for version in conflict.versions))


def settling_key(conflict: Conflict) -> str:
    """The key under which the choice between several items is kept, for everybody."""
    return f"settled/{_group(conflict)}"
