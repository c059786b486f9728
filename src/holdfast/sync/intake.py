"""What comes from a target: each entry is checked before it is known, and what is refused is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast.model.memory import content_id
from holdfast.store.denied import Denied
from holdfast.store.sync_journal import PackRow, Row, SyncJournal
from holdfast.sync.entry import Entry, Signed
from holdfast.sync.items import is_well_formed, parts_of
from holdfast.sync.keys import Keys, Verifier
from holdfast.sync.merge import version_of
from holdfast.sync.packs import BadPack, unpack
from holdfast.sync.result import Refused
from holdfast.sync.roster import PREFIX, Roster, is_removal, keys_in, roster_of
from holdfast.sync.settings import TeamSettings
from holdfast.sync.team_item import KINDS, readable_item

_FORGED = "its signature does not match its author"
_OTHER_PROJECT = "it belongs to another project"
_REPLAYED = "it was sent again after being withdrawn or forgotten"
_NEWER = "a newer holdfast made it. Upgrade holdfast"
_STRANGER = "its author is not in the team"
_REVOKED = "it was signed with a key that was revoked"
_PRIVATE = "it concerns something that is not the team's"
_OTHER_TEAM = "it is about another team"
_NO_OWNER = "only an owner may change who is in the team"
_NO_NAME = "its name is not one of an item"
_NOT_FIT = "it is too long, or says what nobody may be shown"
_NOT_JOINED = "it is a team's that this machine has not joined. Ask for a code: holdfast team invite"
_LATER = (_NOT_JOINED, _STRANGER, _OTHER_TEAM, _NO_OWNER)  # until more is known of the team
_LETTERS = {"register": "D", "fact": "F", "question": "Q"}
_OF_THE_TEAM = ("team/", "settled/", PREFIX)


class Intake:
    """Takes packs of one target in. The caller holds the journal in a transaction."""

    def __init__(
        self,
        journal: SyncJournal,
        target: str,
        project: str,
        keys: Keys,
        team: TeamSettings | None,
        denied: Denied,
    ) -> None:
        self._journal, self._target, self._project = journal, target, project
        self._keys, self._team, self._denied = keys, team, denied
        self._verifier = Verifier()
        self.received = 0
        self.refused: dict[tuple[str, str], int] = {}
        self.sealed = 0

    def take(self, packs: Iterable[tuple[tuple[str, str], bytes]]) -> None:
        """Takes packs in. The roster comes first, whatever pack it lies in: it says whose entries count."""
        opened: list[tuple[str, str, int, list[Signed], str]] = []
        for (place, name), data in packs:
            signed, state = self._open(place, data)
            opened.append((place, name, len(data), signed, state))
        self._take_roster([one for _, _, _, signed, _ in opened for one in signed])
        roster = roster_of(self._journal, self._team)
        for place, name, size, signed, state in opened:
            refused = False
            for one in signed:
                why = self._add(one, roster)
                refused = refused or why in _LATER
            state = "refused" if refused and state == "read" else state
            self._journal.put_pack(
                self._target, PackRow(place, name, size, state), [one.id for one in signed]
            )

    def _open(self, place: str, data: bytes) -> tuple[list[Signed], str]:
        try:
            found = list(unpack(data, self._keys.pairs))
        except BadPack as error:
            if error.why == "sealed":
                self.sealed += 1
            else:
                self._refuse(_NEWER if error.why == "newer" else "it is damaged", place)
            return [], error.why
        state = "read"
        for problem in (one for one in found if isinstance(one, str)):
            self._refuse(_NEWER if problem == "newer" else "it is damaged", place)
            state = problem
        return [one for one in found if isinstance(one, Signed)], state

    def _take_roster(self, signed: Iterable[Signed]) -> None:
        """Adds entries about the team until no more of them count: one may make the author of the next a member."""
        waiting = [one for one in signed if one.entry.scope == "team" and one.entry.key.startswith(PREFIX)]
        waiting.sort(key=lambda one: (one.entry.order, one.id))
        while waiting:
            roster = roster_of(self._journal, self._team)
            left = [one for one in waiting if self._add(one, roster, last=False)]
            if len(left) == len(waiting):
                return
            waiting = left

    def _add(self, signed: Signed, roster: Roster, *, last: bool = True) -> str:
        """Adds an entry; says why it does not count."""
        if self._journal.knows(signed.id):
            if last and (self._journal.is_gone(signed.id) or self._is_taken_back(signed)):
                why = _REVOKED if self._is_void(signed.entry) else _REPLAYED
                self._refuse(why, signed.entry.author, once=signed.id)
            return ""
        why = self._why_not(signed, roster)
        if why:
            if last:
                self._refuse(why, signed.entry.author)
            return why
        entry = signed.entry
        gone = is_denied(entry, self._denied)
        self._journal.add(row_of(signed), entry.order.machine, self._replaced_by(entry, roster), gone=gone)
        self.received += not gone
        return ""

    def _is_taken_back(self, signed: Signed) -> bool:
        """Whether something of the team comes although all that counts of it is that it is gone."""
        entry = signed.entry
        if entry.scope != "team" or entry.key.startswith(PREFIX) or entry.body is None:
            return False
        versions = [version_of(row) for row in self._journal.heads(entry.key)]
        return bool(versions) and all(one is not None and one.entry.body is None for one in versions)

    def _replaced_by(self, entry: Entry, roster: Roster) -> tuple[str, ...]:
        """The parents that an entry may replace: taking back what others shared is for owners."""
        if entry.scope != "team" or entry.body is not None or entry.key.startswith(PREFIX):
            return entry.parents
        if entry.author in roster.owners:
            return entry.parents
        return tuple(parent for parent in entry.parents if self._journal.author(parent) == entry.author)

    def _why_not(self, signed: Signed, roster: Roster) -> str:
        entry = signed.entry
        if entry.project != self._project:
            return _OTHER_PROJECT
        if entry.scope == "team" and self._team is None:
            return _NOT_JOINED
        verify = self._key_of(entry, roster)
        if not verify:
            return _STRANGER
        if not self._verifier.is_signed(verify, signed.line, signed.signature):
            return _FORGED
        own = self._keys.pair(entry.author)
        if self._is_void(entry):
            return _REVOKED
        if not is_well_formed(entry.key):
            return _NO_NAME
        if entry.scope == "own":
            return "" if own is not None else _STRANGER
        if not entry.key.startswith(_OF_THE_TEAM):
            return _PRIVATE
        if entry.key.startswith(PREFIX):
            return self._why_not_roster(signed, roster)
        if entry.key.startswith("team/") and entry.body is not None and not _is_fit(entry):
            return _NOT_FIT
        return roster.why_not(signed.id, entry)

    def _is_void(self, entry: Entry) -> bool:
        """Whether it is signed with a key of this person that was revoked. Who has the key can write any time they
        like: of one's own memory nothing counts any more, and each machine with the new key says its part again."""
        own = self._keys.pair(entry.author)
        if own is None or not own.revoked:
            return False
        return entry.scope == "own" or entry.order.at >= own.revoked

    def _why_not_roster(self, signed: Signed, roster: Roster) -> str:
        entry = signed.entry
        kind, _, author = entry.key.removeprefix(PREFIX).partition("/")
        if kind == "team":
            return "" if self._team is not None and signed.id == self._team.id else _OTHER_TEAM
        if kind == "request" and entry.author == author:
            return ""
        leaves = kind == "member" and is_removal(entry.body) and entry.author == author
        return "" if entry.author in roster.owners or leaves else _NO_OWNER

    def _key_of(self, entry: Entry, roster: Roster) -> str:
        """The public key to check with: one's own, a member's, or the one that a request to join is about."""
        if (own := self._keys.pair(entry.author)) is not None:
            return own.verify
        if entry.scope == "team":
            if (member := roster.known(entry.author)) is not None:
                return member.verify
            keys = keys_in(entry.body) if entry.key == f"{PREFIX}request/{entry.author}" else None
            if keys is not None:
                return keys.verify
        return ""

    def _refuse(self, why: str, who: str, *, once: str = "") -> None:
        if once and not self._journal.refuse(once, why, who):
            return
        self.refused[why, who] = self.refused.get((why, who), 0) + 1

    def refusals(self) -> list[Refused]:
        return [
            Refused(why=why, who=who, number=number) for (why, who), number in sorted(self.refused.items())
        ]


def _is_fit(entry: Entry) -> bool:
    _, kind, id = parts_of(entry.key)
    return kind in KINDS and readable_item(entry.body, id) is not None


def row_of(signed: Signed) -> Row:
    entry = signed.entry
    return Row(signed.id, entry.stamp, entry.author, entry.scope, entry.key, signed.line, signed.signature)


def is_denied(entry: Entry, denied: Denied) -> bool:
    """Whether an entry is about what was forgotten here: a session, an id, or a text in it."""
    if not denied or entry.scope == "team" or entry.key.startswith(("line/", PREFIX)):
        return bool(denied) and entry.scope == "team" and _is_forgotten_text(entry.body, denied)
    parts = {part for part in parts_of(entry.key)[1:] if part}
    if isinstance(entry.body, dict) and entry.body.get("outcome") == "forgotten":
        return False  # the row that says that a session was forgotten
    if parts & denied.sessions or denied.ids & {*parts, id_of_words(entry)}:
        return True
    return _is_forgotten_text(entry.body, denied)


def id_of_words(entry: Entry) -> str:
    """The id that the words of a statement have now: its key has that of its first ones. '' for anything else."""
    kind, body = entry.key.partition("/")[0], entry.body
    if kind not in _LETTERS or not isinstance(body, dict):
        return ""
    said = body.get("fact", body)
    return content_id(_LETTERS[kind], str(said.get("text", ""))) if isinstance(said, dict) else ""


def _is_forgotten_text(body: Any, denied: Denied) -> bool:
    if isinstance(body, str):
        return bool(denied.texts) and denied.strip(body) != body
    if isinstance(body, dict):
        return any(_is_forgotten_text(value, denied) for value in body.values())
    return isinstance(body, list) and any(_is_forgotten_text(value, denied) for value in body)
