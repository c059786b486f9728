"""`holdfast sync`: one memory on several machines, through a folder, ssh, or the repository's own remote."""

from __future__ import annotations

import os

from msgspec.structs import replace

from holdfast.core.errors import HoldfastError, NotFound, UsageError
from holdfast.guard.hidden_text import visible
from holdfast.store.project import Project
from holdfast.sync import service
from holdfast.sync.keys import fingerprint
from holdfast.sync.result import SyncResult
from holdfast.sync.settings import Target, change_settings, read_settings
from holdfast.sync.targets import is_server
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person, require_terminal, terminal
from holdfast.terminal.options import Machine, Namespace, at_least_one, flag, option
from holdfast.terminal.output import counted, flat

DESCRIPTION = """Syncs this project's memory between machines. TARGET is a folder (a drive, a folder that Syncthing
keeps), ssh://HOST/PATH, git (hidden refs in this repository's remote) or postgres://HOST/DB. Everything is encrypted
with your key; take the key to the other machine with `holdfast keys export`. What you share with a team is encrypted
for its members. Without TARGET, syncs with the first one you used."""
EXAMPLES = """examples:
  holdfast sync /media/usb/memory        a folder; asks the first time
  holdfast sync ssh://desk/srv/memory    the same on another machine
  holdfast sync git                      hidden refs in this repository's remote
  holdfast sync postgres://me@db/team    a server of the team (holdfast team server)
  holdfast sync                          the same target again
  holdfast sync --dry-run --json         what would be sent and received
  holdfast sync --conflicts              conflicts between machines or people
  holdfast sync --keep 3f9a01c2          resolve one of them
"""
_STEP_S = 5

OPTIONS = (
    option(
        "target",
        nargs="?",
        default="",
        metavar="TARGET",
        help="a folder, ssh://HOST/PATH, git, or postgres://HOST/DATABASE",
    ),
    flag("--dry-run", "what would be sent and received; nothing is written", group="what"),
    flag("--watch", "sync again whenever something changes, until Ctrl+C", group="what"),
    flag("--conflicts", "conflicts between machines or people", group="what"),
    option(
        "--keep",
        default="",
        metavar="VERSION",
        group="what",
        help="resolve a conflict in favor of this version",
    ),
    option("--after-session", choices=("on", "off"), group="what", help="sync after every session"),
    flag("--plain", "do not encrypt what goes to TARGET: anyone who can read it there can read your memory"),
    flag("--team-only", "send nothing of your own to TARGET, only what you share with the team"),
    option("--as", dest="identity", default="", metavar="NAME", help="the project's name on all machines"),
    option(
        "--every",
        type=at_least_one,
        default=_STEP_S,
        metavar="SECONDS",
        help="how often --watch checks (default: 5); a server reports changes at once",
    ),
    flag("--quiet", "print nothing unless something is wrong"),
    flag("--yes", "do not ask"),
    flag("--json", "sent, received and conflicts as JSON"),
)


def run(options: Namespace, machine: Machine) -> int | None:
    project = machine.project()
    if options.conflicts:
        _list(options, project)
        return None
    if options.keep:
        _settle(options, machine, project)
        return None
    settings = read_settings(project)
    if options.after_session == "on":
        require_person(machine)
    if options.after_session and not options.target:
        _after_session(options, project)
        return None
    name = service.target_name(machine, settings, options.target)
    target = settings.targets.get(name) or Target()
    target = Target(
        plain=options.plain or target.plain, team_only=options.team_only or target.team_only, seen=target.seen
    )
    if name not in settings.targets and os.path.isabs(name) and not os.path.isdir(name):
        raise NotFound(
            "there is no such folder", where=name, fix=f"Connect the drive, or create it: mkdir -p {name}"
        )
    if not options.dry_run and not _is_agreed(options, machine, project, name, target):
        output.line("Nothing was sent or changed.")
        return 1
    if options.after_session:
        _after_session(options, project)
    if options.watch:
        return _watch(options, machine, project, name)
    try:
        result = service.sync(machine, project, name, dry_run=options.dry_run, may_ask=terminal())
    except HoldfastError:
        if name not in settings.targets:
            service.forget_target(project, name)  # never reached: it may be mistyped
        raise
    if not options.dry_run:
        result = with_index(machine, project, result)
    _show(options, machine, project, result)
    return None


def _is_agreed(options: Namespace, machine: Machine, project: Project, name: str, target: Target) -> bool:
    """Asks before the first sync with a target: what goes there, and who can read it."""
    found = service.preview(machine, project, name, target)
    if found is None and not options.identity:
        if (target.plain, target.team_only) != _known(project, name):
            require_person(machine)
            service.agree_to(project, name, target)
        return True
    project.prepare()
    if found is not None:
        require_person(machine)
    if found is not None and not options.yes:
        require_terminal(fix="Add --yes to agree, or --dry-run to see what it would do")
        who = (
            f"readable for {', '.join(map(_shown, found.readers))}"
            if found.readers
            else "encrypted with your own key"
        )
        lines = [
            f"One memory for every machine that has this project: {_shown(options.identity or found.identity)}."
        ]
        if not target.team_only:
            seal = (
                "NOT encrypted: anyone who can read the target can read it"
                if found.plain
                else "encrypted with your own key"
            )
            go = "goes" if found.own == 1 else "go"
            lines.append(f"{counted(found.own, 'item')} of your memory {go} to {name}, {seal}.")
        if found.team:
            seal = "NOT encrypted" if found.plain else who
            lines.append(f"{counted(found.team, 'statement')} that you share with the team: {seal}.")
        for line in lines:
            output.note(line)
        if not agreed("Sync?", fix="Add --yes to agree, or --dry-run to see what it would do"):
            return False
    service.agree_to(project, name, target, identity=options.identity)
    return True


def _known(project: Project, name: str) -> tuple[bool, bool]:
    target = read_settings(project).targets.get(name) or Target()
    return target.plain, target.team_only


def _show(options: Namespace, machine: Machine, project: Project, result: SyncResult) -> None:
    for refused in result.refused:
        who = f" by {fingerprint(refused.who)}" if refused.who and "/" not in refused.who else ""
        output.warn(f"{_entries(refused.number)}{who} refused: {refused.why}")
    if result.removed_from and (result.received or result.sent):
        output.warn(
            f"you are no longer in the team {_shown(result.removed_from)}: nothing of it reaches you any more"
        )
    output.warn_all(f"left out: {problem}" for problem in result.problems)
    if options.json:
        output.show_json(as_json(result))
        return
    if options.quiet and not result.conflicts:
        return
    verb = ("would be sent", "would be received") if options.dry_run else ("sent", "received")
    moved = f"{_entries(result.sent)} {verb[0]}, {result.received:,} {verb[1]} in {result.seconds:.1f} s"
    output.line(f"{result.target}: {moved if result.sent or result.received else 'nothing new'}.")
    if result.sealed and read_settings(project).team is None:
        output.line(
            f"{counted(result.sealed, 'pack')} encrypted for others. If they are yours, copy the key from that "
            "machine: holdfast keys export there, holdfast keys restore here."
        )
    for joined in result.joined:
        output.line(f"{_shown(joined)} is now in the team.")
    if result.conflicts:
        output.line(f"{counted(result.conflicts, 'conflict')} to resolve: holdfast sync --conflicts")
    if result.index_asks:
        output.line(
            f"The team can search on this server. {counted(result.index_asks, 'statement')} that you share: not in it. "
            f"holdfast team server index {result.target} on says who could read them, and asks."
        )
    _ask_about(options, machine, project, result)


def with_index(machine: Machine, project: Project, result: SyncResult) -> SyncResult:
    """The result of a sync, with that of the server's index after it."""
    if not is_server(result.target):
        return result
    from holdfast.sync import team_index

    indexed = team_index.keep(machine, project, result.target)
    problems = [*result.problems, *([f"search on the server: {indexed.problem}"] if indexed.problem else [])]
    return replace(result, problems=problems, index_asks=indexed.asks)


def _ask_about(options: Namespace, machine: Machine, project: Project, result: SyncResult) -> None:
    """One question for each author whose items came, and about whom nobody here was asked."""
    view = service.team_view(machine, project) if result.waits_for else None
    if view is None:
        return
    names = {shared.author: shared.by for shared in view.shared}
    for author in result.waits_for:
        name = _shown(names.get(author, author))
        if not terminal() or options.dry_run or machine.inside_agent:
            output.line(f"{name} shares decisions that agents do not see yet: holdfast team trust {name}")
            continue
        number = sum(shared.author == author for shared in view.shared)
        for shared in [one for one in view.shared if one.author == author][:10]:
            output.wrapped(f"- {flat(visible(shared.item.text))}", indent=2)
        told = agreed(
            f"Show {name}'s {counted(number, 'confirmed statement')} to your agents? Key {fingerprint(author)}"
        )
        service.answer_about(machine, project, author, told=told)


def as_json(result: SyncResult) -> dict[str, object]:
    return {
        "target": result.target,
        "sent": result.sent,
        "received": result.received,
        "conflicts": result.conflicts,
        "changed": result.changed,
        "sealed": result.sealed,
        "refused": [{"why": one.why, "author": one.who, "number": one.number} for one in result.refused],
        "problems": result.problems,
        "joined": result.joined,
        "waits_for": result.waits_for,
        "index_asks": result.index_asks,
        "removed_from": result.removed_from,
        "bytes_sent": result.bytes_sent,
        "bytes_received": result.bytes_received,
        "seconds": round(result.seconds, 3),
        "done": result.done,
    }


def _watch(options: Namespace, machine: Machine, project: Project, name: str) -> int:
    """Syncs whenever a server says that somebody has published, or something changes here; other targets are looked
    at every few seconds. A target that is away is said once, and tried again."""
    from holdfast.sync.arrivals import waiting

    trouble = ""
    output.note(f"Syncing with {name} until Ctrl+C.")
    try:
        with waiting(project, name, options.every) as changes:
            while True:
                try:
                    changes.listen()
                    result = with_index(machine, project, service.sync(machine, project, name))
                    if result.sent or result.received or result.refused:
                        _show(options, machine, project, result)
                    trouble = ""
                except UsageError:
                    raise
                except HoldfastError as error:
                    if error.line() != trouble:
                        output.warn(error.line())
                    trouble = error.line()
                changes.wait()
    except KeyboardInterrupt:
        return 0


def _after_session(options: Namespace, project: Project) -> None:
    on = options.after_session == "on"
    if on and not read_settings(project).default and not options.target:
        raise UsageError("no sync target yet", fix="Run holdfast sync TARGET once in a terminal")
    change_settings(project, lambda settings: setattr(settings, "after_session", on))
    said = "holdfast syncs after every session." if on else "Automatic sync is off."
    if not options.target:
        output.answer(options, {"after_session": on}, said)


# --- conflicts ---------------------------------------------------------------------------------------------


def _list(options: Namespace, project: Project) -> None:
    from holdfast.sync.conflict_text import label, text_of
    from holdfast.views.conflicts import conflict_as_json

    found = service.open_conflicts(project)
    if options.json:
        output.show_json([conflict_as_json(conflict) for conflict in found])
        return
    for conflict in found:
        output.heading(f"{conflict.name}  {label(conflict)}")
        for version in reversed(conflict.versions):
            counts = " · current" if version == conflict.versions[-1] and not conflict.replaced else ""
            entry = version.entry
            when = entry.order.time.strftime("%Y-%m-%d %H:%M")
            output.line(f"  {version.id[:8]}  {_shown(entry.by)} on {entry.order.machine}, {when}{counts}")
            output.wrapped(flat(visible(text_of(entry.body))), indent=12)
    if not found:
        output.line("No conflicts.")
    else:
        output.line()
        output.line("holdfast sync --keep VERSION resolves one; the other version stays in the history.")


def _settle(options: Namespace, machine: Machine, project: Project) -> None:
    from holdfast.sync.settling import settle

    require_person(machine)
    conflict = settle(machine, project, options.keep)
    output.answer(
        options,
        {"settled": conflict.name, "kept": options.keep},
        "Resolved. The next sync applies it here and sends it to the others.",
    )


def _entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def _shown(text: str) -> str:
    return flat(visible(text))
