"""Lessons between people: shared through git by their owner, inert in a clone until a person agrees to them."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from holdfast.core.errors import NotFound, StoreError, UsageError
from holdfast.core.git import git_complaint, git_text
from holdfast.flows.lessons import Handled, change_each, pick, read_lessons
from holdfast.flows.refresh import refresh
from holdfast.lessons.choices import Choices
from holdfast.lessons.proposals import Place
from holdfast.lessons.states import LessonStatus, clean, lesson_store, states
from holdfast.lessons.store import Changes, Shelf, parse_stored, read_file
from holdfast.model.lesson import Lesson
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

_RULES = (".holdfast/.gitignore", ".holdfast/.gitattributes")


def share(machine: Machine, project: Project, names: Sequence[str], *, instead: bool = False) -> list[str]:
    """Writes lessons to `.holdfast/lessons/` and lets git track them; the commit is left to their owner.

    Theirs from now on is what the rules say and which sessions taught them; the lines of evidence stay here, and so
    does the lesson itself. Returns what was staged.
    """
    if not git_text(project.root, "rev-parse", "--git-dir"):
        raise UsageError(
            "this project is not in a git repository", where=str(project.root), fix="Run git init first"
        )
    # The active one first: unreviewed rules of a candidate must not be shared.
    places: tuple[Place, ...] = ("local", "candidates", "personal")

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> Place:
        name = one.lesson.name
        if one.place == "candidates":  # a lesson that is good enough for others is active here
            changes.lessons["local", name] = one.stored.data
            changes.lessons["candidates", name] = None
        there = shelf.shared.get(name)
        given = shelf.trust.given(name, there.data) if there else None
        is_ours = there is None or (given is not None and given.by == "share")
        if there is not None and not is_ours and not instead and there.lesson.rules != one.lesson.rules:
            raise UsageError(
                f"somebody else's lesson {name!r} is shared here",
                fix=f"Look at it: holdfast lessons trust {name}. Say --replace to put yours in its place",
            )
        changes.lessons["shared", name] = _for_others(machine, one.lesson)
        changes.choices = (changes.choices or shelf.choices).share(name)
        return "shared"

    done = change_each(machine, project, names, places, decide, "lessons share")
    staged = _staged(machine, project, [one.lesson.name for one in done])
    refresh(machine, project)
    return staged


def _staged(machine: Machine, project: Project, names: Sequence[str]) -> list[str]:
    """Lets git track what was written there; it is trusted, for this machine wrote it."""
    project.write_ignore_rules(lessons=True)
    written = lesson_store(machine, project).read()
    ours = {name: found.data for name in names if (found := written.shared.get(name)) is not None}
    written.trust.give(ours, machine.now().timestamp(), "share")
    staged = [*(f".holdfast/lessons/{name}.md" for name in ours), *_RULES]
    _git_or_fail(project, "add", "--force", *staged)
    return staged


def _for_others(machine: Machine, lesson: Lesson) -> Lesson:
    lesson = clean(machine, lesson)
    return replace(lesson, evidence=tuple(replace(item, line="") for item in lesson.evidence if item.session))


def unshare(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Takes lessons out of the repository and keeps them here. What git has recorded stays in its history."""

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> Place:
        name = one.lesson.name
        changes.lessons["shared", name] = None
        changes.choices = (changes.choices or shelf.choices).unshare(name)
        if one.state in ("active", "muted") and shelf.local.get(name) is None:
            changes.lessons["local", name] = one.stored.data
        return "local"

    shared = _shared(machine, project)
    _untrack(project, [pick(shared, name, ("shared",)).lesson.name for name in names])
    done = change_each(machine, project, names, ("shared",), decide, "lessons share --undo")
    if not lesson_store(machine, project).read().shared.lessons:
        project.write_ignore_rules(lessons=False)
    refresh(machine, project)
    return done


def _untrack(project: Project, names: Sequence[str]) -> None:
    paths = [f".holdfast/lessons/{name}.md" for name in names]
    _git_or_fail(project, "rm", "--cached", "--quiet", "--ignore-unmatch", *paths)


def share_as_before(
    machine: Machine, project: Project, was: Choices, now: Choices
) -> tuple[list[str], list[str]]:
    """After `undo`: the repository has what was shared then. Names that were taken out, and those put back."""
    store = lesson_store(machine, project)
    shelf = store.read()
    gone = [name for name in was.shared if name not in now.shared and shelf.shared.get(name) is not None]
    again = {
        name: _for_others(machine, found.lesson)
        for name in now.shared
        if name not in was.shared and shelf.shared.get(name) is None and (found := shelf.local.get(name))
    }
    if gone:
        _untrack(project, gone)
    if gone or again:
        lessons = {**dict.fromkeys(gone), **again}
        store.change(
            lambda shelf: Changes(lessons={("shared", name): new for name, new in lessons.items()}), "undo"
        )
    if again:
        _staged(machine, project, list(again))
    elif gone and not store.read().shared.lessons:
        project.write_ignore_rules(lessons=False)
    return gone, list(again)


def _shared(machine: Machine, project: Project) -> list[LessonStatus]:
    return [one for one in read_lessons(machine, project).lessons if one.place == "shared"]


def _git_or_fail(project: Project, *arguments: str) -> None:
    if trouble := git_complaint(project.root, *arguments):
        raise StoreError(
            f"git {arguments[0]} failed: {trouble}", where=str(project.root), fix="Mend that and try again"
        )


def to_trust(machine: Machine, project: Project, names: Sequence[str] = ()) -> list[LessonStatus]:
    """The shared lessons that are not trusted yet: those named, or all."""
    seen = _shared(machine, project)
    if not names:
        return [one for one in seen if one.state == "untrusted"]
    chosen = [pick(seen, name, ("shared",)) for name in dict.fromkeys(names)]
    rejected = [one.lesson.name for one in chosen if one.state == "rejected"]
    if rejected:
        raise UsageError(
            f"you rejected the lesson {rejected[0]!r}",
            fix="holdfast undo takes that back; so does lessons add",
        )
    return [one for one in chosen if one.state == "untrusted"]


def agree(machine: Machine, project: Project, seen: Iterable[LessonStatus]) -> None:
    """Trusts exactly the bytes that were read for these; what has changed since is not what was agreed to."""
    contents = {one.lesson.name: one.stored.data for one in seen}
    if contents:
        project.prepare()
        store = lesson_store(machine, project)
        store.read().trust.give(contents, machine.now().timestamp(), "trust")
        read_lessons(machine, project)  # what they depend on is as it is now
        refresh(machine, project)


def revoke(machine: Machine, project: Project, names: Sequence[str]) -> list[str]:
    """Takes trust away again; the names it was taken from."""
    seen = _shared(machine, project)
    chosen = [pick(seen, name, ("shared",)).lesson.name for name in names]
    if not chosen:
        chosen = [one.lesson.name for one in seen if one.state in ("active", "muted")]
    if not chosen:
        raise NotFound("no shared lesson is trusted here", fix="holdfast lessons list shows them")
    lesson_store(machine, project).read().trust.revoke(chosen)
    refresh(machine, project)
    return chosen


def edit(machine: Machine, project: Project, name: str) -> LessonStatus:
    """Opens the file in $VISUAL or $EDITOR and reads it again without secrets. What it says counts as learned here.

    Raises NotALesson when it is none any more.
    """
    store = lesson_store(machine, project, new_group())
    before = pick(states(machine, store.read()), name)
    editor = machine.env.get("VISUAL") or machine.env.get("EDITOR")
    if not editor:
        raise UsageError("no editor is set", fix="Set EDITOR, such as export EDITOR=nano")
    path = before.stored.path
    try:
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{editor!r} cannot be run: {error}", fix="Set EDITOR to a program that can"
        ) from error
    if done.returncode:
        raise StoreError(f"{editor!r} ended with exit code {done.returncode}", where=str(path))
    written = read_file(path, path.name)
    text = machine.clean(written.data.decode("utf-8"))
    kept = parse_stored(path, written.lesson.name, text.encode("utf-8"), path.name)

    def adopt(shelf: Shelf) -> Changes:
        taught = [(rule, before.lesson.sessions or ("by hand",)) for rule in kept.lesson.rules]
        return Changes(
            lessons={(before.place, kept.lesson.name): kept.data}, record=shelf.record.capture(taught)
        )

    store.change(adopt, "lessons review")
    return pick(states(machine, store.read()), before.lesson.name)
