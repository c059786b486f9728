"""Who is in the team: derived from signed entries, which count only if an owner wrote them.

roster/team             the team, by the person who made it; its id is pinned when one joins
roster/member/AUTHOR    a member's keys, name and role, by an owner; the role `removed` by an owner or that person
roster/request/AUTHOR   who asks to join, by that person, with proof of the invitation
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.core.stamp import Stamp
from holdfast.store.sync_journal import SyncJournal
from holdfast.sync.entry import Entry
from holdfast.sync.keys import PublicKey, author_of
from holdfast.sync.merge import Version, version_of
from holdfast.sync.settings import TeamSettings

PREFIX = "roster/"
ROLES = ("owner", "member", "reader")
REMOVED = "removed"
_CODE = "holdfast-team-"


class Member(Struct, frozen=True, kw_only=True):
    author: str
    verify: str
    seal: str
    name: str = ""
    role: str = "member"


class Request(Struct, frozen=True, kw_only=True):
    author: str
    verify: str
    seal: str
    name: str = ""
    proof: str = ""


class _Keys(Struct, frozen=True, kw_only=True):
    verify: str
    seal: str
    name: str = ""
    role: str = "member"
    proof: str = ""
    kept: tuple[str, ...] | None = None


class Removal(Struct, frozen=True):
    """When somebody was removed, and the entries of theirs that were known then. No other counts, whatever time it
    names. None: an older holdfast said so, and the time is all there is."""

    at: Stamp
    kept: frozenset[str] | None = None


class Roster(Struct, kw_only=True):
    """`removed` has what stays of those who were removed."""

    members: dict[str, Member] = {}
    removed: dict[str, Removal] = {}
    before: dict[str, Member] = {}
    requests: dict[str, Request] = {}

    @property
    def owners(self) -> frozenset[str]:
        return frozenset(member.author for member in self.members.values() if member.role == "owner")

    def known(self, author: str) -> Member | None:
        return self.members.get(author) or self.before.get(author)

    def why_not(self, id: str, entry: Entry) -> str:
        """Why an entry of the team does not count; '' if it does."""
        member = self.members.get(entry.author)
        if member is None:
            gone = self.removed.get(entry.author)
            if gone is None:
                return "its author is not in the team"
            is_kept = entry.order < gone.at if gone.kept is None else id in gone.kept
            return "" if is_kept else "its author was removed from the team"
        return "its author only has read access" if member.role == "reader" else ""


def keys_in(body: Any) -> _Keys | None:
    try:
        return msgspec.convert(body, _Keys)
    except msgspec.ValidationError:
        return None


def roster_of(journal: SyncJournal, team: TeamSettings | None) -> Roster:
    """The team as the entries that are known here make it."""
    roster = Roster()
    if team is None or not team.id:
        return roster
    owner = Member(author=author_of(team.verify), verify=team.verify, seal=team.seal, role="owner")
    roster.members[owner.author] = owner
    versions = [
        version
        for rows in journal.all_heads(PREFIX)
        for row in rows
        if (version := version_of(row)) is not None
    ]
    versions.sort(key=lambda version: (version.entry.order, version.id))
    for version in versions:
        _take(roster, version, team)
    return roster


def _take(roster: Roster, version: Version, team: TeamSettings) -> None:
    entry = version.entry
    kind, _, author = entry.key.removeprefix(PREFIX).partition("/")
    keys = keys_in(entry.body) if entry.body is not None else None
    if kind == "team" and version.id == team.id and keys is not None:
        founder = roster.members[author_of(team.verify)]
        roster.members[founder.author] = msgspec.structs.replace(founder, name=keys.name)
    elif (
        kind == "request" and entry.author == author and keys is not None and author_of(keys.verify) == author
    ):
        roster.requests[author] = Request(
            author=author, verify=keys.verify, seal=keys.seal, name=keys.name, proof=keys.proof
        )
    elif kind == "member" and (entry.author in roster.owners or entry.author == author):
        _change_member(roster, entry, author, keys)


def is_removal(body: Any) -> bool:
    return body is None or (isinstance(body, dict) and body.get("role") == REMOVED)


def _change_member(roster: Roster, entry: Entry, author: str, keys: _Keys | None) -> None:
    if is_removal(entry.body):
        gone = roster.members.pop(author, None)
        before = roster.removed.get(author)
        kept = None if keys is None or keys.kept is None else frozenset(keys.kept)
        if kept is not None and before is not None and before.kept is not None:
            kept |= before.kept  # two owners removed the same person
        roster.removed[author] = Removal(entry.order, kept)
        if gone is None and keys is not None and author_of(keys.verify) == author:
            gone = Member(author=author, verify=keys.verify, seal=keys.seal, name=keys.name, role="reader")
        if gone is not None:  # whose signatures are still checked
            roster.before[author] = gone
    elif keys is not None and entry.author in roster.owners and author_of(keys.verify) == author:
        role = keys.role if keys.role in ROLES else "reader"
        roster.members[author] = Member(
            author=author, verify=keys.verify, seal=keys.seal, name=keys.name, role=role
        )
        roster.removed.pop(author, None)


# --- invitations -------------------------------------------------------------------------------------------


class _Code(Struct, array_like=True, frozen=True):
    project: str
    team: str
    name: str
    verify: str
    seal: str
    secret: str


def invitation_code(project: str, team: TeamSettings, secret: str) -> str:
    """What the person who is invited types: it says which team this is, and proves that an owner gave it."""
    data = msgspec.json.encode(_Code(project, team.id, team.name, team.verify, team.seal, secret))
    return _CODE + base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_code(code: str) -> tuple[str, TeamSettings]:
    """The project and the team of an invitation."""
    text = "".join(code.split()).removeprefix(_CODE)
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Code)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise UsageError(
            "this is not an invitation", fix="Copy the whole line that holdfast team invite printed"
        ) from error
    team = TeamSettings(
        id=found.team, name=found.name, verify=found.verify, seal=found.seal, secret=found.secret
    )
    return found.project, team


def proof_of(secret: str, key: PublicKey) -> str:
    """Shows that the holder of a key has the invitation; nobody who sees it learns the secret."""
    said = f"holdfast join {key.verify} {key.seal}".encode()
    return hmac.new(secret.encode(), said, "sha256").hexdigest()


def is_proof(proof: str, secret: str, key: PublicKey) -> bool:
    return hmac.compare_digest(proof, proof_of(secret, key))


def recipients(members: Iterable[Member]) -> tuple[str, ...]:
    return tuple(sorted(member.seal for member in members))
