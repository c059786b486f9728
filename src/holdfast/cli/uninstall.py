"""`holdfast agents uninstall AGENT`: removes the hooks, restoring files byte for byte, and with --purge the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

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
from holdfast.upkeep.memories import StoredMemory
from holdfast.upkeep.own_folder import Emptied, archives, empty_own_folder, other_memories

DESCRIPTION = """Removes holdfast's hooks and tools from an agent's configuration. A file that has not changed since
is restored, byte for byte; otherwise only holdfast's entries are removed. Memory stays unless you add --purge, which
removes the memory of this project only, after a backup to ~/.holdfast/backups; holdfast restore reads it back in. A
ledger shared in git stays. Other projects keep their memory and are listed with their folders; run the command there
too. With --all, purging the last project also removes the caches and locks in ~/.holdfast. Backups, exports and the
machine.key that recognises them stay unless you add --no-backup. Settings, lessons and keys always stay."""
EXAMPLES = """examples:
  holdfast agents uninstall claude-code --dry-run       only show what would change
  holdfast agents uninstall claude-code                 remove hooks and tools from Claude Code's files
  holdfast agents uninstall --all                       from every agent's files; the memory stays
  holdfast agents uninstall --all --purge               and remove this project's memory, after a backup
  holdfast agents uninstall --all --purge --no-backup   with the last project: earlier backups and exports too
"""

OPTIONS = (
    option("agent", nargs="?", metavar="AGENT", help=f"one of: {', '.join(HOSTS)}"),
    flag("--all", "every agent"),
    option("--scope", choices=SCOPES, help="only this configuration (default: yours and this repository's)"),
    flag("--purge", "also remove this project's memory, after a backup"),
    flag(
        "--no-backup",
        "with --purge: without a backup; with --all and the last project, earlier backups go too",
    ),
    flag("--diff", "show every changed line; without it, several agents are listed by name"),
    flag("--yes", "do not ask"),
    flag("--dry-run", "only show what would change"),
    flag("--json", "what was changed as JSON; implies --yes, except for --purge"),
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
    others = other_memories(machine, project) if options.purge else []
    is_last = options.all and options.purge and not others
    doomed = archives(machine) if is_last and options.no_backup else []
    if not options.json:
        show_all(plans, full=options.diff)
        _show_purge(purged, doomed, options)
    output.warn_all(problems)
    if options.dry_run:
        if options.json:
            output.show_json(_as_json(plans, purged, options))
        else:
            if purged is None and not any(plan.is_change for plan in plans):
                output.line("Nothing would change: holdfast's hooks are not installed.")
            _show_others(machine, others)
        return 1 if problems else 0
    # Ask both questions before doing anything, so that no one ends up with half of the result.
    changes = any(plan.is_change for plan in plans)
    if changes and not (options.yes or options.json) and not agreed("Remove these entries?"):
        output.line("Nothing was changed.")
        return 1
    asks = (purged is not None or bool(doomed)) and not options.yes
    refused = asks and not agreed("Remove this project's memory?" if purged else "Remove these archives?")
    for plan in plans:
        uninstall(machine, plan)
    if purged is not None and not refused:
        purged = purge(machine, project, __version__, backup=not options.no_backup)
    emptied = None
    if options.all and options.purge and not refused:
        emptied = empty_own_folder(machine, archives_too=is_last and options.no_backup)
    if options.json:
        output.show_json(_as_json(plans, purged, options, emptied))
        return 1 if problems else 0
    for plan in plans:
        if plan.is_change or not options.all:
            state = "hooks removed" if plan.is_change else "holdfast's hooks were not installed"
            output.line(f"{host_for(plan.agent).title}: {state}.")
    if options.all and not changes:
        output.line("No agent's files contained holdfast's hooks.")
    if options.all:
        _tell_what_stays(machine, plans)
    if purged is not None:
        output.line("The memory stays." if refused else f"{output.place(purged.memory)}: removed.")
        if purged.backup:
            output.line(f"Backup: {output.place(purged.backup)} (holdfast restore FILE reads it back in).")
    _show_others(machine, others)
    if emptied is not None:
        _show_emptied(machine, emptied, options)
    return 1 if refused or problems else 0


def _show_others(machine: Machine, others: Sequence[StoredMemory]) -> None:
    """The memories that stay, each with the command that removes it."""
    if not others:
        return
    count = output.counted(len(others), "other project")
    output.line(f"The memory of {count} stays in {output.place(machine.home)}. To remove it as well:")
    for memory in others:
        if memory.is_orphan or not memory.folders:
            output.line(f"  {memory.title} (its folder is gone): holdfast prune --memory {memory.id} --yes")
        else:
            folder = output.place(memory.folders[0])
            output.line(f"  {memory.title}: cd {folder} && holdfast agents uninstall --all --purge")


def _show_emptied(machine: Machine, emptied: Emptied, options: Namespace) -> None:
    home = output.place(machine.home)
    if emptied.memories:
        kept = archives(machine)
        if kept:
            output.line(
                f"Archives stay as well, and may hold this memory: {_counted_archives(kept)} in {home}."
            )
        return
    if not emptied.left:
        output.line(f"{home}: removed. Only the program itself is left: {how_to_remove()}")
        return
    output.line(f"Left in {home}:")
    for name in emptied.left:
        output.line(f"  {name}{_WHAT.get(name, '')}")
    if not options.no_backup and set(emptied.left) & {"backups", "exports"}:
        output.line("holdfast agents uninstall --all --purge --no-backup removes the archives and the key.")
    output.line("Delete that folder to remove everything in it.")


# What stays in ~/.holdfast, for those who never looked into it.
_WHAT = {
    "backups": ": archives of memories that were removed; holdfast restore FILE reads one back in",
    "exports": ": archives that holdfast export made",
    "machine.key": ": the secret by which holdfast recognises archives of this machine",
    "machine": ": the id of this machine",
    "config.toml": ": your settings",
    "lessons": ": your lessons for all projects",
    "keys": ": your keys for sync",
}


def _counted_archives(paths: Sequence[Path]) -> str:
    counts = Counter(path.parent.name for path in paths)
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _tell_what_stays(machine: Machine, plans: Sequence[Plan]) -> None:
    """Of all that was ever wired, what only another place can take out."""
    for path in still_wired(machine, plans):
        output.line(
            f"{output.place(path)} still contains holdfast's entries: run holdfast agents uninstall --all in that "
            "repository."
        )
    for agent in made_before(machine):
        output.line(
            f"A plugin was made for {host_for(agent).title}: if you added it there, remove it there as well."
        )


def _check(options: Namespace) -> None:
    if bool(options.agent) == options.all:
        raise UsageError("no agent given", fix=f"Known: {', '.join(HOSTS)}")
    if options.no_backup and not options.purge:
        raise UsageError("--no-backup needs --purge", fix="Add --purge, or remove --no-backup")
    if options.purge and options.json and not (options.yes or options.dry_run):
        raise UsageError("--purge removes a memory", fix="Add --yes, or --dry-run to see what it would do")


def _show_purge(purged: Purged | None, doomed: Sequence[Path], options: Namespace) -> None:
    if not options.purge:
        return
    if purged is None and not doomed:
        output.line("This project has no memory here, so there is none to remove.")
        return
    backup_note = "without a backup" if options.no_backup else "after a backup in ~/.holdfast/backups"
    output.line(f"To be removed {backup_note}:")
    if purged is not None:
        size = f"{output.counted(purged.files, 'file')}, {amount(purged.bytes)}"
        output.line(f"  {output.place(purged.memory)} ({size})")
        output.lines(*(f"  {output.place(path)}" for path in purged.shown))
    output.lines(*(f"  {output.place(path)}" for path in doomed))


def _as_json(
    plans: list[Plan], purged: Purged | None, options: Namespace, emptied: Emptied | None = None
) -> object:
    plans_json = [as_json(plan, done=not options.dry_run) for plan in plans]
    return {"agents": plans_json, "purged": purged, "stays": emptied} if options.purge else plans_json
