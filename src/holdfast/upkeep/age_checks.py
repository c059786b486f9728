"""What no longer holds, and what nobody reads: paths that are gone, lessons and facts out of date, unread notes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

from holdfast.briefing.explain import injections
from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.upkeep.audited_files import AuditedFile
from holdfast.upkeep.finding import AuditFinding, Check, quoted
from holdfast.upkeep.own_statements import line_of, placed_lessons, placed_statements

DAY_S = 86_400.0
_UNVERIFIED_DAYS = 180
_UNSEEN_DAYS = 30
_FEWEST_SESSIONS = 20  # that were told something, before "never shown" says anything
_FEWEST_UNSEEN = 5
_GIT_SECONDS = 20.0
_MOST_PATHS = 200
_PATH = lazy_regex(r"`((?:[\w.@-]+/)+[\w.@+-]+\.[A-Za-z]\w{0,5})(?::\d+(?:-\d+)?)?`")
_LINK = lazy_regex(r"\]\(<?([^)\s<>#]+\.md)(?:#[^)]*)?>?\)")


def _finding(
    check: Check, file: AuditedFile, line: int, what: str, why: str, fix: str, also: str = ""
) -> AuditFinding:
    return AuditFinding(
        check=check,
        level="note",
        file=file.shown,
        path=str(file.path),
        line=line,
        what=what,
        why=why,
        fix=fix,
        also=also,
    )


def find_stale(machine: Machine, project: Project, files: Sequence[AuditedFile]) -> Iterator[AuditFinding]:
    yield from _lost_paths(project, [file for file in files if file.area == "guide"])
    yield from _lost_notes(files)
    for status, file in placed_lessons(machine, project, files):
        if status.state == "stale":
            changes = "; ".join(status.drift[:3])
            yield _finding(
                "stale",
                file,
                line_of(file, status.lesson.rules[0]) if status.lesson.rules else 1,
                f"The lesson {status.lesson.name} depends on what has changed since: {changes}.",
                "Agents do not see it until it is checked.",
                f"Run holdfast lessons refresh {status.lesson.name}, or holdfast lessons rm {status.lesson.name}.",
            )
    yield from _stale_facts(machine, project, files)


def _stale_facts(machine: Machine, project: Project, files: Sequence[AuditedFile]) -> Iterator[AuditFinding]:
    """A fact whose command no longer shows it; and for each file the facts that were not verified for long."""
    now = machine.now().timestamp()
    why = "An agent may rely on something outdated."
    old: dict[str, list[tuple[Statement, AuditedFile, int]]] = {}
    for statement, file, line in placed_statements(project, {file.shown: file for file in files}):
        if statement.kind != "fact" or statement.status == "retired":
            continue
        if statement.status == "rejected":
            what = f"The command of {statement.id} no longer shows it: {quoted(statement.text)}"
            fix = (
                f"Run holdfast note fact verify {statement.id}, or holdfast note fact retire {statement.id}."
            )
            yield _finding("stale", file, line, what, why, fix)
        elif statement.at is not None and now - statement.at >= _UNVERIFIED_DAYS * DAY_S:
            old.setdefault(file.shown, []).append((statement, file, line))
    for facts in old.values():
        oldest, file, line = facts[0]
        days = int((now - (oldest.at or now)) / DAY_S)
        ids = ", ".join(statement.id for statement, _, _ in facts[:5]) + (" …" if len(facts) > 5 else "")
        if len(facts) == 1:
            what = f"A fact was last verified {days} days ago: {quoted(oldest.text)} ({oldest.id})."
        else:
            what = f"{len(facts)} facts were last verified more than {_UNVERIFIED_DAYS} days ago: {ids}."
            what += f" The oldest, {days} days: {quoted(oldest.text)}"
        fix = "Run holdfast note fact verify ID, or holdfast note fact retire ID."
        yield _finding("stale", file, line, what, why, fix)


# --- paths that guides name ------------------------------------------------------------------------------


def _lost_paths(project: Project, guides: Sequence[AuditedFile]) -> Iterator[AuditFinding]:
    """Files that a guide names and git has deleted. What git never had may be an example, or made by a build."""
    named: dict[str, list[tuple[AuditedFile, int]]] = {}
    for guide in guides:
        for match in _PATH.finditer(guide.text):
            path = match[1].removeprefix("./")
            if ".." not in path.split("/") and not _exists(project, guide, path):
                line = guide.text.count("\n", 0, match.start()) + 1
                named.setdefault(path, []).append((guide, line))
    candidates = sorted(named)[:_MOST_PATHS]
    tracked = _tracked(project) if candidates else frozenset()
    lost = [path for path in candidates if not any(name.endswith(f"/{path}") for name in tracked)]
    deleted = _deleted(project, lost)
    for path in lost:
        if path not in deleted:
            continue
        commit, day = deleted[path]
        same_name = [name for name in tracked if PurePosixPath(name).name == PurePosixPath(path).name]
        now = f" Is it {same_name[0]} now?" if len(same_name) == 1 else ""
        for guide, line in named[path][:3]:
            yield _finding(
                "stale",
                guide,
                line,
                f"{path} no longer exists: commit {commit} removed it on {day}.{now}",
                "Agents will look for it and not find it.",
                "Correct the path, or delete the line.",
            )


def _exists(project: Project, guide: AuditedFile, path: str) -> bool:
    return any(os.path.lexists(folder / path) for folder in (project.root, guide.path.parent))


def _tracked(project: Project) -> frozenset[str]:
    answer = run_git(project.root, "ls-files", "-z", seconds=_GIT_SECONDS)
    return frozenset(os.fsdecode(name) for name in answer.data.split(b"\0") if name)


def _deleted(project: Project, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The commit and day that last deleted each path, but not what git ignores now: a build makes that."""
    if not paths:
        return {}
    specs = [f":(top,literal){path}" for path in paths]
    log = ("log", "--no-renames", "--diff-filter=D", "--name-only", "--format=%x01%h %cs", "-z", "HEAD", "--")
    answer = run_git(project.root, *log, *specs, seconds=_GIT_SECONDS)
    deleted: dict[str, tuple[str, str]] = {}
    commit = day = ""
    for piece in answer.data.replace(b"\n", b"\0").split(b"\0"):
        text = os.fsdecode(piece)
        if text.startswith("\x01"):
            commit, _, day = text[1:].partition(" ")
        elif text in paths:
            deleted.setdefault(text, (commit, day))
    ignored = (
        run_git(project.root, "check-ignore", "-z", "--", *deleted, seconds=_GIT_SECONDS) if deleted else None
    )
    for name in ignored.data.split(b"\0") if ignored else ():
        deleted.pop(os.fsdecode(name), None)
    return deleted


# --- notes of agents, lessons and statements that nobody sees ----------------------------------------------


def _note_folders(files: Sequence[AuditedFile]) -> Iterator[tuple[AuditedFile, list[AuditedFile]]]:
    """Claude Code's memory folders: the index, which is always loaded, and the notes, which it must name."""
    for index in files:
        if index.area == "agent" and index.path.name == "MEMORY.md" and index.path.parent.name == "memory":
            notes = [file for file in files if file.path.parent == index.path.parent and file is not index]
            yield index, notes


def _lost_notes(files: Sequence[AuditedFile]) -> Iterator[AuditFinding]:
    for index, _ in _note_folders(files):
        for match in _LINK.finditer(index.text):
            if "://" not in match[1] and not os.path.lexists(index.path.parent / unquote(match[1])):
                line = index.text.count("\n", 0, match.start()) + 1
                what = f"It links to {match[1]}, which does not exist."
                fix = "Delete the line, or restore the note."
                yield _finding("stale", index, line, what, "Agents will look for it and not find it.", fix)


def find_unused(machine: Machine, project: Project, files: Sequence[AuditedFile]) -> Iterator[AuditFinding]:
    for index, notes in _note_folders(files):
        for note in notes:
            if note.path.name not in index.text and note.path.stem not in index.text:
                yield _finding(
                    "unused",
                    note,
                    1,
                    "MEMORY.md does not name this note.",
                    "Claude Code loads only MEMORY.md, so it does not know this note.",
                    f"Add a line with a link to {note.path.name} to MEMORY.md, or delete the note.",
                )
    now = machine.now().timestamp()
    for status, file in placed_lessons(machine, project, files):
        since = status.active_at or status.lesson.captured_at
        if status.state == "active" and not status.payback.injected and since is not None:
            days = int((now - since) / DAY_S)
            if days >= _UNSEEN_DAYS and _sessions_told(project) >= _FEWEST_SESSIONS:
                yield _finding(
                    "unused",
                    file,
                    1,
                    f"No agent has seen the lesson {status.lesson.name} in {days} days.",
                    "Nothing in this project's sessions called for it.",
                    f"Keep it if it is rarely needed but true; otherwise run holdfast lessons rm {status.lesson.name}.",
                )
    yield from _unseen_statements(machine, project, files)


def _sessions_told(project: Project) -> int:
    return len({entry.session for entry in injections(project) if entry.lines})


def _unseen_statements(
    machine: Machine, project: Project, files: Sequence[AuditedFile]
) -> Iterator[AuditFinding]:
    """One finding for each file: single statements may simply not have had their day."""
    told = "\n".join(line.text for entry in injections(project) for line in entry.lines)
    if not told or _sessions_told(project) < _FEWEST_SESSIONS:
        return
    now = machine.now().timestamp()
    unseen: dict[str, list[tuple[str, AuditedFile, int]]] = {}
    for statement, file, line in placed_statements(project, {file.shown: file for file in files}):
        old = statement.at is not None and now - statement.at > _UNSEEN_DAYS * DAY_S
        if (
            old
            and statement.status == "agreed"
            and statement.id not in told
            and statement.text[:40] not in told
        ):
            unseen.setdefault(file.shown, []).append((statement.id, file, line))
    for statements in unseen.values():
        if len(statements) >= _FEWEST_UNSEEN:
            ids = ", ".join(id for id, _, _ in statements[:3])
            _, file, line = statements[0]
            yield _finding(
                "unused",
                file,
                line,
                f"No agent has seen {len(statements)} of its statements in the last "
                f"{_sessions_told(project)} sessions: {ids} …",
                "Nothing in this project's sessions called for them.",
                "Review them; holdfast note decision retire ID or holdfast note fact retire ID removes one.",
            )
