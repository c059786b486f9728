"""Shares lessons through git. In a clone, a shared lesson has no effect until a person trusts it."""

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
from holdfast.store.gate import gate, pass_file
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

_RULES = (".holdfast/.gitignore", ".holdfast/.gitattributes")


def share(machine: Machine, project: Project, names: Sequence[str], *, instead: bool = False) -> list[str]:
    """Writes lessons to `.holdfast/lessons/` and stages them; the owner makes the commit.

    Others get the rules and the ids of the sessions that taught them. The lines of evidence stay here, and so does
    the local copy of the lesson. Returns the staged paths.
    """
    if not git_text(project.root, "rev-parse", "--git-dir"):
        raise UsageError(
            "this project is not in a git repository", where=str(project.root), fix="Run git init first"
        )
    # The active one first: unreviewed rules of a candidate must not be shared.
    places: tuple[Place, ...] = ("local", "candidates", "personal")

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> Place:
        name = one.lesson.name
        if one.place == "candidates":  # a lesson that is good enough to share is active here
            changes.lessons["local", name] = one.stored.data
            changes.lessons["candidates", name] = None
        shared = shelf.shared.get(name)
        grant = shelf.trust.given(name, shared.data) if shared else None
        is_ours = shared is None or (grant is not None and grant.by == "share")
        if shared is not None and not is_ours and not instead and shared.lesson.rules != one.lesson.rules:
            raise UsageError(
                f"someone else has shared a lesson {name!r} here",
                fix=f"See holdfast lessons trust {name}. Add --replace to overwrite it with yours",
            )
        changes.lessons["shared", name] = _for_others(machine, one.lesson)
        changes.choices = (changes.choices or shelf.choices).share(name)
        return "shared"

    handled = change_each(machine, project, names, places, decide, "lessons share")
    staged = _staged(machine, project, [one.lesson.name for one in handled])
    refresh(machine, project)
    return staged


def _staged(machine: Machine, project: Project, names: Sequence[str]) -> list[str]:
    """Stages the shared files. They are trusted, because this machine wrote them."""
    project.write_ignore_rules(lessons=True)
    shelf = lesson_store(machine, project).read()
    ours = {name: entry.data for name in names if (entry := shelf.shared.get(name)) is not None}
    shelf.trust.give(ours, machine.now().timestamp(), "share")
    staged = [*(f".holdfast/lessons/{name}.md" for name in ours), *_RULES]
    _git_or_fail(project, "add", "--force", *staged)
    return staged


def _for_others(machine: Machine, lesson: Lesson) -> Lesson:
    lesson = clean(machine, lesson)
    return replace(lesson, evidence=tuple(replace(item, line="") for item in lesson.evidence if item.session))


def unshare(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Removes lessons from the repository and keeps them here. Commits that contain them stay in the history."""

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
    """Restores what was shared, after `undo`. Returns the names that were removed and those that were put back."""
    store = lesson_store(machine, project)
    shelf = store.read()
    removed = [name for name in was.shared if name not in now.shared and shelf.shared.get(name) is not None]
    restored = {
        name: _for_others(machine, entry.lesson)
        for name in now.shared
        if name not in was.shared and shelf.shared.get(name) is None and (entry := shelf.local.get(name))
    }
    if removed:
        _untrack(project, removed)
    if removed or restored:
        lessons = {**dict.fromkeys(removed), **restored}
        store.change(
            lambda shelf: Changes(lessons={("shared", name): new for name, new in lessons.items()}), "undo"
        )
    if restored:
        _staged(machine, project, list(restored))
    elif removed and not store.read().shared.lessons:
        project.write_ignore_rules(lessons=False)
    return removed, list(restored)


def _shared(machine: Machine, project: Project) -> list[LessonStatus]:
    return [status for status in read_lessons(machine, project).lessons if status.place == "shared"]


def _git_or_fail(project: Project, *arguments: str) -> None:
    if trouble := git_complaint(project.root, *arguments):
        raise StoreError(
            f"git {arguments[0]} failed: {trouble}", where=str(project.root), fix="Fix that and try again"
        )


def to_trust(machine: Machine, project: Project, names: Sequence[str] = ()) -> list[LessonStatus]:
    """The shared lessons that are not trusted yet, all or those in `names`."""
    shared = _shared(machine, project)
    if not names:
        return [status for status in shared if status.state == "untrusted"]
    chosen = [pick(shared, name, ("shared",)) for name in dict.fromkeys(names)]
    rejected = [status.lesson.name for status in chosen if status.state == "rejected"]
    if rejected:
        raise UsageError(
            f"you rejected the lesson {rejected[0]!r}",
            fix="holdfast undo or lessons add takes that back",
        )
    return [status for status in chosen if status.state == "untrusted"]


def agree(machine: Machine, project: Project, seen: Iterable[LessonStatus]) -> None:
    """Trusts exactly the bytes that the person saw; a file that has changed since is not trusted."""
    contents = {status.lesson.name: status.stored.data for status in seen}
    if contents:
        project.prepare()
        store = lesson_store(machine, project)
        store.read().trust.give(contents, machine.now().timestamp(), "trust")
        read_lessons(machine, project)  # records the fingerprints of what they depend on
        refresh(machine, project)


def revoke(machine: Machine, project: Project, names: Sequence[str]) -> list[str]:
    """Revokes trust. Returns the names of the lessons."""
    shared = _shared(machine, project)
    chosen = [pick(shared, name, ("shared",)).lesson.name for name in names]
    if not chosen:
        chosen = [status.lesson.name for status in shared if status.state in ("active", "muted")]
    if not chosen:
        raise NotFound("no shared lesson is trusted here", fix="holdfast lessons list shows them")
    lesson_store(machine, project).read().trust.revoke(chosen)
    refresh(machine, project)
    return chosen


def edit(machine: Machine, project: Project, name: str) -> LessonStatus:
    """Opens the file in $VISUAL or $EDITOR and stores the result without secrets. Its rules count as learned here.

    Raises NotALesson if the result is not a lesson.
    """
    store = lesson_store(machine, project, new_group())
    status = pick(states(machine, store.read()), name)
    editor = machine.env.get("VISUAL") or machine.env.get("EDITOR")
    if not editor:
        raise UsageError("no editor is set", fix="Set EDITOR, such as export EDITOR=nano")
    path = status.stored.path
    try:
        process = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{editor!r} cannot be run: {error}", fix="Set EDITOR to a program that can be run"
        ) from error
    if process.returncode:
        raise StoreError(f"{editor!r} ended with exit code {process.returncode}", where=str(path))
    edited = read_file(path, path.name)
    text = pass_file(edited.data.decode("utf-8"), gate(machine, project))
    stored = parse_stored(path, edited.lesson.name, text.encode("utf-8"), path.name)

    def adopt(shelf: Shelf) -> Changes:
        taught = [(rule, status.lesson.sessions or ("by hand",)) for rule in stored.lesson.rules]
        return Changes(
            lessons={(status.place, stored.lesson.name): stored.data}, record=shelf.record.capture(taught)
        )

    store.change(adopt, "lessons review")
    return pick(states(machine, store.read()), status.lesson.name)
