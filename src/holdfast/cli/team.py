"""`holdfast team`: who shares this project's decisions, and what each of them shares."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.guard.hidden_text import visible
from holdfast.store.project import Project
from holdfast.sync import service
from holdfast.sync.keys import fingerprint
from holdfast.sync.roster import ROLES, read_code, roster_of
from holdfast.sync.service import TeamView
from holdfast.sync.settings import read_settings
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace, Verb, flag, option
from holdfast.terminal.output import counted, flat

DESCRIPTION = """Shares the decisions, facts and rules you choose with a team, through `holdfast sync`. They are
encrypted for the members; prompts, transcripts and file contents are never shared. Search finds what others share at
once; agents see it once you trust its author. `holdfast share` does the same through git and the pull request."""
EXAMPLES = """examples:
  holdfast team create Shop              a team for this project; you are its owner
  holdfast team invite                   a code for one person
  holdfast team join CODE                on their machine, in a clone
  holdfast team share D-k3f9ab           for everyone in the team
  holdfast team private D-k3f9ab         take it back
  holdfast team members                  who is in the team
  holdfast team trust Ana                let your agents see what Ana shares
  holdfast team distrust Ana             and no longer
  holdfast team remove Ben               from the next sync on, Ben reads nothing new
"""
_JSON = flag("--json", "the answer as JSON")
_YES = flag("--yes", "do not ask")
_IDS = option("ids", nargs="+", metavar="ID", help="ids of decisions and facts, or names of lessons")
_WHO = option("member", metavar="MEMBER", help="a name, or a prefix of a key's fingerprint")
VERBS = {
    "create": Verb(
        "create a team for this project",
        (
            option("name", metavar="NAME", help="its name"),
            flag("--yes", "do not ask; nothing is asked yet"),
            _JSON,
        ),
    ),
    "invite": Verb(
        "print a code that makes one person a member",
        (
            option(
                "--role", choices=ROLES, default="member", help="member, reader or owner (default: member)"
            ),
            option(
                "--days",
                type=float,
                default=7.0,
                metavar="N",
                help="how many days the code is valid (default: 7)",
            ),
            _JSON,
        ),
    ),
    "join": Verb(
        "accept an invitation",
        (option("code", metavar="CODE", help="the code that invite printed"), _YES, _JSON),
    ),
    "members": Verb("list the members and their keys", (_JSON,)),
    "remove": Verb("remove a member; asks first", (_WHO, _YES, _JSON)),
    "leave": Verb("leave the team and withdraw what you shared", (_YES, _JSON)),
    "share": Verb("share facts, decisions and lessons with the team at the next sync", (_IDS, _JSON)),
    "private": Verb("make what you shared private again", (_IDS, _JSON)),
    "items": Verb("list what the team shares", (_JSON,)),
    "trust": Verb("let your agents see what a member shares", (_WHO, _YES, _JSON)),
    "distrust": Verb("stop showing your agents what a member shares", (_WHO, _JSON)),
    "doctor": Verb(
        "check the team's PostgreSQL server: versions, policies, members, slow queries",
        (
            option(
                "address",
                nargs="?",
                default="",
                metavar="ADDRESS",
                help="default: the server this project syncs with",
            ),
            _JSON,
        ),
    ),
}
OPTIONS = (_JSON,)


def run(options: Namespace, machine: Machine) -> None:
    run_members(options, machine)


def run_create(options: Namespace, machine: Machine) -> None:
    require_person(machine)
    project = machine.project()
    team = service.create_team(machine, project, options.name)
    said = (
        f"{_shown(team.name)} is now a team, and you are its owner. Invite others with holdfast team invite."
    )
    output.answer(options, {"team": team.name, "id": team.id}, said)


def run_invite(options: Namespace, machine: Machine) -> None:
    require_person(machine)
    if not 0 < options.days <= 90:
        raise UsageError("an invitation is valid for at most 90 days", fix="--days 7")
    code = service.invite(machine, machine.project(), role=options.role, days=options.days)
    output.answer(
        options,
        {"code": code, "role": options.role, "days": options.days},
        f"For one person, for {options.days:g} days. They run both commands in their clone, with the TARGET that you "
        f"sync with; then you sync:\n\nholdfast team join {code}\nholdfast sync TARGET",
    )


def run_join(options: Namespace, machine: Machine) -> int | None:
    require_person(machine)
    project = machine.project()
    read_code(options.code)  # a mistyped one is not worth a question
    if not options.yes and not agreed(
        "Join? Members will see your name and key, and what you share with them.",
        fix="Add --yes to agree that members see your name, your key and what you share with them",
    ):
        output.line("Nothing was changed.")
        return 1
    team = service.join(machine, project, options.code)
    said = f"Asked to join {_shown(team.name)}. Run holdfast sync TARGET; you are in once the inviter has synced."
    output.answer(options, {"team": team.name, "id": team.id}, said)
    return None


def run_members(options: Namespace, machine: Machine) -> None:
    view = _view(machine, machine.project())
    if options.json:
        output.show_json(
            {
                "team": view.name,
                "members": [
                    {
                        "name": member.name,
                        "author": member.author,
                        "role": member.role,
                        "you": member.author == view.own,
                        "shares": sum(shared.author == member.author for shared in view.shared),
                        "told": any(shared.told for shared in view.shared if shared.author == member.author),
                        "asks": member.author in view.asks,
                    }
                    for member in view.members
                ],
                "removed": [member.name for member in view.removed],
                "requests": view.requests,
            }
        )
        return
    output.heading(f"{_shown(view.name)}: {counted(len(view.members), 'member')}")
    for member in view.members:
        shares = sum(shared.author == member.author for shared in view.shared)
        you = ", you" if member.author == view.own else ""
        waits = " · agents here do not see it yet" if member.author in view.asks else ""
        output.line(
            f"  {_shown(member.name)} ({member.role}{you})  {fingerprint(member.author)}  "
            f"shares {counted(shares, 'statement')}{waits}",
            under=4,
        )
    for name in view.requests:
        output.line(f"  {_shown(name)} asks to join without a valid invitation", under=4)
    for member in view.removed:
        output.line(f"  {_shown(member.name)} was removed", under=4)


def run_remove(options: Namespace, machine: Machine) -> int | None:
    require_person(machine)
    project = machine.project()
    question = (
        f"Remove {_shown(options.member)}? They may keep copies of what was shared so far; once each member has "
        "synced, they cannot read anything new."
    )
    if not options.yes and not agreed(question, fix="Add --yes to go ahead"):
        output.line("Nothing was changed.")
        return 1
    member = service.remove(machine, project, options.member)
    output.answer(
        options,
        {"removed": member.author, "name": member.name},
        f"{_shown(member.name)} has been removed. Run holdfast sync now.",
    )
    return None


def run_leave(options: Namespace, machine: Machine) -> int | None:
    require_person(machine)
    if not options.yes and not agreed(
        "Leave the team? What you shared will be withdrawn.", fix="Add --yes to go ahead"
    ):
        output.line("Nothing was changed.")
        return 1
    service.leave(machine, machine.project())
    output.answer(options, {"left": True}, "You will leave the team with the next sync.")
    return None


def run_share(options: Namespace, machine: Machine) -> None:
    _choose(options, machine, share=True)


def run_private(options: Namespace, machine: Machine) -> None:
    _choose(options, machine, share=False)


def _choose(options: Namespace, machine: Machine, *, share: bool) -> None:
    require_person(machine)
    project = machine.project()
    view = _view(machine, project)
    if share and any(member.author == view.own and member.role == "reader" for member in view.members):
        raise UsageError(
            "you only have read access in this team", fix="Ask an owner for an invitation as a member"
        )
    if share and all(member.author != view.own for member in view.members):
        raise UsageError("you are not in the team", fix="holdfast team join CODE")
    chosen = service.choose(machine, project, options.ids, share=share)
    ids = ", ".join(item.id for item in chosen)
    readers = ", ".join(_shown(member.name) for member in view.members if member.author != view.own)
    who = f"readable by {readers}" if readers else "so far you are the only member"
    shared = f"will be shared with the next sync; {who}"
    after = shared if share else "will be private after the next sync"
    output.answer(
        options, {"shared" if share else "private": [item.id for item in chosen]}, f"{ids}: {after}."
    )


def run_items(options: Namespace, machine: Machine) -> None:
    view = _view(machine, machine.project())
    if options.json:
        output.show_json([shared.as_json() for shared in view.shared])
        return
    for shared in view.shared:
        mark = "" if shared.told else " · agents do not see it yet"
        output.line(f"{shared.item.id}  {_shown(shared.by)}{mark}")
        output.wrapped(_shown(shared.item.text), indent=4)
    if not view.shared:
        output.line("Nothing is shared yet. holdfast team share ID")


def run_trust(options: Namespace, machine: Machine) -> int | None:
    require_person(machine)
    project = machine.project()
    view = _view(machine, project)
    settings = read_settings(project)
    with service.journal_of(project) as journal:
        roster = roster_of(journal, settings.team) if journal is not None else None
    member = service.find_member(roster, options.member) if roster is not None else None
    if member is not None and not options.yes:
        for shared in [one for one in view.shared if one.author == member.author]:
            output.wrapped(f"- {_shown(shared.item.text)}", indent=2)
        name, key = _shown(member.name), fingerprint(member.author)
        question = f"Show what {name} shares to your agents, now and later? Key {key}"
        if not agreed(question, fix=f"Add --yes to agree: agents see these and what {name} shares later"):
            output.line("Nothing was changed.")
            return 1
    done = service.answer_about(machine, project, options.member, told=True)
    output.answer(
        options,
        {"trusted": done.author, "name": done.name},
        f"Agents here see what {_shown(done.name)} shares.",
    )
    return None


def run_distrust(options: Namespace, machine: Machine) -> None:
    require_person(machine)
    done = service.answer_about(machine, machine.project(), options.member, told=False)
    output.answer(
        options,
        {"distrusted": done.author, "name": done.name},
        f"Agents here see nothing of {_shown(done.name)}.",
    )


def run_doctor(options: Namespace, machine: Machine) -> int:
    from holdfast.cli.team_server import check
    from holdfast.sync.team_index import the_server

    return check(options, options.address or the_server(machine.project())[0])


def _view(machine: Machine, project: Project) -> TeamView:
    view = service.team_view(machine, project)
    if view is None:
        raise UsageError("this project has no team here", fix="holdfast team create NAME, or team join CODE")
    return view


def _shown(text: str) -> str:
    return flat(visible(text))
