"""Checks, repairs and upgrades everything that is stored. Each result gives the place, the problem and the fix."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import CopiedProject, FormatTooNew, HoldfastError
from holdfast.core.git import git_text
from holdfast.core.session_id import short_session
from holdfast.flows.capture import capture, describe_fault, is_given_up, retry_all
from holdfast.flows.hosts import plan_install, rewire, wired
from holdfast.flows.plugins import make, outdated
from holdfast.knowledge import store as knowledge
from holdfast.ledger.markdown import current
from holdfast.ledger.store import ProjectLedger
from holdfast.lessons.states import lesson_store
from holdfast.memory.read import known_projects
from holdfast.memory.session_log import Placed
from holdfast.memory.store import MemoryStore
from holdfast.sessions.store import CaptureStore
from holdfast.store.inbox import faults
from holdfast.store.installation import how_to_add
from holdfast.store.line_grammar import Problem
from holdfast.store.machine import Machine, compile_rules, scanner_installed, scanner_missing_rules
from holdfast.store.project import FORMAT, Project, check_format
from holdfast.upkeep.clock_checks import check_clock, check_stamps, put_clock_back
from holdfast.upkeep.leftovers import find_leftovers, loose_home
from holdfast.upkeep.place_checks import check_memories, check_place, check_trust, needs_registration

RECENT_S = 86_400
_SHOWN = ("local", ".gitignore", ".gitattributes")  # the memory's files in the work tree


class CheckResult(Struct, frozen=True):
    """`level` is ok, note (worth knowing) or problem (exit code 1)."""

    level: str
    check: str
    message: str


class HasProblems(Protocol):
    """What is read of a file, with the lines of it that could not be."""

    @property
    def problems(self) -> Sequence[Problem]: ...


Results = Iterator[tuple[str, str]]
"""Level and message of each result of a check."""


Check = Callable[[Machine, Project], Iterator[tuple[str, str]]]


def examine(
    machine: Machine, project: Project | CopiedProject, more: Mapping[str, Check] | None = None
) -> list[CheckResult]:
    """Every result, also of `more` checks. In a folder that may not use the memory its id names, only what concerns
    the whole machine.
    """
    results: list[CheckResult] = []
    if isinstance(project, CopiedProject):
        results.append(CheckResult("problem", "project", project.line()))
        checks = {name: partial(check, machine) for name, check in MACHINE_CHECKS.items()}
    else:
        checks = {
            name: partial(check, machine, project) for name, check in {**CHECKS, **(more or {})}.items()
        }
        checks |= {name: partial(check, machine) for name, check in MACHINE_CHECKS.items()}
        checks["memories"] = partial(check_memories, machine, project)
    for name, check in checks.items():
        try:
            results += [CheckResult(level, name, message) for level, message in check()]
        except HoldfastError as error:
            results.append(CheckResult("problem", name, error.line()))
    return results


# --- checks ----------------------------------------------------------------------------------------------


def _ledger(machine: Machine, project: Project) -> Results:
    ledger = ProjectLedger(project)
    if not ledger.exists:
        yield "note", "no ledger yet: holdfast import creates it"
        return
    read = ledger.read()
    yield from (("problem", problem.message) for problem in read.problems)
    if read.read_only:
        yield "note", "written by a newer holdfast: read-only here. Upgrade holdfast."
    rows, sessions = len(read.entries), len(current(read.entries))
    yield "ok", f"{rows} row{'s' if rows != 1 else ''}, {sessions} session{'s' if sessions != 1 else ''}"


def _secrets(machine: Machine, project: Project) -> Results:
    for path in (project.ledger, project.window_ledger):
        text = (files.read(path) or b"").decode("utf-8", "replace") if path is not None else ""
        for number, line in enumerate(text.split("\n"), 1):
            for secret in machine.redactor.findings(line):
                place = f"{path}:{number}"
                yield "problem", f"{place}: looks like a secret ({secret.kind}). Replace it, and rotate it."


def _forgotten(machine: Machine, project: Project) -> Results:
    yield from (("problem", found) for found in find_leftovers(machine.home, project))


def _permissions(machine: Machine) -> Results:
    if (loose := loose_home(machine.home)) is not None:
        yield loose


def _memory(machine: Machine, project: Project) -> Results:
    home = next(place for place in (machine.home, *machine.home.parents) if place.exists())
    if not home.is_dir() or not os.access(home, os.W_OK):
        problem = f"{home} is not writable: nothing can be stored"
        yield "problem", f"{problem}. Make it writable, or set HOLDFAST_HOME to a place that is."
    if not project.memory.is_dir():
        yield "note", "this project has no memory yet"
        return
    number = check_format(project)
    if number > FORMAT:
        yield "note", f"format {number} is newer than this holdfast's {FORMAT}. Upgrade holdfast."
    yield "ok", str(project.memory)
    local = project.window / "local"
    if local.is_symlink() and local.resolve() != project.memory.resolve():
        yield "problem", f"{local} points elsewhere. Remove it; the next import creates it again."
    elif not os.path.lexists(local):
        yield "note", f"{local} is missing; the next import creates it again"
    if not os.access(project.memory, os.W_OK):
        yield "problem", f"{project.memory}: not writable. Give yourself permission."


def _files(machine: Machine, project: Project) -> Results:
    """Reads every file that people and holdfast write together, as the commands read it."""
    if not project.memory.is_dir():
        return
    reads: list[Callable[[], HasProblems]] = [MemoryStore(project, project.title).current]
    for store in _stores(project):
        reads += [store.facts, store.questions, store.entries]
        reads += [partial(store.decisions, path) for path in store.months()]
    for read in reads:
        try:
            yield from (("problem", problem.message) for problem in read().problems)
        except HoldfastError as error:
            yield "problem", error.line()


def _log(machine: Machine, project: Project) -> Results:
    """Reports log entries that were edited by hand: holdfast itself only appends to a log."""
    with suppress(HoldfastError):  # `_files` reports a folder that cannot be a project
        for store, entry in _edited_entries(project):
            line = f":{entry.line}" if entry.line else ""
            place = f"projects/{store.name}/{entry.where}{line}: the entry of session {short_session(entry.session)}"
            change = "has changed since it was written" if line else "is missing or no longer an entry"
            yield "note", f"{place} {change}. Nothing is overwritten; holdfast doctor --fix accepts it."


def _stores(project: Project) -> list[MemoryStore]:
    return [MemoryStore(project, name) for name in known_projects(project)] if project.memory.is_dir() else []


def _edited_entries(project: Project) -> Iterator[tuple[MemoryStore, Placed]]:
    """Log entries that were changed by hand. `_files` reports a log that cannot be read."""
    for store in _stores(project):
        with suppress(HoldfastError):
            yield from ((store, entry) for entry in store.edited_entries())


def _lessons(machine: Machine, project: Project) -> Results:
    if project.known:
        yield from (("note", problem) for problem in lesson_store(machine, project).read().problems)


def _knowledge(machine: Machine, project: Project) -> Results:
    if project.known:
        knowledge.load(project)  # raises where it cannot be read
    yield from ()


def _capture(machine: Machine, project: Project) -> Results:
    if not project.capture.exists():
        return
    with closing(CaptureStore(project.capture)) as store:
        if trouble := store.check():
            yield "problem", f"{project.capture}: {trouble}. Delete it and run holdfast import."
        elif waiting := store.pending():
            yield "note", f"an import was interrupted: {len(waiting)} sessions are waiting for the next one"
        else:
            yield "ok", f"{len(store.stamps())} transcripts read"


def _sessions(machine: Machine, project: Project) -> Results:
    """Sessions that hooks reported and that could not be read."""
    for fault in faults(project.memory):
        yield "problem" if is_given_up(fault) else "note", describe_fault(fault)


def _git(machine: Machine, project: Project) -> Results:
    if not project.window.is_dir() or not git_text(project.root, "rev-parse", "--git-dir"):
        return
    status = git_text(
        project.root, "status", "--porcelain", "--untracked-files=all", "--", ".holdfast/local", ".holdfast"
    )
    unexpected = [line for line in status.splitlines() if line.startswith("??")]
    if unexpected and not project.shared:
        yield (
            "problem",
            f"git would add {unexpected[0][3:]}. Restore .holdfast/.gitignore (a line with *).",
        )
    else:
        yield "ok", "shared: ledger.md is tracked" if project.shared else "ignored by git"


def _hooks(machine: Machine, project: Project) -> Results:
    """Whether agents are wired, and the last error of their hooks in the past day."""
    for host in wired(machine, project):
        scope = "" if host.scope == "user" else f" --scope {host.scope}"
        fix = f"Run holdfast doctor --fix or holdfast agents install {host.agent}{scope}"
        if host.installed and host.missing:
            lost = f"{host.path}: {', '.join(host.missing)} of {host.agent} missing or changed."
            yield "problem", f"{lost} {fix}."
        elif host.installed:
            yield "ok", f"{host.agent} in {host.path}"
        if host.installed and host.older:
            kept = f"{host.path}: hooks of an older version for {host.agent} ({', '.join(host.older)})"
            yield "note", f"{kept}: they work, but nothing is shown when a file is read. {fix} to renew them."
    for agent, works in outdated(machine, project):
        fix = f"Run holdfast doctor --fix or holdfast agents plugin {agent}"
        if works:
            yield (
                "note",
                f"the plugin for {agent} has hooks of an older version; they work. {fix} to renew it.",
            )
        else:
            problem = f"the plugin for {agent} was made by another installation or version"
            yield "problem", f"{problem}. {fix}."
    log = project.memory / "hook.log"
    if log.is_file() and machine.now().timestamp() - log.stat().st_mtime < RECENT_S:
        last = (files.read(log) or b"").decode("utf-8", "replace").strip().splitlines()[-1:]
        yield "note", f"{log}: {last[0] if last else 'empty'}"


def _redaction(machine: Machine) -> Results:
    if not scanner_installed():
        yield "note", f"built-in rules; to add a second pass: {how_to_add('scanner')}"
    elif scanner_missing_rules(machine):
        yield "note", "built-in rules; holdfast doctor --fix compiles the scanner's rules (a few seconds)"
    else:
        yield "ok", "built-in rules and the kingfisher scanner"


def _settings(machine: Machine, project: Project) -> Results:
    yield from (("note", warning) for warning in machine.settings(project).warnings)


# In the order in which they are shown.
CHECKS: dict[str, Callable[[Machine, Project], Results]] = {
    "ledger": _ledger,
    "stamps": check_stamps,
    "clock": check_clock,
    "secrets": _secrets,
    "forgotten": _forgotten,
    "project": check_place,
    "memory": _memory,
    "files": _files,
    "log": _log,
    "lessons": _lessons,
    "trust": check_trust,
    "knowledge": _knowledge,
    "capture": _capture,
    "sessions": _sessions,
    "git": _git,
    "hooks": _hooks,
    "configuration": _settings,
}
MACHINE_CHECKS: dict[str, Callable[[Machine], Results]] = {
    "permissions": _permissions,
    "memories": check_memories,
    "redaction": _redaction,
}


# --- repair ----------------------------------------------------------------------------------------------


def repair(machine: Machine, project: Project | CopiedProject, *, dry_run: bool) -> list[str]:
    """Repairs what can be repaired. Returns a line for each repair; with `dry_run`, for what would be done."""
    if isinstance(project, CopiedProject):  # a person decides whose memory it uses
        return list(_close_home(machine, dry_run))
    fixes = [*_rewire_hosts(machine, project, dry_run), *_remake_plugins(machine, project, dry_run)]
    fixes += [*_close_home(machine, dry_run), *put_clock_back(machine, dry_run=dry_run)]
    if not project.known:
        return fixes
    done = upgrade(project, dry_run=dry_run)
    fixes += [f"upgrade from format {done.before} to {done.after}: {step}" for step in done.steps]
    if done.backup:
        fixes.append(f"backup in {done.backup}")
    missing = [project.window / name for name in _SHOWN if not os.path.lexists(project.window / name)]
    fixes += [f"make {path} again" for path in missing]
    if (place := project.place()) is not None and project.memory.is_dir() and needs_registration(place):
        fixes.append(f"register {project.root} for its memory")
    if not dry_run:
        project.prepare()
    fixes += _accept_entries(project, dry_run)
    fixes += _retry_sessions(machine, project, dry_run)
    if scanner_missing_rules(machine):
        fixes.append("compile the scanner's rules")
        if not dry_run:
            compile_rules(machine)
    return fixes


def _rewire_hosts(machine: Machine, project: Project, dry_run: bool) -> Iterator[str]:
    """Rewires hooks of an older installation, or of a removed interpreter."""
    try:
        hosts = wired(machine, project)
    except HoldfastError:
        return  # `_hooks` reports a file that cannot be read
    for host in hosts:
        if host.installed and (changed := (*host.missing, *host.older)):
            plan = plan_install(machine, project, host.agent, host.scope)
            yield f"wire {', '.join(changed)} of {host.agent} in {host.path}"
            if not dry_run:
                rewire(machine, plan)


def _remake_plugins(machine: Machine, project: Project, dry_run: bool) -> Iterator[str]:
    for agent, _ in outdated(machine, project):
        yield f"make the plugin for {agent} again; update it in the agent: holdfast agents plugin {agent}"
        if not dry_run:
            make(machine, project, agent)


def _close_home(machine: Machine, dry_run: bool) -> Iterator[str]:
    """Takes the home away from others, unless it is theirs."""
    if loose_home(machine.home) is not None and machine.home.stat().st_uid == os.getuid():
        yield f"chmod 700 {machine.home}"
        if not dry_run:
            with files.explained(machine.home, "change"):
                machine.home.chmod(0o700)


def _accept_entries(project: Project, dry_run: bool) -> list[str]:
    """Accepts log entries that were changed by hand."""
    edited = list(_edited_entries(project))
    for store in {store.name: store for store, _ in edited}.values() if not dry_run else ():
        with suppress(HoldfastError):
            store.accept_entries()
    return [
        f"accept the entry of session {short_session(entry.session)} in {store.name}'s log as it is"
        for store, entry in edited
    ]


def _retry_sessions(machine: Machine, project: Project, dry_run: bool) -> list[str]:
    """Retries sessions that could not be read. The checks afterwards show whether that helped."""
    waiting = [short_session(fault.session) for fault in faults(project.memory)]
    if waiting and not dry_run:
        retry_all(project)
        capture(machine, project)
    return [f"read session {session} again" for session in waiting]


# --- upgrade ---------------------------------------------------------------------------------------------


class UpgradeStep(Struct, frozen=True):
    """Upgrades one format to the next."""

    about: str
    run: Callable[[Project], None]


# Starting format -> step. A release that changes the layout adds a line here.
STEPS: Mapping[int, UpgradeStep] = {}


class Upgrade(Struct, frozen=True):
    """What was done, or would be done. `backup` is None when nothing was upgraded."""

    before: int
    after: int
    steps: tuple[str, ...]
    backup: Path | None


def upgrade(
    project: Project, *, dry_run: bool = False, steps: Mapping[int, UpgradeStep] = STEPS, target: int = FORMAT
) -> Upgrade:
    """Brings a project's memory to this program's format. After a crash it continues from the last complete step."""
    before = check_format(project) if project.memory.is_dir() else target
    if before > target:
        raise FormatTooNew(
            f"format {before} was written by a newer holdfast (this one knows {target})",
            where=str(project.memory),
            fix="Upgrade holdfast; until then this memory is only read",
        )
    due = [(number, steps[number]) for number in range(before, target) if number in steps]
    if before == target or dry_run:
        return Upgrade(before, target, tuple(step.about for _, step in due), None)
    backup = back_up(project, before)
    for number, step in due:
        step.run(project)
        _write_format(project, number + 1)
    _write_format(project, target)
    return Upgrade(before, target, tuple(step.about for _, step in due), backup)


def back_up(project: Project, number: int) -> Path:
    """Writes the project's whole memory to a new archive. No backup is ever overwritten."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    path = project.memory.parent.parent / "backups" / f"{project.memory.name}-format{number}-{moment}.tar.gz"
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(project.memory, arcname=project.memory.name)
    files.replace(path, buffer.getvalue(), project.lock("upgrade"), expected=None)
    return path


def _write_format(project: Project, number: int) -> None:
    files.replace(project.memory / "format", f"{number}\n".encode(), project.lock("layout"), files.ANYTHING)
