"""`holdfast init`: sets up memory for a project in one step."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from holdfast.agent_kit.host_contract import SCOPES
from holdfast.agents.registry import HOSTS
from holdfast.cli.export import amount
from holdfast.cli.import_ import import_progress, report_as_json
from holdfast.cli.install import as_json, changes_of, planned
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.patterns import save_programs
from holdfast.core.place import locate
from holdfast.flows.decision_sharing import to_trust
from holdfast.flows.find_transcripts import SessionSource, TranscriptSearch
from holdfast.flows.hosts import Plan, agents_here, hooked, host_for, plan_install, rewire
from holdfast.flows.import_sessions import ImportReport, import_sources, recorded_here, unread
from holdfast.store.installation import not_on_path
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, place, short_duration
from holdfast.upkeep.highlights import Highlight, highlights
from holdfast.upkeep.memories import Joining, join, plan_join, separate
from holdfast.upkeep.set_up import SetUp, begin
from holdfast.views.memory import date

DESCRIPTION = """Sets this project up: imports the sessions your agents recorded, scans the repository, connects the
agents on this machine (hooks and tools in their own configuration) and shows what the next session will see. It first
shows which files will change. Running it again only does what is missing. holdfast agents uninstall --all restores
those files, byte for byte. A folder without git is accepted; your home folder and its parents are refused."""
EXAMPLES = """examples:
  holdfast init                            show everything, ask once, then do it
  holdfast init --yes                      the same without a question
  holdfast init --agents claude-code,codex  only these two
  holdfast init --no-wire                  do not change the agents' configuration
  holdfast init --dry-run --diff           only show what would change, line by line
  holdfast init --join                     in a copy or a moved repository: use the memory of the original
  holdfast init --join shop-1f4a9c02       use the memory of a project whose folder is gone
  holdfast init --new                      in a copy: start a separate memory
"""


# A backtest of so much takes seconds: what memory would have told is shown at once.
MOST_REPLAYED, MOST_REPLAYED_BYTES = 100, 50_000_000


class Done(Struct, frozen=True, kw_only=True):
    """The result of an init: None for a part that was skipped."""

    imported: ImportReport | None
    took_s: float  # to read them
    known: SetUp
    plans: list[Plan]
    knows: list[Highlight]
    before: list[str]  # agents that were connected already, where this time none was asked for
    to_trust: int  # shared decisions that came with the repository


OPTIONS = (
    option(
        "--agents",
        action="append",
        default=[],
        metavar="NAMES",
        help=f"connect these, comma-separated (default: those found here): {', '.join(HOSTS)}",
    ),
    option(
        "--join",
        nargs="?",
        const="",
        metavar="ID",
        help="use the memory this folder's id names, or the one with this id, title or folder",
        group="whose",
    ),
    flag("--new", "in a copy: start a separate memory", group="whose"),
    option("--scope", choices=SCOPES, default="user", help="which configuration to change (default: user)"),
    flag("--no-import", "do not import sessions"),
    flag("--no-scan", "do not scan the repository"),
    flag("--no-wire", "do not change the agents' configuration"),
    flag("--no-backtest", "do not run the backtest (it runs only if it takes seconds)"),
    flag("--no-mcp", "hooks only, no tools"),
    flag("--diff", "show all changes to the agents' files"),
    flag("--yes", "do not ask"),
    flag("--dry-run", "only show what would change"),
    flag("--json", "what was done as JSON; implies --yes"),
)


def run(options: Namespace, machine: Machine) -> int:
    _check_place(machine)
    joined = None
    if options.join is not None:
        joined = plan_join(machine, options.join)
        if not _settles(options, machine, joined):
            return 0 if options.dry_run else 1
    elif options.new:
        separated = separate(machine, dry_run=options.dry_run)
        if options.dry_run:
            output.answer(options, {"done": False}, f"Would create the memory {separated.memory.name}.")
            return 0
    project = machine.project()
    plans, problems = _plans(options, machine, project)
    search = None if options.no_import else recorded_here(machine, project)
    waiting = [] if search is None else unread(project, search)
    if not options.json:
        _show_waiting(waiting)
        _show_plans(plans, options)
    output.warn_all([*problems, *dict.fromkeys(warning for plan in plans for warning in plan.warnings)])
    if options.dry_run:
        if options.json:
            reading = {"transcripts": len(waiting), "bytes": sum(item.size for item in waiting)}
            agents = [as_json(plan, done=False) for plan in plans]
            output.show_json({"done": False, "to_read": reading, "agents": agents})
        elif not waiting and not any(plan.is_change for plan in plans):
            output.line("Nothing to import, and no agent's configuration would change.")
        return 0
    asks = any(plan.is_change for plan in plans) and not (options.yes or options.json)
    if asks and not agreed("Set this up?", "Add --yes to go ahead, --no-wire to leave the agents alone"):
        output.line("Nothing was changed. holdfast init --no-wire leaves the agents' configuration alone.")
        return 1
    done = _do(options, machine, project, plans, search)
    shared = {"joined": joined.memory} if joined is not None else {}
    proof = _proof(options, machine, machine.project())
    output.answer(
        options, {**_as_json(done), "backtest": proof, **shared}, lambda: _show(done, project, proof)
    )
    return 0


def _check_place(machine: Machine) -> None:
    """Raises UsageError where everything on the machine, or of this user, would become one project."""
    located = locate(str(machine.cwd), str(machine.home))
    root = Path(os.path.realpath(located[0] if located is not None else machine.cwd))
    if Path(os.path.realpath(machine.user_home)).is_relative_to(root) or root == Path(root.anchor):
        what = "the whole disk" if root == Path(root.anchor) else "your home folder and all below it"
        problem = f"{what} would become one project"
        raise UsageError(problem, where=str(root), fix="Run holdfast init in the folder of a project")
    if located is None:
        output.warn(
            f"{place(root)} is in no git repository: sessions in it and below it will share one memory."
        )


def _settles(options: Namespace, machine: Machine, plan: Joining) -> bool:
    """Shows the memory that this folder is to share, and joins it if the person agrees."""
    if machine.inside_agent:
        fix = "Run it yourself in a terminal"
        raise UsageError("an agent cannot join a memory: a person must decide", fix=fix)
    memory = plan.memory
    if options.dry_run and options.json:
        output.show_json({"done": False, "joined": memory})
    if not options.json:
        used = f"last used {date(memory.last_used)}" if memory.last_used else "no sessions yet"
        output.heading(f"{place(plan.root)} will share a memory:")
        _row("memory", memory.id)
        for number, folder in enumerate(memory.folders):
            _row("" if number else "folder", f"{place(folder)}{'' if os.path.isdir(folder) else ' (gone)'}")
        _row("holds", f"{counted(memory.sessions, 'session')}, {amount(memory.bytes)}; {used}")
        output.line(
            "What agents do here will be recorded there, and agents here will see what is known there."
        )
    if options.dry_run:
        return False
    if not (options.yes or options.json) and not agreed("Share it?", "Add --yes to go ahead"):
        output.line("Nothing was changed.")
        return False
    join(machine, plan)
    return True


def _plans(options: Namespace, machine: Machine, project: Project) -> tuple[list[Plan], list[str]]:
    """The agents to set up, and those that had to be skipped."""
    if options.no_wire:
        if options.agents:
            raise UsageError("--agents and --no-wire cannot be used together", fix="Leave one of them out")
        return [], []
    chosen = [name.strip() for names in options.agents for name in names.split(",") if name.strip()]
    agents = dict.fromkeys(chosen) if options.agents else agents_here(machine, project)
    plan_for = partial(plan_install, machine, project, scope=options.scope, tools=not options.no_mcp)
    return planned(list(agents), plan_for, named=bool(chosen))


def _show_waiting(waiting: Sequence[SessionSource]) -> None:
    """Shows how much is about to be read: a year of sessions takes a while."""
    if not waiting:
        return
    agents = Counter(item.importer.title for item in waiting).most_common()
    agent_counts = ", ".join(f"{title} {count}" for title, count in agents)
    size = amount(sum(item.size for item in waiting))
    output.line(f"holdfast will read {counted(len(waiting), 'transcript')} ({size}): {agent_counts}.")


def _show_plans(plans: list[Plan], options: Namespace) -> None:
    changes = changes_of([plan for plan in plans if plan.is_change])
    if options.diff or not changes:
        for _, change in changes:
            output.show_diff(change.diff())
        return
    output.line("holdfast will add its hooks and tools to your agents' own configuration:")
    for plan, change in changes:
        added = sum(line[:1] == "+" and line[:3] != "+++" for line in change.diff().splitlines())
        new_file = " (new file)" if change.before is None else ""
        output.line(
            f"  {host_for(plan.agent).title:<12} {place(change.path)}  +{counted(added, 'line')}{new_file}"
        )
    output.line(
        "Everything else in these files stays; holdfast agents uninstall --all restores them, byte for byte."
    )


def _do(
    options: Namespace, machine: Machine, project: Project, plans: list[Plan], search: TranscriptSearch | None
) -> Done:
    """Imports first, so that new hooks find everything ready."""
    imported, began, took = None, machine.now(), 0.0
    if search is not None:
        with import_progress(show=not options.json) as progress:
            imported = import_sources(machine, project, search, progress)
        took = (machine.now() - began).total_seconds()
        if imported.added:
            save_programs()
    if not options.no_scan:
        from holdfast.cli.know import scan_progress
        from holdfast.flows.repo_scan import look

        with scan_progress(show=not options.json) as looking:
            look(machine, project, keep=True, progress=looking)
    status = begin(machine, machine.project())
    for plan in plans:
        rewire(machine, plan)
    before = [] if plans else hooked(machine, project)
    knows = highlights(machine, machine.project())
    waiting = len(to_trust(machine, machine.project()))
    return Done(
        imported=imported,
        took_s=took,
        known=status,
        plans=plans,
        knows=knows,
        before=before,
        to_trust=waiting,
    )


def _show(done: Done, project: Project, proof: str) -> None:
    status, imported = done.known, done.imported
    output.heading(f"{project.name} is set up.")
    agents = ", ".join(f"{name} {count}" for name, count in status.agents.items())
    new = _news(imported, done.took_s) if imported is not None else ""
    _row(
        "sessions",
        f"{status.sessions}{new}: {agents}" if status.sessions else "no sessions recorded here yet",
    )
    if imported is not None and imported.warnings:
        _row("", f"{counted(len(imported.warnings), 'line')} could not be read: holdfast import lists them")
    _row("known", _summed(status))
    if done.to_trust:
        _row(
            "shared",
            f"{counted(done.to_trust, 'decision')} of colleagues: holdfast trust shows them to you first",
        )
    wired = ", ".join(host_for(plan.agent).title for plan in done.plans)
    before = ", ".join(host_for(agent).title for agent in done.before)
    _row(
        "connected",
        wired or (f"as before: {before}" if before else "no agent (holdfast agents install AGENT)"),
    )
    for plan in done.plans:
        for need in plan.needs:
            title = host_for(plan.agent).title
            _row("", need if need.startswith(title) else f"{title}: {need}")
    output.line()
    if status.told:
        output.heading("The next session here will see:")
        for line in status.told:
            output.line(f"  {line.text}", under=4)
    elif done.knows:
        output.line(
            "The next session starts with nothing from memory; each prompt is shown the lines that fit it."
        )
    else:
        output.line("The next session here will see nothing yet: memory is empty.")
    output.line()
    if done.knows:
        output.heading(f"{counted(len(done.knows), 'thing')} that memory knows here, with their sources:")
        for known in done.knows:
            output.line(f"  {known.text}", under=4)
            output.aside(known.source, indent=4)
        output.line()
    if proof:
        output.line(f"{proof}\n")
    for number, step in enumerate(_steps(done, proof)):
        _row("next" if not number else "", step)
    if program := not_on_path():
        _row("program", f"holdfast is not on your PATH: run it as {program}")
    _row("undo", "holdfast agents uninstall --all (hooks and tools; --purge: the memory too)")


def _news(imported: ImportReport, took_s: float) -> str:
    if not imported.bytes:
        return f" ({imported.added} new)"
    # A tenth of a second does not matter above ten seconds.
    took = f"{took_s:.1f}s" if took_s < 9.95 else short_duration(round(took_s))
    return f" ({imported.added} new, {amount(imported.bytes)} read in {took})"


def _row(name: str, text: str) -> None:
    output.line(f"  {name:<10}{text}", under=12)


def _summed(known: SetUp) -> str:
    counts = (
        (known.decisions, "decision"),
        (known.facts, "fact"),
        (known.questions, "open question"),
        (known.lessons, "lesson"),
        (known.proposed, "proposed lesson"),
        (known.conventions, "convention"),
        (known.patterns, "pattern"),
    )
    return ", ".join(counted(count, word) for count, word in counts if count) or "nothing yet"


def _proof(options: Namespace, machine: Machine, project: Project) -> str:
    """A backtest of the newest sessions in two sentences: the last one, or one run now; '' if that would take long."""
    from holdfast.backtest.last import key_of, last_report
    from holdfast.backtest.reading import newest_of, transcripts_of
    from holdfast.backtest.words import lines_used, sentences
    from holdfast.cli.backtest import NEWEST, replayed

    if options.no_import:
        return ""
    search, found = newest_of(transcripts_of(machine, project), NEWEST)
    key = key_of(project, search, None)
    report = last_report(machine, project, key)
    if report is None and _quickly_replayed(search) and not options.no_backtest:
        with suppress(HoldfastError, KeyboardInterrupt):  # it is not what was asked for
            report = replayed(machine, search, key, found=found, shown=not options.json)
    return " ".join(filter(None, (sentences(report)[0], lines_used(report)))) if report is not None else ""


def _quickly_replayed(search: TranscriptSearch) -> bool:
    count, size = len(search.sources), sum(source.size for source in search.sources)
    return 1 < count <= MOST_REPLAYED and size <= MOST_REPLAYED_BYTES


def _steps(done: Done, proof: str) -> list[str]:
    """The next steps for the person, the most useful first."""
    steps = []
    if done.plans or done.before:
        steps.append("start an agent and work as usual; holdfast why shows what it saw")
    if done.known.proposed:
        steps.append("holdfast lessons review: review the proposed lessons one by one")
    if done.known.sessions > 1 and not proof:
        steps.append("holdfast backtest: what memory would have shown these sessions, and what they needed")
    if done.known.sessions:
        steps.append("holdfast ledger: what each session cost and how it ended")
    if done.known.sessions:
        steps.append(
            "holdfast note write: your own agent can take notes too (off by default; uses its quota)"
        )
    return steps or ["holdfast demo shows what you would get"]


def _as_json(done: Done) -> dict[str, object]:
    return {
        "done": True,
        "import": report_as_json(done.imported) if done.imported is not None else None,
        "known": done.known,
        "knows": done.knows,
        "agents": [as_json(plan, done=True) for plan in done.plans],
    }
