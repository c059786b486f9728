"""`holdfast agents install [AGENT…]`: hooks and tools in agents' own configuration, shown before they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from holdfast.agent_kit.host_contract import SCOPES, Change
from holdfast.agents.registry import HOSTS
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.flows.hosts import Plan, agents_here, host_for, install, plan_install, takes_commands
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Connects agents: adds holdfast's hooks and tools to an agent's own configuration and enables memory
for this project. Without AGENT, connects every agent found on this machine. Shows the change first and keeps
everything else in the file; holdfast agents uninstall restores it, byte for byte. To use memory in another project,
run it there."""
EXAMPLES = """examples:
  holdfast agents install                               every agent found here
  holdfast agents install claude-code codex             these two
  holdfast agents install claude-code --scope project   for this repository only, in a file git ignores
  holdfast agents install claude-code --status-line     with a line on what is open and what this session costs
  holdfast agents install claude-code --dry-run         only show what would change
  holdfast agents install --dry-run --diff              the same for every agent, line by line
"""

_STYLES = {"+": "green", "-": "red", "~": "yellow"}


OPTIONS = (
    option("agents", nargs="*", metavar="AGENT", help=f"any of: {', '.join(HOSTS)}"),
    option("--scope", choices=SCOPES, default="user", help="which configuration to change (default: user)"),
    flag("--no-mcp", "hooks only, no tools"),
    flag("--status-line", "also set a status line in Claude Code, if there is none"),
    flag(
        "--commands",
        "also add /holdfast:resume and other commands (Claude Code, Gemini CLI, Qwen Code)",
    ),
    flag("--diff", "show every changed line; without it, several agents are listed by name"),
    flag("--yes", "do not ask"),
    flag("--dry-run", "only show what would change"),
    flag("--json", "what was changed as JSON; implies --yes"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    agents = list(dict.fromkeys(options.agents)) or agents_here(machine, project)
    if not agents:
        raise UsageError("no agent found on this machine", fix=f"Name one: {', '.join(HOSTS)}")
    if options.status_line and "claude-code" not in agents:
        raise UsageError("only Claude Code has a status line", fix="Add claude-code, or remove --status-line")
    if options.commands and options.scope == "project":
        raise UsageError(
            "--commands applies to your own configuration, not to a repository",
            fix="Leave out --scope project",
        )
    if options.commands and not any(takes_commands(machine, project, agent) for agent in agents):
        raise UsageError(
            "these agents do not support custom commands",
            fix="holdfast agents plugin AGENT adds them as skills",
        )
    plan_for = partial(
        plan_install,
        machine,
        project,
        scope=options.scope,
        tools=not options.no_mcp,
        status_line=options.status_line,
        commands=options.commands,
    )
    plans, problems = planned(agents, plan_for, named=bool(options.agents))
    if not options.json:
        show_all(plans, full=options.diff)
    output.warn_all(problems)
    if not plans:
        return 1
    output.warn_all(dict.fromkeys(warning for plan in plans for warning in plan.warnings))
    if not options.dry_run:
        changed = any(plan.is_change for plan in plans)
        if changed and not (options.yes or options.json) and not agreed("Write this?"):
            output.line("Nothing was changed.")
            return 1
        for plan in plans:
            install(machine, project, plan)
    if options.json:
        plans_json = [as_json(plan, done=not options.dry_run) for plan in plans]
        output.show_json(plans_json[0] if len(options.agents) == 1 else plans_json)
    elif not options.dry_run:
        tell(plans, project.name)
    return 0


def tell(plans: Sequence[Plan], name: str) -> None:
    """What was done, and what is left for the person to do."""
    for plan in plans:
        state = "connected" if plan.is_change else "already connected"
        output.lines(f"{host_for(plan.agent).title}: {state}.", *(f"  {need}" for need in plan.needs))
    output.lines(
        f"{name} is enabled on this machine.",
        "holdfast why shows what a session saw; holdfast agents off stops it here.",
    )


def planned(
    agents: Sequence[str], plan: Callable[[str], Plan], *, named: bool, otherwise: str = "left out"
) -> tuple[list[Plan], list[str]]:
    """The changes for each agent, and a line for each that has a broken configuration. One that was named must work."""
    plans, problems = [], []
    for agent in agents:
        try:
            plans.append(plan(agent))
        except HoldfastError as error:
            if named:
                raise
            problems.append(f"{host_for(agent).title} is {otherwise}: {error.line()}")
    return plans, problems


def show_all(plans: Sequence[Plan], *, full: bool = False) -> None:
    """Every line for one agent; for several, the names of what comes and goes, which a person will read."""
    changing = [plan for plan in plans if plan.is_change]
    if full or len(changing) < 2:
        for _, change in changes_of(changing):
            output.show_diff(change.diff())
        return
    for plan, change in changes_of(changing):
        output.heading(_heading(plan, change))
        for outline_line in change.outline():
            output.wrapped(outline_line, indent=2, style=_STYLES.get(outline_line[:1], ""))
    output.line(
        "+ added, - removed, ~ changed; --diff shows every line. Everything else in these files is kept."
    )


def _heading(plan: Plan, change: Change) -> str:
    state = ", new file" if change.before is None else ", will be deleted" if change.after is None else ""
    return f"{output.place(change.path)} ({host_for(plan.agent).title}{state})"


def changes_of(plans: Sequence[Plan]) -> list[tuple[Plan, Change]]:
    """The files that change, each with the plan that changes it."""
    return [(plan, change) for plan in plans for change in plan.changes if change.changes]


def as_json(plan: Plan, *, done: bool) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "done": done,
        "changes": [
            {"path": str(change.path), "changed": change.changes, "diff": change.diff()}
            for change in plan.changes
        ],
        "warnings": list(plan.warnings),
        "needs": list(plan.needs),
    }
