"""`holdfast init`: from nothing to a memory that agents are told, in one go."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from msgspec import Struct

from holdfast.app.hosting import HOSTS, SCOPES, Plan, agents_here, hooked, host_for, rewire
from holdfast.app.wiring import Machine
from holdfast.cli import output
from holdfast.cli.consent import agreed
from holdfast.cli.install import as_json, planned, show
from holdfast.errors import UsageError
from holdfast.store.layout import Project

if TYPE_CHECKING:
    from holdfast.app.importing import ImportReport
    from holdfast.app.setting_up import Known

DESCRIPTION = """Sets this project up, in one go: reads what agents recorded here, looks at how things are done in the
repository, wires the agents that are found on this machine (hooks and tools in their own configuration), and shows
what the next session will be told. Which files change is said first. Run it again whenever you like: what is done
already is not done twice. holdfast uninstall --all undoes the wiring, to the byte."""
EXAMPLES = """examples:
  holdfast init                            look, ask once, do everything
  holdfast init --yes                      the same without a question
  holdfast init --agents claude-code,codex only these two
  holdfast init --no-wire                  leave the agents' configuration alone
  holdfast init --dry-run --diff           only show what would change, line by line
"""


class Done(Struct, frozen=True, kw_only=True):
    """What an init did: None where a part was left out."""

    imported: ImportReport | None
    known: Known
    plans: list[Plan]
    before: list[str]  # agents that were wired already, where this time none was asked for


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agents",
        action="append",
        default=[],
        metavar="NAMES",
        help=f"wire these, separated by commas (default: those found here): {', '.join(HOSTS)}",
    )
    parser.add_argument("--scope", choices=SCOPES, default="user", help="whose configuration (default: user)")
    parser.add_argument("--no-import", action="store_true", help="do not read what agents recorded")
    parser.add_argument("--no-scan", action="store_true", help="do not look at the repository")
    parser.add_argument("--no-wire", action="store_true", help="leave the agents' configuration alone")
    parser.add_argument("--no-mcp", action="store_true", help="only hooks, no tools for the agents to call")
    parser.add_argument("--diff", action="store_true", help="show what changes in the agents' files in full")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--json", action="store_true", help="what was done as JSON; implies --yes")


def run(options: argparse.Namespace, machine: Machine) -> int:
    project = machine.project()
    plans, problems = _plans(options, machine, project)
    if not options.json:
        _show_plans(plans, options)
    output.warn_all([*problems, *dict.fromkeys(warning for plan in plans for warning in plan.warnings)])
    if options.dry_run:
        if options.json:
            output.show_json({"done": False, "agents": [as_json(plan, done=False) for plan in plans]})
        return 0
    asks = any(plan.is_change for plan in plans) and not (options.yes or options.json)
    if asks and not agreed("Set this up?", "Say --yes to go ahead, --no-wire to leave the agents alone"):
        output.line("Nothing was changed. holdfast init --no-wire leaves the agents' configuration alone.")
        return 1
    done = _do(options, machine, project, plans)
    if options.json:
        output.show_json(_as_json(done))
    else:
        _tell(done, project)
    return 0


def _plans(options: argparse.Namespace, machine: Machine, project: Project) -> tuple[list[Plan], list[str]]:
    """What is to be wired, and what had to be left out."""
    if options.no_wire:
        if options.agents:
            raise UsageError("--agents and --no-wire contradict each other", fix="Leave one of them out")
        return [], []
    named = [name.strip() for names in options.agents for name in names.split(",") if name.strip()]
    agents = dict.fromkeys(named) if options.agents else agents_here(machine, project)
    return planned(machine, project, list(agents), options.scope, bool(named), tools=not options.no_mcp)


def _show_plans(plans: list[Plan], options: argparse.Namespace) -> None:
    changing = [plan for plan in plans if plan.is_change]
    if not changing:
        return
    if options.diff:
        for plan in changing:
            show(plan)
        return
    output.line("holdfast will add its hooks and tools to your agents' own configuration:")
    for plan in changing:
        for change in plan.changes:
            if change.changes:
                added = sum(line[:1] == "+" and line[:3] != "+++" for line in change.diff().splitlines())
                made = " (new file)" if change.before is None else ""
                output.line(f"  {host_for(plan.agent).title:<12} {change.path}  +{added} lines{made}")
    output.line("All else in these files stays; holdfast uninstall --all undoes it to the byte.")


def _do(options: argparse.Namespace, machine: Machine, project: Project, plans: list[Plan]) -> Done:
    """Reads first: hooks that come alive find everything in its place."""
    show_progress = not options.json and sys.stderr.isatty()
    imported = None
    if not options.no_import:
        from holdfast.app.importing import import_into
        from holdfast.cli.import_ import progress_bar

        with progress_bar(show=show_progress) as progress:
            imported = import_into(machine, project, progress=progress)
    if not options.no_scan:
        from holdfast.app.knowing import look
        from holdfast.cli.know import scan_progress

        with scan_progress(show=show_progress) as looking:
            look(machine, project, keep=True, progress=looking)
    from holdfast.app.setting_up import begin

    known = begin(machine, machine.project())
    for plan in plans:
        rewire(machine, plan)
    before = [] if plans else hooked(machine, project)
    return Done(imported=imported, known=known, plans=plans, before=before)


def _tell(done: Done, project: Project) -> None:
    known, imported = done.known, done.imported
    output.heading(f"{project.name} is set up.")
    agents = ", ".join(f"{name} {count}" for name, count in known.agents.items())
    new = f" ({imported.added} new)" if imported is not None and known.sessions else ""
    _row("sessions", f"{known.sessions}{new}: {agents}" if known.sessions else "none recorded here yet")
    if imported is not None and imported.warnings:
        _row("", f"{_counted(len(imported.warnings), 'line')} could not be read: holdfast import lists them")
    _row("known", _summed(known))
    wired = ", ".join(host_for(plan.agent).title for plan in done.plans)
    before = ", ".join(host_for(agent).title for agent in done.before)
    _row("wired", wired or (f"as before: {before}" if before else "no agent (holdfast install AGENT)"))
    for plan in done.plans:
        for need in plan.needs:
            title = host_for(plan.agent).title
            _row("", need if need.startswith(title) else f"{title}: {need}")
    output.line()
    if known.told:
        output.heading("The next session here is told:")
        for line in known.told:
            output.line(f"  {line.text}", under=4)
    else:
        output.line("The next session here is told nothing yet: there is nothing to go on from.")
    output.line()
    for number, step in enumerate(_steps(done)):
        _row("next" if not number else "", step)
    _row("undo", "holdfast uninstall --all (hooks and tools; --purge: the memory too)")


def _row(name: str, text: str) -> None:
    output.line(f"  {name:<10}{text}", under=12)


def _summed(known: Known) -> str:
    counts = (
        (known.decisions, "decision"),
        (known.facts, "fact"),
        (known.questions, "open question"),
        (known.lessons, "lesson"),
        (known.proposed, "proposed lesson"),
        (known.conventions, "convention"),
        (known.patterns, "pattern"),
    )
    return ", ".join(_counted(count, word) for count, word in counts if count) or "nothing yet"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


def _steps(done: Done) -> list[str]:
    """What a person would do now, the most useful first."""
    steps = []
    if done.plans or done.before:
        steps.append("start an agent here and work as always; holdfast why shows what it was told")
    if done.known.proposed:
        steps.append("holdfast lessons review: look through the proposed lessons, one key each")
    if done.known.sessions:
        steps.append("holdfast ledger: what each session cost and how it ended")
    return steps or ["holdfast demo shows what you will get"]


def _as_json(done: Done) -> dict[str, object]:
    from holdfast.cli.import_ import report_as_json

    return {
        "done": True,
        "import": report_as_json(done.imported) if done.imported is not None else None,
        "known": done.known,
        "agents": [as_json(plan, done=True) for plan in done.plans],
    }
