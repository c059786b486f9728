"""Search on the team's server: what each person shares lies there in clear text, if an owner and that person chose so.

A sync seals what it sends; an index cannot. So nothing goes there unless an owner has turned the search of this project
on, and each member has agreed for their own statements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.search import newest_first, superseding_first
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.guard.hidden_text import has_hidden
from holdfast.guard.quoted_text import is_hostile
from holdfast.model.search import Chunk, Hit
from holdfast.model.statement import Statement, decoded, encoded
from holdfast.postgres.address import parse_address
from holdfast.store.gate import gate
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.sync.items import parts_of
from holdfast.sync.keys import Keys, fingerprint
from holdfast.sync.roster import roster_of
from holdfast.sync.service import journal_of
from holdfast.sync.settings import SyncSettings, Target, change_settings, read_settings
from holdfast.sync.targets import is_server
from holdfast.sync.team_item import TeamItem
from holdfast.sync.team_items import Shared, shared_items

if TYPE_CHECKING:
    from holdfast.postgres.index import TeamIndex

AGREED, DECLINED = "yes", "no"
_KINDS = ("fact", "lesson")


class Indexed(Struct, frozen=True, kw_only=True):
    """What a sync did on the server: how many statements it added or changed, and how many it took back.

    `asks` is how many of one's own are not there because this person was not asked yet.
    """

    put: int = 0
    removed: int = 0
    asks: int = 0
    problem: str = ""


def the_server(project: Project) -> tuple[str, SyncSettings]:
    """The address of the server that this project is synced with."""
    settings = read_settings(project)
    names = [settings.default, *settings.targets]
    address = next((name for name in names if is_server(name)), "")
    if not address:
        raise UsageError(
            "this project is not synced with a server that can be searched",
            fix="Run holdfast sync postgres://USER@HOST/DATABASE once; without --team, holdfast searches this machine",
        )
    return address, settings


def answer(project: Project, address: str, *, agree: bool) -> None:
    """Keeps whether this person's own statements go to the server in clear text."""

    def change(settings: SyncSettings) -> None:
        settings.targets.setdefault(address, Target()).index = AGREED if agree else DECLINED

    change_settings(project, change)


def own_statements(machine: Machine, project: Project) -> list[Shared]:
    return [shared for shared in _shared(machine, project)[0] if shared.own]


def keep(machine: Machine, project: Project, name: str) -> Indexed:
    """Brings what this person has in the server's index in line with what they share now.

    A server that refuses is a problem of the search alone: what is synced is synced.
    """
    settings = read_settings(project)
    target = settings.targets.get(name)
    if not is_server(name) or target is None or settings.team is None or target.index == DECLINED:
        return Indexed()
    if target.index != AGREED and not settings.team.shared:
        return Indexed()
    try:
        with _opened(name, settings, Keys(machine).author) as index:
            if not index.is_on():
                return Indexed()
            if target.index != AGREED:
                return Indexed(asks=len(own_statements(machine, project)))
            return _keep(machine, project, index)
    except HoldfastError as error:
        return Indexed(problem=error.line())


def take_back(machine: Machine, project: Project, address: str) -> int:
    """Removes what this person has in the server's index."""
    with _opened(address, read_settings(project), Keys(machine).author) as index:
        return index.delete_many(list(index.own()))


def _keep(machine: Machine, project: Project, index: TeamIndex) -> Indexed:
    shared, gone, is_owner = _shared(machine, project)
    clean = gate(machine, project)
    wanted = {one.item.id: _chunk(one.item, clean(text_of(one.item))) for one in shared if one.own}
    removed = index.delete_many([id for id in index.own() if id not in wanted])
    if is_owner:  # a tombstone of an owner counts for everybody, also for who does not sync any more
        for author, ids in index.others().items():
            if dead := [id for id in ids if id in gone]:
                removed += index.delete_of(author, dead)
    changes = index.put_many(wanted.values())
    return Indexed(put=changes.added + changes.updated, removed=removed)


def _shared(machine: Machine, project: Project) -> tuple[list[Shared], set[str], bool]:
    """What the team shares now, the ids of what nobody shares any more, and whether this person is an owner."""
    settings, keys = read_settings(project), Keys(machine)
    with journal_of(project) as journal:
        if journal is None or settings.team is None:
            return [], set(), False
        roster = roster_of(journal, settings.team)
        shared = shared_items(journal, settings, keys, roster)
        known = {parts_of(rows[0].key)[-1] for rows in journal.all_heads("team/")}
    return shared, known - {one.item.id for one in shared}, keys.author in roster.owners


def text_of(item: TeamItem) -> str:
    """All that the server gets of an item, as it is searched and shown."""
    said = f"{item.text} (because {item.reason})" if item.reason else item.text
    if item.command:
        said = f"{item.text} (`{item.command}` → {item.evidence})"
    return "\n".join([said, *(f"not: {text}" for text in item.not_)])


def _chunk(item: TeamItem, text: str) -> Chunk:
    kind = item.kind if item.kind in _KINDS else "decision"
    said = Statement(id=item.id, kind="fact" if kind == "fact" else "decision", text=text,
                     supersedes=(item.replaces,) if item.replaces else ())  # fmt: skip
    return Chunk(id=item.id, text=text, kind=kind, when=item.at, data=encoded(said))


def _opened(address: str, settings: SyncSettings, author: str = "") -> TeamIndex:
    from holdfast.postgres.index import TeamIndex

    return TeamIndex(parse_address(address), settings.project, author)


# --- asking ------------------------------------------------------------------------------------------------


def search(
    machine: Machine, project: Project, query: str, k: int, kinds: Collection[str] | None, *, nearest: bool
) -> list[Hit]:
    """The best of what the whole team made searchable, each with who shared it."""
    address, settings = the_server(project)
    with _opened(address, settings) as index:
        if not index.is_on():
            raise UsageError(
                "this project has not been made searchable on the server",
                where=parse_address(address).shown,
                fix="An owner decides that: holdfast team server index; without --team, holdfast searches this machine",
            )
        now = machine.now().replace(minute=0, second=0, microsecond=0)
        hits = index.search(query, k, now, kinds, fitting=not nearest)
        authors = index.authors([hit.id for hit in hits])
    shown = [_marked(machine, project, settings, hit, authors.get(hit.id, ())) for hit in hits]
    return superseding_first(newest_first([hit for hit in shown if hit is not None]))


def _marked(
    machine: Machine, project: Project, settings: SyncSettings, hit: Hit, authors: Sequence[str]
) -> Hit | None:
    """The hit as what somebody else says; None for a text that hides something or gives orders."""
    if has_hidden(hit.text) or is_hostile(hit.text):
        return None
    keys = Keys(machine)
    with journal_of(project) as journal:
        roster = roster_of(journal, settings.team) if journal is not None else None
    names = []
    for author in authors:
        member = roster.known(author) if roster is not None else None
        names.append((member.name if member else "") or fingerprint(author))
    own = any(keys.pair(author) is not None for author in authors)
    said = decoded(hit.data)
    known = said if isinstance(said, Statement) else Statement(id=hit.id, kind="decision", text=hit.text)
    return replace(
        hit,
        project=project.title,
        path="",
        line=0,
        data=encoded(replace(known, who=", ".join(names))),
        origin="team",
        trusted=own or any(author in settings.trusted for author in authors),
    )
