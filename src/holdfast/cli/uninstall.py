"""`holdfast agents uninstall AGENT`: removes the hooks, restoring files byte for byte, and with --purge the memory."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast import __version__
from holdfast.agent_kit.host_contract import SCOPES
from holdfast.agents.registry import HOSTS, hosts
from holdfast.cli.export import amount
from holdfast.cli.install import as_json, planned, show_all
from holdfast.core.errors import UsageError
from holdfast.flows.hosts import Plan, host_for, plan_uninstall, still_wired, uninstall
from holdfast.flows.plugins import made_before
from holdfast.flows.portability import Purged, plan_purge, purge
from holdfast.store.installation import how_to_remove
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.upkeep.own_folder import Emptied, empty_own_folder

DESCRIPTION = """Removes holdfast's hooks and tools from an agent's configuration. A file that has not changed since
is restored, byte for byte; otherwise only our entries go. Memory stays, unless you say --purge: this removes the
project's memory after a backup in ~/.holdfast/backups, which holdfast restore reads back in. A ledger shared in git
stays. With --all, purging the last project also removes what ~/.holdfast keeps for no project (caches, locks); it
names what stays: backups, settings, lessons and keys."""
EXAMPLES = """examples:
  holdfast agents uninstall claude-code --dry-run   only show what would change
  holdfast agents uninstall claude-code             hooks and tools out of Claude Code's files
  holdfast agents uninstall --all                   out of every agent's; the memory stays
  holdfast agents uninstall --all --purge           and remove this project's memory, after a backup
  holdfast agents uninstall --all --purge --no-backup   and leave nothing of it
"""

OPTIONS = (
    option("agent", nargs="?", metavar="AGENT", help=f"one of: {', '.join(HOSTS)}"),
    flag("--all", "every agent"),
    option("--scope", choices=SCOPES, help="only there (default: yours and this repository's)"),
    flag("--purge", "also remove this project's memory, after a backup"),
    flag("--no-backup", "with --purge: remove it without a backup"),
    flag("--diff", "show every changed line; without it, several agents are listed by name"),
    flag("--yes", "do not ask"),
    flag("--dry-run", "only show what would change"),
    flag("--json", "what was changed as JSON; implies --yes, but for --purge"),
)


def run(options: Namespace, machine: Machine) -> int:
    _check(options)
    project = machine.project()
    scopes = (options.scope,) if options.scope else SCOPES
    agents = list(hosts()) if options.all else [options.agent]
    # With --all, an agent with an unreadable file must not prevent removal from the others.
    plans, problems = planned(
        agents,
        lambda agent: plan_uninstall(machine, project, agent, scopes),
        named=not options.all,
        otherwise="left as it is",
    )
    purged = plan_purge(project) if options.purge else None
    if not options.json:
        show_all(plans, full=options.diff)
        _show_purge(purged, options)
    output.warn_all(problems)
    if options.dry_run:
        if options.json:
            output.show_json(_as_json(plans, purged, options))
        elif purged is None and not any(plan.is_change for plan in plans):
            output.line("Nothing would change: no hooks of ours are there.")
        return 1 if problems else 0
    # Ask both questions before doing anything, so that no one ends up with half of the result.
    changes = any(plan.is_change for plan in plans)
    if changes and not (options.yes or options.json) and not agreed("Write this?"):
        output.line("Nothing was changed.")
        return 1
    refused = purged is not None and not options.yes and not agreed("Remove this project's memory?")
    for plan in plans:
        uninstall(machine, plan)
    if purged is not None and not refused:
        purged = purge(machine, project, __version__, backup=not options.no_backup)
    emptied = empty_own_folder(machine) if options.all and options.purge and not refused else None
    if options.json:
        output.show_json(_as_json(plans, purged, options, emptied))
        return 1 if problems else 0
    for plan in plans:
        state = "hooks removed" if plan.is_change else "no hooks of ours were there"
        output.line(f"{host_for(plan.agent).title}: {state}.")
    if options.all:
        _tell_what_stays(machine, plans)
    if purged is not None:
        output.line("The memory stays." if refused else f"{output.place(purged.memory)}: removed.")
        if purged.backup:
            output.line(f"Backup: {output.place(purged.backup)} (holdfast restore FILE brings it back).")
    if emptied is not None:
        _show_emptied(machine, emptied)
    return 1 if refused or problems else 0


def _show_emptied(machine: Machine, emptied: Emptied) -> None:
    home = output.place(machine.home)
    if emptied.memories:
        output.line(f"Memory of {output.counted(emptied.memories, 'other project')} stays in {home}.")
    elif emptied.left:
        output.line(f"Left in {home}: {', '.join(emptied.left)}. Delete that folder to remove them too.")
    else:
        output.line(f"{home}: removed. Only the program itself is left: {how_to_remove()}")


def _tell_what_stays(machine: Machine, plans: Sequence[Plan]) -> None:
    """Of all that was ever wired, what only another place can take out."""
    for path in still_wired(machine, plans):
        output.line(
            f"{output.place(path)} still has our entries: run holdfast agents uninstall --all in that repository."
        )
    for agent in made_before(machine):
        output.line(
            f"A plugin was made for {host_for(agent).title}: if you added it there, remove it there as well."
        )


def _check(options: Namespace) -> None:
    if bool(options.agent) == options.all:
        raise UsageError("name an agent, or say --all", fix=f"Known: {', '.join(HOSTS)}")
    if options.no_backup and not options.purge:
        raise UsageError("--no-backup is for --purge only", fix="Leave it out")
    if options.purge and options.json and not (options.yes or options.dry_run):
        raise UsageError("--purge removes a memory", fix="Say --yes as well, or --dry-run to only look")


def _show_purge(purged: Purged | None, options: Namespace) -> None:
    if not options.purge:
        return
    if purged is None:
        output.line("This project has no memory here, so there is none to remove.")
        return
    backup_note = "without a backup" if options.no_backup else "after a backup in ~/.holdfast/backups"
    size = f"{output.counted(purged.files, 'file')}, {amount(purged.bytes)}"
    output.lines(
        f"To be removed {backup_note}: {output.place(purged.memory)} ({size})",
        *(f"  and {output.place(path)}" for path in purged.shown),
    )


def _as_json(
    plans: list[Plan], purged: Purged | None, options: Namespace, emptied: Emptied | None = None
) -> object:
    plans_json = [as_json(plan, done=not options.dry_run) for plan in plans]
    return {"agents": plans_json, "purged": purged, "stays": emptied} if options.purge else plans_json
