"""Checks that everything stored is sound and upgrades it: each finding says where, what and what to do."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, HoldfastError
from holdfast.core.git import git_text
from holdfast.flows.capture import given_up, said_of, try_again
from holdfast.flows.hosts import plan_install, rewire, wired
from holdfast.flows.plugins import make, outdated
from holdfast.knowledge import store as knowledge
from holdfast.ledger.markdown import current
from holdfast.ledger.rows import open_ledger
from holdfast.lessons.states import lesson_store
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.sessions.store import CaptureStore
from holdfast.store.inbox import faults
from holdfast.store.machine import Machine, compile_rules, scanner_installed, scanner_missing_rules
from holdfast.store.project import FORMAT, Project, check_format

RECENT_S = 86_400


class Finding(Struct, frozen=True):
    """`level` is ok, note (worth knowing) or problem (exit code 1)."""

    level: str
    check: str
    message: str


def examine(machine: Machine, project: Project) -> list[Finding]:
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        try:
            findings += list(check(machine, project))
        except HoldfastError as error:
            findings.append(Finding("problem", name, error.line()))
    return findings


def repair(machine: Machine, project: Project, *, dry_run: bool) -> list[str]:
    """Hooks are wired as they should be, old formats upgraded with a backup, missing links and git rules made again,
    scanner rules compiled."""
    fixes = _rewire(machine, project, dry_run=dry_run)
    for agent in outdated(machine, project):
        fixes.append(f"make the plugin for {agent} anew; take it over in the agent: holdfast plugin {agent}")
        if not dry_run:
            make(machine, project, agent)
    if not project.known:
        return fixes
    done = upgrade(project, dry_run=dry_run)
    fixes += [f"upgrade from format {done.before} to {done.after}: {step}" for step in done.steps]
    if done.backup:
        fixes.append(f"backup in {done.backup}")
    missing = [
        name
        for name in ("local", ".gitignore", ".gitattributes")
        if not os.path.lexists(project.window / name)
    ]
    fixes += [f"make {project.window / name} again" for name in missing]
    if not dry_run:
        project.prepare()
    fixes += _accepted(project, dry_run=dry_run)
    fixes += _tried_again(machine, project, dry_run=dry_run)
    if scanner_missing_rules(machine):
        fixes.append("compile the scanner's rules")
        if not dry_run:
            compile_rules(machine)
    return fixes


def _rewire(machine: Machine, project: Project, *, dry_run: bool) -> list[str]:
    """Hooks of an installation from before, or of an interpreter that is gone, as they should be now."""
    fixes = []
    try:
        hosts = wired(machine, project)
    except HoldfastError:
        return []  # a file that cannot be read is among the findings
    for host in hosts:
        if host.installed and host.missing:
            plan = plan_install(machine, project, host.agent, host.scope)
            fixes.append(f"wire {', '.join(host.missing)} of {host.agent} in {host.path}")
            if not dry_run:
                rewire(machine, plan)
    return fixes


def _accepted(project: Project, *, dry_run: bool) -> list[str]:
    """Log entries that somebody changed by hand are right from now on."""
    fixes: list[str] = []
    for name in known_projects(project) if project.memory.is_dir() else ():
        store = MemoryStore(project, name)
        with suppress(HoldfastError):  # what cannot be read is a finding
            edited = store.edited_entries()
            fixes += [
                f"accept the entry of session {entry.session[:8]} in {name}'s log as it is"
                for entry in edited
            ]
            if edited and not dry_run:
                store.accept_entries()
    return fixes


def _tried_again(machine: Machine, project: Project, *, dry_run: bool) -> list[str]:
    """Sessions that could not be read, once more; whether that helped the findings say."""
    waiting = [fault.session[:8] for fault in faults(project.memory)]
    if waiting and not dry_run:
        from holdfast.flows.capture import capture

        try_again(project)
        capture(machine, project)
    return [f"try to read session {session} again" for session in waiting]


def _ledger(machine: Machine, project: Project) -> Iterator[Finding]:
    ledger = open_ledger(project)
    if not ledger.exists:
        yield Finding("note", "ledger", "there is no ledger yet: holdfast import makes it")
        return
    read = ledger.read()
    for problem in read.problems:
        yield Finding("problem", "ledger", problem.message)
    if read.read_only:
        yield Finding(
            "note", "ledger", "written by a newer holdfast: it is read, not written. Upgrade holdfast."
        )
    rows, sessions = len(read.entries), len(current(read.entries))
    counts = f"{rows} row{'s' if rows != 1 else ''}, {sessions} session{'s' if sessions != 1 else ''}"
    yield Finding("ok", "ledger", counts)


def _secrets(machine: Machine, project: Project) -> Iterator[Finding]:
    for path in (project.ledger, project.window_ledger):
        text = (files.read(path) or b"").decode("utf-8", "replace") if path is not None else ""
        for number, line in enumerate(text.split("\n"), 1):
            for found in machine.redactor.findings(line):
                message = f"{path}:{number}: looks like a secret ({found.kind}). Replace it, and rotate it."
                yield Finding("problem", "secrets", message)


def _memory(machine: Machine, project: Project) -> Iterator[Finding]:
    home = next(place for place in (machine.home, *machine.home.parents) if place.exists())
    if not home.is_dir() or not os.access(home, os.W_OK):
        said = f"{home} cannot be written: nothing can be remembered"
        yield Finding(
            "problem", "memory", f"{said}. Make it writable, or point HOLDFAST_HOME at a place that is."
        )
    if not project.memory.is_dir():
        yield Finding("note", "memory", "nothing is kept for this project yet")
        return
    number = check_format(project)
    if number > FORMAT:
        yield Finding(
            "note", "memory", f"format {number} is newer than this holdfast's {FORMAT}. Upgrade holdfast."
        )
    yield Finding("ok", "memory", str(project.memory))
    local = project.window / "local"
    if local.is_symlink() and local.resolve() != project.memory.resolve():
        yield Finding(
            "problem", "memory", f"{local} points elsewhere. Remove it; the next import makes it again."
        )
    elif not os.path.lexists(local):
        yield Finding("note", "memory", f"{local} is missing; the next import makes it again")
    if not os.access(project.memory, os.W_OK):
        yield Finding("problem", "memory", f"{project.memory}: not writable. Give yourself the permission.")


def _files(machine: Machine, project: Project) -> Iterator[Finding]:
    """What people and holdfast write together: every file is read as the commands read it."""
    if not project.memory.is_dir():
        return
    stores = [MemoryStore(project, name) for name in known_projects(project)]
    reads = [read for store in stores for read in (store.facts, store.questions, store.entries)]
    for read in (MemoryStore(project, project.title).current, *reads):
        try:
            for problem in read().problems:
                yield Finding("problem", "files", problem.message)
        except HoldfastError as error:
            yield Finding("problem", "files", error.line())
    for store in stores:
        with suppress(HoldfastError):  # said above
            yield from _edited(store)


def _edited(store: MemoryStore) -> Iterator[Finding]:
    """A log is only added to; a person may change it all the same, and is told that it was noticed."""
    for entry in store.edited_entries():
        place = f"projects/{store.name}/{entry.where}"
        if entry.line:
            what = f"{place}:{entry.line}: the entry of session {entry.session[:8]} was changed since it was written"
        else:
            what = f"{place}: the entry of session {entry.session[:8]} is gone, or no entry any more"
        yield Finding("note", "log", f"{what}. Nothing is overwritten; holdfast doctor --fix accepts it.")


def _lessons(machine: Machine, project: Project) -> Iterator[Finding]:
    """What was chosen, trusted and learned can all be read; a file that is no lesson is left out and said."""
    if not project.known:
        return
    for problem in lesson_store(machine, project).read().problems:
        yield Finding("note", "lessons", problem)


def _knowledge(machine: Machine, project: Project) -> Iterator[Finding]:
    if project.known:
        knowledge.load(project)
    yield from ()


def _capture(machine: Machine, project: Project) -> Iterator[Finding]:
    if not project.capture.exists():
        return
    store = CaptureStore(project.capture)
    try:
        if trouble := store.check():
            yield Finding(
                "problem", "capture", f"{project.capture}: {trouble}. Delete it and run holdfast import."
            )
        elif waiting := store.pending():
            yield Finding(
                "note", "capture", f"an import was interrupted: {len(waiting)} sessions wait for the next one"
            )
        else:
            yield Finding("ok", "capture", f"{len(store.stamps())} transcripts read")
    finally:
        store.close()


def _unread(machine: Machine, project: Project) -> Iterator[Finding]:
    """Sessions that hooks told of and nobody could read."""
    for fault in faults(project.memory):
        yield Finding("problem" if given_up(fault) else "note", "sessions", said_of(fault))


def _git(machine: Machine, project: Project) -> Iterator[Finding]:
    if not project.window.is_dir() or not git_text(project.root, "rev-parse", "--git-dir"):
        return
    status = git_text(
        project.root, "status", "--porcelain", "--untracked-files=all", "--", ".holdfast/local", ".holdfast"
    )
    unexpected = [line for line in status.splitlines() if line.startswith("??")]
    if unexpected and not project.shared:
        yield Finding(
            "problem",
            "git",
            f"git would add {unexpected[0][3:]}. Restore .holdfast/.gitignore (a line with *).",
        )
    else:
        yield Finding(
            "ok",
            "git",
            "shared: ledger.md is tracked" if project.shared else "nothing of it shows in git status",
        )


def _settings(machine: Machine, project: Project) -> Iterator[Finding]:
    for warning in machine.settings(project).warnings:
        yield Finding("note", "configuration", warning)


def _hooks(machine: Machine, project: Project) -> Iterator[Finding]:
    """Whether agents are wired, and what their hooks complained about since yesterday."""
    for host in wired(machine, project):
        if host.installed and host.missing:
            lost = f"{host.path}: {', '.join(host.missing)} of {host.agent} missing or changed."
            user = "" if host.scope == "user" else f" --scope {host.scope}"
            yield Finding(
                "problem",
                "hooks",
                f"{lost} Run holdfast doctor --fix or holdfast install {host.agent}{user}.",
            )
        elif host.installed:
            yield Finding("ok", "hooks", f"{host.agent} in {host.path}")
    for agent in outdated(machine, project):
        said = f"the plugin for {agent} was made by another installation or version"
        yield Finding("problem", "hooks", f"{said}. Run holdfast doctor --fix or holdfast plugin {agent}.")
    log = project.memory / "hook.log"
    if log.is_file() and machine.now().timestamp() - log.stat().st_mtime < RECENT_S:
        last = (files.read(log) or b"").decode("utf-8", "replace").strip().splitlines()[-1:]
        yield Finding("note", "hooks", f"{log}: {last[0] if last else 'empty'}")


def _redaction(machine: Machine, project: Project) -> Iterator[Finding]:
    if not scanner_installed():
        yield Finding(
            "note", "redaction", "our own rules; pip install 'holdfast[scanner]' adds a second pass"
        )
    elif scanner_missing_rules(machine):
        yield Finding(
            "note", "redaction", "our own rules; holdfast doctor --fix compiles the scanner's (a few seconds)"
        )
    else:
        yield Finding("ok", "redaction", "our own rules and the kingfisher scanner")


CHECKS: dict[str, Callable[[Machine, Project], Iterator[Finding]]] = {
    "ledger": _ledger,
    "secrets": _secrets,
    "memory": _memory,
    "files": _files,
    "lessons": _lessons,
    "knowledge": _knowledge,
    "capture": _capture,
    "sessions": _unread,
    "git": _git,
    "hooks": _hooks,
    "redaction": _redaction,
    "configuration": _settings,
}


class Step(Struct, frozen=True):
    """What leads from a format to the one after it."""

    about: str
    run: Callable[[Project], None]


# format it starts from -> step. A release that changes the layout adds its line here.
STEPS: Mapping[int, Step] = {}


class Upgrade(Struct, frozen=True):
    """What was done, or would be done. `backup` is None when nothing was."""

    before: int
    after: int
    steps: tuple[str, ...]
    backup: Path | None


def upgrade(
    project: Project, *, dry_run: bool = False, steps: Mapping[int, Step] = STEPS, target: int = FORMAT
) -> Upgrade:
    """Brings a project's memory to this program's format. Interrupted, it goes on from the last whole step."""
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
    """Everything kept for the project in one archive beside the projects, never overwritten."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    path = project.memory.parent.parent / "backups" / f"{project.memory.name}-format{number}-{moment}.tar.gz"
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(project.memory, arcname=project.memory.name)
    files.replace(path, buffer.getvalue(), project.lock("upgrade"), expected=None)
    return path


def _write_format(project: Project, number: int) -> None:
    files.replace(project.memory / "format", f"{number}\n".encode(), project.lock("layout"), files.ANYTHING)
