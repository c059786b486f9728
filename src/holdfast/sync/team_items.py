"""What a team shares: decisions, facts and rules that their author confirmed, and how others' reach this memory.

Others' items are found by search at once, marked with their author. Agents see them after one question for each author,
which is about that author's key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import NotFound, UsageError
from holdfast.flows.forget_files import remove_derived
from holdfast.lessons.store import LessonStore
from holdfast.memory.decisions import TEAM, SessionPassages, with_sessions
from holdfast.memory.read import ProjectMemory
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Passage, PassageKind, content_id
from holdfast.model.statement import Statement
from holdfast.store import line_grammar as md
from holdfast.store.denied import Denied
from holdfast.store.gate import gate, pass_value
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sync_journal import SyncJournal
from holdfast.store.versions import Versions
from holdfast.store.waiting import team_waiting
from holdfast.sync.collect import Author
from holdfast.sync.intake import id_of_words, row_of
from holdfast.sync.items import built_in, key_of, parts_of, plain
from holdfast.sync.keys import Keys, PublicKey
from holdfast.sync.merge import essence, items_of, version_of
from holdfast.sync.roster import PREFIX, Member, Roster, is_proof, roster_of
from holdfast.sync.settings import SyncSettings, TeamSettings, change_settings
from holdfast.sync.team_item import LARGEST, TeamItem, readable_item

_SHAREABLE = ("decision", "rule", "preference", "cause", "answer", "dead_end", "measurement", "finding")
_WORTH, _WORTH_OF_REJECTED = 95, 60
_LONGEST = 1_200
_KINDS = ("decision", "fact", "lesson")


class Shared(Struct, frozen=True, kw_only=True):
    """An item of the team, who shared it, and whether agents here see it."""

    item: TeamItem
    author: str
    by: str
    entry: str
    told: bool
    own: bool

    def as_json(self) -> dict[str, object]:
        return {
            "id": self.item.id,
            "kind": self.item.kind,
            "text": self.item.text,
            "reason": self.item.reason,
            "by": self.by,
            "author": self.author,
            "told": self.told,
            "own": self.own,
        }


# --- what is shared from here ------------------------------------------------------------------------------


def shareable(project: Project) -> dict[str, TeamItem]:
    """Everything that this memory could share with a team, by its id."""
    memory = ProjectMemory(project)
    found: dict[str, TeamItem] = {}
    for said in memory.passage_statements():
        if said.status == "agreed" and said.kind in _SHAREABLE and not said.source.endswith("shared.md"):
            found.setdefault(said.id, _item(said))
    for said in memory.register("decision"):
        found[said.id] = _item(said)
    for _, reference in memory.references():
        for kept in reference.facts:
            if kept.retired_at is None and kept.did_not_show is None:
                fact = kept.fact
                found[fact.id] = TeamItem(
                    id=fact.id,
                    kind="fact",
                    text=fact.text,
                    command=fact.command,
                    evidence=fact.evidence,
                    at=fact.at,
                )
    for _, stored in LessonStore(project).read().lessons("local"):
        lesson = stored.lesson
        found[lesson.name] = TeamItem(id=lesson.name, kind="lesson", text="; ".join(lesson.rules))
    return found


def _item(said: Statement) -> TeamItem:
    text = f"{said.subject} → {said.text}" if said.kind == "answer" else said.text
    return TeamItem(
        id=said.id,
        kind=said.kind,
        text=text,
        reason=said.reason,
        not_=(said.not_,) if said.not_ else (),
        at=said.at,
        replaces=said.supersedes[0] if said.supersedes else "",
    )


def choose(machine: Machine, project: Project, wanted: Iterable[str], *, share: bool) -> list[TeamItem]:
    """Marks items to be shared with the team at the next sync, or to be kept private, which takes them back."""
    known, chosen = shareable(project), []
    for name in wanted:
        close = [id for id in known if id == name or (len(name) >= 5 and id.startswith(name))]
        if len(close) != 1:
            what = (
                f"{name!r} fits {len(close)}: {', '.join(close[:3])}"
                if close
                else f"nothing here has the id {name!r}"
            )
            raise NotFound(what, fix="holdfast search and holdfast lessons list show the ids")
        item = known[close[0]]
        if share and readable_item(built_in(item), item.id) is None:
            raise UsageError(
                f"{item.id} cannot be shared: others would refuse it",
                fix=f"Its words must be under {LARGEST:,} bytes, without hidden characters or orders to an agent",
            )
        chosen.append(item)
    ids = [item.id for item in chosen]

    def change(settings: SyncSettings) -> None:
        if settings.team is None:
            return
        into, out = (settings.team.shared, settings.team.private)[:: 1 if share else -1]
        into.extend(id for id in ids if id not in into)
        out[:] = [id for id in out if id not in ids]

    change_settings(project, change)
    return chosen


def collect(
    machine: Machine,
    project: Project,
    journal: SyncJournal,
    author: Author,
    settings: SyncSettings,
    *,
    dry_run: bool = False,
) -> None:
    """Entries for what is shared and has changed, and for what was taken back."""
    team = settings.team
    if team is None or not team.id:
        return
    change_team = partial(_change_team, None if dry_run else project, settings)
    known = shareable(project) if team.shared else {}
    clean, keys = gate(machine, project), Keys(machine)
    own, denied = keys.author, Denied(project.memory)
    changes = _followed(journal, keys, team, known)
    if changes:
        team = change_team(lambda now: _rename(now, changes))
    shown = journal.shown()
    wanted = {key_of("team", _kind(known[id]), id): known[id] for id in team.shared if id in known}
    for key, item in wanted.items():
        body = plain(pass_value(built_in(item), clean))
        digest = essence(body)
        seen = shown.get(key)
        if (seen is not None and seen.digest == digest) or item.id in denied.ids:
            continue
        versions = [version for row in journal.heads(key) if (version := version_of(row)) is not None]
        if not any(essence(version.entry.body) == digest for version in versions):
            parents = [version.id for version in versions if version.entry.author == own]
            before = journal.lineage(parents or ([seen.id] if seen is not None else []))
            signed = author.entry(key, body, before, "team")
            journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
            journal.show(key, digest, signed.id)
    private = {key_of("team", kind, id) for id in team.private for kind in _KINDS} - wanted.keys()
    for key in [
        key for key in {**shown, **dict.fromkeys(private)} if key.startswith("team/") and key not in wanted
    ]:
        heads = [version for row in journal.heads(key) if (version := version_of(row)) is not None]
        mine = [
            version.id for version in heads if version.entry.author == own and version.entry.body is not None
        ]
        if mine or (
            not heads and key in shown
        ):  # without heads it was forgotten here: the others do not know that
            signed = author.entry(key, None, journal.lineage(mine or [shown[key].id]), "team")
            journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
        journal.show(key, "", "")
    if team.private:  # said once: what is shared again on another machine stays shared
        change_team(lambda now: now.private.clear())


def _change_team(
    project: Project | None, settings: SyncSettings, change: Callable[[TeamSettings], object]
) -> TeamSettings:
    """Changes what is chosen; only in these settings, and on no disk, without a project."""

    def within(now: SyncSettings) -> None:
        if now.team is not None:
            change(now.team)

    if project is None:
        within(settings)
    else:
        settings.team = change_settings(project, within).team
    assert settings.team is not None
    return settings.team


def _rename(team: TeamSettings, changes: dict[str, str]) -> None:
    team.shared[:] = dict.fromkeys(filter(None, (changes.get(id, id) for id in team.shared)))


def _followed(
    journal: SyncJournal, keys: Keys, team: TeamSettings, known: dict[str, TeamItem]
) -> dict[str, str]:
    """What is called differently since it was reworded, and, as '', what is private by another of one's machines."""
    shown, changes = journal.shown(), {}
    for id in team.shared:
        place = next((key for kind in _KINDS if (key := key_of("team", kind, id)) in shown), "")
        heads = [version for row in journal.heads(place) if (version := version_of(row)) is not None]
        if heads and all(one.entry.body is None and keys.pair(one.entry.author) for one in heads):
            journal.show(place, "", "")
            changes[id] = ""
        elif id not in known and (reworded := _reworded(journal, id)) in known:
            changes[id] = reworded
    return changes


def _reworded(journal: SyncJournal, id: str) -> str:
    """The id of a fact or a decision that was known by another one before a person changed its words."""
    for prefix in ("register/", "fact/"):
        for key, version in items_of(journal, prefix).items():
            if parts_of(key)[-1] == id:
                return id_of_words(version.entry)
    return ""


def _kind(item: TeamItem) -> str:
    return item.kind if item.kind in ("fact", "lesson") else "decision"


# --- who is in the team ------------------------------------------------------------------------------------


def admit(
    machine: Machine, project: Project, journal: SyncJournal, keys: Keys, settings: SyncSettings
) -> list[str]:
    """Makes those members who prove an invitation that was given out here. Returns their names."""
    team, roster = settings.team, roster_of(journal, settings.team)
    if team is None or keys.author not in roster.owners:
        return []
    now, joined = machine.now().timestamp(), []
    author = Author(machine, keys, settings.project)
    for request in roster.requests.values():
        if request.author in roster.members:
            continue
        key = PublicKey(verify=request.verify, seal=request.seal)
        invitation = next(
            (
                one
                for one in team.invitations
                if one.until > now
                and (
                    not one.used_by
                    or (one.used_by == request.author and request.author not in roster.removed)
                )
                and is_proof(request.proof, one.secret, key)
            ),
            None,
        )
        if invitation is None:
            continue
        member = Member(
            author=request.author,
            verify=request.verify,
            seal=request.seal,
            name=" ".join(machine.clean(request.name).split())[:60],
            role=invitation.role,
        )
        write_member(journal, author, member)
        secret = invitation.secret

        def use(settings: SyncSettings, secret: str = secret, whose: str = request.author) -> None:
            assert settings.team is not None
            settings.team.invitations = [
                msgspec.structs.replace(one, used_by=whose) if one.secret == secret else one
                for one in settings.team.invitations
            ]

        settings.team = change_settings(project, use).team
        joined.append(member.name)
    author.keep()
    return joined


def write_member(
    journal: SyncJournal, author: Author, member: Member, *, kept: list[str] | None = None
) -> None:
    """`kept` is what stays of a member who is removed."""
    key = f"{PREFIX}member/{member.author}"
    body: dict[str, Any] = {
        "verify": member.verify,
        "seal": member.seal,
        "name": member.name,
        "role": member.role,
    }
    if kept is not None:
        body["kept"] = kept
    signed = author.entry(key, body, journal.lineage(row.id for row in journal.heads(key)), "team")
    journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)


# --- what others shared ------------------------------------------------------------------------------------


def shared_items(journal: SyncJournal, settings: SyncSettings, keys: Keys, roster: Roster) -> list[Shared]:
    """What the team shares now, the latest first; nothing for a person who left it."""
    found: list[Shared] = []
    if keys.author in roster.removed:
        return found
    for key, version in items_of(journal, "team/", roster.owners).items():
        entry = version.entry
        item = readable_item(entry.body, parts_of(key)[-1])
        if item is None:
            continue
        member = roster.known(entry.author)
        own = keys.pair(entry.author) is not None
        found.append(
            Shared(
                item=item,
                author=entry.author,
                by=(member.name if member else "") or entry.by or entry.author,
                entry=version.id,
                told=own or entry.author in settings.trusted,
                own=own,
            )
        )
    return sorted(found, key=lambda shared: (-(shared.item.at or 0.0), shared.item.id))


def unasked(journal: SyncJournal, settings: SyncSettings, keys: Keys, roster: Roster) -> list[str]:
    """The authors of whom something is here, and whom nobody here has agreed to or turned down."""
    return list(
        dict.fromkeys(
            shared.author
            for shared in shared_items(journal, settings, keys, roster)
            if not shared.own
            and shared.author not in settings.trusted
            and shared.author not in settings.declined
        )
    )


def mirror(
    machine: Machine,
    project: Project,
    journal: SyncJournal,
    keys: Keys,
    settings: SyncSettings,
    stale: Iterable[str],
) -> int:
    """Brings the copy of others' items up to date: in the memory those of trusted authors, apart from it the rest."""
    if settings.team is None or not any(key.startswith(("team/", PREFIX)) for key in stale):
        return 0
    return mirror_now(machine, project, journal, keys, settings)


def mirror_now(
    machine: Machine, project: Project, journal: SyncJournal, keys: Keys, settings: SyncSettings
) -> int:
    roster = roster_of(journal, settings.team)
    others = [shared for shared in shared_items(journal, settings, keys, roster) if not shared.own]
    clean = gate(machine, project)
    replaced = {shared.item.replaces for shared in others if shared.item.replaces}
    others = [shared for shared in others if shared.item.id not in replaced]
    store = MemoryStore(project, project.title, machine.clock.seconds)
    known = _known_here(project)
    told = [shared for shared in others if shared.told and content_id("D", shared.item.text) not in known]
    path = store.decisions_folder / f"{TEAM}.md"
    changed = _write(store, path, list(_sections(told, clean)), store.dismissed())
    waiting = team_waiting(machine.home, project)
    apart = MemoryStore(waiting, project.title, machine.clock.seconds)
    rest = list(_sections([shared for shared in others if not shared.told], clean))
    if rest or waiting.memory.is_dir():
        for folder in (machine.home, waiting.memory.parent.parent.parent, waiting.memory):
            files.make_private(folder)
        _put_apart(apart, rest)
    return int(changed)


def _known_here(project: Project) -> set[str]:
    memory = ProjectMemory(project)
    own = {
        passage.id for _, section in memory.passages() if not section.author for passage in section.passages
    }
    return own | {decision.id for _, reference in memory.references() for decision in reference.decisions}


def _put_apart(store: MemoryStore, sections: list[SessionPassages]) -> None:
    """Writes what waits for an answer. No version of it is kept, and no index: what its author takes back is gone."""
    path = store.decisions_folder / f"{TEAM}.md"
    content = with_sessions(_beginning(store.name), sections).encode("utf-8", "surrogateescape")
    if files.read(path) != content:
        files.make_private(path.parent)
        files.replace(path, content, store.lock_path, files.ANYTHING)
        files.discard(list(store.project.memory.glob("index*")))


def _write(store: MemoryStore, path: Path, sections: list[SessionPassages], dismissed: set[str]) -> bool:
    if not sections and not files.read(path):
        return False
    content = with_sessions(_beginning(store.name), sections, dismissed)
    before = set(files.read_lines(path)) if path.exists() else set()
    if not store.change(path, lambda _: content, "what other members shared"):
        return False
    if before - set(files.read_lines(path)):
        remove_derived(store.project.memory)
    # What its author took back or forgot stays in no version here.
    memory, now = store.project.memory, files.read(path)
    shown = path.relative_to(memory).as_posix()
    with files.lock(store.lock_path) as held:
        Versions(memory / "history").rewrite(
            held, lambda name, data: data if name != shown or data == now else None
        )
    return True


def _beginning(project: str) -> str:
    return (
        f"# Shared by other members of the team for {md.encode(project)}\n\n"
        "Copied by holdfast sync; their authors change them. A line deleted here stays deleted.\n"
    )


def _sections(others: Iterable[Shared], clean: Callable[[str], str]) -> Iterator[SessionPassages]:
    for shared in sorted(others, key=lambda shared: (shared.item.at or 0.0, shared.by, shared.item.id)):
        item = shared.item
        said = f"{item.text} (because {item.reason})" if item.reason else item.text
        if item.command:
            said = f"{item.text} (`{item.command}` → {item.evidence})"
        kind: PassageKind = "rule" if item.kind in ("lesson", "preference") else "decision"
        kind = "measurement" if item.kind in ("fact", "measurement", "finding") else kind
        passages = [
            Passage(
                text=clean(said)[:_LONGEST], kind=kind, by="user", worth=_WORTH, written_id=_passage_id(item)
            ),
            *(
                Passage(text=clean(text)[:_LONGEST], status="rejected", by="user", worth=_WORTH_OF_REJECTED)
                for text in item.not_
            ),
        ]
        yield SessionPassages(
            session="", title=clean(item.text), at=item.at, author=clean(shared.by), passages=tuple(passages)
        )


def _passage_id(item: TeamItem) -> str:
    return item.id if item.id.startswith("D-") else content_id("D", f"{item.id} {item.text}")


def agree(machine: Machine, project: Project, author: str, *, told: bool) -> None:
    """Keeps a person's answer to the question whether agents may see what an author shared."""
    now = machine.now().timestamp()

    def change(settings: SyncSettings) -> None:
        settings.trusted.pop(author, None)
        settings.declined.pop(author, None)
        (settings.trusted if told else settings.declined)[author] = now

    change_settings(project, change)
