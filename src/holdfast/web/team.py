"""The screen Team: who shares this memory, what each shares, what waits for an answer, and conflicts to resolve."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.store.sync_journal import NAME as JOURNAL
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Page, Request, Route, Screen, Undo

MOST_SHARED = 60


class ShownMember(Struct, frozen=True):
    """A member with what they share; `asks`: agents here see nothing of it until a person agrees."""

    author: str
    name: str
    role: str
    key: str
    own: bool
    shares: int
    told: bool
    asks: bool


class ShownVersion(Struct, frozen=True):
    id: str
    text: str
    by: str
    at: float
    counts: bool


class ShownConflict(Struct, frozen=True):
    name: str
    about: str
    versions: Sequence[ShownVersion]


def show(request: Request) -> Page:
    if not (request.project.memory / JOURNAL).exists():  # a memory that was never synced loads nothing of it
        return Page("team.html", title="Team", synced=False)
    from holdfast.sync.service import last_sync, team_view
    from holdfast.sync.settings import read_settings

    team = team_view(request.here, request.project)
    times = last_sync(request.project)
    targets = [(name, times.get(name)) for name in read_settings(request.project).targets]
    return Page(
        "team.html",
        title="Team",
        synced=True,
        team=team,
        members=_members(request) if team else [],
        shared=team.shared[:MOST_SHARED] if team else [],
        more=max(0, len(team.shared) - MOST_SHARED) if team else 0,
        conflicts=_conflicts(request),
        targets=targets,
    )


def _members(request: Request) -> list[ShownMember]:
    from holdfast.sync.keys import fingerprint
    from holdfast.sync.service import team_view

    team = team_view(request.here, request.project)
    assert team is not None
    return [
        ShownMember(
            member.author,
            member.name,
            member.role,
            fingerprint(member.author),
            member.author == team.own,
            sum(shared.author == member.author for shared in team.shared),
            any(shared.told for shared in team.shared if shared.author == member.author),
            member.author in team.asks,
        )
        for member in team.members
    ]


def _conflicts(request: Request) -> list[ShownConflict]:
    from holdfast.sync.conflict_text import label, shown, text_of
    from holdfast.sync.service import open_conflicts

    return [
        ShownConflict(
            conflict.name,
            label(conflict),
            [
                ShownVersion(
                    version.id,
                    shown(text_of(version.entry.body)),
                    version.entry.by,
                    version.entry.order.time.timestamp(),
                    version == conflict.versions[-1] and not conflict.replaced,
                )
                for version in reversed(conflict.versions)
            ],
        )
        for conflict in open_conflicts(request.project)
    ]


def settle(request: Request) -> Changed:
    from holdfast.sync.settling import settle

    wanted = request.form.get("version", "")
    return change(
        request,
        "Resolved. The next sync applies it here and sends it to the others",
        lambda: settle(request.here, request.project, wanted),
    )


def trust(request: Request) -> Changed:
    """Whether agents here see what a member shares; the undo is the other answer."""
    from holdfast.sync import service

    wanted, told = request.form.get("member", ""), request.form.get("told", "") == "yes"
    undo = Undo(request.url("team.trust"), {"member": wanted, "told": "" if told else "yes"})
    sees = "see" if told else "no longer see"
    return change(
        request,
        lambda member: f"Agents here {sees} what {member.name or 'this member'} shares",
        lambda: service.answer_about(request.here, request.project, wanted, told=told),
        undo=undo,
    )


SCREEN = Screen(
    "team",
    "Team",
    "t",
    "link",
    (
        Route("/team", show),
        Route("/team/settle", settle, "POST"),
        Route("/team/trust", trust, "POST"),
    ),
)
