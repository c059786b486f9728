"""One sync of one project with one target: fetch, take in, collect, write, publish.

Locally everything is one transaction of the journal, and files are written before it is committed: a sync that dies is
done again by the next one. What was published is never needed to be published again, and may be.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

from holdfast.briefing.projects import naming
from holdfast.core import files
from holdfast.flows.forget import Wanted, forget
from holdfast.flows.forget_again import forget_texts
from holdfast.flows.refresh import refresh
from holdfast.flows.remember import rewrite_current
from holdfast.model.events import DistilledSession
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sync_journal import PackRow, Row, SyncJournal
from holdfast.store.versions import new_group
from holdfast.sync import team_items
from holdfast.sync.collect import Applier, Author, Collector
from holdfast.sync.entry import Signed, decode
from holdfast.sync.intake import Intake, id_of_words, is_denied, row_of
from holdfast.sync.items import Place, parts_of
from holdfast.sync.keys import Keys
from holdfast.sync.merge import conflicts, items_of, version_of, winner
from holdfast.sync.packs import READS, pack, split
from holdfast.sync.quick import OWN, PATIENCE_S, goes_out, memory_stamp
from holdfast.sync.result import SyncResult
from holdfast.sync.roster import PREFIX, Roster, recipients, roster_of
from holdfast.sync.session_items import Log
from holdfast.sync.settings import SyncSettings, Target
from holdfast.sync.statement_items import values
from holdfast.sync.transport import Transport, name_of

_MOST_PACKS = 24  # of one machine at one target: more are made into one


class SyncRun:
    """The caller has asked the person whatever must be asked. `state` is the target's, if it was looked at already."""

    def __init__(
        self,
        machine: Machine,
        project: Project,
        transport: Transport,
        settings: SyncSettings,
        name: str,
        target: Target,
        *,
        dry_run: bool = False,
        receive_only: bool = False,
        state: str = "",
    ) -> None:
        self.receive_only, self.state = receive_only, state
        self.machine, self.project, self.transport = machine, project, transport
        self.settings, self.name, self.target, self.dry_run = settings, name, target, dry_run
        self.keys = Keys(machine)

    def run(self) -> SyncResult:
        began = time.monotonic()
        with (
            files.lock(self.project.lock("sync"), timeout=PATIENCE_S),
            closing(SyncJournal(self.project.memory)) as journal,
            journal.transaction(keep=False) if self.dry_run else nullcontext(),
        ):
            self._upgraded(journal)
            state = self.state or self.transport.state()
            is_same = bool(state) and state == journal.note(f"state {self.name}")
            self._take_over(journal)
            if is_same and self.receive_only:
                return self._result(journal, began)
            packs = {} if is_same else self.transport.packs()
            known = journal.packs(self.name)
            wanted = [place for place in packs if place not in known] if not is_same else []
            fetched = list(self.transport.fetch(wanted))
            with self._locally(journal):
                intake = Intake(
                    journal,
                    self.name,
                    self.settings.project,
                    self.keys,
                    self.settings.team,
                    Denied(self.project.memory),
                )
                if not is_same:
                    self._notice_lost(journal, packs, known)
                    intake.take(fetched)
                joined = self._admit(journal)
                if joined:
                    journal.reread(self.name, ("refused",))
            if not self.dry_run:
                self._forget(journal)
            with self._locally(journal):
                problems, changed = self._merge(journal)
            with self._transaction(journal):
                outgoing = _Outgoing("") if self.receive_only else self._outgoing(journal)
                if not (self.dry_run or self.receive_only):
                    self._publish(journal, outgoing)
            if not self.dry_run:
                with journal.transaction():
                    journal.set_note(f"state {self.name}", self._seen_state(journal, state, packs, outgoing))
                    journal.set_note(f"at {self.name}", str(self.machine.now().timestamp()))
            return self._result(
                journal,
                began,
                sent=len(outgoing.rows),
                received=intake.received,
                changed=changed,
                sealed=intake.sealed,
                refused=intake.refusals(),
                problems=problems,
                joined=joined,
                bytes_sent=outgoing.size,
                bytes_received=sum(len(data) for _, data in fetched),
            )

    def _seen_state(
        self,
        journal: SyncJournal,
        state: str,
        packs: dict[tuple[str, str], int],
        outgoing: _Outgoing,
    ) -> str:
        """The state that the next sync compares with; '' if others may have published since this one looked."""
        if not (outgoing.add or outgoing.drop):
            return state
        after = self.transport.state()
        seen = {*packs, *journal.packs(self.name)}
        return after if seen.issuperset(self.transport.packs()) else ""

    @contextmanager
    def _locally(self, journal: SyncJournal) -> Iterator[None]:
        """What reads and writes the memory: nobody may forget something in between."""
        with (
            files.lock(self.project.lock("capture"), timeout=PATIENCE_S),
            self._transaction(journal),
        ):
            yield

    def _transaction(self, journal: SyncJournal) -> AbstractContextManager[None]:
        """A dry run is one transaction, of which nothing is kept."""
        return nullcontext() if self.dry_run else journal.transaction()

    def _result(self, journal: SyncJournal, began: float, **values: object) -> SyncResult:
        roster = roster_of(journal, self.settings.team)
        return SyncResult(
            target=self.name,
            conflicts=len(conflicts(journal)),
            waits_for=team_items.unasked(journal, self.settings, self.keys, roster),
            removed_from=self._removed_from(roster),
            seconds=time.monotonic() - began,
            done=not self.dry_run,
            **values,  # type: ignore[arg-type]
        )

    def _removed_from(self, roster: Roster) -> str:
        team = self.settings.team
        return team.name if team is not None and self.keys.author in roster.removed else ""

    def _take_over(self, journal: SyncJournal) -> None:
        """After a key was lost or revoked: what it signed is said again with the one that is here."""
        if self.dry_run or journal.note("author") == self.keys.author:
            return
        with journal.transaction():
            void = [row for rows in journal.all_heads() for row in rows if self._is_void(row)]
            author, shown = Author(self.machine, self.keys, self.settings.project), journal.shown()
            for row in void:
                version = version_of(row)
                if version is None:
                    continue
                signed = author.entry(row.key, version.entry.body, journal.lineage([row.id]))
                journal.add(row_of(signed), signed.entry.order.machine, signed.entry.parents)
                if (seen := shown.get(row.key)) is not None and seen.id == row.id:
                    journal.show(row.key, seen.digest, signed.id)
            for whose in {row.author for row in void}:
                journal.void(whose, OWN)
            author.keep()
            journal.set_note("author", self.keys.author)

    def _is_void(self, row: Row) -> bool:
        pair = self.keys.pair(row.author)
        return row.scope == OWN and (pair is None or bool(pair.revoked))

    def _upgraded(self, journal: SyncJournal) -> None:
        """What a newer holdfast wrote is read again by one that may understand it."""
        if self.dry_run or journal.note("reads") == READS:
            return
        with journal.transaction():
            journal.reread_all(("newer",))
            journal.set_note("reads", READS)

    # --- taking in ---------------------------------------------------------------------------------------

    def _notice_lost(
        self, journal: SyncJournal, packs: dict[tuple[str, str], int], known: dict[tuple[str, str], PackRow]
    ) -> None:
        """What is no longer at the target is not counted as being there."""
        for place, name in known:
            if (place, name) not in packs:
                journal.drop_pack(self.name, place, name)

    def _admit(self, journal: SyncJournal) -> list[str]:
        """Makes those members who answered an invitation of this machine."""
        if self.settings.team is None or self.dry_run or self.receive_only:
            return []
        return team_items.admit(self.machine, self.project, journal, self.keys, self.settings)

    def _merge(self, journal: SyncJournal) -> tuple[list[str], int]:
        """Brings memory and journal together: what is here, then what came. What a person changes meanwhile is looked
        at by the next sync, because the memory is remembered as it was before it was read."""
        author = Author(self.machine, self.keys, self.settings.project)
        problems = self._collect(journal, author)
        if self.dry_run:
            return problems, 0
        stale = journal.stale()
        group = new_group()
        changed = Applier(self.machine, self.project, journal, group).run(stale)
        changed += team_items.mirror(self.machine, self.project, journal, self.keys, self.settings, stale)
        journal.fresh(stale)
        if changed:
            now = self.machine.clock.seconds()
            store = Place(self.machine, self.project, group).store("")
            rewrite_current(store, self._received(journal, stale), now, "sync", received=True)
            refresh(self.machine, self.project)
            problems = self._collect(journal, author)
        author.keep()
        return problems, changed

    def _collect(self, journal: SyncJournal, author: Author) -> list[str]:
        fingerprint, problems = memory_stamp(self.project.memory), []
        if fingerprint != journal.note("memory") or self.settings.team is not None:
            if not self.target.team_only:
                problems = Collector(self.machine, self.project, journal, author).run().problems
            team_items.collect(
                self.machine, self.project, journal, author, self.settings, dry_run=self.dry_run
            )
        if not (self.target.team_only or self.dry_run):
            journal.set_note("memory", fingerprint)
        return problems

    def _received(self, journal: SyncJournal, stale: list[str]) -> dict[str, list[DistilledSession]]:
        """The sessions that another machine captured, by the project they belong to, the oldest first."""
        names = naming(self.machine, self.project)
        bodies = {
            key: version.entry.body
            for key in stale
            if key.startswith("record/") and (version := winner(journal.heads(key))) is not None
        }
        groups: dict[str, list[DistilledSession]] = {}
        for record in sorted(values(bodies, DistilledSession), key=lambda record: record.started or 0.0):
            groups.setdefault(names.of_session(record), []).append(record)
        return groups

    def _forget(self, journal: SyncJournal) -> None:
        """What another machine of this person forgot is forgotten here, before anything is written."""
        keys = [key for key in journal.stale() if key.startswith("line/denied.jsonl/")]
        if not keys:
            return
        bodies = [version.entry.body for key in keys if (version := winner(journal.heads(key))) is not None]
        lines = [body for body in bodies if isinstance(body, dict)]
        sessions = sorted({str(line["session"]) for line in lines if line.get("session")})
        ids = {str(line["id"]) for line in lines if line.get("id")}
        with self._locally(journal):
            if ids:  # what a person reworded meanwhile goes by its new words
                self._collect(journal, Author(self.machine, self.keys, self.settings.project))
                ids |= {
                    id_of_words(version.entry)
                    for prefix in ("register/", "fact/", "question/")
                    for key, version in items_of(journal, prefix).items()
                    if parts_of(key)[-1] in ids
                }
                # Also the new ids that a killed sync had found, and that nothing leads to any more.
                ids |= Denied(self.project.memory).ids
            Applier(self.machine, self.project, journal, "").run(keys)
        if sessions or ids:
            forget(self.machine, self.project, Wanted(sessions=tuple(sessions), ids=tuple(sorted(ids))))
        if sessions:
            with files.lock(self.project.lock("capture"), timeout=PATIENCE_S):
                Log(Place(self.machine, self.project)).bury(sessions)
        denied = Denied(self.project.memory)
        if any(line.get("text") for line in lines):
            forget_texts(self.machine, self.project)
        with self._locally(journal):
            journal.unpack_replaced()
            journal.purge(lambda row: _is_denied_row(row, denied))
            journal.fresh(keys)

    # --- publishing --------------------------------------------------------------------------------------

    def _outgoing(self, journal: SyncJournal) -> _Outgoing:
        """New packs, and those that must be made again: something in them is forgotten, or others may read now."""
        place = f"{self.keys.author}/{self.machine.clock.letters}"
        outgoing = _Outgoing(place)
        roster = roster_of(journal, self.settings.team)
        readers = ",".join(recipients(roster.members.values()))
        own = [
            pack  # also one that a sync published and died before it noted that: it was fetched like others'
            for pack in journal.packs(self.name).values()
            if pack.place == place and pack.state in ("own", "read")
        ]
        renew = readers != journal.note(f"readers {self.name}")
        many = len(own) >= _MOST_PACKS
        live: list[Row] = []
        for one in own:
            rows = journal.live_in(self.name, place, one.name)
            has_team = any(row.scope != OWN for row in rows)
            if many or (renew and has_team) or journal.gone_in(self.name, place, one.name):
                outgoing.drop.append(one.name)
                live += rows
        for other in journal.packs(self.name).values():  # what other machines of this person published
            whose = self.keys.pair(other.place.partition("/")[0])
            if other.place != place and whose and journal.gone_in(self.name, other.place, other.name):
                outgoing.elsewhere.setdefault(other.place, []).append(other.name)
                live += journal.live_in(self.name, other.place, other.name)
        live = list({row.id: row for row in live}.values())
        new = [
            row for row in journal.unsent(self.name) if goes_out(row, self.settings, self.target, self.keys)
        ]
        outgoing.rows = new
        for scope, to in self._recipients(roster).items():
            rows = sorted(
                (row for row in (*live, *new) if _audience(row) == scope), key=lambda row: (row.stamp, row.id)
            )
            for group in split(map(_signed, rows)):
                outgoing.put(group, () if self.target.plain else to)
        for gone in roster.before.values():  # who was removed is told so, and nothing else
            said = [row for row in (*live, *new) if row.key == f"{PREFIX}member/{gone.author}"]
            if said:
                outgoing.put(map(_signed, said), () if self.target.plain else (gone.seal,))
        outgoing.drop = [name for name in outgoing.drop if name not in outgoing.add]
        outgoing.readers = readers
        return outgoing

    def _recipients(self, roster: Roster) -> dict[str, tuple[str, ...]]:
        """Who can read what: one's own machines; the team; and, of a request to join, only who made the team."""
        team = self.settings.team
        others = recipients(roster.members.values())
        return {
            OWN: (self.keys.own.seal,),
            "team": others or (self.keys.own.seal,),
            "request": (team.seal, self.keys.own.seal) if team is not None else (self.keys.own.seal,),
        }

    def _publish(self, journal: SyncJournal, outgoing: _Outgoing) -> None:
        if outgoing.add or outgoing.drop:
            self.transport.publish(outgoing.place, outgoing.add, outgoing.drop)
        for place, names in outgoing.elsewhere.items():
            self.transport.publish(place, {}, names)
            for name in names:
                journal.drop_pack(self.name, place, name)
        for name in outgoing.drop:
            journal.drop_pack(self.name, outgoing.place, name)
        for name, data in outgoing.add.items():
            row = PackRow(outgoing.place, name, len(data), "own")
            journal.put_pack(self.name, row, outgoing.contents[name])
        journal.set_note(f"readers {self.name}", outgoing.readers)


class _Outgoing:
    def __init__(self, place: str) -> None:
        self.place = place
        self.rows: list[Row] = []
        self.add: dict[str, bytes] = {}
        self.contents: dict[str, list[str]] = {}
        self.drop: list[str] = []
        self.elsewhere: dict[str, list[str]] = {}
        self.readers = ""

    def put(self, entries: Iterable[Signed], recipients: tuple[str, ...]) -> None:
        entries = list(entries)
        data = pack(entries, recipients)
        self.add[name_of(data)] = data
        self.contents[name_of(data)] = [one.id for one in entries]

    @property
    def size(self) -> int:
        return sum(map(len, self.add.values()))


def _signed(row: Row) -> Signed:
    return Signed(row.line, row.signature, decode(row.line))


def _audience(row: Row) -> str:
    if row.scope == OWN:
        return OWN
    return "request" if row.key.startswith(f"{PREFIX}request/") else "team"


def _is_denied_row(row: Row, denied: Denied) -> bool:
    try:
        return is_denied(decode(row.line), denied)
    except ValueError:
        return False
