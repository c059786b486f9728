"""What `holdfast sync`, `holdfast team` and the page do: which target, who is asked what, and the changes to a team."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound, UsageError
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.store.sync_journal import Row, SyncJournal
from holdfast.sync.items import Place
from holdfast.sync.keys import Keys, fingerprint
from holdfast.sync.merge import Conflict, conflicts
from holdfast.sync.quick import look
from holdfast.sync.result import SyncResult
from holdfast.sync.roster import (
    PREFIX,
    REMOVED,
    Member,
    Roster,
    invitation_code,
    proof_of,
    read_code,
    roster_of,
)
from holdfast.sync.settings import (
    Invitation,
    SyncSettings,
    Target,
    TeamSettings,
    change_settings,
    identity_of,
    project_id,
    read_settings,
)
from holdfast.sync.targets import open_transport

if TYPE_CHECKING:
    from holdfast.sync.collect import Author
    from holdfast.sync.team_item import TeamItem
    from holdfast.sync.team_items import Shared

_DAY_S = 86_400.0
_LOCK_S = 120.0


# --- one sync ----------------------------------------------------------------------------------------------


class Preview(Struct, frozen=True, kw_only=True):
    """What a first sync with a target would make readable, and for whom."""

    target: str
    identity: str
    own: int
    team: int
    readers: tuple[str, ...]
    plain: bool


def target_name(machine: Machine, settings: SyncSettings, given: str) -> str:
    """The target as it is remembered: a folder by its whole path."""
    if not given:
        if not settings.default:
            raise UsageError(
                "no sync target yet",
                fix="Name a folder, ssh://HOST/PATH, or git for this repository's remote",
            )
        return settings.default
    if given.startswith(("~", ".", "/")) or (machine.cwd / given).is_dir():
        return os.path.abspath(machine.cwd / os.path.expanduser(given))
    return given


def preview(machine: Machine, project: Project, name: str, target: Target) -> Preview | None:
    """What to ask before the first sync with a target; None if a person has agreed to it."""
    settings = read_settings(project)
    if name in settings.targets and settings.targets[name].seen:
        return None
    # A target that is none is refused before anybody is asked about it. Nothing is reached yet.
    open_transport(machine, project, name, settings.project or project_id(identity_of(project)))
    own = 0
    if not target.team_only and project.memory.is_dir():
        from holdfast.sync.collect import families

        own = sum(len(family.read().items) for family in families(Place(machine, project)))
    shared = settings.team.shared if settings.team is not None else []
    with journal_of(project) as journal:
        members = roster_of(journal, settings.team).members.values() if journal is not None else ()
        readers = tuple(sorted(member.name or fingerprint(member.author) for member in members))
    return Preview(
        target=name,
        identity=settings.identity or identity_of(project),
        own=own,
        team=len(shared),
        readers=readers,
        plain=target.plain,
    )


def agree_to(project: Project, name: str, target: Target, *, identity: str = "") -> SyncSettings:
    """Notes that a person agreed to sync this project with this target, and makes it the default if there is none."""

    def change(settings: SyncSettings) -> None:
        if not settings.project or identity:
            settings.identity = identity or identity_of(project)
            settings.project = project_id(settings.identity)
        index = settings.targets[name].index if name in settings.targets else ""
        settings.targets[name] = Target(
            plain=target.plain, team_only=target.team_only, seen="yes", index=index
        )
        settings.default = settings.default or name

    return change_settings(project, change)


def forget_target(project: Project, name: str) -> None:
    """Takes an agreement back, so that the next sync asks again."""

    def change(settings: SyncSettings) -> None:
        settings.targets.pop(name, None)
        if settings.default == name:
            settings.default = next(iter(settings.targets), "")

    change_settings(project, change)


def sync(
    machine: Machine, project: Project, name: str, *, dry_run: bool = False, may_ask: bool = False
) -> SyncResult:
    """Syncs with a target that a person has agreed to; a dry run needs no agreement."""
    settings = read_settings(project)
    target = settings.targets.get(name)
    if target is None:
        if not dry_run:
            raise UsageError(
                "syncing with it has not been confirmed yet",
                where=name,
                fix="Run holdfast sync in a terminal",
            )
        target = Target()
    if not settings.project:
        settings.identity = identity_of(project)
        settings.project = project_id(settings.identity)
    transport = open_transport(machine, project, name, settings.project, may_ask=may_ask)
    state = "" if dry_run else look(machine, project, transport, settings, name, target)
    if isinstance(state, SyncResult):
        return state
    from holdfast.sync.run import SyncRun

    return SyncRun(machine, project, transport, settings, name, target, dry_run=dry_run, state=state).run()


def receive(machine: Machine, project: Project, name: str) -> SyncResult:
    """Takes in what others have published at a target that a person has agreed to, and sends nothing."""
    from holdfast.sync.run import SyncRun

    settings = read_settings(project)
    transport = open_transport(machine, project, name, settings.project)
    target = settings.targets[name]
    return SyncRun(machine, project, transport, settings, name, target, receive_only=True).run()


# --- reading what is known ---------------------------------------------------------------------------------


@contextmanager
def journal_of(project: Project, *, change: bool = False) -> Iterator[SyncJournal | None]:
    """The journal, under its lock if it is changed; None where nothing was ever synced."""
    if not change:
        if not (project.memory / JOURNAL).exists():
            yield None
            return
        with closing(SyncJournal(project.memory)) as journal:
            yield journal
        return
    with (
        files.lock(project.lock("sync"), timeout=_LOCK_S),
        closing(SyncJournal(project.memory)) as journal,
        journal.transaction(),
    ):
        yield journal


def open_conflicts(project: Project) -> list[Conflict]:
    with journal_of(project) as journal:
        return conflicts(journal) if journal is not None else []


def last_sync(project: Project) -> dict[str, float]:
    """When each target was last synced with."""
    settings = read_settings(project)
    with journal_of(project) as journal:
        if journal is None:
            return {}
        notes = {name: journal.note(f"at {name}") for name in settings.targets}
    return {name: float(at) for name, at in notes.items() if at}


class TeamView(Struct, frozen=True, kw_only=True):
    """The team as it is known here. `asks` are the authors of whom agents may not see anything yet."""

    name: str
    members: list[Member]
    removed: list[Member]
    requests: list[str]
    shared: list[Shared]
    asks: list[str]
    own: str


def team_view(machine: Machine, project: Project) -> TeamView | None:
    from holdfast.sync import team_items

    settings, keys = read_settings(project), Keys(machine)
    if settings.team is None:
        return None
    with journal_of(project) as journal:
        if journal is None:
            return None
        roster = roster_of(journal, settings.team)
        shared = team_items.shared_items(journal, settings, keys, roster)
        asks = team_items.unasked(journal, settings, keys, roster)
    waiting = [one.name or one.author for one in roster.requests.values() if one.author not in roster.members]
    return TeamView(
        name=settings.team.name,
        members=sorted(roster.members.values(), key=lambda member: (member.role != "owner", member.name)),
        removed=list(roster.before.values()),
        requests=waiting,
        shared=shared,
        asks=asks,
        own=keys.author,
    )


# --- what is shared ----------------------------------------------------------------------------------------


def choose(machine: Machine, project: Project, wanted: Iterable[str], *, share: bool) -> list[TeamItem]:
    """Shares items with the team from the next sync on, or takes them back.

    What is shared is noted at once, so that it stays shared if a person rewords it before that sync.
    """
    from holdfast.sync import team_items
    from holdfast.sync.collect import Author, Collector

    chosen = team_items.choose(machine, project, wanted, share=share)
    settings = read_settings(project)
    if share and settings.project:
        with (
            files.lock(project.lock("capture"), timeout=_LOCK_S),
            journal_of(project, change=True) as journal,
        ):
            assert journal is not None
            author = Author(machine, Keys(machine), settings.project)
            Collector(machine, project, journal, author).run()
            author.keep()
    return chosen


# --- the team ----------------------------------------------------------------------------------------------


def create_team(machine: Machine, project: Project, name: str) -> TeamSettings:
    """Makes a team of this project, with this person as its owner."""
    from holdfast.sync.collect import Author
    from holdfast.sync.intake import row_of

    settings, keys = read_settings(project), Keys(machine)
    if settings.team is not None and not _has_left(project, settings, keys):
        raise UsageError(
            f"this project has the team {settings.team.name!r}",
            fix="holdfast team members shows who is in it",
        )
    name = " ".join(machine.clean(name).split())[:60]
    if not name:
        raise UsageError("the team needs a name", fix="holdfast team create NAME")
    _identify(project)
    settings = read_settings(project)
    author, public = Author(machine, keys, settings.project), keys.public
    with journal_of(project, change=True) as journal:
        assert journal is not None
        journal.purge(_is_of_a_team)  # that this person left
        body = {"verify": public.verify, "seal": public.seal, "name": public.name, "role": "owner"}
        signed = author.entry(f"{PREFIX}team", body, (), "team")
        journal.add(row_of(signed), signed.entry.order.machine, ())
    team = TeamSettings(id=signed.id, name=name, verify=public.verify, seal=public.seal)
    change_settings(project, lambda now: setattr(now, "team", team))
    return team


def invite(machine: Machine, project: Project, *, role: str = "member", days: float = 7.0) -> str:
    """A code for one person, who becomes a member when this machine syncs after they did."""
    team, keys = _own_team(machine, project), Keys(machine)
    secret = secrets.token_urlsafe(16)
    invitation = Invitation(secret=secret, until=machine.now().timestamp() + days * _DAY_S, role=role)

    def change(settings: SyncSettings) -> None:
        assert settings.team is not None
        settings.team.invitations.append(invitation)

    settings = change_settings(project, change)
    public = keys.public
    # Requests are sealed for the owner who invites: another owner's machine does not know the secret.
    inviting = replace(team, seal=public.seal) if public.verify == team.verify else team
    return invitation_code(settings.project, inviting, secret)


def join(machine: Machine, project: Project, code: str) -> TeamSettings:
    """Answers an invitation: the request travels with the next sync, and whoever invited makes one a member."""
    from holdfast.sync.collect import Author
    from holdfast.sync.intake import row_of

    wanted_project, team = read_code(code)
    settings, keys = read_settings(project), Keys(machine)
    known = settings.team
    if known is not None and known.id != team.id and not _has_left(project, settings, keys):
        raise UsageError(f"this project has the team {known.name!r}", fix="holdfast team leave first")
    if settings.project and settings.project != wanted_project:
        raise UsageError(
            "the invitation is for another project, or this one is synced under another identity",
            where=str(project.root),
            fix=f"This project is known as {settings.identity}; ask for an invitation to it",
        )
    if not settings.project:
        identity = identity_of(project)
        if project_id(identity) != wanted_project:
            raise UsageError(
                f"the invitation is for another project than {identity}",
                where=str(project.root),
                fix="Run it in a clone of the repository that the invitation is for",
            )
        _identify(project)
        settings = read_settings(project)
    public = keys.public
    author = Author(machine, keys, settings.project)
    with journal_of(project, change=True) as journal:
        assert journal is not None
        if known is not None and known.id != team.id:
            journal.purge(_is_of_a_team)
        key = f"{PREFIX}request/{public.author}"
        body = {
            "verify": public.verify,
            "seal": public.seal,
            "name": public.name,
            "proof": proof_of(team.secret, public),
        }
        signed = author.entry(key, body, journal.lineage(row.id for row in journal.heads(key)), "team")
        journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
        _read_again(journal, settings)
    if known is not None and known.id == team.id:
        known.secret = team.secret
        team = known
    change_settings(project, lambda now: setattr(now, "team", team))
    return team


def _is_of_a_team(row: Row) -> bool:
    return row.scope == "team"


def _has_left(project: Project, settings: SyncSettings, keys: Keys) -> bool:
    with journal_of(project) as journal:
        return journal is not None and keys.author in roster_of(journal, settings.team).removed


def remove(machine: Machine, project: Project, wanted: str) -> Member:
    """Removes a member, who cannot read what is shared from the next sync on."""
    from holdfast.sync.collect import Author

    _own_team(machine, project)
    settings, keys = read_settings(project), Keys(machine)
    author = Author(machine, keys, settings.project)
    with journal_of(project, change=True) as journal:
        assert journal is not None
        member = find_member(roster_of(journal, settings.team), wanted)
        if member.author == keys.author:
            raise UsageError("that is you", fix="holdfast team leave takes you out of the team")
        _take_out(journal, author, member)
    return member


def leave(machine: Machine, project: Project) -> None:
    """Leaves the team: what one shared is taken back, and others' items go from this memory at the next sync."""
    from holdfast.sync import team_items
    from holdfast.sync.collect import Author

    settings, keys = read_settings(project), Keys(machine)
    if settings.team is None:
        raise UsageError("this project has no team here", fix="holdfast team create NAME, or team join CODE")

    def change(settings: SyncSettings) -> None:
        assert settings.team is not None
        settings.team.shared.clear()

    settings = change_settings(project, change)
    with journal_of(project, change=True) as journal:
        assert journal is not None
        author = Author(machine, keys, settings.project)
        # First what was shared: what one says after one has left counts for nobody.
        team_items.collect(machine, project, journal, author, settings)
        public = keys.public
        own = Member(author=keys.author, verify=public.verify, seal=public.seal, name=public.name)
        _take_out(journal, author, own)


def _take_out(journal: SyncJournal, author: Author, member: Member) -> None:
    from holdfast.sync import team_items

    gone = replace(member, role=REMOVED)
    team_items.write_member(journal, author, gone, kept=journal.said_by(member.author, "team"))


def find_member(roster: Roster, wanted: str) -> Member:
    plain = wanted.replace("-", "").casefold()
    close = [
        member
        for member in roster.members.values()
        if member.name.casefold() == wanted.casefold()
        or (len(plain) >= 4 and member.author.startswith(plain))
    ]
    if len(close) != 1:
        what = f"{wanted!r} fits {len(close)} members" if close else f"no member is called {wanted!r}"
        raise NotFound(what, fix="holdfast team members shows names and keys")
    return close[0]


def answer_about(machine: Machine, project: Project, wanted: str, *, told: bool) -> Member:
    """Keeps whether agents here may see what a member shares, and brings memory in line with that."""
    from holdfast.flows.refresh import refresh
    from holdfast.sync import team_items

    settings, keys = read_settings(project), Keys(machine)
    with journal_of(project) as journal:
        roster = roster_of(journal, settings.team) if journal is not None else Roster()
    member = find_member(roster, wanted)
    team_items.agree(machine, project, member.author, told=told)
    with journal_of(project, change=True) as journal:
        assert journal is not None
        team_items.mirror_now(machine, project, journal, keys, read_settings(project))
    refresh(machine, project)
    return member


def _own_team(machine: Machine, project: Project) -> TeamSettings:
    settings, keys = read_settings(project), Keys(machine)
    if settings.team is None:
        raise UsageError("this project has no team here", fix="holdfast team create NAME, or team join CODE")
    with journal_of(project) as journal:
        owners = roster_of(journal, settings.team).owners if journal is not None else frozenset()
    if keys.author not in owners:
        raise UsageError("only an owner of the team can do that", fix="holdfast team members shows who is")
    return settings.team


def _identify(project: Project) -> None:
    project.prepare()

    def change(settings: SyncSettings) -> None:
        if not settings.project:
            settings.identity = identity_of(project)
            settings.project = project_id(settings.identity)

    change_settings(project, change)


def _read_again(journal: SyncJournal, settings: SyncSettings) -> None:
    """Packs that could not be read are looked at again: a key or a team was added."""
    for name in settings.targets:
        journal.reread(name, ("sealed", "refused", "newer"))
        journal.set_note(f"state {name}", "")


def keys_changed(machine: Machine) -> None:
    """After a key was restored or replaced every project looks at its packs again."""
    projects = machine.home / "projects"
    for memory in sorted(projects.iterdir()) if projects.is_dir() else ():
        if not (memory / JOURNAL).exists():
            continue
        with (
            files.lock(memory / "locks" / "sync.lock", timeout=_LOCK_S),
            closing(SyncJournal(memory)) as journal,
            journal.transaction(),
        ):
            journal.reread_all(("sealed", "refused", "newer"))
